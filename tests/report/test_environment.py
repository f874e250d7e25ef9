"""Which environment a number is of: one kind is compared, and each tells its own torch."""

import dataclasses

from harness.report.frames.environments import (
    compared_in,
    environments,
    torches_running,
)
from harness.report.pages.junit import junit
from harness.report.sections.latency import LATENCY
from harness.report.sections.matrix import MATRIX
from harness.report.sections.neighbours import CHANGES
from harness.wire.records import CellKey
from harness.wire.routes import Lane, Route
from tests.report.conftest import cells_of


def elsewhere(run, *releases, alone=False):
    """Each of these releases in its matched environment too, or in that alone."""
    for at, record in enumerate(list(run.records)):
        if record.key.subject not in releases:
            continue
        key = dataclasses.replace(record.key, environment=f"torch-{record.key.subject}")
        moved = dataclasses.replace(record, key=key)
        run.classes[key.cell_id] = run.classes[record.key.cell_id]
        if alone:
            run.records[at], run.plan[at] = moved, key
        else:
            run.records.append(moved)
            run.plan.append(key)
    return run


def test_what_the_pinned_environment_has_is_compared_in_it(run):
    before = run.model()
    after = elsewhere(run, "2.13.0", "2.14.0").model()
    assert [row.cells for row in after[MATRIX].rows] == [row.cells for row in before[MATRIX].rows]
    assert after[LATENCY] == before[LATENCY]
    assert after[CHANGES].neighbours == before[CHANGES].neighbours
    assert after.scope == (
        f"{before.scope}; compared in the pinned environment, and all in the version matrix"
    )
    assert len(after.frames.cells) == len(before.frames.cells) + 32


def test_matched_environments_alone_are_compared_as_if_they_were_one(run):
    releases = ("2.10.0", "2.13.0", "2.14.0")
    before = run.model()
    run.plan = [key for key in run.plan if key.subject in releases]
    run.records = [record for record in run.records if record.key.subject in releases]
    after = elsewhere(run, *releases, alone=True).model()
    assert after[CHANGES].neighbours == before[CHANGES].neighbours
    assert after[CHANGES].neighbours[-1].fixed.cells > 0
    assert after.scope.endswith("8 cases in 8 families")


def test_each_lane_has_the_kind_that_it_has_to_offer(run):
    engine = (Lane.ENGINE, "tensorrt-11.1.0.106", "cuda", "torch-2.14.0")
    run.add(CellKey("case_parameters", "nonstrict", "2.14.0", Route.NO_RETRACE, *engine), {})
    where = compared_in(run.plan)
    assert where.kinds == {"graph": "pinned", "engine": "matched"}
    here = where.rows(cells_of(run))
    assert len(here) == len(run.plan)
    assert set(here.loc[here["lane"] == "engine", "builder"]) == {"tensorrt"}
    assert set(here.loc[here["lane"] == "graph", "builder"]) == {"segment"}


def test_every_torch_that_ran_is_named_of_a_subject_and_of_the_whole(run):
    elsewhere(run, "2.14.0")
    lines = environments(run.subjects, run.summary, run.provenance, Lane.GRAPH)
    assert lines["2.14.0"] == "torch 2.14 (ran 2.13.0 and 2.14.0), TensorRT 11.1"
    assert lines["2.13.0"] == "torch 2.13 (ran 2.13.0), TensorRT 11.0"
    assert torches_running(run.subjects, run.summary, run.provenance) == ("2.13.0", "2.14.0")


def test_one_case_in_two_environments_is_two_test_cases_of_the_junit_file(run):
    pinned = CellKey("case_parameters", "nonstrict", "2.14.0", Route.LEGACY)
    elsewhere(run, "2.14.0")
    text = junit(run.plan, run.records, run.cases, run.subjects, run.classes, run.provenance)
    assert text.count(f'name="{pinned.case} legacy [nonstrict, graph, segment, emulated]"') == 3
    assert "legacy [nonstrict, graph, segment, emulated, torch-2.14.0]" in text
