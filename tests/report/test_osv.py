"""defects.json, for tools that read OSV records; and the same as a frame and as a picture."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from packaging.version import Version

from harness.gate.defect_table import Part
from harness.register.standing import State
from harness.register.where import TORCH
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
        assert {versions["type"] for versions in affected["ranges"]} <= {"ECOSYSTEM"}
        assert each["modified"] == "2026-11-23T01:02:03Z"
        assert each["references"]
        assert all(link["url"].startswith("https://github.com/") for link in each["references"])
        assert each["database_specific"]["workaround"]
        kinds = {link["url"]: link["type"] for link in each["references"]}
        assert len(kinds) == len(each["references"])
        for kind, name in (("FIX", "fixed_by"), ("INTRODUCED", "brought_by")):
            number = each["database_specific"][name].rpartition("#")[2]
            mine = [url for url, of in kinds.items() if of == kind]
            assert [url.rpartition("/")[2] for url in mine] == ([number] if number else [])
    mended = [each for each in records.values() if each["database_specific"]["part"] == Part.GONE]
    assert all("fixed" in each["affected"][0]["ranges"][-1]["events"][-1] for each in mended)


def covered(versions: dict[str, Any], release: str) -> bool:
    """Whether a range has a release, as the format's own page evaluates it."""
    has = False
    for event in versions["events"]:
        ((kind, at),) = event.items()
        release_is_later = Version(release) > Version(at)
        if kind == "last_affected":
            has = has and not release_is_later
        elif release_is_later or release == at:
            has = kind == "introduced"
    return has


def test_the_ranges_of_a_record_cover_the_releases_that_show_the_defect_and_no_other() -> None:
    table = made()
    came_again = 0
    for each in json.loads(osv_text(table, MODIFIED)):
        (affected,) = each["affected"]
        ranges = affected["ranges"]
        inside = [name for name in table.releases if any(covered(of, name) for of in ranges)]
        assert inside == affected["versions"], each["id"]
        came_again += len(ranges) > 1
    assert came_again, "none comes and goes, which this test is for"


def test_a_range_ends_by_a_fix_only_where_the_defect_is_known_to_be_gone() -> None:
    table, kinds = made(), set()
    for row, each in zip(table.rows, json.loads(osv_text(table, MODIFIED)), strict=True):
        states = {of.release: of.state for of in row.standings}
        (affected,) = each["affected"]
        for versions in affected["ranges"]:
            ((kind, at),) = versions["events"][-1].items()
            kinds.add(kind)
            if kind == "fixed":
                assert states[at] is State.ABSENT or not row.defect.alive_in(at)
        more = each["database_specific"]
        assert more["hidden_in"] == [name for name in states if states[name] is State.HIDDEN]
        assert not {*more["not_asked_in"], *more["hidden_in"]} & {*affected["versions"]}
    assert kinds == {"introduced", "fixed", "last_affected"}


@pytest.mark.parametrize("newest", ["2.13.0", "2.14.0"])
def test_a_record_points_at_upstreams_lines_at_the_tag_that_has_them(newest: str) -> None:
    records = {each["id"]: each for each in json.loads(osv_text(made(newest), MODIFIED))}
    tensorrt, torch = (
        f"https://github.com/pytorch/{name}/blob" for name in ("TensorRT", "pytorch")
    )

    def lines(name: str) -> list[str]:
        references = records[f"x_inliner-{name}"]["references"]
        return [each["url"] for each in references if each["type"] == "WEB"]

    exporter = "py/torch_tensorrt/dynamo/_exporter.py"
    assert lines("effect-deleted") == [f"{tensorrt}/v2.14.0/{exporter}#L301"]
    assert lines("shapes-by-running")[-1] == f"{tensorrt}/v2.5.0/{exporter}#L400"
    assert lines("torch-unflatten-writes-early") == [
        f"{torch}/v{TORCH}/torch/export/unflatten.py#L890"
    ]
    assert lines("torch-29-parameters") == [f"{torch}/v2.9.0/torch/export/pt2_archive/_package.py"]


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
