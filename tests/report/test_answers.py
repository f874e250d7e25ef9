"""The first screen's answers, each seen to change with what it speaks of."""

import dataclasses

from harness.report.frames.frames import cell_frame, verdict_frame
from harness.report.sections.answers import answers, route_states, silent_failures
from harness.wire.oracles import Oracle
from harness.wire.records import CellRecord
from harness.wire.vocabulary import CellState
from tests.report.conftest import verdicts

RELEASES = ["2.10.0", "2.13.0", "2.14.0"]


def cells_of(run):
    return cell_frame(run.records, run.cases, run.subjects, run.classes, run.plan)


def silent(run, releases=RELEASES):
    return silent_failures(cells_of(run), releases)


def routes(run, subject):
    found = verdict_frame(run.records, run.cases, run.subjects)
    return route_states(cells_of(run), found, subject)


def change(run, subject, family, failures, route="legacy"):
    """Let one cell end with other failures."""
    for at, record in enumerate(run.records):
        key = record.key
        if (key.subject, key.case, key.route) == (subject, f"case_{family}", route):
            run.records[at] = dataclasses.replace(record, verdicts=verdicts(failures))


def unask(run, subject):
    """Let no cell of a subject be asked."""
    run.records = [
        CellRecord(record.key, CellState.UNSUPPORTED, reason="no wheel")
        if record.key.subject == subject
        else record
        for record in run.records
    ]


def test_one_wrong_value_takes_a_release_from_the_safe_ones_and_says_where(run):
    change(run, "2.14.0", "parameters", {Oracle.VALUES: "differs"})
    assert silent(run) == (
        "In every release, fewest in the newest; 2.14.0 has 1 of 16 cells (parameters; by legacy)."
    )


def test_a_program_that_broke_aloud_is_no_silent_failure(run):
    change(run, "2.14.0", "parameters", {Oracle.WIRING: "another", Oracle.COMPLETION: "raised"})
    assert silent(run).startswith("None in 2.14.0")


def test_wrong_metadata_is_no_silent_failure(run):
    change(run, "2.14.0", "parameters", {Oracle.METADATA: "a list"})
    assert silent(run).startswith("None in 2.14.0")


def test_a_hypothetical_cell_makes_no_release_unsafe(run):
    for family in ("multi_output_engines", "name_collisions"):
        change(run, "2.10.0", family, {})
        change(run, "2.10.0", family, {Oracle.VALUES: "differs"}, route="export")
    assert silent(run) == "None in 2.10.0, 2.14.0; some in 2.13.0."


def test_a_release_that_was_not_wholly_asked_is_never_called_safe(run):
    gone = next(record for record in run.records if record.key.subject == "2.14.0")
    run.records.remove(gone)
    assert silent(run) == "None seen in 2.14.0, where not all was asked."


def test_an_unasked_release_is_never_called_safe(run):
    unask(run, "2.13.0")
    assert "None in 2.14.0; some in 2.10.0" in silent(run)
    assert "none seen in 2.13.0, where not all was asked" in silent(run)


def test_an_older_release_with_fewer_silent_failures_is_not_hidden(run):
    for family in ("parameters", "shared_values", "relu_fallbacks", "nested_getitems"):
        for route in ("legacy", "export"):
            change(run, "2.14.0", family, {Oracle.VALUES: "differs"}, route=route)
    assert silent(run).startswith("In every release; 2.14.0 has 8 of 16 cells")


def test_a_route_that_fails_in_metadata_alone_is_called_so(run):
    change(run, "2.14.0", "dynamic_dims", {})
    assert routes(run, "2.14.0").startswith(
        "By legacy nothing but metadata fails (1 of 8 cells); by export 1 of 8 cells fail in more"
    )


def test_a_worse_failure_is_not_hidden_behind_wrong_metadata(run):
    change(run, "2.14.0", "dynamic_dims", {})
    both = {Oracle.METADATA: "a list", Oracle.STRUCTURE: "no code"}
    change(run, "2.14.0", "relu_fallbacks", both)
    assert routes(run, "2.14.0").startswith(
        "By legacy 1 of 8 cells fail in more than metadata (1 wrong structure)"
    )


def test_a_route_that_was_not_asked_is_never_called_clean(run):
    unask(run, "positional")
    assert routes(run, "positional") == "By export 8 of 8 cells were not asked."


def test_a_hypothetical_route_is_not_among_the_routes(run):
    assert "by export" not in routes(run, "2.10.0").lower()


def test_without_a_release_nothing_is_answered(run):
    assert list(answers(only(run, "positional"))) == []


def test_a_single_release_is_answered_for_without_a_comparison(run):
    lines = list(answers(only(run, "2.13.0")))
    assert [line.asked for line in lines] == ["Silent failures", "Routes of 2.13.0"]
    assert lines[0].answer.startswith("2.13.0 has 4 of 16 cells")


def only(run, subject):
    """The run of one subject."""
    run.plan = [key for key in run.plan if key.subject == subject]
    run.records = [record for record in run.records if record.key.subject == subject]
    return run.reported()


def test_what_turned_worse_without_breaking_anew_is_told(run):
    change(run, "2.13.0", "parameters", {Oracle.COMPLETION: "raised"})
    change(run, "2.14.0", "parameters", {Oracle.VALUES: "differs"})
    (line,) = [
        each.answer for each in run.model().headline.answers if each.asked == "Against 2.13.0"
    ]
    assert (
        "1 cell turned worse: case_parameters (error@inline-fallbacks, now wrong-values@run)"
        in line
    )
