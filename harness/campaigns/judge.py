"""A warm worker that judges one blueprint at a time, for a controller that waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from corpus.blueprints.blueprint import Blueprint, to_json
from harness.wire.oracles import Symptom
from harness.wire.record_json import cell_from_json, key_to_json
from harness.wire.records import CellKey, CellRecord
from harness.wire.vocabulary import Stage
from harness.workers.jobs import broken_off
from harness.workers.process import Worker, WorkerDied, WorkerSetup, WorkerTimeout

_START_TIMEOUT_S: Final = 300.0

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """The records of a blueprint's cells, and what it has of the space.

    ``broken`` holds the tracebacks of the harness's own failures.
    """

    records: tuple[CellRecord, ...]
    values: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()


class Judge:
    """One worker process, started anew where a program has killed it."""

    def __init__(self, setup: WorkerSetup, timeout_s: float = 60.0) -> None:
        self._setup = setup
        self._timeout_s = timeout_s
        self._loop = asyncio.new_event_loop()
        self._worker: Worker | None = None

    def ask(self, blueprint: Blueprint, cells: Sequence[CellKey], *, values: bool) -> Answer:
        """Judge a blueprint by these cells; with ``values``, tell what it has of the space."""
        return self._wait(self._ask(blueprint, cells, values))

    def close(self) -> None:
        if self._worker is not None:
            self._wait(self._worker.stop())
        self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    async def _ask(self, blueprint: Blueprint, cells: Sequence[CellKey], values: bool) -> Answer:
        if self._worker is None:
            self._worker = await Worker.ready(self._setup, 0, _START_TIMEOUT_S)
        worker = self._worker
        records: list[CellRecord] = []
        held: list[str] = []
        broken: list[str] = []
        at, stage = cells[0], Stage.CAPTURE
        by_id = {key.cell_id: key for key in cells}
        await worker.send(
            {
                "blueprint": to_json(blueprint),
                "values": values,
                "capture": cells[0].capture,
                "cells": [key_to_json(key) for key in cells],
            }
        )
        try:
            while True:
                event = await worker.next_event(self._timeout_s)
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
        except WorkerTimeout:
            symptom, message = Symptom.TIMEOUT, f"no end in {self._timeout_s:g} s"
        except WorkerDied as error:
            symptom, message = Symptom.KILLED, str(error)
        await worker.kill()
        self._worker = None
        records.append(broken_off(at, symptom, stage, message, 1))
        return Answer(tuple(records), tuple(held), tuple(broken))
