"""What a mend is, and a release's files with mends in them. Pure."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass

from harness.mends.edits import DoesNotFit, Edit, edited
from harness.mends.names import missing_imports, unknown_names

#: Where the inliners are.
EXPORTER = "torch_tensorrt/dynamo/_exporter.py"

#: The text of a file, by its path in a wheel; None where there is none.
Read = Callable[[str], str | None]


@dataclass(frozen=True)
class Patch:
    """The part of a mend that lies in one file. ``added`` are functions that the edits call."""

    edits: tuple[Edit, ...]
    added: tuple[str, ...] = ()
    file: str = EXPORTER


@dataclass(frozen=True)
class Mend:
    """A change that mends ``defects``, which are ids of the register.

    ``idea`` says what is changed, why there, and what it costs; ``uncovered`` what it does not
    reach; ``test`` which test upstream should add. ``goes_with`` are other defects, which its
    cases meet once it is in: they are right with the mends of these alone. ``in_part`` are those of
    ``defects`` that some call still shows with all mends in, and ``uncovered`` says where.
    """

    defects: tuple[str, ...]
    idea: str
    test: str
    patches: tuple[Patch, ...]
    uncovered: str = ""
    goes_with: tuple[str, ...] = ()
    in_part: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.defects[0]

    @property
    def digest(self) -> str:
        """A digest of the code that the mend changes, by which a run says which mend it judged."""
        parts = [
            (each.file, [astuple(edit) for edit in each.edits], each.added) for each in self.patches
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]

    @property
    def limits(self) -> str:
        """What it does not reach, and which mends go with it; empty if it mends all by itself."""
        names = " and ".join(self.goes_with)
        others = f"With this mend alone its cases meet {names} next: mend {names}, too."
        return " ".join(filter(None, (self.uncovered, names and others)))


def mended(read: Read, mends: Iterable[Mend]) -> dict[str, str]:
    """The text of each file that ``mends`` change, with all of them in it.

    Raises DoesNotFit, naming all that do not.
    """
    chosen = list(mends)
    fit, misfits = those_that_fit(read, chosen)
    if misfits:
        advice = f"; `mend --fitting` writes those that fit, {len(fit)}" if fit else ""
        raise DoesNotFit("; ".join(misfits) + advice)
    patches = [patch for mend in chosen for patch in mend.patches]
    names = sorted({patch.file for patch in patches})
    return {name: _patched(read(name) or "", name, patches) for name in names}


def those_that_fit(read: Read, mends: Iterable[Mend]) -> tuple[list[Mend], list[str]]:
    """The mends that fit, each by itself, and what does not fit of the others, and where."""
    wrong = {mend: _misfits(mend, read) for mend in mends}
    fit = [mend for mend, of_a_mend in wrong.items() if not of_a_mend]
    return fit, [text for of_a_mend in wrong.values() for text in of_a_mend]


def difference(before: Read, after: Mapping[str, str]) -> str:
    """One unified diff of all files, as `git apply` takes it in a checkout."""
    return "".join(
        line
        for name, text in after.items()
        for line in difflib.unified_diff(
            (before(name) or "").splitlines(keepends=True),
            text.splitlines(keepends=True),
            f"a/py/{name}",
            f"b/py/{name}",
        )
    )


def _patched(before: str, file: str, patches: Iterable[Patch]) -> str:
    """A file with all patches of it. A function that two of them add is there once."""
    own = [patch for patch in patches if patch.file == file]
    added = tuple(dict.fromkeys(text for patch in own for text in patch.added))
    return edited(before, [edit for patch in own for edit in patch.edits], added)


def _misfits(mend: Mend, read: Read) -> list[str]:
    """What is wrong with a mend by itself, by file: a place, or a name that its code reads."""
    found, before, after = [], dict[str, str](), dict[str, str]()
    for name in sorted({patch.file for patch in mend.patches}):
        text = read(name)
        if text is None:
            found.append(f"the mend of {mend.name} does not fit: there is no {name}")
            continue
        before[name] = text
        try:
            after[name] = _patched(text, name, mend.patches)
        except DoesNotFit as error:
            found.append(f"the mend of {mend.name} does not fit {name}: {error}")
    for name, text in after.items():
        lacking = unknown_names(text) - unknown_names(before[name])
        lacking |= missing_imports(before[name], text, lambda file: after.get(file) or read(file))
        if lacking:
            names = ", ".join(sorted(lacking))
            found.append(f"the mend of {mend.name} does not fit {name}: there is no {names}")
    return found
