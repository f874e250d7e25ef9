"""Commands are printed as the shell that called the program can call it again."""

import html
import shlex
from pathlib import Path

import pytest

from harness.base.program import as_called_here, program_here


@pytest.fixture
def environment(tmp_path):
    """A virtual environment's programs, whose Python is a link, as it always is."""
    programs = tmp_path / "its place" / "bin"
    programs.mkdir(parents=True)
    base = tmp_path / "python3.11"
    base.write_text("")
    base.chmod(0o755)
    (programs / "python").symlink_to(base)
    script = programs / "inliner-regress"
    script.write_text("")
    script.chmod(0o755)
    return programs


def called(environment: Path, argv0: str = "harness/__main__.py", **variables: str) -> str:
    return program_here(variables, argv0, str(environment / "python"))


def test_python_is_called_by_its_name_where_the_shell_finds_it(environment):
    assert called(environment, PATH=str(environment)) == "python -m harness"


@pytest.mark.parametrize("variables", [{"PATH": "/usr/bin"}, {}])
def test_another_python_is_called_by_its_path(environment, variables):
    there = shlex.quote(str(environment / "python"))
    assert called(environment, **variables) == f"{there} -m harness"


def test_what_a_session_of_nox_finds_the_shell_that_called_nox_does_not(environment):
    words = called(environment, PATH=str(environment), NOX_CURRENT_SESSION="regress")
    assert shlex.split(words) == [str(environment / "python"), "-m", "harness"]


def test_the_environment_of_the_current_folder_is_called_from_there(environment, monkeypatch):
    monkeypatch.chdir(environment.parents[1])
    assert called(environment, PATH="") == "'its place/bin/python' -m harness"


def test_a_link_to_one_python_is_not_the_other(environment, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "python").symlink_to(tmp_path / "python3.11")
    assert str(environment) in called(environment, PATH=str(other))


def test_the_console_script_is_called_by_its_name_or_by_its_path(environment):
    script = str(environment / "inliner-regress")
    assert called(environment, script, PATH=str(environment)) == "inliner-regress"
    assert called(environment, script, PATH="/usr/bin") == shlex.quote(script)


def test_a_command_in_a_page_is_escaped_as_the_page_is(environment, monkeypatch):
    monkeypatch.setattr("harness.base.program.program_here", lambda _: "'a <b>/python' -m harness")
    told = as_called_here("<code>python -m harness list</code>", html.escape)
    assert told == "<code>&#x27;a &lt;b&gt;/python&#x27; -m harness list</code>"
