"""README and docs name commands that exist, and print what these answer."""

import ast
from pathlib import Path

import pytest
import typer

from harness.cli import PANELS, application
from tests.commands import python
from tests.docs.written import ROOT, Transcript, commands, differs, transcripts

#: The command behind a session, where it has another name.
BEHIND = {"regress": "run", "rtx": "run", "stack": "run", "engine": "run"}
#: What sessions take for themselves.
OWN_OPTIONS = {"stack": {"--keep"}, "crossing": {"--matched"}, "tests": {"--full", "-k"}}
NO_TORCH = [each for each in transcripts() if each.command.startswith("python -m harness defects")]
WITH_TORCH = [each for each in transcripts() if each not in NO_TORCH]
COMMANDS = {name for places in PANELS.values() for name in places}


def sessions() -> set[str]:
    tree = ast.parse((ROOT / "noxfile.py").read_text())
    return {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}


def options_of(command: str) -> set[str]:
    group = typer.main.get_command(application([command]))
    options = {"--help"}
    for parameter in group.commands[command].params:  # type: ignore[attr-defined]
        options |= {*parameter.opts, *parameter.secondary_opts}
    return options


@pytest.mark.parametrize("command", dict.fromkeys(commands()), ids=str)
def test_every_command_of_the_docs_exists_with_its_options(command):
    if command.words[0] == "nox":
        name, _, arguments = " ".join(command.words[2:]).partition(" -- ")
        session = name.split()[0].partition("(")[0]
        if session == "NAME":
            return
        assert session in sessions()
        given, known = arguments.split(), OWN_OPTIONS.get(session, set())
        behind = BEHIND.get(session, session)
        known = known | (options_of(behind) if behind in COMMANDS else set())
    else:
        name = command.words[3] if command.words[0] == "python" else command.words[1]
        if not name.islower():
            return  # COMMAND, which stands for any
        assert name in COMMANDS
        given, known = list(command.words), options_of(name) | {"-m"}
    unknown = [
        word.partition("=")[0]
        for word in given
        if word.startswith("-") and word.partition("=")[0] not in known
    ]
    assert unknown == []


def check(transcript: Transcript, folder: Path) -> None:
    program, *words = transcript.command.split()
    assert program == "python"
    there = {"PYTHONPATH": str(ROOT), "INLINER_REGRESS_CACHE": str(ROOT / ".cache")}
    done = python(*words, cwd=folder, **there)
    missing = differs(transcript.printed, done.stdout + done.stderr)
    assert not missing, f"not printed: {missing}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("transcript", NO_TORCH, ids=str)
def test_what_needs_no_torch_prints_what_the_docs_show(transcript, tmp_path):
    check(transcript, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", dict.fromkeys(each.page for each in WITH_TORCH))
def test_every_transcript_of_a_page_prints_what_it_shows(page, tmp_path):
    # Wheels and the checkout's own tests, whose models are asked, are at hand.
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    for wheel in (ROOT / ".cache" / "wheels").glob("*.whl"):
        (tmp_path / wheel.name).symlink_to(wheel)
    for transcript in WITH_TORCH:  # which go on with each other's files
        if transcript.page == page:
            check(transcript, tmp_path)


def test_a_line_that_is_not_printed_in_its_place_is_named():
    said = "a line\nanother of 12 cells\nthe last\n"
    assert differs(("a line", "...", "the last"), said) == ""
    assert differs(("another of ... cells", "the last"), said) == ""
    assert differs(("the last", "a line"), said) == "a line"
    assert differs(("another",), said) == "another"
