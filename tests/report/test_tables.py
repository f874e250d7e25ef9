"""The tables: numbers that were worked out by hand from tests/report/conftest.py."""

import pytest

from harness.report.frames import tables
from harness.report.frames.frames import cell_frame, sample_frame
from harness.wire.oracles import Oracle
from harness.wire.records import CellKey
from harness.wire.routes import Route
from tests.report.conftest import cells_of


def matrix_of(run):
    return tables.matrix(cells_of(run))


def samples_of(run):
    return sample_frame(run.records, run.cases, run.subjects)


def latency_row(frame, subject, route, stage):
    match = (frame["subject"] == subject) & (frame["route"] == route) & (frame["stage"] == stage)
    (row,) = frame[match].to_dict("records")
    return row


def test_the_matrix_counts_ok_and_failing_cells_and_names_the_worst(run):
    row = matrix_of(run).loc[("2.13.0", "multi_output_engines")]
    assert (row["ok"], row["failing"], row["total"]) == (0, 2, 2)
    assert row["worst"] == "wrong-values@run"
    assert row["harm"] == "silent"
    clean = matrix_of(run).loc[("2.14.0", "multi_output_engines")]
    assert (clean["ok"], clean["failing"], clean["total"]) == (2, 0, 2)


def test_the_matrix_has_every_subject_and_family_even_without_a_cell(run):
    run.plan = [key for key in run.plan if key.subject != "positional"]
    run.records = [record for record in run.records if record.key.subject != "positional"]
    table = matrix_of(run)
    assert len(table) == 6 * 8
    assert table.loc[("positional", "architectures"), "total"] == 0


def test_a_hypothetical_cell_is_not_in_the_matrix(run):
    assert matrix_of(run).loc["2.10.0", "total"].tolist() == [1] * 8  # legacy only


def test_the_matrix_counts_unexpected_cells_apart(red):
    table = matrix_of(red)
    assert table["unexpected"].sum() == 1
    assert table.loc[("2.14.0", "name_collisions"), "unexpected"] == 1


def test_the_worst_of_a_family_is_what_harms_most_and_not_the_first(run):
    mild = CellKey("case_architectures", "strict", "2.14.0", Route.LEGACY)
    run.add(mild, {Oracle.METADATA: "a"})
    run.add(CellKey("case_architectures", "strict", "2.14.0", Route.EXPORT), {Oracle.WIRING: "b"})
    assert matrix_of(run).loc[("2.14.0", "architectures"), "harm"] == "silent"


def test_latency_is_median_quartiles_and_n_by_subject_route_and_stage(run):
    # Families one to eight take one to eight times as long: median 4.5, quartiles 2.75 and 6.25.
    row = latency_row(tables.latency(samples_of(run)), "2.14.0", "export", "save")
    assert row["n"] == 8
    assert row["median"] == pytest.approx(4.5 * 0.06)
    assert row["q1"] == pytest.approx(2.75 * 0.06)
    assert row["q3"] == pytest.approx(6.25 * 0.06)


def test_inline_is_the_sum_of_its_three_stages_where_all_three_ended(run):
    # 2.13.0 breaks at inline-fallbacks on families three and five: 1, 2, 4, 6, 7, 8 are left.
    row = latency_row(tables.latency(samples_of(run)), "2.13.0", "legacy", "inline")
    assert row["n"] == 6
    assert row["median"] == pytest.approx(5 * (0.001 + 0.004 + 0.0005))


def test_a_stage_that_was_not_timed_has_no_row_rather_than_a_zero(run):
    frame = tables.latency(samples_of(run))
    torch = frame[frame["subject"] == "torch"]
    assert set(torch["stage"]) == {"export", "save"}
    assert (frame["median"] > 0).all()


def test_a_hypothetical_cell_is_not_in_the_latency(run):
    frame = tables.latency(samples_of(run))
    assert set(frame.loc[frame["subject"] == "2.10.0", "route"]) == {"legacy"}


def test_subjects_are_compared_on_the_cases_that_all_of_them_finished(run):
    samples = tables.stage_times(samples_of(run))
    fair = tables.latency(tables.comparable(samples, ["route", "stage"]))
    row = latency_row(fair, "2.14.0", "legacy", "save")
    assert row["n"] == 6  # without the two on which 2.10.0 and 2.13.0 break
    assert row["median"] == pytest.approx(5 * 0.06)


def test_sizes_are_of_those_cells_that_left_an_archive(run):
    cells = cell_frame(run.records, run.cases, run.subjects, run.classes)
    table = tables.sizes(cells, "archive_bytes")
    assert table["median"].tolist() == [1_000_000] * 9
    assert tables.sizes(cells, "engine_bytes").empty
