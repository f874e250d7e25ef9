"""Latency over steps: numbers that were worked out by hand from tests/report/conftest.py.

Case number n of eight has 2n steps and takes n times as long. 2.13.0 breaks on cases 3 and 5.
"""

import dataclasses

import pytest

from harness.report.frames import tables
from harness.report.frames.frames import sample_frame
from harness.report.sections.over_steps import over_steps

RELEASES = ["2.10.0", "2.13.0", "2.14.0"]


def over(run, releases=RELEASES):
    samples = tables.stage_times(sample_frame(run.records, run.cases, run.subjects))
    return over_steps(samples, releases)


def panel_of(run, route, stage):
    (panel,) = [p for p in over(run).panels if (p.route, p.stage) == (route, stage)]
    return panel


def test_the_newest_release_that_wires_by_name_is_held_against_the_newest_of_all(run):
    found = over(run)
    assert (found.old, found.new) == ("2.13.0", "2.14.0")
    assert over(run, ["2.10.0", "2.14.0"]).old == "2.10.0"


@pytest.mark.parametrize("releases", [[], ["2.13.0"], ["2.10.0", "2.13.0"], ["2.14.0"]])
def test_a_run_without_one_of_the_two_inliners_has_no_such_comparison(run, releases):
    assert over(run, releases) is None


def test_a_nightly_of_the_first_positional_release_is_positional(run):
    assert over(run, ["2.14.0.dev20250101", "2.14.0"]) is None


def test_only_cases_that_both_finished_are_points(run):
    points = panel_of(run, "legacy", "inline").points
    assert [point.steps for point in points] == [2, 4, 8, 12, 14, 16]
    first = points[0]
    assert (first.old, first.new) == (pytest.approx(0.0055), pytest.approx(0.0035))


def test_a_bin_is_a_doubling_of_steps_and_holds_medians(run):
    bins = panel_of(run, "legacy", "inline").bins
    assert [(b.low, b.high, b.n) for b in bins] == [(1, 2, 1), (3, 4, 1), (5, 8, 1), (9, 16, 3)]
    last = bins[-1]
    assert last.steps == 14
    assert last.old == pytest.approx(7 * 0.0055)
    assert last.new == pytest.approx(7 * 0.0035)


def test_a_row_has_a_bin_a_stage_and_a_gap_where_a_stage_was_not_timed(run):
    for at, record in enumerate(run.records):
        if record.key.case == "case_multi_output_engines":  # two steps
            seconds = {stage: s for stage, s in record.seconds.items() if stage != "load"}
            run.records[at] = dataclasses.replace(record, seconds=seconds)
    found = over(run)
    row = found.rows[0]
    assert (row.route, row.low, row.high) == ("legacy", 1, 2)
    told = [found_bin is not None for found_bin in row.bins]
    assert dict(zip(found.stages, told, strict=True)) == {
        "inline": True, "export": True, "save": True, "load": False,
    }  # fmt: skip


def test_pairs_that_are_one_measurement_are_counted_and_inlining_is_none_of_them(run):
    found = over(run)
    assert (found.pairs, found.once) == (36, 36)  # two routes, three stages, six cases
    at = next(
        n for n, record in enumerate(run.records)
        if (record.key.subject, record.key.route, record.key.case)
        == ("2.14.0", "legacy", "case_architectures")
    )  # fmt: skip
    record = run.records[at]
    seconds = {**record.seconds, "save": record.seconds["save"] * 1.5}
    run.records[at] = dataclasses.replace(record, seconds=seconds)
    assert over(run).once == 35


def test_cases_without_a_number_of_steps_or_without_a_step_are_left_out(run):
    run.records = [dataclasses.replace(record, steps=None) for record in run.records]
    assert over(run).panels == ()
    run.records = [dataclasses.replace(record, steps=0) for record in run.records]
    assert over(run).panels == ()


def test_a_hypothetical_cell_is_no_point(run):
    found = over(run, ["2.10.0", "2.14.0"])  # 2.10.0 reaches export by no user call
    assert {panel.route for panel in found.panels} == {"legacy"}
