"""The page that says ship or do not ship: Markdown for a release ticket, and HTML."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment

from harness.qualify import Change, Decision, Harm, Measured, Qualification
from harness.report import markdown, page, style
from harness.rig.records import SubjectSpec

MOST = 25  # rows of a table in the Markdown form, which has to fit a ticket

HARMS = {
    Harm.NONE: "right",
    Harm.LESSER: "lesser",
    Harm.ERROR: "an error",
    Harm.SILENT: "silently wrong",
}
ADVICE = {
    "New silent harm": (
        "These programs are saved, load and run, and compute something else than they should."
    ),
    "New errors": "These end in an error where the baseline gives a program.",
    "New in handmade splits": (
        "Silent harm or errors in graphs that today's splitter does not emit. They do not forbid "
        "to ship, and whoever builds split modules by hand has to know."
    ),
    "New lesser harm": "The numbers are right; structure, signature, state or metadata is not.",
}
EMULATED = "Engines are emulated: no TensorRT engine ran."


@dataclass(frozen=True)
class Verdict:
    """The first lines: what to do, and why. ``tone`` is a class of the page's style."""

    words: str
    why: str
    tone: str


def verdict_of(q: Qualification) -> Verdict:
    """The decision in words."""
    pair = f"{q.candidate.subject} in the place of {q.baseline.subject}"
    silent, errors = (len(q.worse(harm, handmade=False)) for harm in (Harm.SILENT, Harm.ERROR))
    if q.decision is Decision.DO_NOT_SHIP:
        why = f"{silent} cells newly compute something else, {errors} newly end in an error."
        return Verdict(f"Do not ship {pair}", why, "red")
    better = f"{len(q.better)} cells do less harm than they did, {len(q.lesser)} a lesser new one."
    if q.decision is Decision.OPEN:
        count = sum(count for _, count in q.not_asked)
        why = f"{count} cells could not be asked, {q.compared} were. {better}"
        return Verdict(f"Open: whether to ship {pair}", why, "inconclusive")
    told = f" {len(q.warnings)} handmade cells are newly worse: see below." if q.warnings else ""
    why = f"No new silent harm and no new error in {q.compared:,} cells. {better}{told}"
    return Verdict(f"Ship {pair}", why, "green")


def qualification_markdown(q: Qualification, provenance: Mapping[str, Any]) -> str:
    """The page as Markdown, to be pasted into a release ticket."""
    environment = markdown.environment()
    return _rendered(environment, "qualify.md", q, provenance, most=MOST)


def qualification_html(q: Qualification, provenance: Mapping[str, Any]) -> str:
    """The page as HTML: one file, no script, no network."""
    return _rendered(page.environment(), "qualify.html", q, provenance, most=None)


def _rendered(
    environment: Environment,
    template: str,
    q: Qualification,
    provenance: Mapping[str, Any],
    most: int | None,
) -> str:
    return environment.get_template(template).render(
        q=q,
        verdict=verdict_of(q),
        scope=_scope(q),
        counts=_counts(q),
        worse=_worse(q),
        fixed=list(_fixed(q)),
        unchecked=list(_unchecked(q)),
        versions=list(_versions(provenance)),
        most=most or len(q.changes) + len(q.causes_gone),
        pins=_pins,
        harm=HARMS.__getitem__,
        amount=_amount,
        ratio=_ratio,
        emulated=EMULATED,
        style=style,
    )


def _worse(q: Qualification) -> list[tuple[str, str, Sequence[Change]]]:
    found = (
        q.worse(Harm.SILENT, handmade=False),
        q.worse(Harm.ERROR, handmade=False),
        q.warnings,
        q.lesser,
    )
    return [
        (title, advice, rows) for (title, advice), rows in zip(ADVICE.items(), found, strict=True)
    ]


def _counts(q: Qualification) -> list[tuple[str, int, int]]:
    rows = [
        (
            f"newly {HARMS[harm]}",
            len(q.worse(harm, handmade=False)),
            len(q.worse(harm, handmade=True)),
        )
        for harm in (Harm.SILENT, Harm.ERROR, Harm.LESSER)
    ]
    handmade = sum(change.handmade for change in q.better)
    return [*rows, ("less harm than before", len(q.better) - handmade, handmade)]


def _fixed(q: Qualification) -> Iterator[tuple[str, str, str, int, int]]:
    """What became better, by lane, route and what it was."""

    def where(change: Change) -> tuple[str, str, Harm]:
        return change.key.lane, change.key.route, change.before

    for (lane, route, before), found in itertools.groupby(sorted(q.better, key=where), key=where):
        changes = list(found)
        cases = len({change.key.case for change in changes})
        yield lane, route, HARMS[before], len(changes), cases


def _scope(q: Qualification) -> str:
    return "graph and package lane" if q.candidate.packages else "graph lane"


def _unchecked(q: Qualification) -> Iterator[str]:
    yield f"{EMULATED} The date of the last run on a GPU: never."
    for reason, count in q.not_asked:
        yield f"{count} cells: {reason}"
    for whose, lane, route, count in q.only:
        yield f"{count} cells of {lane}: {route}: only {whose} can be asked"
    if not q.candidate.packages:
        yield "the package lane: the candidate is no whole package, or it was not asked for"
    yield "peak memory, and whether anything is slower: `nox -s bench`"


def _versions(provenance: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("torch_version", "python", "os", "cpu_model", "corpus_digest", "harness_commit"):
        if provenance.get(name):
            yield name.replace("_", " "), str(provenance[name])


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


def _ratio(row: Measured) -> str:
    return "not measured" if row.ratio is None else f"{row.ratio:.2f}"
