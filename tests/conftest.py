"""Fixtures for tests that need the real thing: the native runtime, and released wheels.

Both come from the project's own cache, which they share with `nox -s regress`; the first run
builds and fetches. A machine that can do neither fails these tests: to skip them would be a pass.
"""

import os
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from harness.catalogue.releases import load_catalogue
from harness.subjects.specs import release_subject
from harness.toolchain import Toolchain, rig_client
from harness.toolchain.environment import PROJECT_ROOT
from harness.workers.process import WARM_RIG
from harness.workers.warm import PACKAGES, warm_rig
from tests.commands import answered_in_a_fork
from tests.fetched import FETCHED

# A process whose torch has a warm pool of threads cannot be forked: the fork would wait for them.
os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
)

# What a test runs is asked; tests of kept verdicts say otherwise.
os.environ["INLINER_REGRESS_KEPT"] = "no"

# The shell that calls these tests may find another Python by that name: commands that are printed
# would have its path.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
os.environ.pop("NOX_CURRENT_SESSION", None)

# A machine that does other work too is slow, and no claim of ours is wrong for that.
# The same examples are drawn each time: a change is judged by itself. `nox -s fuzz` draws anew.
settings.register_profile(
    "any", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any")

#: What workers and questions of the tests import: also what an export does the first time.
IMPORTED = (*PACKAGES, "harness.rig.reproduce.warm", "harness.rig.questions.coverage")


def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # workers of xdist share what their controller starts
        server = ExitStack()
        server.enter_context(warm_rig(sys.executable, more=IMPORTED))
        config.add_cleanup(server.close)


@pytest.fixture(scope="module")
def started_anew():
    """What is started of the rig imports torch itself, as it does for a user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(WARM_RIG, raising=False)
        yield


@pytest.fixture(scope="session")
def toolchain():
    return Toolchain(cache=PROJECT_ROOT / ".cache", python=sys.executable)


@pytest.fixture(scope="session")
def catalogue():
    return load_catalogue()


@pytest.fixture(scope="session")
def library(toolchain):
    """The emulated runtime's native half."""
    return toolchain.emulated_runtime()


@pytest.fixture(scope="session")
def release_specs(toolchain, catalogue):
    """A release of each inliner, its wheel at hand."""
    releases = [catalogue.get(version) for version in FETCHED]
    return {
        release.version: release_subject(release, toolchain.wheel(release)) for release in releases
    }


@pytest.fixture
def forked_questions(monkeypatch):
    """The rig answers in forks of this process, which has imported torch already."""
    monkeypatch.setattr(rig_client, "lines_of", answered_in_a_fork)
