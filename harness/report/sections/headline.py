"""The first screen: the gate in words, and what keeps them honest.

The gate itself is decided elsewhere; here its one word becomes a sentence, an advice and the
facts that keep the sentence honest, such as what was not asked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from harness.gate.defect_table import DefectTable, Part
from harness.gate.findings import failing_of_asked
from harness.gate.known import Changes
from harness.gate.qualify import Decision, Qualification
from harness.gate.qualify_words import (
    decision_words,
    evidence_sentence,
    evidence_words,
    stopped_by_lines,
    tally_lines,
)
from harness.gate.verdict import counts_by_lane, verdict_words
from harness.register.defects import HAVING_STATE
from harness.report import text
from harness.report.frames.environments import kind_of
from harness.report.frames.frames import MISSING
from harness.report.reported_run import EXPECTATIONS, FindingView, ReportedRun
from harness.report.sections.calls import safe_without_state, safest, save_records
from harness.report.sections.matrix import MATRIX
from harness.report.sections.package_lane import PACKAGES
from harness.wire.builders import EMULATED, PINNED, SEGMENT
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CellKey
from harness.wire.routes import Lane
from harness.wire.vocabulary import NOT_COMPILED, SubjectKind

MOST_REASONS: Final = 3  # why cells were not asked, spelled out
MOST_TITLES: Final = 3  # of defects that came or went
_SILENT_IN: Final[Mapping[Part, str]] = {
    Part.PRODUCT: "",
    Part.ELSEWHERE: "; by design or torch's",
    Part.EXPORTED: "; split without compile",
    Part.HANDMADE: "; split by hand",
}
#: The changes by which the table of defects is filtered, and what others mean.
_CHANGES: Final = {"New defects": "new", "Fixed defects": "fixed"}
_MEANS: Final = {
    "Uncovered defects": " that others hid before",
    "Now hidden defects": ", as others end their cases",
}
_OWN_CASES: Final = "No table says what to expect of cases of your own: each failure counts."
_AS_EXPECTED: Final = "All that fails is a known defect, so the gate is green"
SIGNS = {"green": "✓", "red": "✗", "inconclusive": "?", "failed": "!"}


#: The colour of a decision, whatever the gate's is: a run that goes as expected may forbid to ship.
_STATES: Final = {Decision.DO_NOT_SHIP: "red", Decision.OPEN: "inconclusive"}


@dataclass(frozen=True)
class Headline:
    """What the first screen says.

    ``words`` answer what was asked of the run: whether one subject may take the place of another
    where that was asked and nothing is unexpected, and else the gate; ``gate`` is the gate's line
    then. ``counted`` names the lanes whose figures stand in each of ``facts``, where there are two.
    ``first`` is the worst finding.
    """

    state: str
    sign: str
    words: str
    gate: str
    defects: tuple[str, ...]
    advice: str
    first: FindingView | None
    answers: tuple[Answer, ...]
    counted: str
    facts: tuple[tuple[str, str], ...]
    not_checked: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """One line of the first screen: what was asked, and the answer, or several."""

    asked: str
    answer: str = ""
    items: tuple[str, ...] = ()
    change: str = ""  # by which the table of defects is filtered, to see all that is meant


def headline(run: ReportedRun) -> Headline:
    """Everything that the top of the report says; a broken harness answers nothing."""
    gate = run.gate
    counts = counts_by_lane(
        {key.cell_id: run.classes.get(key.cell_id, MISSING) for key in run.plan},
        {key.cell_id: key.lane for key in run.plan},
    )
    faults = sum(finding.tone == EXPECTATIONS for finding in run.findings)
    own_cases = failing_of_asked(run.plan, run.classes, run.cases) if run.own_cases else None
    words = verdict_words(gate, counts, faults, own_cases)
    first = _decided(run)
    state = _STATES.get(first.decision, gate) if first and gate == "green" else gate
    return Headline(
        state=state,
        sign=SIGNS[state],
        words=_product(first) + decision_words(first, _red(run)) if first else words,
        # A green gate under a decision that forbids to ship needs its reason.
        gate=f"{evidence_sentence(first)} {_AS_EXPECTED if gate == 'green' else words}"
        if first
        else "",
        defects=() if run.defect_table or run.own_cases else tuple(run.defects),
        advice=_OWN_CASES
        if gate == "red" and run.own_cases
        else _advice(gate, run.summary, bool(run.notes)),
        first=_first(run),
        answers=() if gate == "failed" else tuple(answers(run)),
        counted=f"in the {text.joined(list(counts))} lane" if len(counts) > 1 else "",
        facts=_facts(counts, run.all_cells, run.summary),
        not_checked=(
            *([f"This run asked {run.only} alone."] if run.only else []),
            *_not_checked(run.plan, run.all_cells, run.all_verdicts),
        ),
    )


def _first(run: ReportedRun) -> FindingView | None:
    """The worst finding; of a user's own cases the worst in the newest release, if it has one.

    Of a candidate it is the smallest case that fails as badly, by a wire that can be told.
    """
    newest = run.own_cases.releases[-1] if run.own_cases else ""
    of_newest = (finding for finding in run.findings if finding.subject == newest)
    first = next(of_newest, next(iter(run.findings), None))
    if first is None or not run.has_candidate:
        return first
    as_bad = [each for each in run.findings if each.tone == first.tone and each.wire]
    return min(as_bad, key=lambda each: (not each.pieces, each.pieces), default=first)


def _decided(run: ReportedRun) -> Qualification | None:
    """What the page is about: a candidate, whatever the gate says; a release where it is green."""
    first = next(iter(run.upgrades), None)
    if first is None:
        return None
    about = first.candidate.kind is SubjectKind.FILE and run.gate == "red"
    return first if about or run.gate == "green" else None


def _product(q: Qualification) -> str:
    """The product's name before a release's number; a file of the user's has its own name."""
    return "Torch-TensorRT " if q.candidate.kind is SubjectKind.RELEASE else ""


def _red(run: ReportedRun) -> set[str]:
    return {finding.subject for finding in run.findings}


def answers(run: ReportedRun) -> Iterator[Answer]:
    """What a reader asks first, a line each: which call is safest, what changed, what is silent."""
    first = _decided(run)
    rest = []
    for release, told, unlike in run.own_torch:
        yield Answer(release, told, unlike)
    for q in run.upgrades:
        calls, *splits = (Answer(asked, told) for asked, told in tally_lines(q))
        if first not in (None, q):
            held = f"{decision_words(q, _red(run))}, {evidence_words(q)}"
            items = tuple(f"{each.asked}: {each.answer}" for each in (calls, *splits))
            rest.append(Answer(f"Beside {q.baseline.subject}", held, items))
            continue
        if first is None:
            told = f"{decision_words(q, _red(run))}, {evidence_words(q)}"
            yield Answer(q.candidate.subject, told)
        yield dataclasses.replace(calls, items=tuple(_regressed(q)))
        if stoppers := tuple(stopped_by_lines(q)):
            yield Answer("Regressed by", items=stoppers)
        yield from _in_defects(q, run)
        rest += splits
    if not run.has_candidate:
        if run.defect_table:
            yield from _silent(run.defect_table)
        releases = [spec.subject for spec in run.ordered if spec.kind is SubjectKind.RELEASE]
        if records := save_records(run.cells_of_lanes, releases):
            yield Answer(f"Safest call in {records.release}", items=tuple(safest(records)))
        # Only the table of defects tells which cases have state.
        stateful = _stateful(run) if run.defect_table else None
        if stateful is not None and (
            safe := safe_without_state(run.cells_of_lanes, releases, stateful)
        ):
            yield Answer("Safe in every release", safe)
    yield from rest


def _regressed(q: Qualification) -> Iterator[str]:
    """What "regressed" counts, for a reader who sees below that something is new or uncovered."""
    if q.causes_new:
        before, now = q.baseline.subject, q.candidate.subject
        yield (
            f"(regressed: right in {before} and wrong or raising in {now}, or newly silent. A new "
            f"defect regresses no call that {before} gets wrong by another one)"
        )


def _stateful(run: ReportedRun) -> set[str]:
    """The cases that have state: they show a defect that the register says only state meets."""
    rows = run.defect_table.rows if run.defect_table else ()
    defects = {row.defect.id for row in rows if HAVING_STATE & set(row.defect.models)}
    causes = [cause for cause in run.causes if cause.defect.id in defects]
    return {shown.key.case for cause in causes for shown in cause.shown}


def _in_defects(q: Qualification, run: ReportedRun) -> Iterator[Answer]:
    """What the candidate does otherwise: in the console's words, or the defects by their titles."""
    name, changes = q.candidate.subject, run.changes
    if told := run.differences.get(name):
        yield Answer("In defects", items=tuple(told))
        return
    if changes and changes.before == q.baseline.subject and changes.release == name:
        of = {
            "New defects": [each.defect.title for each in changes.new],
            "Fixed defects": [
                _with(each.defect.title, each.defect.fixed_by) for each in changes.fixed
            ],
            "Uncovered defects": [each.defect.title for each in changes.uncovered],
            "Now hidden defects": [each.defect.title for each in changes.hidden],
        }
    else:
        of = {
            "Mends": [each.defect.title for each in q.causes_gone],
            "Breaks": [each.defect.title for each in q.causes_new],
        }
    for asked, titles in of.items():
        if titles:
            before = (
                _wrong_before(run, changes) if asked == "New defects" else _MEANS.get(asked, "")
            )
            number = f"{len(titles)}{before}: " if len(titles) > 1 or before else ""
            listed = run.defect_table is not None and asked in _CHANGES
            yield Answer(
                asked,
                f"{number}{text.listed(titles, MOST_TITLES, '; ')}",
                change=f"{_CHANGES[asked]} in {name}" if listed else "",
            )


def _wrong_before(run: ReportedRun, changes: Changes | None) -> str:
    """How many of the new defects show in cells alone that the release before gets wrong, too."""
    if changes is None:
        return ""
    broken = {
        row.defect.id
        for row in (run.defect_table.rows if run.defect_table else ())
        if len(row.standings) > 1 and row.standings[-2].broken_by
    }
    count = sum(each.defect.id in broken for each in changes.new)
    return f" ({count} where other defects stop {changes.before})" if count else ""


def _silent(table: DefectTable) -> Iterator[Answer]:
    """What the newest release computes wrong without a word, those that the product meets first."""
    rows = [
        row
        for row in table.rows
        if row.last == table.newest and row.harm == Harm.SILENT and row.part in _SILENT_IN
    ]
    rows.sort(key=lambda row: list(_SILENT_IN).index(row.part))
    items = [
        f"{row.defect.title} ({', '.join(row.calls)}; "
        f"{f'since {row.defect.since}' if row.defect.since else 'always'}{_SILENT_IN[row.part]}"
        f"{f'; {row.own_torch}' if row.own_torch else ''})"
        for row in rows
    ]
    yield Answer(f"Silent in {table.newest}", "" if items else "nothing known", tuple(items))


def _with(title: str, reference: str) -> str:
    return f"{title} ({text.reference(reference)})" if reference else title


def _advice(gate: str, summary: Mapping[str, Any], noted: bool) -> str:
    if gate == "green":
        but = ", or a note that the gate does not count" if noted else ""
        return f"Every verdict is ok, or a known defect, where it is expected{but}."
    if gate == "red":
        return "Do not ship before what nobody expected is explained."
    if gate == "inconclusive":
        return "Nothing unexpected was seen, which is not enough: what was not asked may fail."
    resume = " The run was interrupted: resume it." if summary["state"] == "interrupted" else ""
    return f"Read nothing into the numbers below.{resume}"


def _facts(
    counts: Mapping[Lane, Mapping[str, int]], cells: pd.DataFrame, summary: Mapping[str, Any]
) -> tuple[tuple[str, str], ...]:
    """The figures; those of two lanes, which ask different things, stand apart: ``2,914 + 61``."""
    wall = summary.get("seconds", {}).get("wall")
    kept = summary.get("kept", {}).get("cells", 0)

    def apart(*names: str) -> str:
        found = [sum(each[name] for name in names) for each in counts.values()]
        return " + ".join(f"{count:,}" for count in found or [0])

    lanes = cells.loc[cells["standing"] != MISSING, "lane"].value_counts()
    ended = [f"{lanes.get(lane, 0):,} / {each['planned']:,}" for lane, each in counts.items()]
    return (
        ("cells ended", " + ".join(ended) or "0 / 0"),
        ("ok", apart("ok")),
        ("known failures", apart("expected_failure")),
        ("unexpected", apart("unexpected_failure", "unexpected_pass")),
        ("not asked", apart("unsupported")),
        *((("kept from earlier runs", f"{kept:,}"),) if kept else ()),
        *((("took", f"{text.number(wall)} s"),) if wall is not None else ()),
    )


def _not_checked(
    plan: Sequence[CellKey], cells: pd.DataFrame, verdicts: pd.DataFrame
) -> tuple[str, ...]:
    lines = []
    emulated = [key for key in plan if key.executor == EMULATED]
    ran = len(plan) - len(emulated)
    if emulated and ran:
        lines.append(f"Engines of {text.plural(len(emulated), 'cell')} were emulated on a CPU.")
    elif emulated:
        lines.append("Engines were emulated on a CPU: no TensorRT engine ran.")
    real = sum(key.builder != SEGMENT for key in emulated)
    if real:
        lines.append(f"TensorRT-RTX really built those of {real} cells; the rest are segments.")
    elif emulated:
        lines.append("None was built either: engine bytes are those of pickled segments.")
    gated = verdicts[~verdicts["hypothetical"]]
    judged = set(gated.loc[gated["outcome"] != "n/a", "oracle"])
    silent = [oracle.value for oracle in Oracle if oracle.value not in judged]
    if silent:
        lines.append(f"No verdict at all of: {', '.join(silent)}.")
    unasked = cells[cells["standing"] == "unsupported"]
    resting = unasked["message"].astype("string").str.startswith(NOT_COMPILED)
    if resting.any():
        whose = "of a way to save what compile() did not make right"
        lines.append(f"{text.plural(int(resting.sum()), 'cell')} {whose} were not asked.")
    reasons = list(unasked[~resting].groupby("message", observed=True))
    for reason, rows in reasons[:MOST_REASONS]:
        who = text.listed(str(name) for name in rows["case"].unique())
        lines.append(f"{text.plural(len(rows), 'cell')} not asked ({who}): {reason}.")
    if len(reasons) > MOST_REASONS:
        more = sum(len(rows) for _, rows in reasons[MOST_REASONS:])
        lines.append(f"{text.plural(more, 'cell')} not asked for other reasons: see the cells.")
    missing = int((cells["standing"] == "missing").sum())
    if missing:
        lines.append(f"{text.plural(missing, 'planned cell')} left no record.")
    return tuple(lines)


def scope(run: ReportedRun) -> str:
    """What was compared, and where, in one line."""
    gpu = run.provenance.get("gpu")

    def named(lane: Lane) -> str:
        return f"{lane} lane{f' on {gpu}' if gpu and lane is Lane.ENGINE else ''}"

    matrix = run.view(MATRIX)
    kinds = [row.kind for row in matrix.rows]
    releases = kinds.count(SubjectKind.RELEASE.value)
    others = text.plural(len(kinds) - releases, "other subject")
    cases = text.plural(run.cells["case"].nunique(), "case")
    families = f"{cases} in {text.plural(len(matrix.families), 'family', 'families')}"
    whole = text.plural(releases, "release")
    first = f"{whole}, {others}" if run.lane is Lane.GRAPH else f"{named(run.lane)}: {whole}"
    parts = [f"{first}, {families}"]
    if sources := run.provenance.get("sources"):
        parts.insert(0, f"merged from {text.plural(len(sources), 'run')}")
    for section in PACKAGES:
        package = run.view(section)
        if package and package.lane is not run.lane:
            asked = text.plural(len({row.release for row in package.rows}), "release")
            parts.append(f"{named(package.lane)}: {asked}, {text.plural(package.cases, 'case')}")
    kinds_of_lanes = run.compared.kinds
    if any(kind_of(key.environment) != kinds_of_lanes[key.lane] for key in run.plan):
        parts.append(f"compared in the {PINNED} environment, and all in the version matrix")
    return "; ".join(parts)
