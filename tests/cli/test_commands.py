"""Every command is found by its name, and loads no more than it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from harness.cli import PANELS, application
from harness.toolchain.environment import PROJECT_ROOT

COMMANDS = [name for places in PANELS.values() for name in places]


def test_help_shows_every_command_in_one_of_four_panels() -> None:
    told = CliRunner().invoke(application(["--help"]), ["--help"]).output
    starts = [told.index(f" {panel} ") for panel in PANELS]
    assert len(starts) == 4
    assert starts == sorted(starts)
    for places, start, end in zip(PANELS.values(), starts, [*starts[1:], None], strict=True):
        assert [name for name in places if f" {name} " not in told[start:end]] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_of_its_own(name: str) -> None:
    done = CliRunner().invoke(application([name]), [name, "--help"])
    assert done.exit_code == 0
    assert name in done.output


def test_a_word_that_is_no_command_is_told_as_that() -> None:
    done = CliRunner().invoke(application(["rum"]), ["rum"])
    assert done.exit_code == 2
    assert "rum" in done.output


def test_an_application_of_one_command_takes_its_name_all_the_same() -> None:
    assert isinstance(application(["list"]), typer.Typer)
    assert CliRunner().invoke(application(["list"]), ["-k", "relu_once"]).exit_code == 2


def test_what_lists_cases_loads_nothing_that_draws_or_counts() -> None:
    code = (
        "import sys; from harness.cli import application; application(['list']); "
        "print([name for name in ('matplotlib', 'scipy', 'pandas') if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
