"""Where the harness does not run it says so in one line, before anything else is imported."""

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
