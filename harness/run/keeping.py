"""Kept verdicts in a run: what is taken, what is asked again to see whether it is still so, and
what is kept for later runs.

Nothing that was taken goes into a run before all that was asked again has ended as it was kept.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from harness.base.errors import SurroundingsError
from harness.base.program import PROGRAM
from harness.base.words import plural
from harness.run.asked_again import chosen_again
from harness.run.kept_key import Ingredients, NothingKept, collect, part_of, surroundings
from harness.runs.kept_store import Entry, Found, KeptRun, KeptStore, StoreUnusable
from harness.runs.plan import PlannedCell
from harness.runs.provenance import Provenance
from harness.subjects.packages import Sites
from harness.toolchain import Toolchain
from harness.toolchain.cache import KEPT
from harness.toolchain.rig_client import Corpus
from harness.wire.oracles import Oracle, Symptom
from harness.wire.records import CellKey, CellRecord, SubjectSpec
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import NOT_EMULATED, CellState

T = TypeVar("T")

_SHOWN: Final = 5
_IN_KEY: Final = "in the key: "
#: What depends on the moment, or on a machine that was short of something.
_NEVER_KEPT: Final = frozenset(
    {Symptom.TIMEOUT, Symptom.KILLED, Symptom.FLAKY, Symptom.NONDETERMINISTIC}
)
_SHORT_OF_SOMETHING: Final = (
    "MemoryError", "OSError", "PermissionError", "BlockingIOError", "ConnectionError",
    "TimeoutError", "BrokenPipeError", "allocate memory", "No space left", "Too many open files",
    "temporarily unavailable", "out of memory",
)  # fmt: skip


@dataclass(frozen=True)
class KeptOptions:
    """What a user asks of kept verdicts.

    Attributes:
        rerun: whether all is asked anew, and kept in the place of what was kept.
        audit: the share of the kept cells that is asked again, where it is more than every run's.
        other: the folder of another machine's store, which is only read.
    """

    rerun: bool = False
    audit: float = 0.0
    other: Path | None = None


@dataclass(frozen=True)
class Taken:
    """What a run has been given, by ``cell_id``: to be used as it is, and to be asked again."""

    served: Mapping[str, CellRecord] = field(default_factory=dict)
    asked_again: Mapping[str, CellRecord] = field(default_factory=dict)


@dataclass(frozen=True)
class Keeping:
    """The stores of one run, and the keys of its cells.

    Attributes:
        provenance: of the run, whose id seeds what is asked again.
        cells: all that the run plans, by ``cell_id``.
        own: the store that takes what this run asks.
        tell: gets a line for whoever watches.
    """

    options: KeptOptions
    provenance: Provenance
    cells: Mapping[str, PlannedCell]
    ingredients: Ingredients
    own: KeptStore
    tell: Callable[[str], None]

    def take(self, missing: Iterable[PlannedCell]) -> Taken:
        """What is kept of these cells; of that, some to be asked again."""
        if self.options.rerun:
            return Taken()
        wanted = self._keys(missing)
        found: dict[str, CellRecord] = {}
        for store in self._stores:
            left = {
                digest: cell.key for digest, cell in wanted.items() if cell.key.cell_id not in found
            }
            found |= self._from(store, left)
        found = with_their_compile(
            {cell_id: record for cell_id, record in found.items() if is_kept(record)}
        )
        again = chosen_again(
            [self.cells[cell_id] for cell_id in found],
            self.provenance.run_id,
            self.options.audit,
        )
        taken = Taken(
            {cell_id: record for cell_id, record in found.items() if cell_id not in again},
            {cell_id: found[cell_id] for cell_id in again},
        )
        if found:
            self.tell(_told(taken))
            self._try(lambda: self.own.used(wanted))
        elif wanted and (changed := self._changed()):
            self.tell(changed)
        return taken

    def settle(self, taken: Taken, records: Mapping[str, CellRecord]) -> None:
        """See that what was asked again ended as it was kept.

        What did not come to an end this time says nothing of what was kept: it is a verdict of
        this run. Where nothing of a part did, what the key misses may be why, and none of that part
        is believed.

        Raises:
            SurroundingsError: it did not; the parts of the store that it is in are empty now.
        """
        pairs = [
            (kept, records[cell_id])
            for cell_id, kept in taken.asked_again.items()
            if cell_id in records
        ]
        ended = {self._part(now) for _, now in pairs if not _of_the_moment(now)}
        unlike = [
            (kept, now)
            for kept, now in pairs
            if said(kept) != said(now) and (self._part(now) not in ended or not _of_the_moment(now))
        ]
        if not unlike:
            return
        parts = sorted({self._part(kept) for kept, _ in unlike})
        lines = [
            f"{len(unlike)} of {plural(len(taken.asked_again), 'kept cell')} that were asked again "
            "end in another way, so that none of what is kept with them can be trusted:",
            *(_both(kept, now) for kept, now in unlike[:_SHOWN]),
            *(["..."] * (len(unlike) > _SHOWN)),
            *self._missed(sorted({kept.kept_from for kept, _ in unlike})),
            *(self._emptied(store, parts) for store in self._stores),
        ]
        advice = f"`{PROGRAM} run --resume {self.provenance.run_id}` asks what is left of this run"
        raise SurroundingsError("\n  ".join(lines), advice)

    def keep(self, records: Iterable[CellRecord]) -> None:
        """Keep what this run asked, for later ones, if nobody wrote to what its workers read."""
        entries = []
        for record in records:
            cell = self.cells[record.key.cell_id]
            digest = self.ingredients.key(cell)
            if digest and is_kept(record):
                entries.append(Entry(digest, part_of(cell), record))
        if entries and not self.ingredients.unchanged:
            self.tell("nothing of this run is kept: its sources were written to while it ran")
            return
        started = datetime.fromisoformat(self.provenance.started_at).timestamp()
        facts = surroundings(self.provenance) | self._in_key
        run = KeptRun(self.provenance.run_id, started, facts)
        self._try(lambda: self.own.keep(run, entries))

    def _part(self, record: CellRecord) -> str:
        return part_of(self.cells[record.key.cell_id])

    @property
    def _stores(self) -> tuple[KeptStore, ...]:
        other = self.options.other
        return (self.own, *([KeptStore(other, read_only=True)] if other else []))

    @property
    def _in_key(self) -> dict[str, str]:
        """What all cells' keys have in common, by name; as digests."""
        return {
            f"{_IN_KEY}{name}": hashlib.sha256(value.encode()).hexdigest()
            for name, value in self.ingredients.common.items()
        }

    def _changed(self) -> str:
        """Why nothing that is kept fits this run, if something in every key has changed."""
        now = self._in_key
        try:
            before = self.own.newest()
        except StoreUnusable:  # told already
            return ""
        changed = sorted(
            name.removeprefix(_IN_KEY)
            for name in (now if before else ())
            if before and before.facts.get(name) not in (None, now[name])
        )
        if not before or not changed:
            return ""
        return f"nothing kept fits: since run {before.run_id} changed: {', '.join(changed)}"

    def _keys(self, cells: Iterable[PlannedCell]) -> dict[bytes, PlannedCell]:
        keys = ((self.ingredients.key(cell), cell) for cell in cells)
        return {digest: cell for digest, cell in keys if digest}

    def _from(self, store: KeptStore, wanted: Mapping[bytes, CellKey]) -> Mapping[str, CellRecord]:
        found = self._try(lambda: store.take(wanted)) or Found({})
        if found.damaged:
            damaged = plural(found.damaged, "kept record")
            self.tell(f"{store.path}: {damaged} damaged; what they told is asked again")
        return found.records

    def _missed(self, runs: Sequence[str]) -> Iterable[str]:
        """What differs from those runs, of all that is known and is in no key."""
        now = surroundings(self.provenance) | self._in_key
        for run_id in runs:
            before = self._known(run_id)
            if before is None:
                yield f"of run {run_id}, which they were kept from, nothing more is known"
                continue
            names = sorted({*before.facts, *now})
            other = [name for name in names if before.facts.get(name) != now.get(name)]
            yield (
                f"what the key misses may be what differs from run {run_id} and is not in it: "
                f"{', '.join(other)}"
                if other
                else f"nothing that is known differs from run {run_id}: either the key misses what "
                "nobody knows of, or these cells do not end alike each time (ask them twice, by "
                "`run --rerun`)"
            )

    def _known(self, run_id: str) -> KeptRun | None:
        for store in self._stores:
            run = self._try(functools.partial(store.run, run_id))
            if run:
                return run
        return None

    def _emptied(self, store: KeptStore, parts: Sequence[str]) -> str:
        try:
            count = store.empty(parts)
        except StoreUnusable as error:
            return f"not emptied: {error}"
        return f"{store.path}: {plural(count, 'record')} of {' and '.join(parts)} deleted"

    def _try(self, do: Callable[[], T]) -> T | None:
        """What a store gives; where it is of no use, that is told, and the run goes on without."""
        try:
            return do()
        except StoreUnusable as error:
            self.tell(f"kept verdicts: {error}; `{PROGRAM} clean --kept` begins anew")
            return None


def keeping_of(
    options: KeptOptions,
    toolchain: Toolchain,
    corpus: Corpus,
    subjects: Sequence[SubjectSpec],
    sites: Sites,
    plan: Iterable[PlannedCell],
    provenance: Provenance,
    share: bool,
    tell: Callable[[str], None],
) -> Keeping | None:
    """The kept verdicts of a run; None where nothing can be kept, which is told."""
    cells = {cell.key.cell_id: cell for cell in plan}
    try:
        ingredients = collect(
            toolchain,
            corpus,
            subjects,
            sites,
            seed=provenance.seeds[0],
            share=share,
            graph=any(cell.key.lane == Lane.GRAPH for cell in cells.values()),
        )
    except (NothingKept, SurroundingsError) as reason:
        tell(f"no verdict is kept or taken: {reason}")
        return None
    store = KeptStore(toolchain.cache / KEPT)
    return Keeping(options, provenance, cells, ingredients, store, tell)


def is_kept(record: CellRecord) -> bool:
    """Whether a record would be the same each time: what a moment decides is never kept.

    What could not be asked is not kept either, as what was missing may come. Two kinds are no such
    thing: a cell that rests on its `compile` is told by that one's verdict, and what asks for an
    engine that TensorRT deserialized is nothing that emulated engines can ever answer.
    """
    if record.state is CellState.UNSUPPORTED:
        return record.rests_on_compile or NOT_EMULATED in record.reason
    return not _of_the_moment(record)


def _of_the_moment(record: CellRecord) -> bool:
    if record.attempts > 1:
        return True
    failed = [verdict for verdict in record.verdicts if verdict.failed]
    return any(
        verdict.symptom in _NEVER_KEPT
        or any(word in verdict.message for word in _SHORT_OF_SOMETHING)
        for verdict in failed
    )


def with_their_compile(found: Mapping[str, CellRecord]) -> dict[str, CellRecord]:
    """Without the cells that rest on a `compile` of which nothing is kept."""
    compiled = {_place(record) for record in found.values() if record.key.route == Route.COMPILE}
    return {
        cell_id: record
        for cell_id, record in found.items()
        if not record.rests_on_compile or _place(record) in compiled
    }


def _place(record: CellRecord) -> CellKey:
    return dataclasses.replace(record.key, route=Route.COMPILE)


def said(record: CellRecord) -> tuple[Any, ...]:
    """What a record tells that has to be the same each time: all but time, sizes and evidence."""
    verdicts = [record.verdict(oracle) for oracle in Oracle]
    told = [(v.oracle, v.label, v.message, v.harm, v.raised) for v in verdicts]
    return record.state, record.reason, record.steps, record.logged, told


def _both(kept: CellRecord, now: CellRecord) -> str:
    at = datetime.fromtimestamp(kept.ended_at_unix_s, UTC)
    which = next(
        (
            f"{oracle}: "
            for oracle in Oracle
            if (kept.verdict(oracle).label, kept.verdict(oracle).message)
            != (now.verdict(oracle).label, now.verdict(oracle).message)
        ),
        "",
    )
    return (
        f"{now.key.cell_id}: {which}{_brief(kept, which)}, kept from run {kept.kept_from}, "
        f"{at:%Y-%m-%d %H:%M} UTC; now {_brief(now, which)}"
    )


def _brief(record: CellRecord, which: str) -> str:
    if record.state is CellState.UNSUPPORTED or not which:
        return f"{record.label} {record.reason}".strip()
    verdict = record.verdict(Oracle(which.removesuffix(": ")))
    return f"{verdict.label} {verdict.message}".strip()


def _told(taken: Taken) -> str:
    runs = {record.kept_from for record in [*taken.served.values(), *taken.asked_again.values()]}
    count = len(taken.served) + len(taken.asked_again)
    return (
        f"{plural(count, 'cell')} kept from {plural(len(runs), 'run')}; "
        f"{len(taken.asked_again):,} of them asked again, drawn by this run's id"
    )
