"""The gate's words: what becomes of a cell, of an oracle's verdict, and of a run."""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.base.errors import ExitCode
from harness.base.program import PROGRAM
from harness.gate.plain_words import plain
from harness.gate.signs import LOOKS_LIKE
from harness.gate.verdict import counts_by_lane, verdict_words
from harness.register.faults import Fault
from harness.runs.commands import HERE, Places, explain_command
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CellKey, Verdict
from harness.wire.routes import Lane
from harness.wire.vocabulary import ENDS_AT, FALLS_BACK_TO_NOTHING, SIZES_VIOLATED, Stage


class Gate(enum.StrEnum):
    """A run's verdict."""

    GREEN = "green"
    RED = "red"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode[self.name]


class CellClass(enum.StrEnum):
    """What became of a cell. Order is precedence: a cell has the first that applies."""

    MISSING = "missing"
    UNSUPPORTED = "unsupported"
    UNEXPECTED_FAILURE = "unexpected_failure"
    UNEXPECTED_PASS = "unexpected_pass"
    EXPECTED_FAILURE = "expected_failure"
    OK = "ok"

    @property
    def precedence(self) -> int:
        """0 for the one that wins over all."""
        return list(CellClass).index(self)


#: What a reader is told of a class, on the console as on the page.
_NAMED: Final[Mapping[CellClass, str]] = {
    CellClass.MISSING: "no record",
    CellClass.UNSUPPORTED: "not asked",
    CellClass.UNEXPECTED_FAILURE: "unexpected failure",
    CellClass.UNEXPECTED_PASS: "unexpected pass",
    CellClass.EXPECTED_FAILURE: "known failure",
    CellClass.OK: "ok",
}
_ID: Final = re.compile(r"\(([\w-]+)\)")
NO_TITLES: Final[Mapping[str, str]] = {}
#: How many characters of a reason are shown.
_LONGEST: Final = 300
#: The order in which findings are shown: news of a subject before news of the harness.
_SHOWN = (
    CellClass.UNEXPECTED_FAILURE,
    CellClass.UNEXPECTED_PASS,
    CellClass.MISSING,
    CellClass.UNSUPPORTED,
)


@dataclass(frozen=True)
class Finding:
    """One thing that a person should look at.

    ``oracle`` and ``verdict`` are None if the whole cell is meant (missing, unsupported).
    ``defects`` are the ids of known defects: those that are expected here and do not show, and,
    marked by ``?``, those whose signs a failure bears. ``torchs_own`` says that plain
    ``torch.export`` of this case fails the same oracle with the same symptom. ``of_case`` says why
    no subject could be asked about this case; ``key`` is then the first cell that shows it.
    """

    key: CellKey
    cell_class: CellClass
    reason: str
    oracle: Oracle | None = None
    verdict: Verdict | None = None
    defects: tuple[str, ...] = ()
    torchs_own: bool = False
    of_case: str = ""

    @property
    def case(self) -> str:
        return self.key.case

    @property
    def subject(self) -> str:
        return self.key.subject

    @property
    def route(self) -> str:
        return self.key.route

    @property
    def is_cosmetic(self) -> bool:
        """Whether it is a failure that shows only on an object in memory."""
        return self.verdict is not None and self.verdict.harm is Harm.COSMETIC

    @property
    def urgency(self) -> tuple[int, int, CellKey]:
        """Sorts the worst first: by class, then by the oracle's severity, then by cell."""
        shown = _SHOWN.index(self.cell_class) if self.cell_class in _SHOWN else len(_SHOWN)
        severity = self.oracle.severity if self.oracle else len(Oracle)
        return shown, severity, self.key


@dataclass(frozen=True)
class GateReport:
    """A judged run.

    ``classes`` and ``lane_of`` have every planned cell, by ``cell_id``. ``findings`` (worst first)
    and ``faults`` keep the gate from green. ``notes`` are findings about a candidate that do not:
    newly visible failures of lesser oracles, and questions that were lost. ``good_news`` says where
    a candidate is better than what it is compared with.
    """

    gate: Gate
    classes: Mapping[str, CellClass]
    findings: tuple[Finding, ...] = ()
    faults: tuple[Fault, ...] = ()
    notes: tuple[Finding, ...] = ()
    good_news: tuple[Finding, ...] = ()
    lane_of: Mapping[str, Lane] = field(default_factory=dict)

    def count(self, cell_class: CellClass) -> int:
        return Counter(self.classes.values())[cell_class]

    @property
    def counts(self) -> dict[Lane, Counter[str]]:
        """Of each planned lane: how many cells are ``planned``, and how many of each class."""
        return counts_by_lane(self.classes, self.lane_of)


def said(verdict: Verdict) -> str:
    """A verdict in a sentence."""
    return f"{verdict.label}: {verdict.message}" if verdict.message else verdict.label


def gate_line(
    report: GateReport, own_cases: tuple[int, int] | None = None, *, answered: bool = False
) -> str:
    """The gate in the words of the reports."""
    faults = len(report.faults)
    words = verdict_words(report.gate, report.counts, faults, own_cases, answered=answered)
    return f"gate: {words[:1].lower()}{words[1:]}"


def failing_of_asked(
    plan: Iterable[CellKey], classes: Mapping[str, str], asked: Collection[object]
) -> tuple[int, int]:
    """How many cases fail unexpectedly, and how many were asked.

    Args:
        classes: by ``cell_id``; of every planned cell that was judged.
        asked: the cases that were asked.
    """
    red = CellClass.UNEXPECTED_FAILURE
    failing = {key.case for key in plan if classes.get(key.cell_id) == red}
    return len(failing), len(asked)


def cells_line(counts: Mapping[Lane, Mapping[str, int]]) -> str:
    """What became of the cells behind a verdict, lane by lane."""
    parts = []
    for lane, of in counts.items():
        named = [("planned", "planned"), *((each, _NAMED[each]) for each in reversed(CellClass))]
        shown = ", ".join(f"{words} {of[name]:,}" for name, words in named if of[name])
        parts.append(f"{f'{lane} lane ' if len(counts) > 1 else ''}{shown}")
    return f"cells: {'; '.join(parts) or 'none'}"


def first_screen(
    report: GateReport,
    defects: Sequence[str] = (),
    limit: int = 8,
    run: str = "latest",
    places: Places = HERE,
    own_cases: tuple[int, int] | None = None,
    titles: Mapping[str, str] = NO_TITLES,
    *,
    answered: bool = False,
) -> list[str]:
    """The first lines that a person sees: the gate, defects, the worst findings, what to do.

    Args:
        defects: the lines about defects, see `harness.run.defect_lines`.
        limit: how many findings to show.
        run: the name of the run in printed commands.
        places: where printed commands find the run, its cases and its candidates.
        own_cases: as `verdict_words` takes it.
        titles: of defects, by their ids.
        answered: whether the lines about defects begin with the answer, above which no gate stands.
    """
    gate = [gate_line(report, own_cases, answered=answered)]
    findings: Sequence[Finding] = report.findings
    if exit_code(report, places) is ExitCode.USAGE:  # as is told in the place of the gate
        gate = []
        findings = [finding for finding in findings if not mistake(finding, places)]
    told = [*defects, *gate] if answered else [*gate, *defects]
    lines = [*told, cells_line(report.counts)]
    wires = wrong_wires(report.findings)
    for finding in findings[:limit]:
        lines += finding_lines(finding, wires.get(finding.key.cell_id, ""), places, titles)
    if len(findings) > limit:
        lines.append(f"  and {len(findings) - limit} more findings")
    lines += [f"  expectations: {fault.reason}" for fault in report.faults[:limit]]
    if len(report.faults) > limit:
        lines.append(f"  and {len(report.faults) - limit} more faults in the expectations")
    if report.good_news:
        lines.append(f"  good news: {len(report.good_news)} verdicts are better than before")
    if report.findings and not places.candidates and not places.corpus:
        lines.append(f"to expect what it shows: {PROGRAM} expected --update {run}{places.of_run}")
    return lines


def finding_lines(
    finding: Finding, wire: str, places: Places, titles: Mapping[str, str] = NO_TITLES
) -> list[str]:
    """A finding on the console: what fails, the wrong wire if one is known, and the command."""
    return [
        f"  {_describe(finding, places, titles)}",
        *([f"      {_shortened(wire)}"] if wire else []),
        f"      {explain_command(finding.key, places)}",
    ]


def wrong_wires(findings: Iterable[Finding]) -> dict[str, str]:
    """By cell, which node reads what and what it should read: the first wrong wire of each."""
    return {
        finding.key.cell_id: wrong_wire(finding.verdict)
        for finding in findings
        if finding.oracle is Oracle.WIRING and finding.verdict
    }


def wrong_wire(wiring: Verdict) -> str:
    """The first wrong wire of a cell; empty where none is known to be wrong."""
    first = next(iter(wiring.evidence.splitlines()), "") if wiring.failed else ""
    stage, _, wire = first.partition(": ")
    return wire if stage in list(Stage) else first


def exit_code(report: GateReport, places: Places) -> ExitCode:
    """The gate's exit code, or wrong use if nothing is red and a user's own case is at fault."""
    wrong = report.gate is Gate.INCONCLUSIVE and mistakes(report, places)
    return ExitCode.USAGE if wrong else report.gate.exit_code


def mistakes(report: GateReport, places: Places) -> tuple[str, ...]:
    """What a user has to change in his own cases, one line for each case."""
    lines: dict[str, str] = {}
    for finding in report.findings:
        if wrong := mistake(finding, places):
            lines.setdefault(finding.case, wrong)
    return tuple(lines.values())


def mistake(finding: Finding, places: Places) -> str:
    """What is wrong with a user's own case, if the finding is about that; otherwise empty."""
    declared_at = places.declared.get(finding.case, "")
    if not declared_at or finding.cell_class is not CellClass.UNSUPPORTED:
        return ""
    return _mistake(finding.case, finding.of_case or finding.reason, declared_at)


def _describe(finding: Finding, places: Places, titles: Mapping[str, str]) -> str:
    wrong = mistake(finding, places)
    if wrong:
        return f"{_NAMED[finding.cell_class]}: {wrong}"
    oracle = finding.oracle or _NAMED[finding.cell_class]
    own = " (torch's own: plain torch.export fails likewise)" if finding.torchs_own else ""
    where = f"{finding.case} [{finding.subject} {finding.route}]"
    known = [titled(name[1:], titles) for name in finding.defects if name.startswith("?")]
    like = f" ({LOOKS_LIKE} {' or '.join(known)})" if known else ""
    reason = _ID.sub(lambda name: f"({titled(name[1], titles)})", plain(finding.reason))
    return f"{oracle}: {where}: {_shortened(reason)}{own}{like}"


def titled(name: str, titles: Mapping[str, str]) -> str:
    """A defect as a reader knows it."""
    return f'"{titles[name]}"' if name in titles else name


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


_AT: Final = re.compile(rf"{ENDS_AT}(?P<stage>[\w-]+): (?P<error>\w+)")
_INSTEAD: Final = {
    Stage.CAPTURE: "mend what it raises, so that torch.export.export takes the model",
    Stage.SPLIT: "mend what it says, so that the graph can be split",
    Stage.COMPILE: "mend what it says, so that the split model runs as the model does",
}
_INSTEAD_OF: Final = {
    SIZES_VIOLATED: (
        "state as one size what has to be equal (x:0,y:0=2:64 in a models file), leave out what "
        "the model fixes, or narrow the range"
    ),
    "NoSuchOp": "name in `fallback` ops that the graph has",
    "UnsupportedSegment": (
        "name that op in `fallback`, which leaves it in PyTorch, or ask whole packages alone, by "
        '`lanes=["package"]` and --lane package'
    ),
    "WrongSplit": (
        "give `eager_tolerance` if rounding is all that differs, and else a model that computes "
        "the same whenever it is run and exported"
    ),
    "WrongModel": "",  # it says so itself
}


def _mistake(case: str, reason: str, declared_at: str) -> str:
    """A mistake in one line: the case's place, what happened, and what to write instead.

    Empty where the case is as it should be, and what is asked of it lacks something.

    Args:
        reason: why its cells could not be asked. It begins with the stage that the case ended at,
            or says that lowering renames what falls back.
        declared_at: its file and line.
    """
    match = _AT.match(reason)
    if match is None:
        found = re.search(f"{FALLS_BACK_TO_NOTHING}: .*", reason)
        return f"{declared_at}: {case} {found[0]}" if found else ""
    kind = SIZES_VIOLATED if SIZES_VIOLATED in reason else match["error"]
    instead = _INSTEAD_OF.get(kind, _INSTEAD[Stage(match["stage"])])
    return f"{declared_at}: {case} cannot be asked, {reason}{instead and f'; instead, {instead}'}"
