"""Every command is found by its name, loads no more than it needs, and tells a job what it did."""

import pytest
from typer.testing import CliRunner

from harness.base.errors import SurroundingsError
from harness.cli import PANELS, application
from harness.cli.common import add_step_summary, tells_scripts

COMMANDS = [name for places in PANELS.values() for name in places]


def test_help_shows_every_command_in_one_of_four_panels():
    told = CliRunner().invoke(application(["--help"]), ["--help"]).output
    starts = [told.index(f" {panel} ") for panel in PANELS]
    assert len(starts) == 4
    assert starts == sorted(starts)
    for places, start, end in zip(PANELS.values(), starts, [*starts[1:], None], strict=True):
        assert [name for name in places if f" {name} " not in told[start:end]] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_of_its_own(name):
    done = CliRunner().invoke(application([name]), [name, "--help"])
    assert done.exit_code == 0
    assert name in done.output


def test_a_word_that_is_no_command_is_told_as_that():
    done = CliRunner().invoke(application(["rum"]), ["rum"])
    assert done.exit_code == 2
    assert "rum" in done.output


def test_the_report_is_added_to_what_the_job_has_said(tmp_path, monkeypatch):
    (tmp_path / "report.md").write_text("## Green")
    place = tmp_path / "summary.md"
    place.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place))
    add_step_summary(tmp_path)
    assert place.read_text() == "before\n## Green\n"


def test_elsewhere_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    add_step_summary(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_summary_that_cannot_be_written_is_told(tmp_path, monkeypatch):
    (tmp_path / "report.md").write_text("## Green")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "summary.md"))
    with pytest.raises(SurroundingsError, match="cannot write"):
        add_step_summary(tmp_path)


def test_each_fifth_script_that_was_tried_is_told(capsys):
    heard = tells_scripts("12 causes")
    for _ in range(11):
        heard()
    told = capsys.readouterr().out.splitlines()
    assert told == ["5 scripts tried for 12 causes", "10 scripts tried for 12 causes"]
