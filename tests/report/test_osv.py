"""defects.json, for tools that read OSV records; and the same as a frame and as a picture."""

import json
from datetime import UTC, datetime

from harness.gate.defect_table import Part
from harness.report.draw.defects_plot import defects_figure
from harness.report.osv import osv_text
from harness.report.run_frames import defects_frame
from tests.gate.test_defect_table import made

MODIFIED = datetime(2026, 11, 23, 1, 2, 3, tzinfo=UTC)


def test_a_record_tells_what_introduced_a_defect_what_fixed_it_and_where_to_read_on() -> None:
    records = {each["id"]: each for each in json.loads(osv_text(made(), MODIFIED))}
    assert len(records) == len(made().rows)
    for each in records.values():
        assert each["id"].startswith("x_")  # the schema refuses any other name of a home database
        (affected,) = each["affected"]
        (versions,) = affected["ranges"]
        assert versions["type"] == "ECOSYSTEM"
        assert "introduced" in versions["events"][0]
        assert each["modified"] == "2026-11-23T01:02:03Z"
        assert all(link["url"].startswith("https://github.com/") for link in each["references"])
        assert each["database_specific"]["workaround"]
        kinds = {link["url"]: link["type"] for link in each["references"]}
        assert len(kinds) == len(each["references"])
        for kind, name in (("FIX", "fixed_by"), ("INTRODUCED", "brought_by")):
            number = each["database_specific"][name].rpartition("#")[2]
            mine = [url for url, of in kinds.items() if of == kind]
            assert [url.rpartition("/")[2] for url in mine] == ([number] if number else [])
    mended = [each for each in records.values() if each["database_specific"]["part"] == Part.GONE]
    assert all(len(each["affected"][0]["ranges"][0]["events"]) == 2 for each in mended)


def test_the_frame_has_a_row_for_each_defect_and_release() -> None:
    table = made()
    frame = defects_frame(table)
    assert len(frame) == len(table.rows) * len(table.releases)
    shown = frame[frame["state"] == "shown"].groupby("defect")["release"].agg(list).to_dict()
    assert shown == {row.defect.id: list(row.shown_in) for row in table.rows if row.shown_in}
    assert defects_frame(None).empty


def test_the_picture_has_every_title_and_nothing_lies_over_the_heads_of_the_columns() -> None:
    table = made()
    (axes,) = defects_figure(table).axes
    told = {each.get_text() for each in axes.texts}
    assert {row.defect.title for row in table.rows if row.part is not Part.UNSEEN} <= told
