"""The defects of a run as a report shows them, from the cells that show each."""

import dataclasses

from harness.report.frames.frames import cell_frame
from harness.report.sections.causes import live_causes, smallest_first
from harness.runs.commands import Places
from harness.wire.routes import Lane, Route
from tests.report.conftest import cells_of


def live(run, subject="2.14.0", causes=None):
    cells = cells_of(run)
    views = [known.view(run.records) for known in run.causes] if causes is None else causes
    ids = {key.cell_id for key in run.plan}
    return live_causes(views, ids, subject, smallest_first(cells, run.cases))


def test_counts_cases_and_routes_are_those_of_the_newest_release(run):
    found = {item.defect.id: item for item in live(run)}
    item = found["engine-getitem-metadata"]
    assert (item.cells, item.routes, item.cases) == (
        2, ("legacy", "export"), ("case_relu_fallbacks",),
    )  # fmt: skip
    assert found["keyword-order"].cases == ("case_dynamic_dims",)  # of the two that are listed
    assert found["keyword-order"].routes == ("legacy",)


def test_a_listed_cause_that_the_newest_release_does_not_show_is_not_live(run):
    run.causes[0] = dataclasses.replace(run.causes[0], subjects=("2.13.0", "2.14.0"))
    assert "name-matching" not in {item.defect.id for item in live(run)}
    assert "name-matching" in {item.defect.id for item in live(run, "2.13.0")}


def test_a_hypothetical_cell_is_no_live_cell(run):
    routes = {item.defect.id: item.routes for item in live(run, "2.10.0")}
    assert routes["engine-getitem-metadata"] == ("legacy",)


def test_a_cause_that_looks_like_two_things_counts_a_cell_once(run):
    view = run.causes[1].view(run.records)
    again = tuple(
        dataclasses.replace(
            each, harm="silent", oracle="values", label="wrong-values@run", says="also so"
        )
        for each in view.shown
    )
    (item,) = live(run, causes=[dataclasses.replace(view, shown=(*view.shown, *again))])
    assert (item.cells, item.harm, item.label) == (2, "silent", "wrong-values@run")
    assert [(entry.oracle, entry.cells) for entry in item.entries] == [
        ("values", 2), ("metadata", 2),
    ]  # fmt: skip


def test_the_minimal_case_of_a_defect_comes_first_where_it_shows(run):
    view = run.causes[2].view(run.records)
    cases = {each.key.case for each in view.shown}
    for name in cases:
        known = dataclasses.replace(view.defect, minimal_case=name)
        (item,) = live(run, causes=[dataclasses.replace(view, defect=known)])
        assert item.cases[0] == name


def test_the_smallest_case_is_that_with_the_fewest_engine_bytes(run):
    size = {case.name: 900 - 100 * at for at, case in enumerate(run.cases)}
    run.records = [
        dataclasses.replace(record, engine_bytes=size[record.key.case]) for record in run.records
    ]
    cells = cell_frame(run.records, run.cases, run.subjects, run.classes)
    assert smallest_first(cells, run.cases) == [case.name for case in run.cases[::-1]]


def command_of(run, **changed):
    """The command of a cause whose cells are changed in these fields of their key."""
    view = run.causes[2].view(run.records)
    shown = tuple(
        dataclasses.replace(each, key=dataclasses.replace(each.key, **changed))
        for each in view.shown
    )
    ids = {each.key.cell_id for each in shown}
    places = Places(corpus=("my cases.py",))
    view = dataclasses.replace(view, shown=shown, places=places)
    (cause,) = live_causes([view], ids, "2.14.0", [case.name for case in run.cases])
    return cause.command


def test_the_command_of_a_cause_asks_for_its_cells_capture_and_corpus(run):
    command = command_of(run, capture="strict")
    assert command == (
        "python -m harness explain case_dynamic_dims --subject 2.14.0 --route legacy "
        "--capture strict --corpus 'my cases.py'"
    )


def test_the_command_of_a_cause_on_a_gpu_runs_its_cell_again_there(run):
    command = command_of(run, lane=Lane.ENGINE, route=Route.RETRACE)
    assert command.startswith("python -m harness run --lane engine --environment matched")
    assert command.endswith("--routes retrace -k case_dynamic_dims")
