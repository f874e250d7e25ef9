"""What a campaign of mutants says of cells, for the order in which a candidate is asked."""

import json

import pytest

from harness.base.errors import UsageError
from harness.campaigns.mutant_report import found_in
from harness.wire.records import CellKey
from harness.wire.routes import Lane, Route


def test_each_cell_has_the_mutants_that_it_found_first_and_survivors_have_none(tmp_path):
    by = {"case": "a", "capture": "nonstrict", "lane": "graph", "route": "legacy"}
    rows = [{"name": name, "found": by} for name in ("one", "two")]
    text = json.dumps([*rows, {"name": "alive", "found": None}])
    (tmp_path / "mutants.json").write_text(text)
    cell = CellKey("a", "nonstrict", "", Route.LEGACY, Lane.GRAPH)
    assert found_in(tmp_path) == {cell: {"one", "two"}}


def test_a_folder_without_an_ended_campaign_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"no mutants\.json"):
        found_in(tmp_path)
