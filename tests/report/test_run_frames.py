"""The frames of a notebook: every column is told of, and a file is what was in memory."""

import dataclasses
import io

import pandas as pd
import pytest

from harness.base.errors import UsageError
from harness.report.run_frames import RunFrames, frame_files, read_frames
from harness.report.write import write_report

NAMES = [field.name for field in dataclasses.fields(RunFrames)]


@pytest.mark.parametrize("name", NAMES)
def test_every_column_is_described_where_help_shows_it(model, name):
    told = RunFrames.__doc__
    columns = getattr(model.frames, name).columns
    assert [column for column in columns if f"``{column}``" not in told] == []


def test_frames_come_back_from_their_files_with_types_and_order(model, tmp_path):
    write_report(tmp_path, model)
    back = read_frames(tmp_path)
    for name in NAMES:
        pd.testing.assert_frame_equal(getattr(back, name), getattr(model.frames, name))
    ordered = (back.cells["oracle"], back.matrix["family"], back.summary["subject"])
    assert all(column.cat.ordered for column in ordered)
    assert list(back.summary["subject"].cat.categories[:3]) == ["2.10.0", "2.13.0", "2.14.0"]


def test_a_csv_has_the_columns_and_the_rows_of_its_frame(model):
    files = frame_files(model.frames)
    for name in NAMES:
        frame = getattr(model.frames, name)
        read = pd.read_csv(io.BytesIO(files[f"{name}.csv"]))
        assert (list(read.columns), len(read)) == (list(frame.columns), len(frame))


def test_the_summary_counts_cells_and_holds_medians_by_subject_and_route(model):
    frame = model.frames.summary.set_index(["subject", "route"])
    row = frame.loc[("2.14.0", "legacy")]
    assert (row["ok"], row["failing"], row["total"]) == (6, 2, 8)
    assert row["worst"] == "wrong-signature@load"
    assert row["save_s"] == pytest.approx(5 * 0.06)  # of the cases that all three finished
    assert (row["kind"], row["torch"], row["tensorrt"]) == ("release", "2.14", "11.1")
    apart = frame.loc[("2.10.0", "export")]
    assert apart["hypothetical"]
    assert pd.isna(apart["save_s"])
    assert model.frames.summary["total"].sum() == len(model.frames.cells)


def test_a_time_that_was_not_taken_is_missing_and_never_zero(model):
    torch = model.frames.summary.set_index(["subject", "route"]).loc[("torch", "plain")]
    assert pd.isna(torch["inline_s"])
    assert (model.frames.timings["seconds"] > 0).all()


def test_a_run_without_frames_is_told_what_writes_them(tmp_path):
    with pytest.raises(UsageError, match=f"`python -m harness report {tmp_path}` writes it"):
        read_frames(tmp_path)


def test_a_damaged_file_is_named(model, tmp_path):
    write_report(tmp_path, model)
    (tmp_path / "frames" / "timings.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(UsageError, match=r"timings\.parquet: cannot be read"):
        read_frames(tmp_path)


def test_an_empty_run_has_frames_with_columns_and_no_rows(run, model):
    frames = type(run)(gate="inconclusive").model().frames
    for name in NAMES:
        assert list(getattr(frames, name).columns) == list(getattr(model.frames, name).columns)
        assert getattr(frames, name).empty
    assert len(frame_files(frames)) == 2 * len(NAMES)
