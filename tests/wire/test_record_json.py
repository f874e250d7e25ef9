"""Records as JSON: what is new in them does not keep an older run from being read."""

import dataclasses
import json

import pytest

from harness.runs.journal import encode_line
from harness.wire.oracles import Oracle
from harness.wire.record_json import (
    SCHEMA,
    cell_from_json,
    cell_from_text,
    cell_to_text,
    to_json,
    words,
)
from harness.wire.records import CellRecord
from tests.record_builders import failed, key, record


def as_text(made: CellRecord, **changes: object) -> bytes:
    """What stands in a journal behind the checksum."""
    return encode_line({**to_json(made), **changes})[:-1].split(b" ", 2)[2]


def test_a_record_goes_to_json_and_back_with_its_steps():
    made = record(key(), steps=40)
    assert cell_from_json(to_json(made)) == made


def test_a_record_from_before_steps_were_told_does_not_know_them():
    data = {**to_json(record(key(), steps=40)), "schema": 1}
    del data["steps"]
    assert cell_from_json(data).steps is None


@pytest.mark.parametrize("schema", [1, SCHEMA])
def test_a_cell_is_the_same_read_from_text_and_from_data(schema):
    tricky = dataclasses.replace(failed(Oracle.VALUES), evidence='he said ,"verdicts":[] and left')
    text = as_text(record(key(), tricky), schema=schema)
    read = cell_from_text(text, "here", {})
    assert read == cell_from_json(json.loads(text))
    assert tricky in read.verdicts


def test_a_cell_has_the_same_text_made_at_once_and_from_its_data():
    said = failed(Oracle.VALUES), failed(Oracle.WIRING)
    cells = [record(key(name), *said, seconds={"run": 0.5}, logged=("é",)) for name in "ab"]
    assert [cell_to_text(each) for each in cells] == [as_text(each) for each in cells]


def test_cells_of_which_the_same_is_said_share_it_and_their_planned_keys():
    one, other = (record(key(name), failed(Oracle.VALUES)) for name in "ab")
    planned = {words(each.key): each.key for each in (one, other)}
    read = [cell_from_text(as_text(each), "here", planned) for each in (one, other)]
    assert read == [one, other]
    assert read[0].verdicts is read[1].verdicts
    assert [each.key for each in read] == [one.key, other.key]
    assert all(mine.key is each.key for mine, each in zip(read, (one, other), strict=True))


def test_text_without_verdicts_is_no_cell():
    with pytest.raises(ValueError, match="Expecting value"):
        cell_from_text(b'{"schema":2}', "here", {})
