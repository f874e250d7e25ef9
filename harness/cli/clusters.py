"""`--on`: where the workers of a command run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from harness.base.errors import SurroundingsError, UsageError
from harness.cli.options import CPUS
from harness.toolchain import Toolchain
from harness.workers.launching import LOCAL, Launcher

_RAY = "ray"


@contextlib.contextmanager
def workers_on(
    on: str, toolchain: Toolchain, jobs: int | None = None
) -> Iterator[tuple[Launcher, int]]:
    """Who starts the workers, and how many at a time: one a processor, if no number is given."""
    if not on:
        yield LOCAL, jobs or CPUS
        return
    kind, _, address = on.partition("://")
    if kind != _RAY or (on != _RAY and not address):
        raise UsageError(f"--on {on}: give ray, or ray://ADDRESS")
    try:
        # Here: it imports ray, which is an extra.
        from harness.workers.ray_cluster import joined
    except ModuleNotFoundError as error:
        if error.name != _RAY:
            raise
        raise SurroundingsError(
            f"--on {on}: ray is not installed", "`pip install inliner-regress[ray]` installs it"
        ) from error
    with joined(address, toolchain) as launcher:
        yield launcher, jobs or max(1, launcher.cpus)
