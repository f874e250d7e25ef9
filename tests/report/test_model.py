"""The model: the first screen in words, and each section's rows."""

import dataclasses
import re

import pytest

from harness.gate.case_matrix import Call, CaseMatrix, CaseRow
from harness.gate.findings import CellClass, Finding, Gate, first_screen
from harness.gate.judge import judge
from harness.register.faults import Fault
from harness.register.table import Table
from harness.report import text
from harness.report.model import ReportModel
from harness.report.pages.report_page import markdown
from harness.report.reported_run import BreakageView, FindingView
from harness.report.run_report import fault_view, finding_view
from harness.report.sections.causes import CAUSES
from harness.report.sections.latency import LATENCY
from harness.report.sections.provenance import PROVENANCE
from harness.report.sections.short_tables import CONTROL, HYPOTHETICAL
from harness.runs.commands import HERE
from harness.runs.plan import PlannedCell
from harness.wire.oracles import Oracle
from harness.wire.records import not_applicable
from harness.wire.vocabulary import SubjectKind
from tests.record_builders import failed, key, subject
from tests.report.conftest import ASIDE, DEFECTS, GREEN, ON_CPU, undrawn_page


def test_the_headline_says_green_and_how_many_cells_ended(model):
    head = model.headline
    assert (head.why, head.aside) == (ON_CPU, ASIDE)
    assert head.advice == "Every verdict is ok, or a known defect, where it is expected."
    assert dict(head.facts)["cells ended"] == "80 / 80"
    assert dict(head.facts)["known failures"] == "37"


def test_page_and_markdown_tell_the_defects_of_the_console_between_the_verdict_and_the_rest(model):
    assert model.headline.defects == (DEFECTS,)
    for form in (undrawn_page(model), markdown(model)):
        body = form[form.rindex("<body") :] if "<body" in form else form
        told = (ON_CPU, DEFECTS, "16 splits without compile", ASIDE)
        assert sorted(told, key=body.index) == [*told]


def test_expectations_that_contradict_themselves_are_red_and_named(run):
    run.findings.append(fault_view(Fault("one", "one has no row")))
    run.gate = "red"
    model = run.model()
    words = "Red: 1 fault in the expectations"
    assert model.headline.words == words
    for form in (undrawn_page(model), markdown(model)):
        assert words in form
        assert re.search(r"one\S* in the expectations: one has no row", form)


def test_the_console_says_what_the_report_says(run):
    plan = [PlannedCell(record.key, record.hypothetical, "") for record in run.records]
    records = {record.key.cell_id: record for record in run.records}
    report = judge(plan, records, Table(), run.subjects)
    green = dataclasses.replace(report, gate=Gate.GREEN, findings=())
    assert first_screen(green)[0] == f"gate: {GREEN[:1].lower()}{GREEN[1:]}"


def test_the_headline_says_what_was_not_asked_and_why(run):
    run.unsupported("no wheel")
    run.gate = "inconclusive"
    head = run.model().headline
    assert head.words == "Inconclusive: none of 80 cells could be asked"
    assert any("80 cells not asked" in line and "no wheel" in line for line in head.not_checked)


def test_a_release_with_the_torch_that_it_pins_stands_before_all_that_is_compared(run):
    told = ("2.14.0 with torch 2.14.0", "3 user calls: 3 right", ("1 user call better",))
    model = ReportModel(run.reported(own_torch=[told]))
    first = model.headline.answers[0]
    assert (first.asked, first.answer, tuple(map(str, first.items))) == told
    for form in (undrawn_page(model), markdown(model)):
        assert form.index("1 user call better") < form.index("16 splits without compile")
    assert "3 right · <ul><li>1 user call better" in undrawn_page(model)


def test_the_page_of_a_merge_says_of_how_many_runs_it_is_and_names_no_time(run):
    merged = {**run.provenance, "sources": [{}, {}]}
    summary = {**run.summary, "seconds": {}}
    model = ReportModel(run.reported(provenance=merged, summary=summary))
    assert model.scope.startswith("merged from 2 runs; ")
    assert "took" not in dict(model.headline.facts)
    assert "took" in dict(run.model().headline.facts)


def test_the_page_of_a_candidate_begins_with_the_smallest_case_of_what_it_breaks_worst(run):
    found, other = (
        FindingView(
            case, "file:1a", "legacy", "silent", "wrong-values@run", "it differs", "explain",
            wire="relu argument 0 reads x, should read y", pieces=pieces,
        )
        for case, pieces in (("small", 2), ("large", 5))
    )  # fmt: skip
    wired = BreakageView(
        "wrong-wiring@clean", ("reads another model input",), 12, ("small", "large"), (), found
    )
    missing = dataclasses.replace(found, case="absent", tone="missing", label="missing")
    file = subject("file:1a", kind=SubjectKind.FILE, release="2.14.0")
    run.findings, run.gate = [other, found, missing], "red"
    model = ReportModel(run.reported(subjects=[*run.subjects, file], breakages=[wired]))
    assert model.headline.first == found
    page = undrawn_page(model)
    assert (
        "<b>relu argument 0 reads x, should read y</b><br>The smallest such case, 2 engines" in page
    )
    assert "What it breaks: 1 thing, in 12 cells</h2>" in page
    assert "wrong wiring after inlining: 12 cells of 2 cases</h3>" in page
    assert "2 findings, cell by cell</summary>" in page
    assert page.index("1 other finding</h3>") < page.index("absent")
    assert "**wrong wiring after inlining**: 12 cells of 2 cases" in markdown(model)


def test_a_question_that_was_lost_is_told_as_not_asked_and_not_as_right():
    lost = not_applicable(Oracle.WIRING, "no program")
    reason = "not asked (no program), but 2.14.0 is ok"
    found = Finding(key("a"), CellClass.UNEXPECTED_FAILURE, reason, Oracle.WIRING, lost)
    view = finding_view(found, HERE)
    assert (view.tone, view.label) == ("unsupported", "not asked")


def test_the_first_finding_of_a_users_own_cases_is_of_the_newest_release(run):
    old, new = (
        FindingView(
            "mine", release, "legacy", "silent", "wrong-values@run", "it differs", "explain"
        )
        for release in ("2.13.0", "2.14.0")
    )
    run.findings, run.gate = [old, new], "red"
    own = CaseMatrix(("2.13.0", "2.14.0"), ())
    assert ReportModel(run.reported(own_cases=own)).headline.first == new
    assert ReportModel(run.reported()).headline.first == old
    run.findings = [old]
    assert ReportModel(run.reported(own_cases=own)).headline.first == old


def test_the_heading_of_a_run_of_own_cases_says_which_release_and_call_are_right_for_them(run):
    run.gate = "red"
    releases, right = ("2.13.0", "2.14.0"), (Call("save(m, f)", 1, 1, 1),)
    row = CaseRow("mine", ("silent", "ok"), ())
    old = FindingView("mine", "2.13.0", "legacy", "silent", "wrong", "it differs", "explain")
    run.findings = [old]
    own = CaseMatrix(releases, (row,), {"2.13.0": (Call("save(m, f)", 1, 0, 0),), "2.14.0": right})
    head = ReportModel(run.reported(own_cases=own)).headline
    assert head.words == "Use Torch-TensorRT 2.14.0 and save(m, f): right for your case"
    assert head.why.startswith("Every call of 2.14.0 that was asked is right. The gate is red: ")
    assert head.why.endswith("the first line names one call that is right.")
    assert (head.state, head.first) == ("green", None)
    assert head.words not in [line.answer for line in head.answers]
    worse = dataclasses.replace(own, calls={"2.13.0": right, "2.14.0": own.calls["2.13.0"]})
    head = ReportModel(run.reported(own_cases=worse)).headline
    assert head.words.endswith("and save(m, f): right for your case; 2.14.0 is not")
    assert (head.state, head.first) == ("red", old)


def test_a_missing_cell_is_a_broken_harness_and_no_number_is_praised(run):
    gone = run.records.pop()
    del run.classes[gone.key.cell_id]
    run.gate = "failed"
    head = run.model().headline
    assert head.words == "Failed: the harness broke, 1 cell missing"
    assert head.answers == ()
    assert "1 planned cell left no record." in head.not_checked


def test_the_first_screen_says_whether_the_newest_release_may_take_the_place_of_the_other(run):
    head = run.model().headline
    assert head.words == "Torch-TensorRT 2.14.0 in place of 2.13.0: ship"
    assert head.why == ON_CPU
    told = {line.asked: line.answer for line in head.answers}
    assert told["16 splits without compile"] == "0 regressed, 8 fixed, 0 broken before, 8 right"
    run.gate = "red"
    head = run.model().headline
    assert head.words.startswith("Red")
    assert (head.why, head.aside) == ("", "")
    assert ("2.14.0", "in place of 2.13.0: ship, on CPU evidence; no GPU has run it") in [
        (line.asked, line.answer) for line in head.answers
    ]


def test_a_release_that_is_not_to_be_shipped_has_no_green_sign_although_nothing_is_unexpected(run):
    by_key = {each.key: each for each in run.records}
    right = next(
        each
        for key, each in by_key.items()
        if key.subject == "2.14.0"
        and each.right
        and (before := by_key.get(dataclasses.replace(key, subject="2.13.0")))
        and before.right
    )
    others = tuple(each for each in right.verdicts if each.oracle is not Oracle.VALUES)
    wrong = dataclasses.replace(right, verdicts=(failed(Oracle.VALUES), *others))
    run.records[run.records.index(right)] = wrong
    head = run.model().headline
    assert run.gate == "green"
    assert head.words == "Torch-TensorRT 2.14.0 in place of 2.13.0: do not ship"
    assert (head.state, head.sign) == ("red", "✗")
    (by,) = [line.items for line in head.answers if line.asked == "Regressed by"]
    assert list(map(str, by)) == ["new failures, of no known defect (silent, 1 split)"]


def test_an_oracle_that_judged_nothing_is_named_as_not_checked(run):
    run.records = [
        dataclasses.replace(
            record,
            verdicts=tuple(item for item in record.verdicts if item.oracle != "signature"),
        )
        for record in run.records
    ]
    assert "No verdict at all of: signature." in run.model().headline.not_checked


def test_live_causes_are_those_of_the_newest_release_worst_first(model):
    live = model[CAUSES].live
    assert [cause.defect.id for cause in live] == ["keyword-order", "engine-getitem-metadata"]
    assert live[0].command == (
        "python -m harness explain case_dynamic_dims --subject 2.14.0 --route legacy"
    )


def test_subjects_that_were_measured_as_one_have_one_row_of_latency(run):
    run.records = [
        dataclasses.replace(record, measured_as="2.10.0")
        if record.key.subject in ("2.10.0", "2.13.0")
        else record
        for record in run.records
    ]
    rows = [(row.route, row.members) for row in run.model()[LATENCY]]
    assert rows[:4] == [
        ("legacy", ("2.10.0", "2.13.0")),
        ("legacy", ("2.14.0",)),
        ("export", ("2.13.0",)),  # by this route 2.10.0 is hypothetical
        ("export", ("2.14.0",)),
    ]


def test_the_control_tells_what_is_torchs_own(model):
    control = model[CONTROL]
    assert (control.ok, control.asked) == (7, 8)
    assert control.failures == (
        ("case_architectures", "wrong-metadata@inline-engines", "strides differ from eager"),
    )


def test_what_the_run_took_is_told_where_it_was_measured(run):
    def facts(**summary):
        return dict(run.reported(summary={**run.summary, **summary}).view(PROVENANCE).facts)

    spent = {"workers": 80.0, "in_stages": 64.0, "stage_share": 0.8}
    held = {"workers_peak_bytes": 3_000_000_000, "controller_peak_bytes": 200_000_000}
    told = facts(seconds={"wall": 41.7, **spent}, memory=held)
    assert told["time inside stages"] == "80% of the workers' time since import (64.0 of 80.0 s)"
    assert told["peak memory"].startswith(
        f"{text.size(3e9)} in all workers, {text.size(2e8)} in the controller"
    )
    for unknown in (
        facts(seconds=dict.fromkeys(spent), memory={**held, "workers_peak_bytes": None}),
        facts(),  # a run of before it was kept
    ):
        assert not {"time inside stages", "peak memory"} & set(unknown)


def test_hypothetical_routes_are_listed_apart(model):
    (row,) = model[HYPOTHETICAL]
    assert (row.subject, row.route, row.ok, row.total) == ("2.10.0", "export", 1, 8)


def test_a_record_of_an_unknown_case_is_refused_not_dropped(run):
    with pytest.raises(KeyError):
        _ = run.reported(cases=run.cases[1:]).all_cells


def test_what_a_candidate_does_otherwise_is_told_in_its_parts_whatever_a_failure_says(run):
    failure = "numbers differ; numbers differ, but 2.13.0 is ok"
    mended = [f"mends: {number}" for number in range(7)]
    parts = [*mended, f"breaks: {failure} in 3 cells", "all else as 2.13.0"]
    lines = [DEFECTS, f"2.14.0: {'; '.join(parts)}"]
    reported = run.reported(defects=lines, differences={"2.14.0": parts})
    answers = ReportModel(reported).headline.answers
    told = {line.asked: line for line in answers}
    assert list(map(str, told["Breaks"].items)) == [f"{failure} in 3 cells"]
    assert list(map(str, told["Mends"].items)) == list(map(str, range(7)))
    assert (told["Mends"].answer, len(told["Mends"].first)) == ("7:", 1)
    assert told["In defects"].answer == "all else as 2.13.0"
    order = [line.asked for line in answers]
    assert order.index("Breaks") < order.index("Mends") < order.index("In defects")
