"""The page that says ship or do not ship: Markdown for a release ticket, and HTML."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.base.words import plural
from harness.bench import words
from harness.bench.at_sizes import AtSize, AtSizes
from harness.gate.difference_words import by_kind
from harness.gate.measured import Measured
from harness.gate.qualify import (
    FORBIDDING,
    MADE,
    Change,
    Decision,
    Qualification,
    Severity,
)
from harness.gate.qualify_words import (
    decision_words,
    evidence_words,
    stopped_by,
    stopped_words,
    tally_lines,
    why_words,
)
from harness.report.pages.rendering import render
from harness.report.sections.defects import call_of
from harness.runs.gpu_runs import GpuRun
from harness.stats import intervals
from harness.wire.records import SubjectSpec
from harness.wire.routes import Lane

MOST = 25  # rows of a table in the Markdown form, which has to fit a ticket
ID_SHOWN = 12  # digits of a hash

HARMS = {
    Severity.NONE: "right",
    Severity.LESSER: "lesser",
    Severity.ERROR: "an error",
    Severity.WARNED: "wrong with a warning",
    Severity.SILENT: "silently wrong",
}
ADVICE = {
    "New silent harm": (
        "These programs are saved, load and run, and compute something else than they should."
    ),
    "New announced harm": "These compute something else than they should too, and warn of it.",
    "New errors": "These end in an error where the baseline gives a program.",
    "New in splits by hand": (
        "Wrong numbers or errors in graphs that today's splitter does not emit. They do not forbid "
        "to ship, and whoever builds split modules by hand has to know."
    ),
    "New lesser harm": "The numbers are right; structure, signature, state or metadata is not.",
}
EMULATED = "Engines are emulated: no TensorRT engine ran."
WORDS = {
    "bytes": {intervals.Change.REGRESSED: "larger", intervals.Change.IMPROVED: "smaller"},
    "s": {intervals.Change.REGRESSED: "slower", intervals.Change.IMPROVED: "faster"},
}


@dataclass(frozen=True)
class Supplement:
    """What is told beside the cells. ``sizes``: None where nobody asked for it.

    ``gate`` is a sentence on what is not as expected of the two, whichever is better, and ``kept``
    says which runs asked the cells, where this one did not ask all.
    """

    sizes: AtSizes | None = None
    gpu: GpuRun | None = None
    unread: tuple[str, ...] = ()  # runs of which it is not known whether they were on a GPU
    expression: str = ""  # of -k, which chose among the cases
    defects: Sequence[str] = ()  # what the candidate does otherwise, in defects
    gate: str = ""
    kept: str = ""


@dataclass(frozen=True)
class Verdict:
    """The first lines: what to do, on what evidence, and why. ``tone`` is a class of the style."""

    words: str
    evidence: str
    why: str
    tone: str


def verdict_of(q: Qualification) -> Verdict:
    """The decision in words, and why; these name what alone was asked."""
    words = decision_words(q), evidence_words(q)
    if q.decision is Decision.DO_NOT_SHIP:
        return Verdict(*words, why_words(q), "red")
    better = f"{len(q.better)} cells do less harm than they did, {len(q.lesser)} a lesser new one."
    if q.decision is Decision.OPEN:
        why = f"{_not_asked(q)}{q.compared:,} were asked. {better}"
        return Verdict(*words, why, "inconclusive")
    told = f" {len(q.warnings)} handmade cells are newly worse: see below." if q.warnings else ""
    why = f"No new silent harm and no new error in {q.compared:,} cells. {better}{told}"
    return Verdict(*words, why, "green")


def same_inliner(q: Qualification) -> str:
    """A sentence that says that one measurement stands for both; empty if none does."""
    if not q.executed_once:
        return ""
    return (
        f"Same inliner as the baseline: {q.executed_once:,} of {q.compared:,} cells were executed "
        "once for both, and their figures are one measurement shown twice."
    )


def _not_asked(q: Qualification) -> str:
    if not q.not_asked:
        return ""
    count = sum(count for _, count in q.not_asked)
    more = len(q.not_asked) - 1
    others = f"; {more} more under Not checked" if more else ""
    return f"{count:,} cells could not be asked ({q.not_asked[0][0]}{others}), "


def sizes_sentence(sizes: AtSizes | None) -> str:
    """A summary of the figures at three sizes; inconclusive ones never count as unchanged."""
    if sizes is None or not sizes.rows:
        return "File size, peak memory and load time were not measured."
    worse = [f"{row.what} at {row.steps} steps" for row in sizes.rows if row.worse]
    better = sum(row.conclusive and row.change is intervals.Change.IMPROVED for row in sizes.rows)
    alike = sum(row.conclusive and row.change is intervals.Change.EQUIVALENT for row in sizes.rows)
    open_ = sum(not row.conclusive for row in sizes.rows)
    said = (
        f"{len(worse)} larger or slower" + (f" ({', '.join(worse)})" if worse else ""),
        f"{better} smaller or faster",
        f"{alike} at most {sizes.band_percent:g} % apart",
        f"{open_} inconclusive",
    )
    return f"Size, memory and load time: of {plural(len(sizes.rows), 'figure')} {', '.join(said)}."


def qualification_markdown(
    q: Qualification, provenance: Mapping[str, Any], supplement: Supplement = Supplement()
) -> str:
    """The page as Markdown, to be pasted into a release ticket."""
    return _rendered("qualify.md", q, provenance, supplement, most=MOST)


def qualification_html(
    q: Qualification, provenance: Mapping[str, Any], supplement: Supplement = Supplement()
) -> str:
    """The page as HTML: one file, no script, no network."""
    return _rendered("qualify.html", q, provenance, supplement, most=None)


def _rendered(
    template: str,
    q: Qualification,
    provenance: Mapping[str, Any],
    supplement: Supplement,
    most: int | None,
) -> str:
    return render(
        template,
        q=q,
        verdict=verdict_of(q),
        same_inliner=same_inliner(q),
        defects=supplement.defects,
        defects_by_kind=by_kind(supplement.defects),
        packages=any(called for called, _ in q.tallies),
        gate=supplement.gate,
        scope=f"{' and '.join(q.lanes) or 'no'} lane",
        tallies=tally_lines(q),
        regressed=[f"{title} ({harms})" for _, title, harms in stopped_by(q)],
        stopped=stopped_words(q),
        worse=_worse(q),
        fixed=list(_fixed(q)),
        sizes=supplement.sizes,
        sizes_sentence=sizes_sentence(supplement.sizes),
        unchecked=list(_unchecked(q, supplement)),
        versions=list(_versions(q, provenance, supplement.kept)),
        most=most or len(q.changes),
        call_of=call_of,
        pins=_pins,
        harm=HARMS.__getitem__,
        amount=_amount,
        ratio=_ratio,
        said=_said,
        interval=words.interval,
        emulated=EMULATED,
    )


def _worse(q: Qualification) -> list[tuple[str, str, Sequence[Change]]]:
    found = (
        *(q.worse(harm, *MADE) for harm in FORBIDDING),
        q.warnings,
        q.lesser,
    )
    return [
        (title, advice, rows) for (title, advice), rows in zip(ADVICE.items(), found, strict=True)
    ]


def _fixed(q: Qualification) -> Iterator[tuple[str, str, int, int]]:
    """What became better, by a user's call and former harm."""

    def where(change: Change) -> tuple[str, Severity]:
        return call_of(change.key.route), change.before

    for (call, before), found in itertools.groupby(sorted(q.better, key=where), key=where):
        changes = list(found)
        yield call, HARMS[before], len(changes), len({change.key.case for change in changes})


def _filter(supplement: Supplement) -> str:
    return f'-k "{supplement.expression}"'


def _unchecked(q: Qualification, supplement: Supplement) -> Iterator[str]:
    yield f"{EMULATED} The last run on a GPU: {_last_on_gpu(q, supplement.gpu)}."
    for run in supplement.unread:
        yield f"whether this was a run on a GPU: {run}"
    for reason, count in q.not_asked:
        yield f"{count} cells: {reason}"
    for whose, lane, route, count in q.only:
        yield f"{count} cells of {lane}: {route}: only {whose} can be asked"
    if supplement.expression:
        yield f"every case that {_filter(supplement)} does not match"
    if Lane.PACKAGE.value not in q.lanes:
        yield "the package lane: no cell of it was compared"
    if supplement.sizes is None:
        yield "file size, peak memory and load time at three sizes: left out by --budget 0"
    else:
        yield from supplement.sizes.missing
        yield f"size, memory and load time by other routes than {supplement.sizes.route}"
    yield "how long inlining, exporting and saving take, with intervals: nox -s bench"


def _last_on_gpu(q: Qualification, run: GpuRun | None) -> str:
    if run is None:
        return "never, of all runs that lie here"
    of_these = q.candidate.subject in run.subjects
    theirs = "the candidate among them" if of_these else "the candidate is not among them"
    return (
        f"{run.day}, {run.cells} cells of {', '.join(run.subjects)} on {run.gpu} "
        f"({run.run_id}); {theirs}"
    )


def _versions(
    q: Qualification, provenance: Mapping[str, Any], kept: str
) -> Iterator[tuple[str, str]]:
    if kept:
        yield "verdicts", kept
    for spec in (q.baseline, q.candidate):
        yield spec.subject, ", ".join(_resolved(spec))
    for name in ("torch_version", "python", "os", "cpu_model", "corpus_digest", "harness_commit"):
        if provenance.get(name):
            yield name.replace("_", " "), str(provenance[name])


def _resolved(spec: SubjectSpec) -> Iterator[str]:
    """The code that stood for a subject, and the TensorRT that its package ran with."""
    yield f"inliner {(spec.inliner_id or 'none')[:ID_SHOWN]}"
    if spec.wheel_sha256:
        yield f"wheel {spec.wheel_sha256[:ID_SHOWN]}"
    for package in spec.packages:
        running = package.tensorrt_running or f"none: {package.unavailable}"
        yield f"TensorRT {running} (builder {package.builder})"


def _pins(spec: SubjectSpec) -> str:
    pinned = [
        f"{what} {version}"
        for what, version in (("torch", spec.torch_pinned), ("TensorRT", spec.tensorrt_pinned))
        if version
    ]
    return f"(pins {', '.join(pinned)})" if pinned else ""


def _amount(value: float, unit: str) -> str:
    if unit == "bytes":
        return f"{value / 1000:,.1f} kB"
    return f"{value * 1000:,.1f} ms"


def _said(row: AtSize, band_percent: float) -> str:
    if row.control_off:
        return "A/A off: says nothing"
    alike = {intervals.Change.EQUIVALENT: f"at most {band_percent:g} % apart"}
    return (alike | WORDS[row.unit]).get(row.change, row.change.value)


def _ratio(row: Measured) -> str:
    return "not measured" if row.ratio is None else f"{row.ratio:.2f}"
