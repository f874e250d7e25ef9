"""What a candidate breaks, by cause, where its failures look as many ways as there are cases.

One wrong wire gives wrong numbers here, another shape there, and an error in a third case; and the
ways to save that leave no program to compare show only that. So the cells of a case that is seen to
be wired wrongly are one breakage with those of all other such cases. Where no wire is seen to be
wrong, cells are together that fail alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.base.words import listed, most_first, plural
from harness.gate.findings import CellClass, Finding, wrong_wire
from harness.register.defects import Register
from harness.wire.oracles import INLINED, Oracle
from harness.wire.records import CellKey

_MOST: Final = 3  # forms of a breakage that are told


@dataclass(frozen=True)
class Breakage:
    """One thing that a candidate breaks.

    Attributes:
        what: the label of what fails first, such as ``wrong-wiring@inline-fallbacks``.
        forms: how it shows, the most frequent first.
        cells: how many cells it turns red.
        cases: those cells' cases, the smallest first.
        like: ids of the known defects whose signs these cells bear, those of most cells first.
        smallest: the worst finding of the smallest case.
        pieces: engines and fallbacks of that case; 0 where nobody counted them.
        wire: the first wrong wire of that case; empty where none is known to be wrong.
    """

    what: str
    forms: tuple[str, ...]
    cells: int
    cases: tuple[str, ...]
    like: tuple[str, ...]
    smallest: Finding
    pieces: int
    wire: str

    @property
    def words(self) -> str:
        """``wrong-wiring@inline-fallbacks (41 cells of 15 cases; shows as ...)``."""
        shows = f"; shows as {listed(self.forms, _MOST)}" if self.forms else ""
        of = plural(self.cells, "cell"), plural(len(self.cases), "case")
        return f"{self.what} ({of[0]} of {of[1]}{shows})"


def as_known(names: Sequence[str], register: Register) -> list[str]:
    """Known defects by their titles, and by what fixed them: what was fixed is brought back."""
    told = []
    for name in names:
        defect = register.by_id.get(name)
        fixed = defect.fixed_in if defect else ""
        by = f" by {defect.fixed_by.split('/')[-1]}" if defect and defect.fixed_by else ""
        title = defect.title if defect else name
        told.append(f'"{title}"{f" (fixed in {fixed}{by})" if fixed else ""}')
    return told


def breakages(
    findings: Iterable[Finding], candidates: Collection[str], pieces: Mapping[str, int]
) -> tuple[Breakage, ...]:
    """What candidates break; each red cell is counted once, and the worst breakage comes first.

    Args:
        findings: of the gate, the worst first.
        candidates: the subjects that count.
        pieces: how many engines and fallbacks a case has, by its name.
    """
    cells: dict[CellKey, list[Finding]] = {}
    for finding in findings:
        red = finding.cell_class is CellClass.UNEXPECTED_FAILURE
        if red and finding.verdict is not None and finding.subject in candidates:
            cells.setdefault(finding.key, []).append(finding)
    wired: dict[tuple[str, str], str] = {}
    for key, found in cells.items():
        for each in found:
            if each.oracle is Oracle.WIRING and each.verdict and each.verdict.failed:
                wired.setdefault((key.subject, key.case), each.verdict.label)
    groups: dict[tuple[str, str], list[Finding]] = {}
    for key, found in cells.items():
        what = wired.get((key.subject, key.case)) or _failure(found[0])
        groups.setdefault((key.subject, what), []).extend(found)
    made = (
        (found[0].urgency[:2], _breakage(what, found, pieces))
        for (_, what), found in groups.items()
    )
    order = sorted(made, key=lambda each: (each[0], -each[1].cells, each[1].what))
    return tuple(each for _, each in order)


def _breakage(what: str, found: list[Finding], pieces: Mapping[str, int]) -> Breakage:
    def size(case: str) -> tuple[bool, int, str]:
        return (not pieces.get(case), pieces.get(case, 0), case)

    wires = {each.case: each.verdict for each in found if each.oracle is Oracle.WIRING}
    cases = sorted({each.case for each in found}, key=size)
    # The smallest case whose wrong wire can be told tells most.
    told = [case for case in cases if case in wires] or cases
    of_smallest = [each for each in found if each.case == told[0]]
    wiring = wires.get(told[0])
    like = Counter(
        name.removeprefix("?") for each in found for name in each.defects if name.startswith("?")
    )
    return Breakage(
        what=what,
        forms=_forms(what, found),
        cells=len({each.key for each in found}),
        cases=tuple(cases),
        like=most_first(like),
        smallest=min(of_smallest, key=lambda each: each.urgency),
        pieces=pieces.get(told[0], 0),
        wire=wrong_wire(wiring) if wiring else "",
    )


def _forms(what: str, found: list[Finding]) -> tuple[str, ...]:
    """What is read in place of what, and the other failures of the same cells."""
    says: Counter[str] = Counter()
    for each in found:
        assert each.verdict is not None
        if each.verdict.label == what:
            parts = each.verdict.message.split("; ") if each.verdict.message else ()
            says.update({part.removeprefix(INLINED) for part in parts})
        elif each.verdict.failed:
            says[each.verdict.label] += 1
    return most_first(says)


def _failure(finding: Finding) -> str:
    """What fails, without what differs from case to case; an error with its type."""
    assert finding.verdict is not None
    if finding.oracle is Oracle.COMPLETION and finding.verdict.failed:
        return f"{finding.verdict.label}: {finding.verdict.message.partition(':')[0]}"
    return finding.verdict.label if finding.verdict.failed else "a question that is not answered"
