"""A cell of the package lane with the newest release: sound, and with faults planted in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.catalogue.releases import Catalogue
from harness.toolchain import PackageSite, Toolchain
from harness.wire.routes import Route

PROGRAM = Path(__file__).with_name("faulty_cells.py")
FAULTS = (
    "none",
    "swap_outputs",
    "die_at_load",
    "fail_at_load",
    "add_at_run",
    "forget_runs",
    "tamper_with_nothing",
    "write_to_the_module",
)
LIST_FOR_TENSOR = "element of an engine: a list for a tensor"  # listed: every release has it

Answers = dict[str, dict[str, list[str]]]


@pytest.fixture(scope="module")
def answers(toolchain: Toolchain, catalogue: Catalogue) -> Answers:
    """What became of `pr_4360`, saved with retrace=False by 2.14.0, for each fault."""
    site = toolchain.package_site(catalogue.get("2.14.0"))
    return answers_of(site, "emulated", *FAULTS)


def answers_of(
    site: PackageSite, executor: str, *faults: str, route: Route = Route.NO_RETRACE
) -> Answers:
    asked = [str(site.folder), "2.14.0", "pr_4360", route, executor, *faults]
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *asked], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: Answers = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_sound_cell_passes_but_for_what_the_release_is_known_for(answers: Answers) -> None:
    sound = answers["none"]
    assert set(sound) == {"metadata", "unflatten"}
    assert sound["metadata"] == ["wrong-metadata@export", LIST_FOR_TENSOR]


def test_swapped_elements_are_seen_in_the_values_and_in_the_wires(answers: Answers) -> None:
    found = answers["swap_outputs"]
    assert found["values"][0].startswith("wrong-values")
    assert found["wiring"] == ["wrong-wiring@inline-fallbacks", "reads another engine output"]


def test_a_fresh_process_that_dies_is_a_verdict(answers: Answers) -> None:
    found = answers["die_at_load"]
    assert found["completion"] == ["killed@load", "fresh process ended by SIGKILL"]
    assert found["values"][0] == "n/a"


def test_what_torch_raised_is_told_in_place_of_what_the_package_says_of_it(
    answers: Answers,
) -> None:
    label, message = answers["fail_at_load"]["completion"]
    assert label == "error@load"
    assert "elsewhere.pt2" in message


def test_values_are_those_of_the_fresh_process(answers: Answers) -> None:
    assert answers["add_at_run"]["values"] == ["wrong-values@run", "numbers differ"]


def test_a_program_whose_engines_never_ran_is_no_pass(answers: Answers) -> None:
    assert answers["forget_runs"]["values"] == ["wrong-values@run", "no engine ran"]


def test_a_program_that_engines_do_not_change_is_no_pass(answers: Answers) -> None:
    found = answers["tamper_with_nothing"]["values"]
    assert found == ["wrong-values@run", "engines that return something else change nothing"]


def test_a_save_that_writes_to_the_compiled_module_is_seen(answers: Answers) -> None:
    found = answers["write_to_the_module"]["structure"]
    assert found == ["wrong-structure@save", "saving changed the module it was given"]
