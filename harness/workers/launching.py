"""Who starts workers: this machine, or another one that takes its place."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Final, Protocol

from harness.base.errors import SurroundingsError
from harness.toolchain.environment import rig_command
from harness.workers.process import LocalWorker, Setup, Worker
from harness.workers.warm import warm_rig


class Launcher(Protocol):
    """Starts workers, on this machine or on others."""

    def unlike(self, seed: int) -> str:
        """Why its workers do not run as what kept verdicts are found by describes.

        That is with the controller's Python, packages, processor and variables; empty if they do.
        Machines that come later, and are not like that, are asked nothing from then on.
        """

    def warm(
        self, python: str, seed: int, more: Iterable[str], *, cases: bool
    ) -> AbstractContextManager[None]:
        """While the body runs, workers start as forks of processes that have imported torch.

        The arguments are those of `harness.workers.warm.warm_rig`.
        """

    async def start(self, setup: Setup, number: int) -> Worker:
        """Start a worker and send it its setup; see `Worker.until_ready`."""


async def start_ready(launcher: Launcher, setup: Setup, number: int, timeout_s: float) -> Worker:
    """Start a worker and wait until it is ready; if it cannot be, it is killed.

    Raises:
        SurroundingsError: as `Worker.until_ready`, or a subject does not load.
    """
    worker = await launcher.start(setup, number)
    try:
        errors = (await worker.until_ready(timeout_s))["load_errors"]
        if errors:
            raise SurroundingsError("; ".join(errors.values()))
    except BaseException:
        await worker.kill()
        raise
    return worker


class LocalLauncher:
    """Workers of this machine."""

    def unlike(self, seed: int) -> str:
        return ""

    def warm(
        self, python: str, seed: int, more: Iterable[str], *, cases: bool
    ) -> AbstractContextManager[None]:
        return warm_rig(python, seed, more, cases=cases)

    async def start(self, setup: Setup, number: int) -> Worker:
        return await LocalWorker.start(
            rig_command(setup.python, setup.module),
            setup.message(),
            seed=setup.seed,
            forked=setup.forked,
            foreign=setup.is_foreign,
            log=setup.log_folder / f"worker-{number}.log",
        )


LOCAL: Final = LocalLauncher()
