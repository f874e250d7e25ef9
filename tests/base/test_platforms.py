"""Where the harness does not run it says so in one line, before anything else is imported."""

import sys

import pytest

from harness.base.program import refusal
from tests import commands


@pytest.mark.parametrize("python", [(3, 11), (3, 12)])
def test_linux_on_x86_64_is_not_refused(python):
    assert refusal("linux", "x86_64", python) == ""


@pytest.mark.parametrize(
    ("place", "what"),
    [
        (("darwin", "arm64", (3, 11)), "darwin on arm64"),
        (("linux", "aarch64", (3, 12)), "linux on aarch64"),
        (("win32", "AMD64", (3, 11)), "win32 on AMD64"),
        (("linux", "x86_64", (3, 10)), "Python 3.10"),
        (("linux", "x86_64", (3, 13)), "Python 3.13"),
    ],
)
def test_any_other_place_is_named(place, what):
    assert f"this is {what}; " in refusal(*place)


def test_the_command_line_ends_with_exit_code_4_and_one_line_before_it_imports_typer():
    code = (
        "import platform, runpy, sys; platform.machine = lambda: 'riscv64'; "
        "sys.modules['typer'] = None; runpy.run_module('harness', run_name='__main__')"
    )
    done = commands.python("-c", code)
    assert done.returncode == 4
    assert done.stderr.startswith("error: this is linux on riscv64; ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("missing", "command"), [("typer", "defects"), ("rich", "list"), ("pandas", "crossing")]
)
def test_what_is_not_installed_is_named_in_one_line_with_exit_code_4_and_never_red(
    missing, command
):
    code = (
        f"import runpy, sys; sys.modules['{missing}'] = None; sys.argv[1:] = ['{command}']; "
        "runpy.run_module('harness', run_name='__main__')"
    )
    done = commands.python("-c", code)
    assert done.returncode == 4, done.stderr
    (said,) = done.stderr.splitlines()
    assert said.startswith(f"error: {missing} is not installed for {sys.executable}; `pip install")
