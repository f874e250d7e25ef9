"""A model given to torch.compile with the release's backend is judged in memory, beside eager."""

import pytest

from harness.base.errors import ExitCode
from tests.commands import harness
from tests.rig.package.asked_cases import compiled_cases
from tests.rig.package.torch_compiled import RELEASE, torch_compiled

RIGHT = {"state": "ended", "reason": "", "failed": {}}
EAGER = "torch.compile against eager"


@pytest.fixture(scope="module")
def asked(ask_package):
    """The state, the reason and what failed of a case, with a fault planted in the backend."""
    return lambda case, fault="none": ask_package(RELEASE, torch_compiled, case, fault)


def test_a_model_that_it_computes_as_eager_does_passes(asked):
    assert asked("relu_four_steps") == RIGHT


def test_state_that_it_never_writes_is_silently_wrong_from_the_second_call_on(asked):
    failed = asked("running_state")["failed"]
    assert failed == {"values": ["wrong-values@run", f"{EAGER}: numbers differ", "silent"]}


def test_a_backend_that_computes_something_else_is_silently_wrong(asked):
    failed = asked("relu_four_steps", "add_one")["failed"]
    assert failed == {"values": ["wrong-values@run", f"{EAGER}: numbers differ", "silent"]}


def test_what_the_backend_raises_is_told_and_not_what_torch_wraps_it_in(asked):
    failed = asked("relu_four_steps", "raise_a_value_error")["failed"]
    told = ["error@compile", "ValueError: cannot view what is here", "error"]
    assert failed == {"completion": told}


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("refuse", "RuntimeError: no converter for what is here"),
        ("make_no_engine", "the backend made none"),
    ],
)
def test_a_model_that_pytorch_runs_in_place_of_an_engine_is_no_pass(asked, fault, why):
    """The backend logs what it met, and goes on without an engine."""
    told = asked("relu_four_steps", fault)
    assert (told["state"], told["failed"]) == ("unsupported", {})
    assert told["reason"] == f"PyTorch runs what an engine should: {why}"


def test_what_torch_itself_traces_otherwise_is_no_verdict_on_a_release(asked):
    told = asked("otherwise")
    assert (told["state"], told["failed"]) == ("unsupported", {})
    assert "backend='aot_eager') differs, too" in told["reason"]


def test_a_model_that_compile_does_not_take_is_asked_all_the_same():
    """`compile()` raises an IndexError for it."""
    asked = ("explain", "cache_read_by_two_engines", "--subject", RELEASE)
    told = harness(*asked, "--route", "torch-compile")
    assert told.returncode == ExitCode.GREEN, told.stderr
    assert told.stdout.startswith(f"{RELEASE}, route torch-compile: ok")


def test_it_is_given_the_model_as_it_was_before_compile_wrote_to_it(ask_package):
    """Up to 2.13.0 `compile()` runs the program, which writes to the model's own state."""
    case = "state_given_to_other_state"
    told = ask_package("2.13.0", compiled_cases, "2.13.0", case)[case]["torch-compile"]
    label, message, harm = told["failed"]["values"]
    assert (label, message, harm) == ("wrong-values@run", f"{EAGER}: numbers differ", "silent")
