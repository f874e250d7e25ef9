"""Two sides held against each other, cell by cell: who has which cell, and what both were asked."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from harness.wire.builders import (
    EMULATED,
    PINNED,
    SEGMENT,
    Builder,
    BuilderKind,
    Environment,
    Executor,
)
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Lane
from harness.wire.vocabulary import CellState

K = TypeVar("K")
Setting = tuple[Builder, Executor, Environment]


@dataclass(frozen=True)
class Pair:
    """One cell on both sides; a side that has no record of it is None."""

    before: CellRecord | None
    after: CellRecord | None

    @property
    def asked(self) -> tuple[CellRecord, CellRecord] | None:
        """Both records, if both could be asked, so that what they say can be compared."""
        if self.before is None or self.after is None:
            return None
        ended = {self.before.state, self.after.state} == {CellState.ENDED}
        return (self.before, self.after) if ended else None

    @property
    def nothing_lost(self) -> bool:
        """Whether one side could not be asked, and the other says enough.

        A module in memory that is right after needs nothing beside it, since it is held against
        eager; and where PyTorch runs now what was wrong before, its numbers are right.
        """
        before, after = self.before, self.after
        if before is None or after is None or self.asked:
            return False
        alone = before.state is CellState.UNSUPPORTED and after.key.route.row.in_memory
        return (alone and after.right) or (after.left_to_pytorch and not before.right)


def compare(before: Mapping[K, CellRecord], after: Mapping[K, CellRecord]) -> dict[K, Pair]:
    """All cells of both sides by the key that they share; those of ``after`` come first."""
    return {cell: Pair(before.get(cell), after.get(cell)) for cell in {**after, **before}}


def both_asked(pairs: Mapping[K, Pair]) -> dict[K, tuple[CellRecord, CellRecord]]:
    """The cells that both sides were asked, each as it was before and is after."""
    return {cell: pair.asked for cell, pair in pairs.items() if pair.asked}


def asked_of_one(
    pairs: Mapping[CellKey, Pair], candidate: str, baseline: str
) -> tuple[tuple[str, str, str, int], ...]:
    """The subject, the lane, the route and the number of the cells that one side alone has."""
    counts = Counter(
        (candidate if pair.after else baseline, place.lane, place.route)
        for place, pair in pairs.items()
        if pair.before is None or pair.after is None
    )
    return tuple((*where, count) for where, count in counts.items())


@dataclass(frozen=True)
class Pairing:
    """Which cells of two subjects match: those that differ in the subject and in these alone.

    Attributes:
        builders: kinds of builders whose versions are left out.
        environments: whether the environment is left out, since each subject has its own.
    """

    builders: frozenset[BuilderKind] = frozenset()
    environments: bool = False

    def place(self, key: CellKey) -> CellKey:
        """A cell's coordinates but for the subject, which is empty, and for what is left out."""
        builder, environment = Builder.shared(key.builder), Environment(key.environment)
        if builder.kind in self.builders:
            builder = Builder.of(builder.kind)
        if self.environments:
            environment = Environment(environment.kind)
        return dataclasses.replace(key, subject="", builder=builder, environment=environment)


EXACT: Final = Pairing()


def without_subject(key: CellKey) -> CellKey:
    """A cell's coordinates but for the subject, which is empty."""
    return EXACT.place(key)


def of_user(key: CellKey) -> CellKey:
    """What a user does in a cell: one case by one call, or one split, in whichever environment.

    What builds and runs its engines, and the torch, are one environment or another of the same.
    """
    lane = Lane.PACKAGE if key.lane is Lane.ENGINE else key.lane
    bare = without_subject(key)
    return dataclasses.replace(
        bare, lane=lane, builder=SEGMENT, executor=EMULATED, environment=PINNED
    )


def calls_and_splits(places: Iterable[CellKey]) -> tuple[int, int]:
    """How many calls of a user, and how many splits of the graph lane alone, these cells are."""
    lanes = Counter(place.lane for place in {of_user(place) for place in places})
    return lanes[Lane.PACKAGE], lanes[Lane.GRAPH]


def settings_of(places: Iterable[CellKey]) -> frozenset[Setting]:
    """What made the engines of a user's calls, what ran them, and in which environment."""
    called = (place for place in places if place.lane is not Lane.GRAPH)
    return frozenset((place.builder, place.executor, place.environment) for place in called)


def side_of(
    subject: str, records: Iterable[CellRecord], pairing: Pairing = EXACT
) -> dict[CellKey, CellRecord]:
    """The records of one subject, by their place; hypothetical ones are left out."""
    return {
        pairing.place(record.key): record
        for record in records
        if record.key.subject == subject and not record.hypothetical
    }


def pairing_of(subjects: Collection[str], records: Iterable[CellRecord]) -> Pairing:
    """How the cells of some subjects are paired.

    A release brings its own TensorRT-RTX, and a user who changes the one changes the other: a kind
    of builder that each has in one version counts as one, whichever version that is. Environments
    count as one if each subject was asked with the torch that it pins alone.
    """
    versions: dict[BuilderKind, dict[str, set[Builder]]] = {}
    environments: dict[str, set[Environment]] = {subject: set() for subject in subjects}
    for record in records:
        subject = record.key.subject
        if subject in environments:
            builder = Builder.shared(record.key.builder)
            versions.setdefault(builder.kind, {}).setdefault(subject, set()).add(builder)
            environments[subject].add(record.key.environment)
    had = list(environments.values())
    return Pairing(
        builders=frozenset(
            kind
            for kind, of in versions.items()
            if all(len(of.get(subject, ())) == 1 for subject in subjects)
        ),
        environments=not set.intersection(*had) and PINNED not in set.union(*had),
    )
