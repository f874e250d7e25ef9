"""Which release and which call are safe for a user's model, out of the records of its cells."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.gate.attribution import due_to
from harness.register.defects import Defect, Register
from harness.register.facts import Fact, facts_of, masked, place_of
from harness.register.table import Table
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CellRecord
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import CellState

#: Calls that save a program: of two that are right, the earlier is the one to use.
SAVES: Final = (
    Route.RETRACE,
    Route.RETRACE_DYNAMIC,
    Route.NO_RETRACE,
    Route.NO_RETRACE_EXPORT,
    Route.NO_RETRACE_NO_INPUTS,
    Route.RETRACE_DYNAMIC_LEGACY,
    Route.EXPORTED,
)

#: A tensor's content, which stands behind its type and shape.
_DIGEST: Final = re.compile(r" [0-9a-f]{16}\b")
#: What the compiled module shows where it returns its results packed otherwise than the model.
PACKED: Final = "split module against eager: structure differs"


class Standing(enum.StrEnum):
    """How a call ends for a user of the model, the best first."""

    RIGHT = "right"
    OTHER_FORM = "right numbers in another form"
    ANNOUNCED = "wrong numbers, announced"
    ERROR = "error"
    SILENT = "silently wrong"
    NOT_ASKED = "not asked"

    @property
    def numbers_right(self) -> bool:
        return self in (Standing.RIGHT, Standing.OTHER_FORM)


_OF_HARM: Final[Mapping[Harm | None, Standing]] = {
    None: Standing.RIGHT,
    Harm.COSMETIC: Standing.RIGHT,
    Harm.INTERFACE: Standing.OTHER_FORM,
    Harm.WARNED: Standing.ANNOUNCED,
    Harm.ERROR: Standing.ERROR,
    Harm.SILENT: Standing.SILENT,
}


@dataclass(frozen=True)
class Refusal:
    """What is refused on purpose, and is no defect: by whom, and what to write instead."""

    says: str  # a pattern of the whole finding
    title: str
    instead: str
    torchs_own: bool = False  # whichever release is asked


REFUSALS: Final = (
    Refusal(
        r"NotImplementedError: Can't serialize TreeSpec of namedtuple .*",
        "a refusal of torch.export.save itself: it does not know this NamedTuple",
        "Give and return a tuple or a dictionary. To register the class will do as well, by "
        "torch.utils._pytree._register_namedtuple(CLASS, serialized_type_name=NAME), if the "
        "process that loads the file does so too, which that of this check does not.",
        torchs_own=True,
    ),
    Refusal(
        r"NotImplementedError: No registered serialization name for .*",
        "a refusal of torch.export.save itself: it does not know a class that is given or returned",
        "Give and return tuples, lists and dictionaries; of what an op returns, as topk and max "
        "do, make a tuple: `return tuple(torch.topk(x, 5))`.",
        torchs_own=True,
    ),
    Refusal(
        r"ValueError: kwargs should not include None\.",
        "a limit that torch_tensorrt.save states: no keyword may be None",
        "Leave the keyword out of what compile and save are given.",
    ),
)


@dataclass(frozen=True)
class Cause:
    """What a call that is not right shows, and the known defects that it may be.

    Attributes:
        defects: one if it is certain, several if the sign does not tell, none if it is new.
        says: what was found, in the words of the verdict.
        shows: where it differs and by how much, as far as that was found out.
    """

    defects: tuple[Defect, ...]
    says: str
    harm: Harm
    shows: str = ""

    @property
    def refusal(self) -> Refusal | None:
        """What is refused on purpose, if it is no known defect."""
        if self.defects:
            return None
        return next((each for each in REFUSALS if re.fullmatch(each.says, self.says)), None)


@dataclass(frozen=True)
class CallAnswer:
    """How one call of one release ends for one model.

    Attributes:
        since_compile: whether it shares the end of `compile`: it was not asked because that
            failed, or returns its results as that does.
        reason: why it was not asked.
    """

    release: str
    route: Route
    standing: Standing
    causes: tuple[Cause, ...] = ()
    since_compile: bool = False
    reason: str = ""


@dataclass(frozen=True)
class ModelAnswer:
    """What is to be said of one model.

    Attributes:
        releases: those that were asked, the newest first.
        routes: the calls that were asked, in the order of their table.
        best: the call to use: of the newest release that has one whose numbers are right.
        wrong: what is wrong with the model or with what it is given, so that nothing was asked.
    """

    model: str
    releases: tuple[str, ...]
    routes: tuple[Route, ...]
    calls: Mapping[tuple[str, Route], CallAnswer]
    best: CallAnswer | None
    wrong: str = ""

    @property
    def newest_is_safe(self) -> bool:
        """Whether some call of the newest release saves a program whose numbers are right."""
        return self.best is not None and self.best.release == self.releases[0]

    @property
    def packed_otherwise(self) -> Defect | None:
        """The known defect by which the call to use returns its results packed otherwise."""
        compiled = self.best and self.calls.get((self.best.release, Route.COMPILE))
        if not self.best or self.best.standing is not Standing.OTHER_FORM or not compiled:
            return None
        causes = (*compiled.causes, *self.best.causes)
        packed = [cause.defects for cause in causes if cause.says == PACKED]
        return next((defects[0] for defects in packed if len(defects) == 1), None)

    @property
    def could_not_be_asked(self) -> bool:
        """Whether the newest release has no verdict on any call."""
        of_newest = [call for call in self.calls.values() if call.release == self.releases[0]]
        return all(call.standing is Standing.NOT_ASKED for call in of_newest)

    @property
    def refused_by_torch(self) -> bool:
        """Whether torch itself refuses every program that the newest release would save."""
        newest = next(iter(self.releases), "")
        saves = (self.calls.get((newest, route)) for route in SAVES)
        refusals = [[cause.refusal for cause in call.causes] for call in saves if call is not None]
        return bool(refusals) and all(
            of_call and all(each is not None and each.torchs_own for each in of_call)
            for of_call in refusals
        )

    @property
    def failing(self) -> tuple[CallAnswer, ...]:
        """The calls that are not right, the newest release first."""
        asked = (self.calls.get((name, route)) for name in self.releases for route in self.routes)
        return tuple(call for call in asked if call is not None and call.causes)


def model_answer(
    model: str,
    records: Iterable[CellRecord],
    releases: Sequence[str],
    table: Table,
    register: Register,
) -> ModelAnswer:
    """Read the package lane's cells of a model.

    Args:
        releases: those that were asked, the newest first.
    """
    mine = [
        record
        for record in records
        if record.key.case == model and record.key.lane is not Lane.GRAPH
    ]
    calls: dict[tuple[str, Route], CallAnswer] = {}
    for record in mine:
        calls[record.key.subject, record.key.route] = _call(record, table, register)
    packed = {
        record.key.subject: cause
        for record in mine
        if packs_otherwise(record)
        for cause in _causes(record, table, register)
        if cause.says == PACKED
    }
    for at, call in calls.items():
        compiled = calls.get((call.release, Route.COMPILE))
        if call.since_compile and compiled is not None:
            calls[at] = CallAnswer(call.release, call.route, compiled.standing, since_compile=True)
        elif (
            call.standing in (Standing.RIGHT, Standing.OTHER_FORM)
            and call.route in SAVES
            and call.release in packed
            and compiled is not None
        ):
            # The cell holds the program against the compiled module, and its user against eager.
            told = compiled.standing is Standing.OTHER_FORM  # of compile, and so of every save
            causes = call.causes if told else (packed[call.release], *call.causes)
            calls[at] = CallAnswer(
                call.release, call.route, Standing.OTHER_FORM, causes, since_compile=told
            )
    known = {route for _, route in calls}
    every = (Route.COMPILE, *SAVES, Route.TORCH_COMPILE)
    routes = tuple(route for route in every if route in known)
    answered = tuple(release for release in releases if any(name == release for name, _ in calls))
    return ModelAnswer(model, answered, routes, calls, _best(calls, answered))


def packs_otherwise(record: CellRecord) -> bool:
    """Whether it is that of `compile`, whose module returns its results packed otherwise.

    A program that is right as the compiled module is, is so in another form as well.
    """
    return record.key.route is Route.COMPILE and any(
        fact.says == PACKED and fact.harm != Harm.COSMETIC for fact in facts_of(record)
    )


def standing_of(record: CellRecord) -> Standing:
    """How the cell ends for a user."""
    return _OF_HARM[record.harm] if record.state is CellState.ENDED else Standing.NOT_ASKED


def _call(record: CellRecord, table: Table, register: Register) -> CallAnswer:
    key = record.key
    if record.state is not CellState.ENDED:
        return CallAnswer(
            key.subject,
            key.route,
            Standing.NOT_ASKED,
            since_compile=record.rests_on_compile,
            reason=record.reason,
        )
    standing = standing_of(record)
    if standing is Standing.RIGHT:
        return CallAnswer(key.subject, key.route, standing)
    causes = _causes(record, table, register)
    return CallAnswer(key.subject, key.route, standing, _speaking(causes, record.harm))


def _causes(record: CellRecord, table: Table, register: Register) -> list[Cause]:
    place, subject = place_of(record.key), record.key.subject
    causes = []
    for fact in facts_of(record):
        if fact.harm and Harm(fact.harm) is not Harm.COSMETIC:
            due = due_to(place, fact, subject, table, register)
            causes.append(Cause(due, fact.says, Harm(fact.own_harm), _shown(record, fact)))
    return causes


def _shown(record: CellRecord, fact: Fact) -> str:
    """What the evidence says behind the words of a finding: ``STAGE: FINDING: this``."""
    for line in record.verdict(Oracle(fact.oracle)).evidence.splitlines():
        found = line.partition(": ")[2]
        if masked(found).startswith(f"{fact.says}: "):
            return _DIGEST.sub("", ": ".join(found.split(": ")[fact.says.count(": ") + 1 :]))
    return ""


def _speaking(causes: Sequence[Cause], harm: Harm | None) -> tuple[Cause, ...]:
    """The causes that a user is told: of the worst harm, each set of defects once.

    What torch refuses to save is no file, and so shows nothing that a file would show.
    """
    if refused := [cause for cause in causes if cause.refusal and cause.refusal.torchs_own]:
        return tuple({cause.refusal: cause for cause in refused}.values())
    worst = [cause for cause in causes if cause.harm is harm] or list(causes)
    kept: dict[tuple[str, ...], Cause] = {}
    for cause in worst:
        kept.setdefault(tuple(defect.id for defect in cause.defects) or (cause.says,), cause)
    certain = {
        defect.id for cause in kept.values() if len(cause.defects) == 1 for defect in cause.defects
    }
    return tuple(
        cause
        for cause in kept.values()
        if len(cause.defects) < 2 or not certain & {defect.id for defect in cause.defects}
    )


def _best(
    calls: Mapping[tuple[str, Route], CallAnswer], releases: Sequence[str]
) -> CallAnswer | None:
    """Of calls that do the user's numbers the same good, the one that most advice names."""
    causes = (cause for call in calls.values() if call.route.by_compile for cause in call.causes)
    met = {cause.defects[0] for cause in causes if len(cause.defects) == 1}
    for release in releases:
        saved = [calls[release, route] for route in SAVES if (release, route) in calls]
        for standing in (Standing.RIGHT, Standing.OTHER_FORM):
            alike = [call for call in saved if call.standing is standing]
            if alike:
                return max(alike, key=lambda call: sum(_advised(call.route, of) for of in met))
    return None


def _advised(route: Route, defect: Defect) -> bool:
    """Whether a call avoids a defect by the register, or is what its workaround says."""
    if defect.is_avoided_by(route):
        return True
    call = route.row.call
    given = [call] if route is Route.RETRACE else call[len("save(") : -1].rstrip("…").split(", ")
    return all(words in defect.workaround for words in given)


def calls_lost(answer: ModelAnswer, before: str, after: str) -> tuple[CallAnswer, ...]:
    """The calls whose numbers are right in one release and not in another."""
    return tuple(
        answer.calls[after, route]
        for route in answer.routes
        if (before, route) in answer.calls
        and (after, route) in answer.calls
        and answer.calls[before, route].standing.numbers_right
        and not answer.calls[after, route].standing.numbers_right
    )
