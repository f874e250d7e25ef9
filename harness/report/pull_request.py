"""What a run says of a pull request: new, mended, broken at the base and flaky told apart.

New is what does more harm in the candidate than in what it is held against. What is red and does no
more harm, and what the candidate shows behind a mended defect, are told apart from it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.gate.attribution import NamedDefects, difference_of, named_defects
from harness.gate.findings import CellClass, Finding
from harness.gate.pairs import without_subject
from harness.gate.qualify import severity_of
from harness.gate.reach import reach_in
from harness.gate.verdict import ReachOf
from harness.register.defects import Defect, Register
from harness.register.expected import Expectations
from harness.register.table import UNKNOWN
from harness.report import text
from harness.report.sections.defects import REACHES, SEEN, call_of
from harness.run.judged_run import JudgedRun
from harness.subjects.choosing import around, likes
from harness.wire.oracles import Harm, Oracle, Symptom
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Lane
from harness.wire.vocabulary import CellState, Reach

_LONGEST: Final = 200


@dataclass(frozen=True)
class Kind:
    """Cells that fail by one known defect, or alike by none.

    Attributes:
        title: what happens, in words.
        harm: the worst that a user sees of it.
        reach: who makes such splits, the widest.
        keys: the cells, the widest reach first.
        where: upstream's functions, as the register and records name them.
        defect: the id of the known defect; empty where none bears its signs.
    """

    title: str
    harm: Harm
    reach: Reach
    keys: tuple[CellKey, ...]
    where: tuple[str, ...]
    defect: str = ""

    @property
    def first(self) -> CellKey:
        """The cell that a reader looks at."""
        return self.keys[0]

    @property
    def seen(self) -> str:
        return SEEN[self.harm.value]

    @property
    def calls(self) -> tuple[str, ...]:
        """The calls of a user that meet it."""
        return tuple(dict.fromkeys(call_of(key.route) for key in self.keys))

    @property
    def cases(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key.case for key in self.keys))

    @property
    def met_by(self) -> str:
        return REACHES[self.reach]


@dataclass(frozen=True)
class Counted:
    """A known defect, or the text of a failure, and in how many cells."""

    title: str
    cells: int


@dataclass(frozen=True)
class PullRequest:
    """All that the comment tells.

    Attributes:
        compared: of each lane, how many cells of candidate and base were compared.
        new: what does more harm than at the base; ``otherwise`` fails otherwise, with no more harm.
        mended: defects of the base that the candidate has not; ``partly`` has it in fewer cells.
        uncovered: known defects that show behind mended ones.
        at_base: what both show.
        flaky: cells that did not end alike when they were asked twice, each with why.
        unasked: why cells could not be asked, and how many.
    """

    candidate: str
    base: str
    compared: Mapping[Lane, int]
    new: tuple[Kind, ...]
    otherwise: tuple[Kind, ...]
    mended: tuple[Counted, ...]
    partly: tuple[Counted, ...]
    uncovered: tuple[Counted, ...]
    at_base: tuple[Counted, ...]
    flaky: tuple[tuple[CellKey, str], ...]
    unasked: tuple[Counted, ...]
    scope: str = ""

    @property
    def broken_cells(self) -> int:
        return sum(len(kind.keys) for kind in self.new)


def pull_request(judged: JudgedRun, again: JudgedRun | None = None) -> PullRequest | None:
    """A run's candidate held against its base; None where the run has no candidate.

    Args:
        again: a run that asked the red cells of this one a second time.
    """
    partners = sorted(likes(judged.subjects).items())
    if not partners:
        return None
    near = around(judged.subjects)
    return told_of(
        *partners[0],
        judged.records,
        judged.report.findings,
        judged.expectations,
        near,
        reach_in(judged.cases, judged.provenance.corpus, near),
        again.records if again else {},
        judged.scope,
    )


def told_of(
    candidate: str,
    base: str,
    records: Mapping[str, CellRecord],
    findings: Iterable[Finding],
    known: Expectations,
    near: Mapping[str, str],
    reach_of: ReachOf,
    again: Mapping[str, CellRecord],
    scope: str = "",
) -> PullRequest:
    """What there is to tell of a candidate.

    Args:
        records: the ended cells by ``cell_id``; ``again`` those that were asked a second time.
        findings: those of the gate, worst first.
        near: for what no table knows, the release whose defects it may have.
        reach_of: who makes the split of a cell.
        scope: what alone was asked.
    """
    pairs, mine, theirs = named_defects(
        candidate, base, records.values(), known.table, known.register, near
    )
    told = difference_of(mine, theirs, known.register, candidate, base)
    flaky = dict(_flaky(pairs, candidate, base, again))
    own = [each for each in findings if each.subject == candidate]
    more: list[Finding] = []
    less: list[Finding] = []
    for finding in _worst_of_each_cell(own, flaky):
        before, after = pairs[without_subject(finding.key)]
        (more if severity_of(after) > severity_of(before) else less).append(finding)
    titles = known.register.titles
    return PullRequest(
        candidate=candidate,
        base=base,
        compared={lane: n for lane in Lane if (n := sum(place.lane is lane for place in pairs))},
        new=_kinds(more, records, known.register, reach_of),
        otherwise=_kinds(less, records, known.register, reach_of),
        mended=_counted(told.mended, titles),
        partly=_counted(told.partly, titles),
        uncovered=_counted(told.uncovered, titles),
        at_base=_counted(_in_both(mine, theirs), titles),
        flaky=tuple(flaky.items()),
        unasked=_unasked(own),
        scope=scope,
    )


def _worst_of_each_cell(findings: Iterable[Finding], flaky: Collection[CellKey]) -> list[Finding]:
    """The worst finding of each cell that is red beyond doubt; findings come worst first."""
    red: dict[CellKey, Finding] = {}
    for each in findings:
        decided = each.cell_class is CellClass.UNEXPECTED_FAILURE and each.verdict is not None
        if decided and without_subject(each.key) not in flaky:
            red.setdefault(each.key, each)
    return list(red.values())


def _flaky(
    pairs: Mapping[CellKey, tuple[CellRecord, CellRecord]],
    candidate: str,
    base: str,
    again: Mapping[str, CellRecord],
) -> Iterable[tuple[CellKey, str]]:
    """Cells of either side that ended in two ways, each with what was seen."""
    for place, records in pairs.items():
        for subject, record in zip((base, candidate), records, strict=True):
            second = again.get(dataclasses.replace(place, subject=subject).cell_id)
            if record.verdict(Oracle.COMPLETION).symptom is Symptom.FLAKY:
                yield place, f"{subject}: {record.verdict(Oracle.COMPLETION).message}"
            elif second and second.state is CellState.ENDED and second.label != record.label:
                yield place, f"{subject}: first {record.label}, then {second.label}"


def _kinds(
    findings: Sequence[Finding],
    records: Mapping[str, CellRecord],
    register: Register,
    reach_of: ReachOf,
) -> tuple[Kind, ...]:
    """The findings by defect, or by what happens; what harms most users most comes first."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for each in findings:
        groups.setdefault(_alike(each, records[each.key.cell_id]), []).append(each)
    kinds = [
        _kind(name[0], of, records, register.by_id.get(name[0]), reach_of)
        for name, of in groups.items()
    ]
    order = list(Reach)
    return tuple(
        sorted(kinds, key=lambda k: (k.harm.severity, order.index(k.reach), -len(k.keys), k.title))
    )


def _alike(finding: Finding, record: CellRecord) -> tuple[str, ...]:
    """What cells of one kind have in common: a known defect, or else harm and failure."""
    named = {name.removeprefix(UNKNOWN) for name in finding.defects if name.startswith(UNKNOWN)}
    if len(named) == 1:
        return (*named, "")
    assert finding.verdict is not None
    message = finding.verdict.message if finding.oracle is Oracle.COMPLETION else ""
    return "", str(record.harm), finding.verdict.label, message


def _kind(
    name: str,
    findings: Sequence[Finding],
    records: Mapping[str, CellRecord],
    defect: Defect | None,
    reach_of: ReachOf,
) -> Kind:
    order = list(Reach)
    keys = sorted(
        (each.key for each in findings), key=lambda key: (order.index(reach_of(key)), key)
    )
    verdicts = [each.verdict for each in findings if each.verdict is not None]
    harms = [records[key.cell_id].harm or Harm.COSMETIC for key in keys]
    raised = dict.fromkeys(verdict.raised for verdict in verdicts if verdict.raised)
    return Kind(
        title=defect.title if defect else _told(findings[0]),
        harm=min(harms, key=lambda harm: harm.severity),
        reach=reach_of(keys[0]),
        keys=tuple(keys),
        where=(*(defect.where if defect else ()), *raised),
        defect=name,
    )


def _told(finding: Finding) -> str:
    """What happens, where no known defect bears its signs."""
    assert finding.verdict is not None
    verdict = finding.verdict
    words = text.plain(verdict.label)
    if finding.oracle is Oracle.COMPLETION:
        words = f"{words}: {verdict.message}"
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 3]}..."


def _in_both(mine: NamedDefects, theirs: NamedDefects) -> dict[str, int]:
    """In how many cells both show a defect, or fail alike."""
    cells: dict[str, int] = {}
    for place in mine.keys() & theirs.keys():
        for name in {*mine[place].values()} & {*theirs[place].values()}:
            cells[name] = cells.get(name, 0) + 1
    return cells


def _counted(cells: Mapping[str, int], titles: Mapping[str, str]) -> tuple[Counted, ...]:
    """Most cells first."""
    counted = (Counted(titles.get(name, name), count) for name, count in cells.items())
    return tuple(sorted(counted, key=lambda each: (-each.cells, each.title)))


def _unasked(findings: Iterable[Finding]) -> tuple[Counted, ...]:
    reasons: dict[str, int] = {}
    for each in findings:
        if each.cell_class in (CellClass.UNSUPPORTED, CellClass.MISSING):
            reasons[each.reason] = reasons.get(each.reason, 0) + 1
    return _counted(reasons, {})
