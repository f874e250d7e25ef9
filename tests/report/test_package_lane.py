"""What users of a release meet: the package lane has tables of its own, and is never added up with
the graph lane."""

import dataclasses

import pytest

from harness.report.pages.report_page import markdown
from harness.report.sections.causes import CAUSES
from harness.report.sections.latency import LATENCY
from harness.report.sections.matrix import MATRIX
from harness.report.sections.neighbours import CHANGES
from harness.wire.oracles import Oracle, Symptom
from harness.wire.routes import Lane
from tests.report.conftest import Run, full_run, undrawn_page
from tests.report.whole_packages import alone as lane_alone
from tests.report.whole_packages import with_packages


@pytest.fixture
def mixed() -> Run:
    return with_packages(full_run())


@pytest.fixture
def alone() -> Run:
    return lane_alone(with_packages(full_run()), Lane.PACKAGE)


def cell(run: Run, release: str, call: str):
    (package,) = run.model().packages
    row = next(row for row in package.rows if row.name == release)
    return next(each for each in row.cells if each.family == call)


def test_a_run_without_the_lane_has_no_table_of_it(run):
    assert run.model().packages == []
    assert 'id="package"' not in undrawn_page(run.model())


def test_the_graph_lane_is_compared_as_if_the_packages_were_not_there(run, mixed):
    before, after = run.model(), mixed.model()
    for section in (MATRIX, CHANGES, LATENCY):
        assert after[section] == before[section], section.name


def test_each_release_tells_how_many_of_those_asked_are_right_by_each_call(mixed):
    assert [row.name for row in mixed.model().packages[0].rows] == ["2.13.0", "2.14.0"]
    found = cell(mixed, "2.13.0", "no-retrace")
    assert (found.ok, found.total, found.tone) == (0, 2, "silent")
    assert cell(mixed, "2.13.0", "no-retrace-export").tone == "interface"
    assert cell(mixed, "2.14.0", "no-retrace").ok == 2


def test_a_call_that_a_release_lacks_is_empty_and_not_right(mixed):
    assert cell(mixed, "2.14.0", "no-retrace-export").tone == "none"


def test_the_first_screen_says_which_call_is_safest(mixed):
    told = {line.asked: line for line in mixed.model().headline.answers}
    safest = told["Safest call"]
    assert (safest.answer, *map(str, safest.items)) == (
        "in 2.14.0 save(m, f): of 2 models silently wrong for none, right for 2; "
        "right in every release from 2.13.0 to 2.14.0 for 2",
        "save(retrace=False): of 2 models silently wrong for none, right for 2; "
        "right in every release from 2.13.0 to 2.14.0 for none",
        "a save of what compile() makes wrong counts as compile() does; "
        "before 2.10.0 write save(m, f, retrace=True) for save(m, f)",
        "in 2.13.0 save(m, f): of 2 models silently wrong for none, right for 2",
    )


def test_figures_of_two_lanes_stand_side_by_side(mixed):
    head = mixed.model().headline
    facts = dict(head.facts)
    assert facts["cells ended"] == "80 / 80 + 10 / 10"
    assert facts["ok"].endswith(" + 7")
    assert head.counted == "in the graph and package lane"


def test_a_planned_cell_of_the_lane_without_a_record_is_not_right(mixed):
    mixed.records.pop()
    found = cell(mixed, "2.14.0", "retrace")
    assert (found.ok, found.missing) == (1, 1)


def test_a_save_is_the_whole_call_and_one_that_broke_is_not_timed(mixed):
    rows = {(row.name, row.call.route): row for row in mixed.model().packages[0].measures}
    new, old = rows["2.14.0", "no-retrace"], rows["2.13.0", "no-retrace"]
    assert new.save.median == pytest.approx(0.02)
    assert new.inline.median == pytest.approx(0.004)
    assert (new.save.n, old.save.n) == (1, 1)
    assert rows["2.14.0", "retrace"].inline is None
    took = mixed.model().packages[0].compile["2.14.0"]
    assert (took.whole.median, took.lowering.median) == (2.0, 0.5)
    assert (took.conversion, took.build) == (None, None)  # TensorRT built nothing


def test_the_lane_alone_gives_a_page_with_a_matrix_of_its_own(alone):
    model = alone.model()
    assert model[MATRIX].families == ("packages",)
    assert [row.subject for row in model[MATRIX].rows] == ["2.13.0", "2.14.0"]
    assert model[CHANGES].neighbours[-1].fixed.cells == 2
    text = undrawn_page(model)
    assert text.index('id="package"') < text.index('id="matrix"')
    assert 'id="latency"' not in text
    assert model.headline.counted == ""


def test_a_cause_counts_the_cells_of_each_lane_apart(mixed):
    entry = mixed.causes[1]
    for at, record in enumerate(mixed.records):
        if record.key.subject == "2.14.0" and record.key.case == "one":
            verdicts = tuple(
                dataclasses.replace(
                    next(v for r in mixed.records for v in r.failures if v.oracle == "metadata"),
                    symptom=Symptom.WRONG_METADATA,
                )
                if verdict.oracle is Oracle.METADATA
                else verdict
                for verdict in record.verdicts
            )
            mixed.records[at] = dataclasses.replace(record, verdicts=verdicts)
    mixed.causes[1] = dataclasses.replace(
        entry, cases=(*entry.cases, "one"), routes=(*entry.routes, "no-retrace", "retrace")
    )
    live = next(cause for cause in mixed.model()[CAUSES].live if cause.defect.id == entry.id)
    assert (live.cells, live.package_cells) == (2, 2)
    assert live.cases[0] == "case_relu_fallbacks"
    assert "2 cells and 2 of the package lane" in undrawn_page(mixed.model())


def test_the_markdown_has_the_table_and_folds_the_rest(mixed):
    text = markdown(mixed.model())
    assert "| **2.13.0** | 2.13 | 11.0 | ✗ 0/2 wrong values |" in text
    assert "<details><summary>What each call reaches; compile, save and load" in text
