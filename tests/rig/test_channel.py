"""What a worker says is text that every table and page can hold."""

import io
import json

import pytest

from harness.rig.channel import send


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
