"""The frames: one row a thing, nothing lost, ordered as the report shows it."""

from harness.report.frames.frames import sample_frame
from harness.wire.oracles import Oracle
from harness.wire.records import CellKey
from harness.wire.routes import Route
from tests.report.conftest import cells_of, verdicts_of


def test_a_cell_row_holds_its_worst_verdict_family_class_and_sizes(run):
    frame = cells_of(run).set_index("cell_id")
    key = next(key for key in run.plan if (key.case, key.subject) == ("case_parameters", "2.13.0"))
    row = frame.loc[key.cell_id]
    assert row["label"] == "wrong-structure@export"
    assert row["oracle"] == "structure"
    assert row["family"] == "parameters"
    assert row["class"] == "expected_failure"
    assert row["archive_bytes"] == 1_000_000
    assert frame["engine_bytes"].isna().all()  # not measured, so no number


def test_a_planned_cell_without_a_record_keeps_a_row_and_is_missing(run):
    gone = run.records.pop()
    frame = cells_of(run).set_index("cell_id")
    assert len(frame) == 80
    assert frame.loc[gone.key.cell_id, "standing"] == "missing"


def test_an_unsupported_cell_is_never_ok_and_says_why(run):
    run.unsupported("no wheel")
    assert set(cells_of(run)["standing"]) == {"unsupported"}
    verdicts = verdicts_of(run)
    assert set(verdicts["outcome"]) == {"n/a"}
    assert set(verdicts["message"]) == {"no wheel"}


def test_the_time_until_an_exception_is_no_sample(run):
    frame = sample_frame(run.records, run.cases, run.subjects)
    broke = frame[(frame["case"] == "case_shared_values") & (frame["subject"] == "2.13.0")]
    assert set(broke["stage"]) == {"inline-engines"}


def test_steps_and_who_really_ran_are_told_of_cells_and_of_samples(run):
    for frame in (cells_of(run), sample_frame(run.records, run.cases, run.subjects)):
        steps = frame.loc[frame["case"] == "case_nested_getitems", "steps"]
        assert set(steps) == {6}
        assert frame["measured_as"].dtype == "string"


def test_what_is_no_defect_by_its_route_is_unable_and_not_failed(run):
    run.cases = run.cases[:1]
    run.records.clear()
    name = run.cases[0].name
    for subject, route in (("torch", "direct"), ("2.14.0", "export")):
        run.add(CellKey(name, "nonstrict", subject, Route(route)), {Oracle.UNFLATTEN: "not enough"})
    frame = verdicts_of(run)
    told = frame[frame["oracle"] == "unflatten"].set_index("route")["outcome"]
    assert told.to_dict() == {"direct": "failed", "export": "unable"}
