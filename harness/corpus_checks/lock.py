"""The corpus lock: what every case was when the table was written, and how a machine differs.

A verdict is only comparable with another one if both were passed on the same programs. The lock
holds a digest of each case's captured graph and split, and a few numbers of its inputs and eager
outputs. Graphs have to be equal; numbers to a tolerance, since processors sum in different orders.

Of a case that goes through both lanes it also says what each release's package makes of the model
beside the graph lane's split of it, in ranges of releases: `python -m harness reach`.

History of ``LOCK_SCHEMA``:
    1  the first: a line a case and capture mode.
    2  the releases whose packages were asked, and a line a case on what they make of its model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from harness.base.errors import UsageError
from harness.base.files import replace_file
from harness.base.program import PROGRAM
from harness.base.words import spans
from harness.expectations import EXPECTATIONS
from harness.wire.vocabulary import SplitSeen

LOCK_FILE: Final = EXPECTATIONS / "corpus.lock"
LOCK_SCHEMA: Final = 2
RELATIVE_TOLERANCE: Final = 1e-4
ABSOLUTE_TOLERANCE: Final = 1e-6

Key = tuple[str, str]  # case, capture
Seen = Mapping[str, Mapping[str, SplitSeen]]  # by case and release


@dataclass(frozen=True)
class CorpusLock:
    """The torch that made the lock, and the rig's description of each case and capture mode.

    ``releases`` are those whose packages were asked, the oldest first; ``seen`` has their answers.
    """

    torch_version: str
    cases: Mapping[Key, Mapping[str, Any]]
    releases: tuple[str, ...] = ()
    seen: Seen = field(default_factory=dict)


@dataclass(frozen=True)
class LockDifference:
    """How one case differs, for a person."""

    case: str
    capture: str
    what: str


def lock_of(torch_version: str, described: Iterable[Mapping[str, Any]]) -> CorpusLock:
    return CorpusLock(torch_version, {(one["case"], one["capture"]): one for one in described})


def read_lock(path: Path = LOCK_FILE) -> CorpusLock:
    """The committed lock."""
    try:
        header, *rows = (json.loads(line) for line in path.read_text().splitlines())
        schema, releases = header["schema"], tuple(header.get("releases", ()))
        lock = CorpusLock(
            header["torch"],
            lock_of(header["torch"], (row for row in rows if "capture" in row)).cases,
            releases,
            {row["case"]: _seen(row, releases) for row in rows if "capture" not in row},
        )
    except FileNotFoundError:
        raise UsageError(f"{path}: no lock; `{PROGRAM} lock` writes one") from None
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: not a corpus lock: {error!r}; restore it from git") from error
    if schema != LOCK_SCHEMA:
        raise UsageError(f"{path}: schema {schema!r}; this harness reads {LOCK_SCHEMA}")
    return lock


def write_lock(lock: CorpusLock, path: Path = LOCK_FILE) -> None:
    """Write one line for each case, sorted, so that a change of one case changes one line."""
    header = {
        "schema": LOCK_SCHEMA,
        "torch": lock.torch_version,
        "releases": list(lock.releases),
    }
    rows = [
        *(lock.cases[key] for key in sorted(lock.cases)),
        *(_told(case, lock.seen[case], lock.releases) for case in sorted(lock.seen)),
    ]
    replace_file(path, "".join(json.dumps(row) + "\n" for row in (header, *rows)).encode())


def _told(case: str, seen: Mapping[str, SplitSeen], releases: Sequence[str]) -> dict[str, str]:
    """The releases' answers about a case's model, in ranges of the releases that were asked."""
    row = {"case": case}
    for one in SplitSeen:
        alike = [release for release in releases if seen.get(release) is one]
        if alike:
            row[one] = ", ".join(spans(alike, releases))
    return row


def _seen(row: Mapping[str, str], releases: Sequence[str]) -> dict[str, SplitSeen]:
    """The inverse of `_told`. Raises ValueError for a release that was not asked."""
    seen: dict[str, SplitSeen] = {}
    for one in SplitSeen:
        for part in filter(None, row.get(one, "").split(", ")):
            first, _, last = part.partition(" to ")
            run = releases[releases.index(first) : releases.index(last or first) + 1]
            seen |= dict.fromkeys(run, one)
    return seen


def differences(locked: CorpusLock, now: CorpusLock) -> Iterator[LockDifference]:
    """How ``now`` differs from what was locked, case by case."""
    for key in sorted(locked.cases.keys() | now.cases.keys()):
        if key not in now.cases:
            yield LockDifference(*key, "is in the lock, and no longer in the corpus")
        elif key not in locked.cases:
            yield LockDifference(*key, "is not in the lock")
        else:
            for what in _case_differences(locked, now, key):
                yield LockDifference(*key, what)


def renewed(locked: CorpusLock, now: CorpusLock, known: Collection[str]) -> CorpusLock:
    """A lock of the known cases: those that were built now, where they differ, else as locked.

    Raises:
        UsageError: some were not built now, and the lock is another torch's.
    """
    kept = {key: row for key, row in locked.cases.items() if key[0] in known}
    unbuilt = kept.keys() - now.cases.keys()
    if unbuilt and locked.torch_version != now.torch_version:
        raise UsageError(
            f"the lock is of torch {locked.torch_version}, and here is {now.torch_version}: "
            "lock all cases, without -k"
        )
    differ = {(each.case, each.capture) for each in differences(locked, now)}
    return CorpusLock(
        now.torch_version,
        kept | {key: row for key, row in now.cases.items() if key in differ},
    )


def _case_differences(locked: CorpusLock, now: CorpusLock, key: Key) -> Iterator[str]:
    old, new = locked.cases[key], now.cases[key]
    if old["graph"] != new["graph"]:
        yield f"{_blame(locked, now)} another graph: {_counted(old['ops'], new['ops'])}"
    elif old["split"] != new["split"]:
        yield f"the same graph is split otherwise: {_children(old['children'], new['children'])}"
    for what, of in (("inputs", "inputs"), ("outputs", "eager outputs")):
        if not close(old[what], new[what]):
            yield f"the machine computes other numbers: {of} are {new[what]}, locked {old[what]}"


def _blame(locked: CorpusLock, now: CorpusLock) -> str:
    if locked.torch_version != now.torch_version:
        return f"torch {now.torch_version} (locked: {locked.torch_version}) captures"
    return "the case was edited, and captures"


def _counted(old: Mapping[str, int], new: Mapping[str, int]) -> str:
    changed = [
        f"{op} {old.get(op, 0)} -> {new.get(op, 0)}"
        for op in sorted(old.keys() | new.keys())
        if old.get(op, 0) != new.get(op, 0)
    ]
    return ", ".join(changed) or "the same ops under other names, wires or metadata"


def _children(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    if list(old) != list(new):
        return f"children {', '.join(new)}; locked {', '.join(old)}"
    changed = [
        f"{name}: {_counted(old[name], new[name])}" for name in old if old[name] != new[name]
    ]
    return "; ".join(changed) or "the same children, wired otherwise"


def close(old: Any, new: Any) -> bool:
    """Whether two descriptions are equal except for rounding."""
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(close, old, new))
    if isinstance(old, float) and isinstance(new, float):
        same = math.isclose(old, new, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
        return same or (math.isnan(old) and math.isnan(new))
    return bool(old == new)
