"""The first screen: the gate in words, and what keeps them honest.

The gate itself is decided elsewhere; here its one word becomes a sentence, an advice and the
facts that keep the sentence honest, such as what was not asked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from harness.base.words import span
from harness.catalogue.releases import version_of
from harness.gate.case_matrix import GATE_ASKS_MORE, OwnAnswer, own_answer
from harness.gate.findings import failing_of_asked
from harness.gate.qualify import Decision, Qualification
from harness.gate.qualify_words import (
    answering,
    decision_words,
    evidence_sentence,
    why_words,
)
from harness.gate.verdict import counts_by_lane, verdict_words
from harness.report import text
from harness.report.frames.environments import kind_of
from harness.report.frames.frames import MISSING
from harness.report.reported_run import EXPECTATIONS, FindingView, ReportedRun
from harness.report.sections.answers import Answer, answers
from harness.report.sections.matrix import MATRIX
from harness.report.sections.package_lane import PACKAGES
from harness.wire.builders import EMULATED, PINNED, SEGMENT
from harness.wire.oracles import Oracle
from harness.wire.records import CellKey
from harness.wire.routes import Lane
from harness.wire.vocabulary import NOT_COMPILED, SubjectKind

MOST_REASONS: Final = 3  # why cells were not asked, spelled out
SIGNS = {"green": "✓", "red": "✗", "inconclusive": "?", "failed": "!"}


#: The colour of a decision, whatever the gate's is: a run that goes as expected may forbid to ship.
_STATES: Final = {Decision.DO_NOT_SHIP: "red", Decision.OPEN: "inconclusive"}


@dataclass(frozen=True)
class Headline:
    """What the first screen says.

    ``words`` answer what was asked of the run: whether one subject may take the place of another
    where that was asked and nothing is unexpected, which release is right for a user's own cases,
    and else the gate; ``why`` are the sentences below. ``aside`` is a green gate, which stands
    beside the counts where the words are a decision: it is not the answer. ``counted`` names the
    lanes whose figures stand in each of ``facts``, where there are two.
    ``first`` is the worst finding.
    """

    state: str
    sign: str
    words: str
    why: str
    aside: str
    defects: tuple[str, ...]
    advice: str
    first: FindingView | None
    answers: tuple[Answer, ...]
    counted: str
    facts: tuple[tuple[str, str], ...]
    not_checked: tuple[str, ...]


def headline(run: ReportedRun) -> Headline:
    """Everything that the top of the report says; a broken harness answers nothing."""
    gate = run.gate
    counts = counts_by_lane(
        {key.cell_id: run.classes.get(key.cell_id, MISSING) for key in run.plan},
        {key.cell_id: key.lane for key in run.plan},
    )
    faults = sum(finding.tone == EXPECTATIONS for finding in run.findings)
    own_cases = failing_of_asked(run.plan, run.classes, run.cases) if run.own_cases else None
    own = _own_answer(run)
    first = None if own else answering(run.upgrades, gate)
    words = verdict_words(gate, counts, faults, own_cases, answered=bool(first))
    state = _STATES.get(first.decision, gate) if first and gate == "green" else gate
    told, below, aside = words, "", ""
    if own:
        more = own.newest_is_right and gate == "red"
        state = "green" if more else gate
        why_red = f"; {GATE_ASKS_MORE}" if more else ""
        told = own.words
        below = f"{own.calls}. The gate is {words[:1].lower()}{words[1:]}{why_red}."
    elif first:
        told = _product(first) + decision_words(first, run.red)
        aside = f"The gate is {words[:1].lower()}{words[1:]}." if gate == "green" else ""
        sentences = (why_words(first), evidence_sentence(first), "" if aside else f"{words}.")
        below = " ".join(filter(None, sentences))
    return Headline(
        state=state,
        sign=SIGNS[state],
        words=told,
        why=below,
        aside=aside,
        defects=() if run.defect_table or run.own_cases else tuple(run.defects),
        advice=_advice(gate, run.summary, bool(run.notes)),
        first=None if own and own.newest_is_right else _first(run),
        answers=() if gate == "failed" else tuple(answers(run, first)),
        counted=f"in the {text.joined(list(counts))} lane" if len(counts) > 1 else "",
        facts=_facts(counts, run.all_cells, run.summary),
        not_checked=(
            *([f"This run asked {run.only} alone."] if run.only else []),
            *_not_checked(run.plan, run.all_cells, run.all_verdicts),
        ),
    )


def _first(run: ReportedRun) -> FindingView | None:
    """The worst finding; of a user's own cases the worst in the newest release, if it has one.

    Of a candidate it is the smallest case of what it breaks worst.
    """
    if run.breakages:
        return run.breakages[0].first
    newest = run.own_cases.releases[-1] if run.own_cases else ""
    of_newest = (finding for finding in run.findings if finding.subject == newest)
    return next(of_newest, next(iter(run.findings), None))


def _own_answer(run: ReportedRun) -> OwnAnswer | None:
    """What is to be said of a user's own cases, unless it is a candidate that he asks about."""
    asks = not run.has_candidate and run.gate != "failed"
    return own_answer(run.own_cases) if run.own_cases and asks else None


def _product(q: Qualification) -> str:
    """The product's name before a release's number; a file of the user's has its own name."""
    return "Torch-TensorRT " if q.candidate.kind is SubjectKind.RELEASE else ""


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
    releases = [row.subject for row in matrix.rows if row.kind == SubjectKind.RELEASE.value]
    others = text.plural(len(matrix.rows) - len(releases), "other subject")
    cases = text.plural(run.cells["case"].nunique(), "case")
    families = f"{cases} in {text.plural(len(matrix.families), 'family', 'families')}"
    whole = _releases({*releases})
    first = f"{whole}, {others}" if run.lane is Lane.GRAPH else whole
    parts = [f"{named(run.lane)}: {first}, {families}"]
    if sources := run.provenance.get("sources"):
        parts.insert(0, f"merged from {text.plural(len(sources), 'run')}")
    for section in PACKAGES:
        package = run.view(section)
        if package and package.lane is not run.lane:
            known = {spec.subject for spec in run.ordered if spec.kind is SubjectKind.RELEASE}
            asked = _releases({row.release for row in package.rows} & known)
            parts.append(f"{named(package.lane)}: {asked}, {text.plural(package.cases, 'case')}")
    kinds_of_lanes = run.compared.kinds
    if any(kind_of(key.environment) != kinds_of_lanes[key.lane] for key in run.plan):
        parts.append(f"compared in the {PINNED} environment, and all in the version matrix")
    return "; ".join(parts)


def _releases(names: Collection[str]) -> str:
    """``9 releases (2.7.0 to 2.14.0)``."""
    order = sorted(names, key=version_of)
    which = f" ({span(order)})" if order else ""
    return f"{text.plural(len(order), 'release')}{which}"
