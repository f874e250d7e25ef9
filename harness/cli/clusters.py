"""`--on`: where the workers of a command run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import typer

from harness.base.errors import SurroundingsError, UsageError
from harness.toolchain import Toolchain
from harness.workers.launching import LOCAL, Launcher

_RAY = "ray"


@contextlib.contextmanager
def workers_on(
    on: str, context: typer.Context, jobs: int, toolchain: Toolchain
) -> Iterator[tuple[Launcher, int]]:
    """Who starts the workers, and how many at a time: as many as a cluster has processors.

    Args:
        jobs: so many where the user says so.
    """
    if not on:
        yield LOCAL, jobs
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
        source = context.get_parameter_source("jobs")
        asked = source is not None and source.name == "COMMANDLINE"
        yield launcher, jobs if asked else max(1, launcher.cpus)
