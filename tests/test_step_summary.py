"""A GitHub job shows the report of the run that it made."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.base.errors import SurroundingsError
from harness.cli.common import add_step_summary


def test_the_report_is_added_to_what_the_job_has_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "report.md").write_text("## Green")
    place = tmp_path / "summary.md"
    place.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place))
    add_step_summary(tmp_path)
    assert place.read_text() == "before\n## Green\n"


def test_elsewhere_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    add_step_summary(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_summary_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "report.md").write_text("## Green")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "summary.md"))
    with pytest.raises(SurroundingsError, match="cannot write"):
        add_step_summary(tmp_path)
