"""The table of defects by releases: what the register and the expected table say, row by row."""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.catalogue.environments import series_name
from harness.gate.known import reach_of_standing
from harness.gate.verdict import ReachOf
from harness.register.defects import Defect
from harness.register.standing import Standing, Standings, State
from harness.runs.plan import asked_by
from harness.wire.oracles import Harm
from harness.wire.records import CaseInfo
from harness.wire.routes import COMPILE, TORCH_COMPILE, USER_CALLS, Route
from harness.wire.vocabulary import Reach

#: What a mark has for a tone where no harm is seen.
ABSENT, HIDDEN, NOT_ASKED = "ok", "hidden", "none"
_WRONG: Final = (Harm.SILENT, Harm.WARNED, Harm.ERROR)
_MILDER: Final = {"": "not", Harm.ERROR: "an error", Harm.WARNED: "announced"}
#: The same of the cases that show it, where a user's own model need not be as these are.
_MILDER_IN_CASES: Final = {
    "": "in no case of this project",
    Harm.ERROR: "in this project's cases at most an error",
    Harm.WARNED: "in this project's cases at most announced",
}
_NOT_OURS: Final = ("torch", "by design")


class Part(enum.StrEnum):
    """The parts of the table, in their order."""

    PRODUCT = "product"
    EXPORTED = "exported"
    HANDMADE = "handmade"
    HIDDEN = "hidden"
    GONE = "gone"
    ELSEWHERE = "elsewhere"  # torch's own, or by design
    UNSEEN = "unseen"  # no cell of any release shows it


@dataclass(frozen=True)
class Column:
    """Releases that share one inliner, the oldest first."""

    releases: tuple[str, ...]

    @property
    def newest(self) -> str:
        return self.releases[-1]


@dataclass(frozen=True)
class Mark:
    """What the releases of a column have of a defect; the worst of them, where they differ.

    ``tone`` is a harm, `ABSENT`, `HIDDEN` (its cells fail by the defects ``behind`` which it is, be
    it there or not) or `NOT_ASKED`. ``only`` names the releases for which it holds where it does
    not hold for the whole column, and ``cells`` are those of the last of them.
    """

    tone: str
    cells: int = 0
    behind: tuple[str, ...] = ()
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class DefectRow:
    """One defect. ``harm``, ``reach``, ``calls`` and ``cases`` are of the newest release with it.

    ``shown_in`` are the releases that show it, and ``last`` the newest of these, or empty. What the
    defect's cases come to in it by each of `USER_CALLS` stands in ``by_call``, as a `Mark`'s tone.
    ``met_by`` are the calls that meet it, by what they save of what `compile` makes as well.
    ``own_torch`` says what it does with the torch that this release pins, where that is less.
    ``user_calls`` counts the calls of a user that show it there.
    """

    defect: Defect
    part: Part
    harm: str
    reach: Reach
    by_call: Mapping[str, str]
    cases: tuple[str, ...]
    shown_in: tuple[str, ...]
    last: str
    marks: tuple[Mark, ...]
    standings: tuple[Standing, ...]
    own_torch: str = ""
    met_by: tuple[str, ...] = ()
    user_calls: int = 0

    @property
    def severity(self) -> int:
        """0 for the worst harm; what nobody saw comes last."""
        return Harm(self.harm).severity if self.harm else len(Harm)

    @property
    def calls(self) -> tuple[str, ...]:
        """The calls out of `USER_CALLS` that meet it."""
        return tuple(call for call, tone in self.by_call.items() if tone in list(Harm))


@dataclass(frozen=True)
class DefectTable:
    """Every defect of the register, the worst first in each part.

    ``newest`` is the release that the parts speak of, and ``lines_of`` the one whose lines a defect
    names where it names no release.
    """

    newest: str
    lines_of: str
    columns: tuple[Column, ...]
    rows: tuple[DefectRow, ...]

    def of(self, part: Part) -> tuple[DefectRow, ...]:
        return tuple(row for row in self.rows if row.part is part)

    @functools.cached_property
    def titles(self) -> dict[str, str]:
        """The title of each defect, by its id."""
        return {row.defect.id: row.defect.title for row in self.rows}

    @property
    def releases(self) -> tuple[str, ...]:
        return tuple(name for column in self.columns for name in column.releases)


def defect_table(
    standings: Standings,
    newest: str,
    inliner_of: Mapping[str, str],
    reach_of: ReachOf,
    cases: Mapping[str, CaseInfo],
    torch_of: Mapping[str, str] | None = None,
) -> DefectTable:
    """The table up to a release.

    Args:
        newest: the release that the parts speak of; later ones are left out.
        inliner_of: the id of each release's inliner. Neighbours with one id share a column.
        reach_of: who makes the split of a cell.
        cases: those that are known; by which calls any other was asked is not.
        torch_of: the torch that a release pins.
    """
    releases = standings.releases[: standings.releases.index(newest) + 1]
    columns = _columns(releases, inliner_of)
    rows = [
        _row(defect, standings, releases, columns, reach_of, cases, torch_of or {})
        for defect in standings.register.defects
    ]
    parts = list(Part)
    rows.sort(key=lambda row: (parts.index(row.part), *_badness(row), row.defect.id))
    return DefectTable(newest, standings.releases[-1], columns, tuple(rows))


def _columns(releases: Sequence[str], inliner_of: Mapping[str, str]) -> tuple[Column, ...]:
    columns: list[Column] = []
    for name in releases:
        last = columns[-1].newest if columns else ""
        if last and inliner_of.get(last, last) == inliner_of.get(name, name):
            columns[-1] = Column((*columns[-1].releases, name))
        else:
            columns.append(Column((name,)))
    return tuple(columns)


def _row(
    defect: Defect,
    standings: Standings,
    releases: Sequence[str],
    columns: Sequence[Column],
    reach_of: ReachOf,
    cases: Mapping[str, CaseInfo],
    torch_of: Mapping[str, str],
) -> DefectRow:
    every = {name: standings.of(defect.id, name) for name in releases}
    shown = [name for name in releases if every[name].state is State.SHOWN]
    last = every[shown[-1]] if shown else None
    reach = reach_of_standing(last, reach_of) if last else Reach.HANDMADE
    return DefectRow(
        defect=defect,
        part=_part(defect, every[releases[-1]].state, reach, shown=bool(shown)),
        harm=last.harm if last else "",
        reach=reach,
        by_call=_by_call(defect, last, standings, cases),
        cases=last.cases if last else (),
        shown_in=tuple(shown),
        last=last.release if last else "",
        marks=tuple(_mark([every[name] for name in column.releases]) for column in columns),
        standings=tuple(every.values()),
        own_torch=own_torch_words(standings, last, torch_of) if last else "",
        met_by=_met_by(last, standings) if last else (),
        user_calls=standings.user_calls(last) if last else 0,
    )


def own_torch_words(standings: Standings, shown: Standing, torch_of: Mapping[str, str]) -> str:
    """``not with torch 2.14.0, which 2.14.0 pins``; empty where it does as much there."""
    return _own_torch(standings, shown, torch_of, _MILDER)


def own_torch_in_cases(standings: Standings, shown: Standing, torch_of: Mapping[str, str]) -> str:
    """As `own_torch_words`, beside a model that was not asked with that torch.

    Of a defect that is gone in some cases the worst is told, and the model may be one of these.
    """
    return _own_torch(standings, shown, torch_of, _MILDER_IN_CASES)


def _own_torch(
    standings: Standings, shown: Standing, torch_of: Mapping[str, str], words: Mapping[str, str]
) -> str:
    torch = torch_of.get(shown.release, "")
    if not torch or shown.state is not State.SHOWN:
        return ""
    there = series_name(torch)
    harm = standings.milder_in(shown.defect.id, shown.release, there)
    if harm is None:
        return ""
    unasked = standings.unasked_in(shown.defect.id, shown.release, there)
    calls = [call for call, routes in USER_CALLS.items() if unasked & {*routes}]
    but = f" (not asked there: {', '.join(calls)})" if calls else ""
    return f"{words.get(harm, harm)} with torch {torch}, which {shown.release} pins{but}"


def _part(defect: Defect, state: State, reach: Reach, *, shown: bool) -> Part:
    if defect.not_visible:
        return Part.UNSEEN
    if defect.blame in _NOT_OURS:
        return Part.ELSEWHERE
    if not shown:
        return Part.UNSEEN
    if state is State.SHOWN:
        return Part(reach.value)
    return Part.HIDDEN if state is State.HIDDEN else Part.GONE


def _by_call(
    defect: Defect, last: Standing | None, standings: Standings, cases: Mapping[str, CaseInfo]
) -> dict[str, str]:
    def asks(name: str, route: Route) -> bool:
        return name in cases and asked_by(cases[name], route)

    if last is None:
        return dict.fromkeys(USER_CALLS, NOT_ASKED)
    tones = {
        call: tone_of(standings.by_routes(defect.id, last.release, routes, asks))
        for call, routes in USER_CALLS.items()
    }
    by_itself = {TORCH_COMPILE: tones.pop(TORCH_COMPILE)}  # the others save what compile() returned
    compiled = tones[COMPILE]
    if compiled == Harm.INTERFACE:
        # A saved program is held against the compiled module, so it returns that module's form.
        tones = {call: compiled if tone == ABSENT else tone for call, tone in tones.items()}
    elif compiled in _WRONG:
        # No way to save what is wrong is right, but for those that avoid it.
        kept = {call for call, routes in USER_CALLS.items() if set(routes) & set(defect.avoid)}
        tones = {
            call: tone if tone in list(Harm) or call in kept else NOT_ASKED
            for call, tone in tones.items()
        }
    return tones | by_itself


def _met_by(last: Standing, standings: Standings) -> tuple[str, ...]:
    return tuple(call for call, routes in USER_CALLS.items() if standings.meets(last, routes))


def _mark(standings: Sequence[Standing]) -> Mark:
    """One mark for the releases of a column: the worst that is seen of any of them."""
    tones = [tone_of(each) for each in standings]
    worst = min(tones, key=_order)
    having = [each for each, tone in zip(standings, tones, strict=True) if tone == worst]
    # Where it was not asked of some, what the others show is all that is known; but the register
    # may know that a release does not have what others show.
    free = [worst in list(Harm) and not each.defect.alive_in(each.release) for each in standings]
    whole = all(
        tone == worst or (tone == NOT_ASKED and not without)
        for tone, without in zip(tones, free, strict=True)
    )
    return Mark(
        tone=worst,
        cells=having[-1].cells,
        behind=having[-1].behind or having[-1].broken_by,
        only=() if whole else tuple(each.release for each in having),
    )


def tone_of(standing: Standing) -> str:
    """What is to be seen of a defect in one release, as a `Mark`'s tone."""
    if standing.state is State.SHOWN:
        return standing.harm or Harm.ERROR.value
    if standing.state is State.HIDDEN or standing.broken_by:
        return HIDDEN
    return ABSENT if standing.state is State.ABSENT else NOT_ASKED


def _order(tone: str) -> int:
    return [*(harm.value for harm in Harm), HIDDEN, ABSENT, NOT_ASKED].index(tone)


def _badness(row: DefectRow) -> tuple[int, ...]:
    """The worst harm first, and the most calls of users; of what is gone, the latest fix first."""
    order = (row.severity, -row.user_calls, -row.standings[-1].cells)
    if row.part is Part.GONE:
        at = [each.state is State.SHOWN for each in reversed(row.standings)]
        return (at.index(True) if True in at else len(at)), *order
    return order
