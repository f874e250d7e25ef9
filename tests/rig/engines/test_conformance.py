"""The same facts of the emulated executor and, on a CUDA machine, of the real runtime.

`nox -s engine` runs them there. Elsewhere they are skipped, and the reason says what is missing.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.errors import Unavailable
from harness.subjects.packages import preflight
from harness.wire.builders import CUDA, EMULATED
from tests.rig.engines.conformance import ALIASED_FACTS, FACTS, answers_of

PROGRAM = Path(__file__).with_name("conformance.py")


@pytest.fixture(scope="module", params=[EMULATED, pytest.param(CUDA, marks=pytest.mark.cuda)])
def answers(request, ask_package, catalogue):
    """What engines that an executor runs answer, each built by a release's real package."""
    told: dict[str, bool]
    if request.param == EMULATED:
        told = ask_package(catalogue.newest.version, answers_of, "cpu")
        return told
    try:
        found = preflight(sys.executable)
    except Unavailable as reason:
        pytest.skip(str(reason))
    setup = {"site": None, "release": found.release, "device": "cuda"}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), json.dumps(setup)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.mark.parametrize("fact", FACTS)
def test_an_engine(answers, fact):
    assert answers[fact], f"it does not; {FACTS[fact]}"


@pytest.mark.parametrize("fact", ALIASED_FACTS)
def test_an_engine_that_writes(answers, fact):
    if fact not in answers:
        pytest.skip("engines of the release that is installed write to nothing")
    assert answers[fact], f"it does not; {ALIASED_FACTS[fact]}"


def test_every_fact_has_an_answer_and_a_source(answers):
    assert set(answers) in (set(FACTS), {*FACTS, *ALIASED_FACTS})


def test_the_newest_release_is_asked_every_fact(answers, request):
    if request.node.callspec.params["answers"] == EMULATED:
        assert set(answers) == {*FACTS, *ALIASED_FACTS}
