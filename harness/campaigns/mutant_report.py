"""What a campaign of mutants came to, as a table of each mutant and as a page."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.base.errors import UsageError
from harness.base.words import plural
from harness.campaigns.mutants import Found, Ledger
from harness.campaigns.mutation import Mutant
from harness.expectations import EXPECTATIONS
from harness.wire.records import CellKey
from harness.wire.routes import Lane, Route

EQUIVALENT_FILE: Final = EXPECTATIONS / "equivalent_mutants.toml"
_DEFECT: Final = re.compile(r"\(defect ([a-z0-9-]+)\)")


@dataclass(frozen=True)
class Outcome:
    """One mutant and what became of it.

    ``equivalent`` says why no program can differ, and ``out_of_reach`` why no case and no call that
    the corpus asks can tell that one does.
    """

    mutant: Mutant
    found: Found | None
    unloaded: str
    equivalent: str
    reached: int  # by so many cases
    out_of_reach: str = ""

    @property
    def survived(self) -> bool:
        return not (self.found or self.unloaded or self.equivalent)


@dataclass(frozen=True)
class MutantReport:
    """``of`` names the file and its release; ``complete`` says that all was asked of all."""

    of: str
    outcomes: tuple[Outcome, ...]
    complete: bool

    @property
    def survivors(self) -> tuple[Outcome, ...]:
        return tuple(each for each in self.outcomes if each.survived)

    @property
    def unexplained(self) -> tuple[Outcome, ...]:
        """The survivors of which nobody has said yet why they survive."""
        return tuple(each for each in self.survivors if not each.out_of_reach)

    @property
    def lines(self) -> list[str]:
        """What there is to say first."""
        found = sum(each.found is not None for each in self.outcomes)
        unloaded = sum(bool(each.unloaded) for each in self.outcomes)
        equal = sum(bool(each.equivalent) and not each.found for each in self.outcomes)
        real = len(self.outcomes) - unloaded - equal
        unreached = sum(each.reached == 0 for each in self.survivors)
        explained = len(self.survivors) - len(self.unexplained)
        share = f"{100 * found / real:.1f} %" if real else "none"
        told = [
            f"{self.of}: {found} of {plural(real, 'mutant')} found ({share}), "
            f"{len(self.survivors)} survived, {unreached} of them in lines that no case runs",
            f"{unloaded} more do not import, and {equal} more are equivalent, with a reason each",
            f"of the survivors {explained} are out of the corpus's reach, with a reason each",
        ]
        return told if self.complete else [*told, "not complete: time was up"]

    def write(self, folder: Path) -> Path:
        """Write `mutants.json` and the page `mutants.md`; returns the page's path."""
        rows = [_row(each) for each in self.outcomes]
        (folder / "mutants.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        page = folder / "mutants.md"
        page.write_text("\n".join(self._page()) + "\n", encoding="utf-8")
        return page

    def _page(self) -> Iterator[str]:
        yield f"# Mutants of {self.of}\n"
        yield "\n\n".join(self.lines) + "\n"
        yield from _table("function", self.outcomes, lambda each: f"`{each.mutant.function}`")
        yield from _table("what was done", self.outcomes, lambda each: each.mutant.operator)
        parts: tuple[tuple[str, Callable[[Found], str]], ...] = (
            ("oracle", lambda by: by.oracle),
            ("case", lambda by: by.case),
            ("lane", lambda by: f"{by.lane} with {by.beside}" if by.beside else by.lane),
        )
        for title, part in parts:
            counted = Counter(part(each.found) for each in self.outcomes if each.found)
            yield f"## Found first by which {title}\n\n| {title} | mutants |\n|---|---|"
            yield from (f"| {name} | {count} |" for name, count in counted.most_common(25))
            yield ""
        yield "## Survivors\n"
        for each in sorted(self.survivors, key=lambda each: each.reached == 0):
            note = f"run by {plural(each.reached, 'case')}"
            yield from _told(each, f"{note}. {each.out_of_reach}" if each.out_of_reach else note)
        yield "## Equivalent\n"
        for each in self.outcomes:
            if each.equivalent and not each.found:
                yield from _told(each, each.equivalent)


def report_of(
    of: str,
    mutants: Sequence[Mutant],
    ledger: Ledger,
    complete: bool,
    mended: Collection[str] = (),
) -> MutantReport:
    """What became of each mutant.

    Args:
        mended: the defects that are mended in the file, none for a release's own; which reasons
            hold then, `read_equivalent` says.
    """
    equivalent, out_of_reach = read_equivalent(mended), read_out_of_reach(mended)
    outcomes = tuple(
        Outcome(
            mutant,
            ledger.found.get(mutant.name),
            ledger.unloaded.get(mutant.name, ""),
            equivalent.get(mutant.name, ""),
            len(ledger.reached.get(mutant.name, ())),
            out_of_reach.get(mutant.name, ""),
        )
        for mutant in mutants
    )
    return MutantReport(of, outcomes, complete)


def found_in(folder: Path) -> dict[CellKey, set[str]]:
    """The mutants that each cell found first in a campaign, by the cell without its subject.

    What was found with packages beside the corpus's own is left out: no run asks such a cell.

    Raises:
        UsageError: the folder has no `mutants.json`, which a campaign writes when it ends.
    """
    place = folder / "mutants.json"
    if not place.is_file():
        raise UsageError(f"--mutants {folder}: it has no mutants.json, which a campaign writes")
    found: dict[CellKey, set[str]] = defaultdict(set)
    for row in json.loads(place.read_text(encoding="utf-8")):
        if (by := row["found"]) and not by.get("beside"):
            key = CellKey(by["case"], by["capture"], "", Route(by["route"]), Lane(by["lane"]))
            found[key].add(row["name"])
    return found


def read_equivalent(
    mended: Collection[str] = (), path: Path = EQUIVALENT_FILE
) -> Mapping[str, str]:
    """By a mutant's name, why no program can differ; each was written by a person, and read by one.

    Several mutants with one reason stand under it. A reason that names a defect, as in `(defect
    cross-no-engine)`, holds where the defect is not ``mended``; one beside which `mended = true`
    stands holds in the mended release alone.
    """
    return _reasons(path, "equivalent", mended)


def read_out_of_reach(
    mended: Collection[str] = (), path: Path = EQUIVALENT_FILE
) -> Mapping[str, str]:
    """By a mutant's name, why no case and no call that the corpus asks can find it; as above."""
    return _reasons(path, "out_of_reach", mended)


def _reasons(path: Path, table: str, mended: Collection[str]) -> Mapping[str, str]:
    groups = tomllib.loads(path.read_text(encoding="utf-8"))[table]
    return {
        name: group["why"]
        for group in groups
        if not (set(_DEFECT.findall(group["why"])) & set(mended))
        and (mended or not group.get("mended"))
        for name in group["mutants"]
    }


def _row(each: Outcome) -> dict[str, Any]:
    mutant = each.mutant
    return {
        "name": mutant.name,
        "operator": mutant.operator,
        "function": mutant.function,
        "line": mutant.last,
        "difference": mutant.difference,
        "found": vars(each.found) if each.found else None,
        "unloaded": each.unloaded,
        "equivalent": each.equivalent,
        "out_of_reach": each.out_of_reach,
        "reached_by_cases": each.reached,
    }


def _table(title: str, outcomes: Sequence[Outcome], of: Any) -> Iterator[str]:
    yield f"| {title} | mutants | found | equivalent | survived | of these never run |"
    yield "|---|---|---|---|---|---|"
    groups: dict[str, list[Outcome]] = {}
    for each in outcomes:
        if not each.unloaded:
            groups.setdefault(of(each), []).append(each)
    for name, group in groups.items():
        survived = [each for each in group if each.survived]
        counts = (
            len(group),
            sum(each.found is not None for each in group),
            sum(bool(each.equivalent) and not each.found for each in group),
            len(survived),
            sum(each.reached == 0 for each in survived),
        )
        yield f"| {name} | {' | '.join(map(str, counts))} |"
    yield ""


def _told(each: Outcome, note: str) -> Iterator[str]:
    mutant = each.mutant
    yield f"`{mutant.name}`, line {mutant.last}, {mutant.operator}: {note}\n"
    yield f"```diff\n{mutant.difference}\n```\n"
