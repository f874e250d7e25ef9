"""Whole packages in place of the zygote: each release has its own process, asked in turn.

A release's process imports its package, with the torch of its own Python if it has one, and forks
the workers. A block's workers then belong to several processes, so this module keeps their turns:
at any moment one worker has a message to answer, and the others wait for theirs.
"""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from harness.bench.process import ANSWER_TIMEOUT_S, Zygote, ask_fresh
from harness.wire.bench_records import IMPORTED, Arm, BenchCase, arm_of
from harness.wire.bench_turns import Call, take_turns
from harness.workers.process import PackageSetup

IMPORTING = "harness.rig.bench.importing"


@dataclass(frozen=True)
class StationSetup(PackageSetup):
    """For the process of one release. ``forks`` says whether forks of it measure, or it does."""

    forks: bool = True

    module: ClassVar[str] = "harness.rig.bench.station"

    def message(self) -> dict[str, Any]:
        return {**super().message(), "forks": self.forks}


class WholePackages:
    """The running processes of the releases, asked as one zygote is.

    ``ready`` is what the first said of itself, and under "stations" what each did.
    """

    def __init__(self, setups: Mapping[str, StationSetup], stations: Mapping[str, Zygote]) -> None:
        self._setups = setups
        self._stations = stations
        first, *_ = stations.values()
        told = {name: {**each.ready, "start_s": each.start_s} for name, each in stations.items()}
        self.ready: dict[str, Any] = {**first.ready, "stations": told}
        self.start_s = sum(each.start_s for each in stations.values())

    def ask(self, do: str, case: BenchCase, **fields: Any) -> dict[str, Any]:
        """Have a job done: `prepare`, `block`, or `alone` in a process that is not forked."""
        if do == "prepare":
            return self._prepare(case)
        arms = [arm_of(arm) for arm in fields["arms"]]
        with ExitStack() as ended:
            start = functools.partial(self._start, ended, case, fields["passes"], do == "alone")
            found = take_turns(
                arms,
                start,
                random.Random(fields["seed"]),
                warm_up=fields["warm_up"],
                calls=fields["calls"],
            )
        return {"arms": {name: dataclasses.asdict(arm) for name, arm in found.items()}}

    def _prepare(self, case: BenchCase) -> dict[str, Any]:
        """Prepare a case in every release; steps and bytes are the baseline's, which is first."""
        answers = {name: each.ask("prepare", case) for name, each in self._stations.items()}
        first, *_ = answers.values()
        seconds = {
            f"{stage} {name}": spent
            for name, answer in answers.items()
            for stage, spent in answer["seconds"].items()
        }
        return {"steps": first["steps"], "engine_bytes": first["engine_bytes"], "seconds": seconds}

    def _start(
        self, ended: ExitStack, case: BenchCase, passes: list[str], alone: bool, arm: Arm
    ) -> Call:
        """Start a worker, which is ended with ``ended``; returns what makes a call of it."""
        setup = self._setups[arm.subject]
        if case == IMPORTED:
            return functools.partial(_import, setup, arm)
        if alone:
            fresh = dataclasses.replace(setup, forks=False)
            station = ended.enter_context(Zygote(fresh, module=fresh.module))
            station.ask("prepare", case)
        else:
            station = self._stations[arm.subject]
        station.ask("start", case, arm=dataclasses.asdict(arm), passes=passes)
        if not alone:
            ended.callback(station.ask, "end", case, arm=arm.name)
        return functools.partial(station.ask, "call", case, arm=arm.name)


def _import(setup: StationSetup, arm: Arm) -> dict[str, Any]:
    message = {"setup": setup.message(), "arm": dataclasses.asdict(arm)}
    log = setup.log_folder / "importing.log"
    return ask_fresh(setup.python, IMPORTING, message, log, ANSWER_TIMEOUT_S)


@contextmanager
def whole_packages(setups: Mapping[str, StationSetup]) -> Iterator[WholePackages]:
    """Start the process of each release."""
    with ExitStack() as running:
        stations = {
            name: running.enter_context(Zygote(setup, module=setup.module))
            for name, setup in setups.items()
        }
        yield WholePackages(setups, stations)
