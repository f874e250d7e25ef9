"""Recordings as files: what comes back is what was written, and nothing else is taken for one."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from corpus.recorded.recording import FOLDER, BadRecording, read_recording, to_text
from corpus.recorded.to_record import TO_RECORD

PATHS = sorted(FOLDER.glob("*.json"))
ONE = FOLDER / "recorded_pr_4360.json"


def edited(change: Callable[[dict[str, Any]], object]) -> str:
    """The text of a sound recording, with one change."""
    data = json.loads(ONE.read_text())
    change(data)
    return json.dumps(data)


def test_what_is_wanted_is_recorded_and_nothing_else():
    assert {path.stem for path in PATHS} == {wanted.name for wanted in TO_RECORD}
    assert len({wanted.name for wanted in TO_RECORD}) == len(TO_RECORD) < 40


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_recording_is_read_as_it_was_written(path):
    recording = read_recording(path)
    assert recording.name == path.stem
    assert to_text(recording) == path.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ONE.read_text()[:2000], "no recording \\(JSONDecodeError"),
        ("[]", "no recording \\(TypeError"),
        ("{}", "no recording \\(KeyError\\('schema'\\)"),
        (edited(lambda data: data.update(schema=2)), "schema 2; this corpus reads 1"),
        (edited(lambda data: data.update(release="2.15.0")), "its digest differs"),
        (edited(lambda data: data["split"]["parent"]["nodes"].pop(2)), "its digest differs"),
        (edited(lambda data: data.pop("handed")), "its digest differs"),
        (edited(lambda data: data.update(digest="")), "its digest differs"),
    ],
)
def test_a_file_that_was_cut_off_edited_or_of_another_schema_is_refused(tmp_path, text, message):
    path = tmp_path / "recorded_pr_4360.json"
    path.write_text(text)
    with pytest.raises(BadRecording, match=message) as told:
        read_recording(path)
    assert str(path) in str(told.value)
    assert "`python -m harness record`" in str(told.value)
