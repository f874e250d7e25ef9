"""Where the workers of a command run (`--on`), and what those of a campaign are started with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.base.errors import SurroundingsError, Unavailable, UsageError
from harness.cli.options import CPUS
from harness.subjects.packages import Sites
from harness.toolchain import Toolchain
from harness.wire.records import PackageSpec, SubjectSpec
from harness.workers.launching import LOCAL, Launcher
from harness.workers.process import PackageSetup, WorkerSetup

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


def graph_setup(
    subjects: Sequence[SubjectSpec], toolchain: Toolchain, logs: Path, corpus_digest: str = ""
) -> WorkerSetup:
    """What a campaign's workers of the graph lane are started with."""
    return WorkerSetup(
        python=toolchain.python,
        subjects=subjects,
        seed=0,
        log_folder=logs,
        corpus_digest=corpus_digest,
        library=toolchain.emulated_runtime(),
    )


def package_setup(
    spec: SubjectSpec,
    package: PackageSpec,
    sites: Sites,
    toolchain: Toolchain,
    logs: Path,
    corpus_digest: str = "",
) -> PackageSetup:
    """The same for a package of the package lane. Raises Unavailable where it is not here."""
    site = sites.get((spec.subject, package.builder))
    if site is None:
        raise Unavailable(f"{spec.subject} has no package lane here: {package.unavailable}")
    return PackageSetup(
        python=toolchain.python,
        subjects=[spec],
        seed=0,
        log_folder=logs,
        corpus_digest=corpus_digest,
        release=spec.subject,
        site=site,
        engines=toolchain.engines,
    )
