"""Fixed and broken between neighbours: counted by hand, and what turns silent is never lost."""

import dataclasses

from harness.report.pages.report_page import markdown
from harness.report.sections.neighbours import Move, measured_once, neighbours
from harness.wire.oracles import Oracle
from harness.wire.records import CellRecord
from harness.wire.vocabulary import CellState
from tests.report.conftest import cells_of, change, share_an_inliner, undrawn_page

RELEASES = ["2.10.0", "2.13.0", "2.14.0"]


def between(run, releases=RELEASES):
    return neighbours(cells_of(run), releases)


def counts(view):
    return [moved.cells for moved in (view.fixed, view.milder, view.worse, view.broken)]


def test_fixed_and_broken_are_counted_in_cells_and_in_cases(run):
    first, second = between(run)
    assert first.compared == 8  # by legacy alone: export is hypothetical in 2.10.0
    assert counts(first) == [0, 0, 0, 0]
    assert second.compared == 16
    assert counts(second) == [8, 0, 0, 0]
    assert (second.fixed.cases, second.broken.cases) == (4, 0)
    change(run, "2.14.0", "dynamic_dims", {Oracle.VALUES: "differ"})
    broken = between(run)[1].broken
    assert broken.moves == (
        Move("case_dynamic_dims", "ok", "wrong-values@run", ("export", "legacy")),
    )
    assert (broken.cells, broken.cases) == (2, 1)


def test_an_error_that_turns_silent_has_turned_worse(run):
    change(run, "2.14.0", "shared_values", {Oracle.VALUES: "differ"})
    view = between(run)[1]
    assert counts(view) == [6, 0, 2, 0]
    (move,) = view.worse.moves
    assert (move.case, move.before, move.after) == (
        "case_shared_values", "error@inline-fallbacks", "wrong-values@run",
    )  # fmt: skip
    assert view.label == "wrong-values@run"


def test_a_silent_failure_that_turns_loud_is_milder_and_not_fixed(run):
    change(run, "2.14.0", "multi_output_engines", {Oracle.COMPLETION: "raised"})
    assert counts(between(run)[1]) == [6, 2, 0, 0]


def test_right_numbers_in_another_form_count_as_right(run):
    change(run, "2.14.0", "multi_output_engines", {Oracle.METADATA: "a list"})
    assert counts(between(run)[1]) == [8, 0, 0, 0]


def test_releases_that_were_measured_as_one_stand_together(run):
    share_an_inliner(run)
    (view,) = between(run)
    assert view.before == ("2.10.0", "2.13.0")
    assert list(measured_once(cells_of(run), RELEASES)) == [("2.10.0", "2.13.0"), ("2.14.0",)]


def test_the_neighbour_of_a_release_is_the_nearest_of_those_that_stand_together(run):
    share_an_inliner(run)
    run.records = [
        dataclasses.replace(record, hypothetical=record.key.subject == "2.10.0")
        for record in run.records
    ]
    (view,) = between(run)
    assert view.compared == 8  # 2.13.0 by legacy, which 2.10.0 does not reach


def test_a_cell_that_was_not_asked_or_left_no_record_is_neither_fixed_nor_broken(run):
    run.records = [
        CellRecord(record.key, CellState.UNSUPPORTED, reason="no wheel", measured_as="2.14.0")
        if record.key.subject == "2.14.0" and record.key.case != "case_dynamic_dims"
        else record
        for record in run.records
    ]
    assert (between(run)[1].compared, counts(between(run)[1])) == (2, [0, 0, 0, 0])
    run.records = [record for record in run.records if record.key.subject != "2.14.0"]
    assert between(run)[1].compared == 0


def test_a_lone_release_has_no_neighbour(run):
    assert between(run, ["2.14.0"]) == ()
    assert between(run, []) == ()


def test_the_page_and_the_markdown_tell_what_got_worse_by_name(run):
    change(run, "2.14.0", "shared_values", {Oracle.VALUES: "differ"})
    model = run.model()
    text = undrawn_page(model)
    part = text[text.index('id="neighbours"') : text.index('id="latency"')]
    assert "Fails worse" in part
    assert "case_shared_values" in part
    assert "- fails worse: `case_shared_values` (error@inline-fallbacks → wrong-values@run" in (
        markdown(model)
    )
