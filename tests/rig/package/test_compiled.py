"""What compile makes wrong is one failing cell of the route compile, and none of the ways to save.

The cases are such that 2.14.0 shows each of the ways for a compiled module to be wrong.
"""

from typing import Any

import pytest

from harness.wire.routes import Route
from tests.rig.package.asked_cases import compiled_cases

EAGER = "split module against eager"
RAISES = "cache_read_by_two_engines"
PACKS = "cache_in_one_engine"  # a tuple of one for a tensor
FORGETS = "running_state"  # the compiled module does not write its buffer

Answers = dict[str, dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def answers(ask_package):
    """By case and route the state, the reason and what failed."""
    found: Answers = ask_package("2.14.0", compiled_cases, "2.14.0", RAISES, PACKS, FORGETS)
    return found


def saved(answers: Answers, case: str) -> dict[str, dict[str, Any]]:
    in_memory = {route for route in Route if route.row.in_memory}
    return {route: told for route, told in answers[case].items() if route not in in_memory}


def test_a_module_that_raises_in_memory_fails_once_and_is_not_asked_to_be_saved(answers):
    label, message, harm = answers[RAISES]["compile"]["failed"]["completion"]
    assert (label, harm) == ("error@compile", "error")
    assert message.startswith("IndexError")
    assert len(saved(answers, RAISES)) == 4
    for told in saved(answers, RAISES).values():
        assert (told["state"], told["failed"]) == ("unsupported", {})
        assert told["reason"] == f"compile: ends in {message}"


def test_another_packing_in_memory_is_an_interface_that_differs(answers):
    failed = answers[PACKS]["compile"]["failed"]
    assert failed == {
        "values": ["wrong-values@compile", f"{EAGER}: structure differs", "interface"]
    }


def test_a_packing_in_memory_is_not_charged_to_the_ways_to_save(answers):
    for told in saved(answers, PACKS).values():
        assert told["state"] == "ended"
        assert not {"values", "completion"} & set(told["failed"])
        _, message, _ = told["failed"].get("signature", ("", "", ""))
        assert message in ("", "state is written, and nothing tells of it")


def test_a_program_that_is_right_on_disk_passes_though_the_module_in_memory_is_wrong(answers):
    label, message, harm = answers[FORGETS]["compile"]["failed"]["values"]
    assert (label, harm) == ("wrong-values@compile", "silent")
    assert f"{EAGER}: numbers differ" in message
    for route in ("no-retrace", "retrace"):
        told = answers[FORGETS][route]
        assert told["state"] == "ended"
        assert not {"values", "wiring", "completion"} & set(told["failed"])


def test_a_way_to_save_fails_for_what_it_does_itself(answers):
    """State that is copied back becomes a further output, with a warning, and is never updated."""
    label, message, harm = answers[FORGETS]["no-retrace-export"]["failed"]["values"]
    assert (label, message) == ("wrong-values@run", "numbers differ; structure differs")
    assert harm == "warned"
