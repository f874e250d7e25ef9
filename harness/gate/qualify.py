"""Whether a candidate may be shipped in the place of a baseline: two subjects of one run. Pure.

A cell does its user one of five harms, from none to the worst: nothing; a *lesser* one (the numbers
are right, and structure, signature, state or metadata is not); an *error* in place of a program; a
*warned* one, a program that computes something else and says so; a *silent* one, the same without a
word. The candidate is held against the baseline cell by cell, and what counts is the harm, not the
wording of a message.

A new silent harm, or a warned one or an error where the baseline is right, forbids to ship in a
split that the product or `torch.export` makes. In a handmade split, which today's splitter does not
emit, it is told and does not. Where the baseline raises, nobody has a program to lose: a warned
harm in its place is told, and does not forbid either. What could not be asked of one of the two
alone leaves the question open.
"""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.gate.attribution import Attributed
from harness.gate.measured import Measured, measured
from harness.gate.pairs import (
    Pair,
    Pairing,
    Setting,
    asked_of_one,
    both_asked,
    calls_and_splits,
    compare,
    of_user,
    pairing_of,
    settings_of,
    side_of,
)
from harness.gate.verdict import ReachOf, by_lane
from harness.register.defects import Defect, Register
from harness.runs.commands import HERE, Places, explain_command
from harness.wire.builders import PINNED
from harness.wire.oracles import Harm
from harness.wire.records import CaseInfo, CellKey, CellRecord, SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import CellState, Reach


class Severity(enum.IntEnum):
    """What a cell does to its user, worst last."""

    NONE = 0
    LESSER = 1
    ERROR = 2
    WARNED = 3
    SILENT = 4


#: What forbids to ship where it is new, worst first.
FORBIDDING: Final = (Severity.SILENT, Severity.WARNED, Severity.ERROR)
#: Whose splits it forbids in: those that somebody makes.
MADE: Final = (Reach.PRODUCT, Reach.EXPORTED)


_SEVERITIES: Final = {
    Harm.SILENT: Severity.SILENT,
    Harm.WARNED: Severity.WARNED,
    Harm.ERROR: Severity.ERROR,
    Harm.INTERFACE: Severity.LESSER,
    Harm.COSMETIC: Severity.NONE,
}


class Decision(enum.StrEnum):
    SHIP = "ship"
    DO_NOT_SHIP = "do not ship"
    OPEN = "open"  # something could not be asked


@dataclass(frozen=True)
class Change:
    """One cell that does another harm than it did. ``message`` is of the worse side."""

    key: CellKey  # of the candidate
    family: str
    reach: Reach
    before: Severity
    after: Severity
    message: str
    places: Places = HERE  # for its command

    @property
    def handmade(self) -> bool:
        return self.reach is Reach.HANDMADE

    @property
    def forbids(self) -> bool:
        """Whether it forbids to ship, if somebody makes the split."""
        return self.after > self.before and (
            self.after is Severity.SILENT
            or (self.after >= Severity.ERROR and self.before < Severity.ERROR)
        )

    @property
    def command(self) -> str:
        return explain_command(self.key, self.places)


@dataclass(frozen=True)
class Tally:
    """What became of a user's calls, or of splits, that both subjects were asked, each once.

    Of one that was asked in several environments (`of_user`) the worst counts. ``regressed`` forbid
    to ship. ``fixed`` are right now. ``louder`` were wrong without or with a warning and now raise,
    or warn. ``otherwise`` changed in another way that is still a failure. ``broken`` do the same
    harm as before.
    """

    asked: int = 0
    regressed: int = 0
    fixed: int = 0
    louder: int = 0
    otherwise: int = 0
    broken: int = 0

    @property
    def right(self) -> int:
        """Right before and now; the numbers at least."""
        failing = self.regressed + self.fixed + self.louder + self.otherwise + self.broken
        return self.asked - failing


def summed(tallies: Iterable[Tally]) -> Tally:
    """All of them in one."""
    told = list(tallies)
    names = [field.name for field in dataclasses.fields(Tally)]
    return Tally(**{name: sum(getattr(each, name) for each in told) for name in names})


@dataclass(frozen=True)
class ShownDefect:
    """A defect, and in how many cells it shows."""

    defect: Defect
    cells: int


@dataclass(frozen=True)
class Stopper:
    """In how many calls and splits that forbid to ship one defect shows; None: no known one."""

    defect: Defect | None
    severity: Severity
    calls: int
    splits: int


@dataclass(frozen=True)
class Qualification:
    """All that the page tells."""

    baseline: SubjectSpec
    candidate: SubjectSpec
    compared: int
    lanes: tuple[str, ...]  # of the cells compared
    own_torch: bool  # whether each was asked with the torch that it pins
    executed_once: int  # of the cells compared, those that one execution speaks of for both
    changes: tuple[Change, ...]
    not_asked: tuple[tuple[str, int], ...]  # a reason, and how many cells
    only: tuple[tuple[str, str, str, int], ...]  # lane and route that one of them has: whose, cells
    measured: tuple[Measured, ...]
    causes_gone: tuple[ShownDefect, ...]
    causes_new: tuple[ShownDefect, ...]
    stopped_by: tuple[Stopper, ...]  # the worst and most frequent first
    stopped_twice: int  # calls and splits that stand under several of these defects
    tallies: Mapping[tuple[bool, Reach], Tally] = field(default_factory=dict)
    """By whether the whole package was called, and by who makes the splits."""
    scope: str = ""  # what alone was asked, where it was not the whole corpus in both lanes
    settings: frozenset[Setting] = frozenset()  # in which both were asked the calls of a user

    def worse(self, harm: Severity, *reaches: Reach) -> tuple[Change, ...]:
        """The cells of splits of these reaches that now do this harm, and did a smaller one."""
        return tuple(
            change
            for change in self.changes
            if change.after is harm and change.after > change.before and change.reach in reaches
        )

    @property
    def better(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.after < change.before)

    @property
    def stoppers(self) -> tuple[Change, ...]:
        return self._forbidding(*MADE)

    @property
    def warnings(self) -> tuple[Change, ...]:
        return self._forbidding(Reach.HANDMADE)

    def _forbidding(self, *reaches: Reach) -> tuple[Change, ...]:
        worse = (change for harm in FORBIDDING for change in self.worse(harm, *reaches))
        return tuple(change for change in worse if change.forbids)

    @property
    def lesser(self) -> tuple[Change, ...]:
        return self.worse(Severity.LESSER, *Reach)

    @property
    def decision(self) -> Decision:
        """A stopper stops, whatever else could not be asked."""
        if self.stoppers:
            return Decision.DO_NOT_SHIP
        if not self.compared or self.not_asked:
            return Decision.OPEN
        return Decision.SHIP


_Asked = Mapping[CellKey, tuple[CellRecord, CellRecord]]
"""The cells that both were asked, by their place: the baseline's record and the candidate's."""


def qualify(
    records: Iterable[CellRecord],
    cases: Iterable[CaseInfo],
    baseline: SubjectSpec,
    candidate: SubjectSpec,
    shown: Sequence[Attributed] = (),
    register: Register | None = None,
    places: Places = HERE,
    reach_of: ReachOf = by_lane,
    scope: str = "",
) -> Qualification:
    """Hold a candidate against a baseline.

    Args:
        records: of one run that had both; hypothetical cells are left out.
        cases: at least those of the records.
        shown: the failures of that run, each with its defect of ``register``.
        places: where the run's cases and candidates are, for commands that show a cell.
        reach_of: who makes the split of a cell.
        scope: what alone was asked, where it was not the whole corpus in both lanes.
    """
    described = {case.name: case for case in cases}
    known, names = register or Register(), (candidate.subject, baseline.subject)
    every = list(records)
    pairing = pairing_of(names, every)
    pairs = compare(
        side_of(baseline.subject, every, pairing), side_of(candidate.subject, every, pairing)
    )
    asked = both_asked(pairs)
    changes = tuple(_changes(asked, described, places, reach_of))
    stopped_by, stopped_twice = _stopped_by(changes, shown, known)
    return Qualification(
        baseline=baseline,
        candidate=candidate,
        compared=len(asked),
        lanes=tuple(sorted({place.lane for place in asked})),
        own_torch=bool(asked) and all(place.environment != PINNED for place in asked),
        executed_once=sum(one.measured_as == other.measured_as for one, other in asked.values()),
        changes=changes,
        not_asked=_not_asked(pairs),
        only=asked_of_one(pairs, *names),
        measured=tuple(measured(asked)),
        causes_gone=_defects_of(shown, known, *names[::-1], asked, pairing),
        causes_new=_defects_of(shown, known, *names, asked, pairing),
        stopped_by=stopped_by,
        stopped_twice=stopped_twice,
        tallies=_tallies(asked, reach_of),
        scope=scope,
        settings=settings_of(asked),
    )


def severity_of(record: CellRecord) -> Severity:
    """What an ended cell does to its user."""
    return Severity.NONE if record.right or record.harm is None else severity_by(record.harm)


def severity_by(harm: Harm) -> Severity:
    return _SEVERITIES[harm]


def _changes(
    asked: _Asked, cases: Mapping[str, CaseInfo], places: Places, reach_of: ReachOf
) -> list[Change]:
    changes = []
    for place, (one, other) in asked.items():
        was, is_now = severity_of(one), severity_of(other)
        if was is is_now:
            continue
        worse = other if is_now > was else one
        failure = worse.user_failure
        assert failure is not None
        family, reach = cases[place.case].family, reach_of(other.key)
        message = f"{failure.label}: {failure.message}"
        changes.append(Change(other.key, family, reach, was, is_now, message, places))
    order = list(Reach)
    return sorted(
        changes, key=lambda change: (-change.after, order.index(change.reach), change.key)
    )


def _stopped_by(
    changes: Iterable[Change], shown: Iterable[Attributed], register: Register
) -> tuple[tuple[Stopper, ...], int]:
    """By which defects the calls and splits that forbid to ship fail, and how many by several."""
    stoppers = {each.key: each for each in changes if each.forbids and each.reach in MADE}
    behind: dict[CellKey, set[str]] = {key: set() for key in stoppers}
    for due in shown:
        told = due.key in behind and due.defect and due.fact.harm
        if told and _SEVERITIES[Harm(due.fact.harm)] >= Severity.ERROR:
            behind[due.key].add(due.defect)
    worst: dict[tuple[str, CellKey], Severity] = {}  # each call once under a defect
    for key, defects in behind.items():
        for place in ((defect, of_user(key)) for defect in defects or ("",)):
            worst[place] = max(stoppers[key].after, worst.get(place, Severity.NONE))
    counts: dict[tuple[str, Severity], set[CellKey]] = {}
    for (defect, call), severity in worst.items():
        counts.setdefault((defect, severity), set()).add(call)
    order = sorted(counts, key=lambda each: (-each[1], -len(counts[each]), each[0]))
    stopped = (
        Stopper(register.by_id.get(name), severity, *calls_and_splits(counts[name, severity]))
        for name, severity in order
    )
    often = Counter(call for _, call in worst)
    return tuple(stopped), sum(count > 1 for count in often.values())


def _tallies(asked: _Asked, reach_of: ReachOf) -> dict[tuple[bool, Reach], Tally]:
    fates: dict[CellKey, set[str]] = {}
    where: dict[CellKey, tuple[bool, Reach]] = {}
    for place, (one, other) in asked.items():
        mine = of_user(place)
        fates.setdefault(mine, set()).add(_fate(severity_of(one), severity_of(other)))
        where[mine] = other.key.lane is not Lane.GRAPH, reach_of(other.key)
    counts: dict[tuple[bool, Reach], Counter[str]] = {}
    for place, of in fates.items():
        worst = min(of, key=_WORST_FIRST.index)
        counts.setdefault(where[place], Counter()).update(["asked", worst])
    return {
        at: Tally(**{name: count for name, count in of.items() if name != "right"})
        for at, of in counts.items()
    }


_WORST_FIRST: Final = ("regressed", "broken", "otherwise", "louder", "fixed", "right")


def _fate(before: Severity, after: Severity) -> str:
    """The name of a field of `Tally`; numbers that are right count as right, however packed."""
    if after < Severity.ERROR:
        return "right" if before < Severity.ERROR else "fixed"
    if after == before:
        return "broken"
    if after is Severity.SILENT or before < Severity.ERROR:
        return "regressed"
    return "louder" if after < before else "otherwise"


def _not_asked(pairs: Mapping[CellKey, Pair]) -> tuple[tuple[str, int], ...]:
    """Why which cells could not be asked, and how many.

    Not told: what rests on a failed `compile`, which is compared itself; what ends before any
    inliner, for both alike: that is a fact about the case, and none about one of the two; and
    where nothing is lost (`Pair.nothing_lost`).
    """
    reasons: Counter[str] = Counter()
    whole = [pair for pair in pairs.values() if not pair.nothing_lost]
    sides = [(pair.after, pair.before) for pair in whole]
    for record, other in (*sides, *((other, own) for own, other in sides)):
        if record is None or record.state is not CellState.UNSUPPORTED:
            continue
        if not record.rests_on_compile and not (other and record.unasked_as(other)):
            reasons[f"{record.key.subject}, {record.key.lane} lane: {record.reason}"] += 1
    return tuple(reasons.items())


def _defects_of(
    shown: Iterable[Attributed],
    register: Register,
    of: str,
    not_of: str,
    asked: _Asked,
    pairing: Pairing,
) -> tuple[ShownDefect, ...]:
    """The defects that one subject shows in cells that both were asked, and the other in none."""
    places: dict[str, dict[str, set[CellKey]]] = {of: {}, not_of: {}}
    for due in shown:
        place = pairing.place(due.key)
        if due.defect and due.key.subject in places and place in asked:
            places[due.key.subject].setdefault(due.defect, set()).add(place)
    return tuple(
        ShownDefect(register.by_id[name], len(cells))
        for name, cells in sorted(places[of].items())
        if name not in places[not_of]
    )
