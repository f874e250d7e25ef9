"""The table of defects by releases, as the page, the Markdown and the picture show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from harness.base.words import plural
from harness.catalogue.releases import SAVE_RETRACES_SINCE
from harness.gate.defect_table import (
    ABSENT,
    HIDDEN,
    NOT_ASKED,
    Column,
    DefectRow,
    DefectTable,
    Mark,
    Part,
    tone_of,
)
from harness.register.defects import MODELS, WRITES_PARTS
from harness.register.facts import parsed_version
from harness.report import style, text
from harness.report.reported_run import ReportedRun, Section
from harness.report.sections.causes import CAUSES, LiveCause
from harness.wire.oracles import Harm, Oracle
from harness.wire.routes import COMPILE, TORCH_COMPILE, USER_CALLS, Route
from harness.wire.vocabulary import Reach

TITLES: Final[Mapping[Part, str]] = {
    Part.PRODUCT: "In {newest}: models that you compile and save meet these",
    Part.EXPORTED: "In {newest}: only models that are split without compile meet these",
    Part.HANDMADE: "In {newest}: only graphs that are split by hand meet these",
    Part.HIDDEN: "Cannot be seen in {newest}: other defects stop their cases",
    Part.GONE: "Not in {newest} any more, the latest fix first",
    Part.ELSEWHERE: "Not Torch-TensorRT's alone: torch's own, or by design",
    Part.UNSEEN: "Known, and not visible to any run",
}
#: The heads of the columns for `harness.wire.routes.USER_CALLS`.
BRIEF_CALLS: Final[Mapping[str, str]] = {
    "compile": "compile",
    "save(m, f)": "save (m,\u00a0f)",
    "save(dynamic_shapes)": "dynamic shapes",
    "save(retrace=False)": "retrace =False",
    "save(retrace=False, use_legacy_exporter=False)": "+legacy =False",
    "save(torch.export.export(m), f)": "export, save",
    "cross_compile": "cross",
    "torch.compile": "torch. compile",
}
#: What a user sees of a defect, by the tone of a mark.
SEEN: Final[Mapping[str, str]] = {
    Harm.SILENT.value: "silently wrong",
    Harm.WARNED.value: "wrong, with a warning",
    Harm.ERROR.value: "raises an error",
    Harm.INTERFACE.value: "right numbers in another form",
    Harm.COSMETIC.value: "differs in memory alone",
    ABSENT: "not there",
    HIDDEN: "cannot be seen, as other defects stop its cases",
    NOT_ASKED: "not asked",
}
#: What is said of a defect that no model meets which is compiled and saved.
MADE_OTHERWISE: Final[Mapping[Part, str]] = {
    Part.EXPORTED: "Only a model that is split without compile meets it.",
    Part.HANDMADE: "Only a graph that is split by hand meets it.",
}
#: What the filter for a defect's reach offers.
REACHES: Final[Mapping[Reach, str]] = {
    Reach.PRODUCT: "models that are compiled",
    Reach.EXPORTED: "models split without compile",
    Reach.HANDMADE: "graphs split by hand",
}
_FOLDED: Final = (Part.HANDMADE, Part.HIDDEN, Part.UNSEEN)


@dataclass(frozen=True)
class PartView:
    """One part of the table. ``folded``: a reader opens it by hand."""

    name: str
    title: str
    rows: tuple[DefectRow, ...]
    folded: bool


@dataclass(frozen=True)
class DefectsView:
    """The table, and of each defect that this run shows how to see it."""

    table: DefectTable
    parts: tuple[PartView, ...]
    causes: Mapping[str, LiveCause]


def build_defects(run: ReportedRun) -> DefectsView | None:
    """The table of a run; None where no table speaks of its cases."""
    if run.defect_table is None:
        return None
    shown = run.view(CAUSES)
    return DefectsView(
        table=run.defect_table,
        parts=parts_of(run.defect_table, folded=run.has_candidate),
        causes={cause.defect.id: cause for cause in (*shown.live, *shown.gone)},
    )


def parts_of(table: DefectTable, *, folded: bool = False) -> tuple[PartView, ...]:
    """The parts that have a row, in their order.

    Args:
        folded: whether all of them are, and not only those that few readers need.
    """
    return tuple(
        PartView(
            part.value,
            title.format(newest=table.newest),
            table.of(part),
            folded or part in _FOLDED,
        )
        for part, title in TITLES.items()
        if table.of(part)
    )


def mark_sign(mark: Mark) -> str:
    """What stands in a cell of the table."""
    return style.SIGNS.get(mark.tone, "")


def mark_note(mark: Mark) -> str:
    """The releases of a column for which its mark holds, where it does not hold for all."""
    return text.span(mark.only) if mark.only else ""


def mark_words(mark: Mark, column: Column, titles: Mapping[str, str]) -> str:
    """A mark for a screen reader, and for a mouse that rests on it."""
    names = text.span(mark.only or column.releases)
    cells = f", in {plural(mark.cells, 'cell')}" if mark.cells else ""
    behind = (
        "; ".join(titles.get(each, each) for each in mark.behind) if mark.tone == HIDDEN else ""
    )
    return f"{names}: {SEEN[mark.tone]}{cells}{f': {behind}' if behind else ''}"


def call_words(call: str, tone: str) -> str:
    """What a call makes of a defect's cases, for a screen reader and a resting mouse."""
    told = {
        ABSENT: "right for a model that meets it otherwise",
        NOT_ASKED: "not asked, or rests on what compile makes",
    }
    return f"{call}: {told.get(tone, SEEN[tone])}"


def life(row: DefectRow, newest: str) -> tuple[str, str]:
    """Whether the newest release is rid of a defect, in a few words; and the rest of its life."""
    defect = row.defect
    by = f" by {defect.fixed_by}" if defect.fixed_by else ""
    if defect.fixed_in:
        ended = f"Fixed in {defect.fixed_in}{by}"
    else:
        now = tone_of(row.standings[-1])
        ended = f"Alive in {newest}" if now in list(Harm) else f"In {newest} {SEEN[now]}"
        ended += f"; fixed upstream{by}, in no release yet" if by else ""
    brought = f", brought by {defect.brought_by}" if defect.brought_by else ""
    asked = _asked(row)
    if new_in(row):
        since = f"new in {defect.since}{brought}"
    elif asked and asked[0] != row.standings[0].release:
        since = f"there from {asked[0]} on, the first release asked"
    else:
        since = "there from the first release on"
    if not new_in(row) and asked and tone_of(row.standings[0]) == HIDDEN:
        since = f"by its cause {since}"
    others = see_also(row)
    return ended, "; ".join([since, *([f"see {text.listed(others, 4)}"] if others else [])])


def _asked(row: DefectRow) -> list[str]:
    return [each.release for each in row.standings if tone_of(each) != NOT_ASKED]


def new_in(row: DefectRow) -> str:
    """The release that brought a defect; empty where none is known to be without it.

    What begins with the first release that was asked is new there only if it is known what
    brought it.
    """
    defect = row.defect
    known = defect.brought_by or _asked(row)[:1] != [defect.since]
    return defect.since if known else ""


def by_call(row: DefectRow) -> list[tuple[str, str, tuple[str, ...]]]:
    """What a defect's models come to by a user's calls: words, their tone and the calls of each.

    What `compile` makes right is said last: a reader looks for a way to save. A call by its name
    in every release that shows the defect: before 2.10.0 ``save(m, f)`` did not retrace.
    """
    shown_in = map(parsed_version, row.shown_in)
    old = any(release and release < SAVE_RETRACES_SINCE for release in shown_in)
    shown_by = {
        route for each in row.standings if each.release == row.last for route in each.routes
    }

    def written(call: str) -> str:
        legacy = Route.RETRACE_DYNAMIC_LEGACY in shown_by
        if call == "save(dynamic_shapes)" and legacy and Route.RETRACE_DYNAMIC not in shown_by:
            return "save(dynamic_shapes, use_legacy_exporter=True)"
        return "save(m, f, retrace=True)" if old and call == "save(m, f)" else call

    found = []
    for tone in (ABSENT, *map(str, Harm)):
        calls = [call for call, of in row.by_call.items() if of == tone]
        calls.sort(key=lambda call: call in (COMPILE, TORCH_COMPILE))
        if calls:
            words = "avoided by" if tone == ABSENT else f"{SEEN[tone]} with"
            found.append((words, tone, tuple(map(written, calls))))
    return found


def compile_alone(row: DefectRow) -> bool:
    """Whether `compile` meets it, and no call that saves what `compile` returned."""
    return set(row.calls) - {TORCH_COMPILE} == {COMPILE}


def shows_as(row: DefectRow, cause: LiveCause | None) -> str:
    """What is seen of a defect where it harms most, as a reader believes it at once: an exception
    before a wrong wire. Empty where nothing was seen.
    """
    seen = [each for each in cause.entries if each.harm == row.harm] if cause else []
    told = (each.says for each in sorted(seen, key=lambda each: _script_place(each.oracle)))
    return next(told, "")


def _script_place(oracle: str) -> int:
    return Oracle(oracle).row.script_place if oracle in list(Oracle) else len(Oracle)


def call_of(route: str) -> str:
    """The call of a user that comes to a route: ``save(m, f)`` for ``direct``."""
    return next((call for call, of in USER_CALLS.items() if route in of), route)


def models_of(row: DefectRow) -> tuple[str, ...]:
    """What a model has that meets a defect, in words.

    Who has a KV cache is told of what happens to parts that are written, too: so it is written.
    """
    names = {*row.defect.models, *(("state",) if WRITES_PARTS in row.defect.models else ())}
    return tuple(words for name, words in MODELS.items() if name in names)


def see_also(row: DefectRow) -> tuple[str, ...]:
    """Upstream's issues and pull requests on a defect that neither brought it nor fixed it."""
    defect = row.defect
    return tuple(
        each for each in defect.upstream if each not in (defect.fixed_by, defect.brought_by)
    )


def changed_in(row: DefectRow) -> tuple[str, ...]:
    """The releases that brought or fixed a defect, and which of these."""
    defect = row.defect
    return (
        *([f"new in {defect.since}"] if new_in(row) else []),
        *([f"fixed in {defect.fixed_in}"] if defect.fixed_in else []),
    )


def tones_in(row: DefectRow) -> tuple[str, ...]:
    """What is to be seen of a defect in each release: ``2.14.0=silent``."""
    return tuple(f"{each.release}={tone_of(each)}" for each in row.standings)


def stretches(row: DefectRow) -> list[tuple[tuple[str, ...], str]]:
    """Neighbouring releases in which the same is to be seen of a defect, and what that is."""
    found = [(tone, tuple(group)) for tone, group in groupby(row.standings, tone_of)]
    return [
        (tuple(each.release for each in group), tone) for tone, group in found if tone != NOT_ASKED
    ]


def hidden_in(row: DefectRow) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Neighbouring releases in which other defects fail all cases of a defect, and their ids."""
    hidden = [each for each in row.standings if tone_of(each) == HIDDEN]
    return [
        (tuple(each.release for each in group), behind)
        for behind, group in groupby(hidden, lambda each: each.behind or each.broken_by)
    ]


def found_by(row: DefectRow) -> str:
    """The words by which a reader may look for a defect, beside its title and what it opens."""
    defect = row.defect
    numbers = dict.fromkeys(filter(None, (*defect.upstream, defect.fixed_by, defect.brought_by)))
    return " ".join((defect.id, *map(text.reference, numbers), *models_of(row), *row.calls))


DEFECTS: Final = Section("defects", build_defects, template="defects", link="Search defects")
