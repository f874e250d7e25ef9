"""The model: the first screen in words, and each section's rows."""

import dataclasses

import pytest

from harness.report.model import build_model


def test_the_headline_says_green_and_how_many_cells_ended(model):
    head = model.headline
    assert head.words == "Green: may ship"
    assert dict(head.facts)["cells ended"] == "80 / 80"
    assert dict(head.facts)["known failures"] == "37"


def test_the_headline_says_red_and_how_many(red):
    assert red.model().headline.words == "Red: 1 unexpected failure"


def test_an_unexpected_pass_is_red_too(run):
    run.classes[run.plan[0].cell_id] = "unexpected_pass"
    run.gate = "red"
    assert run.model().headline.words == "Red: 1 unexpected pass"


def test_the_headline_says_what_was_not_asked_and_why(run):
    run.unsupported("no wheel")
    run.gate = "inconclusive"
    head = run.model().headline
    assert head.words == "Inconclusive: none of 80 cells could be asked"
    assert any("80 cells not asked" in line and "no wheel" in line for line in head.not_checked)


def test_a_missing_cell_is_a_broken_harness_and_no_number_is_praised(run):
    gone = run.records.pop()
    del run.classes[gone.key.cell_id]
    run.gate = "failed"
    head = run.model().headline
    assert head.words == "Failed: the harness broke, 1 cell missing"
    assert head.newest == ""
    assert "1 planned cell left no record." in head.not_checked


def test_the_first_screen_tells_how_the_newest_release_does(model):
    # 16 gated cells of 2.14.0, two families failing by two routes, neither by values or wiring.
    assert model.headline.newest == (
        "2.14.0: 12 of 16 cells ok, 4 failing, none silently. "
        "Against 2.13.0: 10 fixed, 2 newly broken."
    )


def test_emulated_engines_are_named_as_not_checked(model):
    assert "no TensorRT engine ran" in model.headline.not_checked[0]


def test_an_oracle_that_judged_nothing_is_named_as_not_checked(run):
    run.records = [
        dataclasses.replace(
            record,
            verdicts=tuple(item for item in record.verdicts if item.oracle != "signature"),
        )
        for record in run.records
    ]
    assert "No verdict at all of: signature." in run.model().headline.not_checked


def test_every_subject_and_family_is_in_the_matrix(run):
    matrix = run.model().matrix
    assert [row.subject for row in matrix.rows] == [
        "2.10.0", "2.13.0", "2.14.0", "name-matching", "positional", "torch",
    ]  # fmt: skip
    assert list(matrix.families) == [case.family for case in run.cases]
    assert all(len(row.cells) == 8 for row in matrix.rows)


def test_a_row_sums_its_families_and_has_the_worst_of_them(run):
    row = next(row for row in run.model().matrix.rows if row.subject == "2.13.0")
    assert (row.whole.ok, row.whole.failing, row.whole.total) == (4, 12, 16)
    assert row.whole.worst == "wrong-values@run"


def test_subjects_that_share_an_inliner_say_so(run):
    run.subjects = [
        dataclasses.replace(spec, inliner_id="a" * 64) if spec.subject == "2.10.0" else spec
        for spec in run.subjects
    ]
    shares = {row.subject: row.shares for row in run.model().matrix.rows}
    assert shares["2.10.0"] == ("2.13.0",)
    assert shares["2.13.0"] == ("2.10.0",)
    assert shares["2.14.0"] == ()


def test_an_environment_names_what_is_pinned_and_what_ran(model):
    environment = {row.subject: row.environment for row in model.matrix.rows}
    assert environment["2.10.0"] == "torch 2.10 (ran 2.13.0), TensorRT 10.14.1"


def test_live_causes_are_those_of_the_newest_release_worst_first(model):
    live = model.live
    assert [item.cause.id for item in live] == ["keyword-order", "engine-getitem-metadata"]
    assert live[0].command == "python -m harness explain case_dynamic_dims --subject 2.14.0"


def test_findings_keep_the_order_of_the_gate(red):
    other = dataclasses.replace(red.findings[0], oracle="metadata", label="wrong-metadata@load")
    red.findings.append(other)
    assert [finding.oracle for finding in red.model().findings] == ["values", "metadata"]


def test_the_control_tells_what_is_torchs_own(model):
    control = model.control
    assert (control.ok, control.asked) == (7, 8)
    assert control.failures == (
        ("case_architectures", "wrong-metadata@inline-engines", "strides differ from eager"),
    )


def test_hypothetical_routes_are_listed_apart(model):
    (row,) = model.hypothetical
    assert (row.subject, row.route, row.ok, row.total) == ("2.10.0", "export", 1, 8)


def test_a_number_that_was_not_measured_is_none(model):
    torch = [row for row in model.measures if row.subject == "torch"]
    assert all(row.stages["load"] is None and row.engines is None for row in torch)


def test_a_run_with_one_release_compares_nothing(run):
    old = {"2.10.0", "2.13.0"}
    run.plan = [key for key in run.plan if key.subject not in old]
    run.records = [record for record in run.records if record.key.subject not in old]
    run.subjects = [spec for spec in run.subjects if spec.subject not in old]
    assert run.model().comparison is None


def test_a_record_of_an_unknown_case_is_refused_not_dropped(run):
    with pytest.raises(KeyError):
        build_model(
            plan=run.plan, records=run.records, cases=run.cases[1:], subjects=run.subjects,
            gate="green", classes={}, findings=(), causes=(), summary=run.summary, provenance={},
        )  # fmt: skip
