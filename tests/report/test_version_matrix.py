"""The version matrix: a row for each that ran, what changed in it, and only what was measured."""

import csv
import dataclasses
import io

import pytest

from harness.report.draw.plots import svg
from harness.report.draw.version_plot import version_figure
from harness.report.frames.tables import Harms
from harness.report.pages.report_page import markdown
from harness.report.sections.version_csv import version_csv
from harness.report.sections.version_matrix import VERSIONS, changed
from harness.wire.oracles import Oracle
from harness.wire.records import CaseInfo
from harness.wire.routes import Lane
from harness.wire.vocabulary import SubjectKind
from tests.report.conftest import undrawn_page, verdicts

RTX = "tensorrt-rtx-"


def also(run, release, environment="pinned", builder="segment", lane="graph", **changes):
    """The cells of a release once more, elsewhere; ``changes`` are of their records."""
    for record in list(run.records):
        key = record.key
        if key.subject != release or key.route != "legacy" or key.environment != "pinned":
            continue
        if key.builder != "segment" or key.lane != "graph":
            continue
        case, route = key.case, key.route
        if lane == "package":
            route = "no-retrace"
            known = {each.name: each for each in run.cases}
            if case not in known:
                family = known[key.case].family
                run.cases.append(CaseInfo(case, family, "product", "x", lanes=("package",)))
        elsewhere = dataclasses.replace(
            key, case=case, route=route, environment=environment, builder=builder, lane=lane
        )
        run.plan.append(elsewhere)
        run.records.append(dataclasses.replace(record, key=elsewhere, **changes))
        run.classes[elsewhere.cell_id] = run.classes[key.cell_id]


def same_inliner(run, *releases):
    run.subjects = [
        dataclasses.replace(spec, inliner_id="c" * 64) if spec.subject in releases else spec
        for spec in run.subjects
    ]


def blocks(run):
    return {(b.lane.value, b.environments, b.builds): b for b in run.model()[VERSIONS]}


@pytest.fixture
def graph(model):
    (block,) = model[VERSIONS]
    return block


def test_an_ordinary_run_has_a_row_for_each_release_and_none_for_other_subjects(graph):
    assert [row.release for row in graph.rows] == ["2.10.0", "2.13.0", "2.14.0"]
    assert {row.torch for row in graph.rows} == {"2.13.0"}
    assert graph.title == "graph lane, pinned environment, segments as engines, emulated"
    assert [row.torch_pinned for row in graph.rows] == ["2.10", "2.13", "2.14"]


def test_routes_that_no_user_reaches_count_in_no_row(graph):
    # 2.10.0 has 8 cells by legacy, and 8 by the hypothetical export.
    assert [row.whole.total for row in graph.rows] == [8, 16, 16]


def test_correctness_by_family_is_what_is_right_of_what_was_asked(run, graph):
    assert graph.families == tuple(case.family for case in run.cases)
    of = dict(zip(graph.families, graph.rows[1].families, strict=True))
    assert (of["shared_values"].ok, of["shared_values"].failing) == (0, 2)
    assert (of["shared_values"].tone, of["architectures"].tone) == ("error", "ok")
    row = graph.rows[1]
    assert (row.whole.ok, row.harms) == (4, Harms(silent=4, error=4, interface=4))


def test_each_row_is_held_against_the_release_before(graph):
    first, second, third = graph.rows
    assert first.step is None
    assert (second.step.against, second.step.compared) == ("2.10.0", 8)
    assert (third.step.fixed, third.step.worse, third.step.broken) == (8, 0, 0)


def test_a_failure_that_turned_silent_is_worse_and_neither_fixed_nor_broken(run):
    for at, record in enumerate(run.records):
        if (record.key.subject, record.key.case) == ("2.14.0", "case_shared_values"):
            silent = verdicts({Oracle.VALUES: "differs"})
            run.records[at] = dataclasses.replace(record, verdicts=silent)
    step = run.model()[VERSIONS][0].rows[2].step
    assert (step.fixed, step.worse, step.broken) == (6, 2, 0)


def test_what_changed_is_the_inliner_alone_in_the_pinned_environment(run, graph):
    assert [row.step.changed for row in graph.rows[1:]] == ["inliner", "inliner"]
    same_inliner(run, "2.13.0", "2.14.0")
    (block,) = run.model()[VERSIONS]
    assert [row.step.changed for row in block.rows[1:]] == ["inliner", "nothing"]


def test_releases_with_one_inliner_are_a_group(run):
    same_inliner(run, "2.13.0", "2.14.0")
    (block,) = run.model()[VERSIONS]
    assert [[row.release for row in group] for group in block.groups] == [
        ["2.10.0"],
        ["2.13.0", "2.14.0"],
    ]
    assert block.rows[2].shares == ("2.13.0", "2.14.0")


def test_matched_environments_are_a_block_of_their_own_in_which_torch_changes(run):
    same_inliner(run, "2.10.0", "2.13.0")
    for release in ("2.10.0", "2.13.0", "2.14.0"):
        also(run, release, f"torch-{release}")
    found = blocks(run)
    assert list(found) == [("graph", "pinned", "segment"), ("graph", "matched", "segment")]
    matched = found["graph", "matched", "segment"]
    assert [row.torch for row in matched.rows] == ["2.10.0", "2.13.0", "2.14.0"]
    assert [row.step.changed for row in matched.rows[1:]] == ["torch", "torch and inliner"]
    assert matched.rows[1].environment_bytes == 1_500_000_000
    assert found["graph", "pinned", "segment"].rows[1].environment_bytes is None


def with_rtx(run, *pairs):
    for release, version in pairs:
        also(run, release, builder=f"{RTX}{version}", lane="package", carried_bytes=250_000)
    return blocks(run)["package", "pinned", "tensorrt-rtx"]


def test_each_pair_of_release_and_tensorrt_rtx_is_a_row_of_its_own(run):
    block = with_rtx(run, ("2.14.0", "1.10"), ("2.14.0", "1.9"), ("2.13.0", "1.9"))
    assert [row.name for row in block.rows] == [
        f"2.13.0 {RTX}1.9",
        f"2.14.0 {RTX}1.9",
        f"2.14.0 {RTX}1.10",  # by version, not by letter
    ]
    assert [row.engines for row in block.rows] == [
        f"TensorRT-RTX {v}" for v in ("1.9", "1.9", "1.10")
    ]
    assert [(row.step.against, row.step.changed) for row in block.rows[1:]] == [
        (f"2.13.0 {RTX}1.9", "inliner"),
        (f"2.14.0 {RTX}1.9", "TensorRT-RTX"),
    ]


def test_a_release_is_held_against_the_one_before_with_the_same_tensorrt_rtx(run):
    block = with_rtx(run, ("2.13.0", "1.5"), ("2.13.0", "1.6"), ("2.14.0", "1.5"))
    assert block.rows[2].step.against == f"2.13.0 {RTX}1.5"
    other = with_rtx(run, ("2.10.0", "1.4"))
    assert other.rows[0].step is None
    assert other.rows[1].step.changed == "inliner and TensorRT-RTX"


def test_in_the_package_lane_the_rest_of_the_package_is_another_in_every_release(run):
    same_inliner(run, "2.13.0", "2.14.0")
    also(run, "2.13.0", lane="package")
    also(run, "2.14.0", lane="package")
    block = blocks(run)["package", "pinned", "segment"]
    assert block.rows[1].step.changed == "the package around the inliner"
    one, other = block.rows
    newer = dataclasses.replace(other, tensorrt="11.1")
    assert changed(one, newer, Lane.PACKAGE) == "the package around the inliner"  # builds nothing


def test_a_file_is_told_with_and_without_the_segments_that_it_carries(run):
    block = with_rtx(run, ("2.14.0", "1.9"))
    measures = block.rows[0].measures
    assert (measures.archive.median, measures.bare.median) == (1_000_000, 750_000)


def test_seconds_are_of_the_cases_that_every_row_finished(graph):
    # 2.10.0 and 2.13.0 break on two of eight cases.
    assert {row.measures.load.n for row in graph.rows} == {6}
    assert {row.measures.save.n for row in graph.rows} == {6}
    assert {row.measures.archive.n for row in graph.rows} == {6}


def test_compile_is_a_number_of_the_package_lane(run):
    seconds = {"compile": 2.0, "compile-build": 1.5, "save": 1.0, "load": 0.5}
    also(run, "2.14.0", lane="package", seconds=seconds)
    run.records[0] = dataclasses.replace(run.records[0], seconds={"compile": 9.0})
    found = blocks(run)
    package = found["package", "pinned", "segment"].rows[0].measures
    assert (package.compile.median, package.compile.n) == (2.0, 8)
    assert (package.build.median, package.conversion) == (1.5, None)
    assert (package.save.median, package.load.median) == (1.0, 0.5)
    assert all(row.measures.compile is None for row in found["graph", "pinned", "segment"].rows)


def test_what_was_not_asked_is_no_failure_and_no_pass(run):
    run.unsupported("no wheel")
    run.gate = "inconclusive"
    (block,) = run.model()[VERSIONS]
    assert [(row.whole.ok, row.whole.failing) for row in block.rows] == [(0, 0)] * 3
    assert [row.step.compared for row in block.rows[1:]] == [0, 0]
    assert "not asked" in svg(version_figure((block,)))


def test_a_run_without_releases_has_no_row(run):
    for name in ("plan", "records"):
        keep = [x for x in getattr(run, name) if getattr(x, "key", x).subject == "positional"]
        setattr(run, name, keep)
    run.subjects = [spec for spec in run.subjects if spec.kind is not SubjectKind.RELEASE]
    model = run.model()
    assert model[VERSIONS] == ()
    assert "No release was planned." in undrawn_page(model)
    assert version_csv(model[VERSIONS]) == "release\n"


def test_the_csv_has_a_line_a_row_with_all_its_numbers(run):
    same_inliner(run, "2.13.0", "2.14.0")
    also(run, "2.13.0", "torch-2.13.0")
    also(run, "2.14.0", lane="package", builder=f"{RTX}1.9")
    rows = list(csv.DictReader(io.StringIO(version_csv(run.model()[VERSIONS]))))
    assert len(rows) == 5
    row = rows[2]
    assert (row["release"], row["torch"], row["lane"]) == ("2.14.0", "2.13.0", "graph")
    assert (row["against"], row["changed"], row["compared"]) == ("2.13.0", "nothing", "16")
    assert (row["ok"], row["asked"], row["same_inliner"]) == ("12", "16", "2.13.0 2.14.0")
    assert row["family shared_values"] == "✓ 2/2"
    assert (float(row["load_median_s"]), row["load_n"]) == (pytest.approx(0.5), "6")
    assert (row["compile_median_s"], row["environment_bytes"]) == ("", "")
    assert rows[3]["environment_bytes"] == "1500000000"
    assert rows[4]["tensorrt"] == "TensorRT-RTX 1.9"


def test_page_and_markdown_and_picture_tell_the_same_rows(run):
    same_inliner(run, "2.10.0", "2.13.0")
    for release in ("2.10.0", "2.13.0", "2.14.0"):
        also(run, release, f"torch-{release}")
    model = run.model()
    for form in (undrawn_page(model), markdown(model), svg(version_figure(model[VERSIONS]))):
        assert "matched environments" in form
        assert "torch and inliner" in form
    assert "| ┃ 2.13.0 | `cccccccc` | 2.13.0 | \u2013 | torch | 0 | 0 | 0 |" in markdown(model)
    assert 'title="against 2.13.0">torch and inliner</td>' in undrawn_page(model)
