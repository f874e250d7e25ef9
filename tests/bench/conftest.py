"""A real zygote, shared by the tests that need one: it takes seconds to start."""

import sys

import pytest

from harness.bench.process import Zygote
from harness.workers.process import WorkerSetup


@pytest.fixture(scope="session")
def setup(library, release_specs, tmp_path_factory):
    return WorkerSetup(
        python=sys.executable,
        library=library,
        subjects=[release_specs["2.13.0"], release_specs["2.14.0"]],
        seed=0,
        log_folder=tmp_path_factory.mktemp("zygote"),
        corpus_digest="",
    )


@pytest.fixture(scope="session")
def zygote(setup):
    with Zygote(setup, timeout_s=120) as running:
        yield running
