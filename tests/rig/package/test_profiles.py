"""An emulated engine has the profile that its release asks TensorRT for, and is refused as there.

The cases are such that 2.14.0 makes each kind of profile. Of the one out of order TensorRT-RTX
builds no engine either: every run asks that case of both builders.
"""

import pytest

from tests.rig.package.asked_cases import compiled_cases

STATED = "rows_beyond_the_usual_limit"  # 2 to 5,000, by the Input alone
NOT_FOUND = "rows_of_a_sequential"  # likewise, of an argument that the graph renames
OUT_OF_ORDER = "range_without_the_example"  # 3 to 12, and 2 as the usual size
NONE_BUILT = "RuntimeError: TensorRT build_serialized_network returned None; engine build failed."


@pytest.fixture(scope="module")
def answers(ask_package):
    return ask_package("2.14.0", compiled_cases, "2.14.0", STATED, NOT_FOUND, OUT_OF_ORDER)


def test_an_engine_has_the_profile_that_its_release_asks_for(answers):
    assert answers[STATED]["compile"]["failed"] == {}
    label, message, _ = answers[NOT_FOUND]["compile"]["failed"]["completion"]
    assert label == "error@compile"
    assert message.endswith("input 0 dimension 0 is 5000, outside its profile [1, 4096]")


def test_a_profile_out_of_order_is_refused_as_a_release_tells_it(answers, ask_package):
    told = answers[OUT_OF_ORDER]["compile"]
    assert (told["state"], told["failed"]["completion"][:2]) == (
        "ended",
        ["error@compile", NONE_BUILT],
    )
    before = ask_package("2.11.0", compiled_cases, "2.11.0", "selected_of_a_stated_number")
    told = before["selected_of_a_stated_number"]["compile"]
    assert told["failed"]["completion"][:2] == ["error@compile", "AssertionError"]
