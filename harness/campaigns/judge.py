"""Warm workers that judge one drawn program at a time, for a controller that waits for them.

One worker holds the inliners of all releases, and one each whole package; they work at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from harness.wire.oracles import Symptom
from harness.wire.record_json import cell_from_json, key_to_json
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Lane
from harness.wire.vocabulary import Stage
from harness.workers.jobs import broken_off
from harness.workers.launching import LOCAL, Launcher, start_ready
from harness.workers.process import (
    Setup,
    Worker,
    WorkerDied,
    WorkerLost,
    WorkerTimeout,
    how_cut_off,
)

_START_TIMEOUT_S: Final = 300.0
#: A worker never frees what it once kept (`harness.rig.channel`), and so it is replaced in time.
_PROGRAMS_OF_A_WORKER: Final = 400
#: A program under which so many machines were lost is taken to have ended them.
_LOSSES: Final = 3

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """The records of a program's cells, and what it has of the space.

    ``broken`` holds the tracebacks of the harness's own failures.
    """

    records: tuple[CellRecord, ...]
    values: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()

    @classmethod
    def joined(cls, answers: Sequence[Answer]) -> Answer:
        """One answer of those of several workers."""
        return cls(
            tuple(record for each in answers for record in each.records),
            tuple(value for each in answers for value in each.values),
            tuple(text for each in answers for text in each.broken),
        )


@dataclass
class _Seat:
    """A setup, and the process that has it now."""

    setup: Setup
    number: int
    worker: Worker | None = None
    programs: int = 0


@dataclass(frozen=True)
class Judge:
    """A worker process for each setup, started anew where a program has killed it.

    ``setups`` has them by lane, and by release in the package lane, ``""`` in the graph lane.
    """

    setups: Mapping[tuple[Lane, str], Setup]
    timeout_s: float = 60.0
    launcher: Launcher = LOCAL
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _seats: dict[tuple[Lane, str], _Seat] = field(default_factory=dict)

    @property
    def has_graph_lane(self) -> bool:
        """Whether it can ask the inliners alone, and torch's control."""
        return (Lane.GRAPH, "") in self.setups

    def ask(self, program: Mapping[str, Any], cells: Sequence[CellKey], *, values: bool) -> Answer:
        """Judge a drawn program by these cells; with ``values``, tell what it has of the space.

        Args:
            program: ``{"blueprint": JSON}`` or ``{"model": JSON}``.
        """
        shares: dict[tuple[Lane, str], list[CellKey]] = {}
        for key in cells:
            place = (Lane.GRAPH, "") if key.lane == Lane.GRAPH else (Lane.PACKAGE, key.subject)
            shares.setdefault(place, []).append(key)

        async def all_of_them() -> list[Answer]:
            asked = [
                self._ask(self._seat(place), program, share, values and number == 0)
                for number, (place, share) in enumerate(shares.items())
            ]
            return await asyncio.gather(*asked)

        return Answer.joined(self._wait(all_of_them()))

    def close(self) -> None:
        for seat in self._seats.values():
            if seat.worker is not None:
                self._wait(seat.worker.stop())
        self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    def _seat(self, place: tuple[Lane, str]) -> _Seat:
        return self._seats.setdefault(place, _Seat(self.setups[place], len(self._seats)))

    async def _ask(
        self,
        seat: _Seat,
        program: Mapping[str, Any],
        cells: Sequence[CellKey],
        values: bool,
        losses: int = 0,
    ) -> Answer:
        if seat.worker is not None and seat.programs % _PROGRAMS_OF_A_WORKER == 0:
            await seat.worker.stop()
            seat.worker = None
        if seat.worker is None:
            seat.worker = await start_ready(
                self.launcher, seat.setup, seat.number, _START_TIMEOUT_S
            )
        seat.programs += 1
        worker = seat.worker
        records: list[CellRecord] = []
        held: list[str] = []
        broken: list[str] = []
        at, stage = cells[0], Stage.CAPTURE
        by_id = {key.cell_id: key for key in cells}
        await worker.send(
            {
                **program,
                "values": values,
                "capture": cells[0].capture,
                "cells": [key_to_json(key) for key in cells],
            }
        )
        try:
            while True:
                event = await worker.next_event(self.timeout_s)
                match event["event"]:
                    case "values":
                        held = event["values"]
                    case "stage":
                        at, stage = by_id.get(event["cell"], at), Stage(event["stage"])
                    case "record":
                        records.append(cell_from_json(event["record"], "worker"))
                    case "broken":
                        broken.append(event["traceback"])
                    case "done":
                        return Answer(tuple(records), tuple(held), tuple(broken))
        except (WorkerDied, WorkerTimeout) as error:
            symptom, message, stage = how_cut_off(error, self.timeout_s, stage)
        except WorkerLost as error:
            if losses + 1 < _LOSSES:
                await worker.kill()
                seat.worker = None
                return await self._ask(seat, program, cells, values, losses + 1)
            symptom, message = Symptom.KILLED, f"{error}, the last of {_LOSSES} under this program"
        await worker.kill()
        seat.worker = None
        records.append(broken_off(at, symptom, stage, message, 1))
        return Answer(tuple(records), tuple(held), tuple(broken))
