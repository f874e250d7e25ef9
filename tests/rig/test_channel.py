"""What a worker says is text that every table and page can hold."""

import io
import json

import pytest

from harness.rig.channel import Reporter, send
from harness.wire.records import CellKey
from harness.wire.routes import Route


@pytest.mark.parametrize(
    ("said", "arrives"),
    [
        ("half \ud800", "half ?"),
        ("\udfff", "?"),
        ("whole \U0001f642", "whole \U0001f642"),
        ("\\ud", "\\ud"),
    ],
)
def test_half_a_character_arrives_as_a_question_mark_and_a_whole_one_as_it_is(said, arrives):
    channel = io.StringIO()
    send(channel, event="record", record={"message": said, "more": [said, 1.5, None]})
    told = json.loads(channel.getvalue())
    assert told == {"event": "record", "record": {"message": arrives, "more": [arrives, 1.5, None]}}


def told_of(tmp_path, monkeypatch, folder) -> tuple[list[tuple[str | None, str]], str]:
    """The stages that a reporter tells of two jobs' cells, and the last that it wrote down."""
    monkeypatch.setenv("TMPDIR", str(folder))
    channel = io.StringIO()
    report = Reporter(channel)
    keys = [CellKey("case", "nonstrict", "2.14.0", Route(name)) for name in ("legacy", "export")]
    for _ in range(2):
        report.begin()
        for key in (None, *keys):
            for stage in ("export", "save"):
                report.at(key, stage)
    events = [json.loads(line) for line in channel.getvalue().splitlines()]
    file = tmp_path / "stage"
    routes = {None: None} | {key.cell_id: key.route.value for key in keys}
    told = [(routes[event["cell"]], event["stage"]) for event in events]
    return told, file.read_text().strip() if file.exists() else ""


def test_one_stage_of_each_cell_is_told_and_the_latest_is_written_down(tmp_path, monkeypatch):
    told, written = told_of(tmp_path, monkeypatch, tmp_path)
    assert told == [(None, "export"), ("legacy", "export"), ("export", "export")] * 2
    assert written == "save"


def test_where_no_stage_can_be_written_down_each_is_told(tmp_path, monkeypatch):
    told, _ = told_of(tmp_path, monkeypatch, tmp_path / "gone")
    assert len(told) == 2 * 3 * 2
