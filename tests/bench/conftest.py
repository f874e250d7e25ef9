"""A real zygote, shared by the tests that need one: it takes seconds to start."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.bench.process import Zygote
from harness.wire.records import SubjectSpec
from harness.workers.process import WorkerSetup


@pytest.fixture(scope="session")
def setup(
    library: Path, release_specs: dict[str, SubjectSpec], tmp_path_factory: pytest.TempPathFactory
) -> WorkerSetup:
    return WorkerSetup(
        python=sys.executable,
        library=library,
        subjects=[release_specs["2.13.0"], release_specs["2.14.0"]],
        seed=0,
        log_folder=tmp_path_factory.mktemp("zygote"),
        corpus_digest="",
    )


@pytest.fixture(scope="session")
def zygote(setup: WorkerSetup) -> Iterator[Zygote]:
    with Zygote(setup, timeout_s=120) as running:
        yield running
