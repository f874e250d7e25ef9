"""Records as JSON: what is new in them does not keep an older run from being read."""

from __future__ import annotations

from harness.rig.record_json import cell_from_json, to_json
from tests.record_builders import key, record


def test_a_record_goes_to_json_and_back_with_its_steps() -> None:
    made = record(key(), steps=40)
    assert cell_from_json(to_json(made)) == made


def test_a_record_from_before_steps_were_told_does_not_know_them() -> None:
    data = {**to_json(record(key(), steps=40)), "schema": 1}
    del data["steps"]
    assert cell_from_json(data).steps is None
