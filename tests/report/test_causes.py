"""Ledger entries put together into causes, by what their authors wrote and nothing else."""

import dataclasses
import itertools

import pytest

from harness.report.cause_views import CauseView
from harness.report.causes import cause_groups, first_sentence, live_causes, smallest_first
from harness.report.frames import cell_frame, verdict_frame


def cause(name, why, oracle="metadata", count=1):
    return CauseView(name, why, "unknown", oracle, f"wrong-{oracle}@export", ("a",), ("2.14.0",),
                     ("legacy",), count)  # fmt: skip


def groups(*causes):
    """The ids of each group; the same in whatever order the entries come."""
    found = {
        frozenset(frozenset(entry.id for entry in group) for group in cause_groups(order))
        for order in itertools.permutations(causes)
    }
    (only,) = found
    return sorted(sorted(group) for group in only)


def live(run, subject="2.14.0"):
    cells = cell_frame(run.records, run.cases, run.subjects, run.classes, run.plan)
    verdicts = verdict_frame(run.records, run.cases, run.subjects)
    return live_causes(run.causes, verdicts, subject, smallest_first(cells, run.cases))


def test_entries_with_one_first_sentence_are_one_cause():
    assert groups(
        cause("list", "It keeps a list."),
        cause("older", "It keeps a list. Before 2.11 these fail earlier."),
        cause("other", "It keeps a tuple. Before 2.11 these fail earlier."),
    ) == [["list", "older"], ["other"]]


def test_an_entry_that_refers_to_another_joins_its_cause():
    assert groups(
        cause("own-input", "It hands back its placeholder."),
        cause("lint-of-it", "As own-input: lint says so."),
        cause("third", "As lint-of-it."),
        cause("apart", "Unlike own-input, it hands back nothing."),
    ) == [["apart"], ["lint-of-it", "own-input", "third"]]


def test_a_reference_in_passing_joins_nothing():
    assert groups(
        cause("half-weight", "The weight is stated as float32. As shape-analysis, it is wrong."),
        cause("shape-analysis", "The sizes of one run."),
    ) == [["half-weight"], ["shape-analysis"]]


def test_an_id_that_goes_on_where_another_ends_joins_its_cause():
    assert groups(
        cause("one-output", "A list."),
        cause("one-output-late", "Another sentence."),
        cause("one-outputs", "No relation."),
        cause("two", "Nor this."),
    ) == [["one-output", "one-output-late"], ["one-outputs"], ["two"]]


def test_two_that_share_an_unseen_root_are_one_cause():
    assert groups(cause("a-x", "As gone-before: x."), cause("b-y", "As gone-before, y.")) == [
        ["a-x", "b-y"]
    ]


def test_entries_that_merely_look_alike_stay_apart():
    assert groups(cause("by-name-x", "A namesake."), cause("by-name-y", "A leaked one.")) == [
        ["by-name-x"], ["by-name-y"],
    ]  # fmt: skip


def test_the_entry_that_explains_comes_first_though_another_is_worse():
    (group,) = cause_groups(
        [cause("b-y", "As root-cause: seen.", "values"), cause("root-cause", "The cause.")]
    )
    assert [entry.id for entry in group] == ["root-cause", "b-y"]


@pytest.mark.parametrize(
    ("why", "sentence"),
    [
        ("One. Two.", "One."),
        ("Up to 2.10.0 it fails. Then not.", "Up to 2.10.0 it fails."),
        ("Only one, without a stop", "Only one, without a stop"),
        ("It is so. 2.14.0 is not.", "It is so."),
    ],
)
def test_a_sentence_ends_at_its_full_stop_and_not_inside_a_version(why, sentence):
    assert first_sentence(why) == sentence


def test_counts_cases_and_routes_are_those_of_the_newest_release(run):
    found = {item.id: item for item in live(run)}
    item = found["engine-getitem-metadata"]
    assert (item.cells, item.routes, item.cases) == (
        2, ("legacy", "export"), ("case_relu_fallbacks",),
    )  # fmt: skip
    assert found["keyword-order"].cases == ("case_dynamic_dims",)  # of the two that are listed
    assert found["keyword-order"].routes == ("legacy",)


def test_a_listed_cause_that_the_newest_release_does_not_show_is_not_live(run):
    run.causes[0] = dataclasses.replace(run.causes[0], subjects=("2.13.0", "2.14.0"))
    assert "name-matching" not in {item.id for item in live(run)}
    assert "name-matching" in {item.id for item in live(run, "2.13.0")}


def test_a_hypothetical_cell_is_no_live_cell(run):
    routes = {item.id: item.routes for item in live(run, "2.10.0")}
    assert routes["engine-getitem-metadata"] == ("legacy",)


def test_a_cause_of_two_entries_counts_a_cell_once_and_keeps_both_entries(run):
    twin = dataclasses.replace(
        run.causes[1], id="engine-getitem-metadata-again", why="More. Of it."
    )
    run.causes.append(twin)
    item = next(item for item in live(run) if item.id == "engine-getitem-metadata")
    assert item.cells == 2
    assert [entry.id for entry in item.entries] == [
        "engine-getitem-metadata", "engine-getitem-metadata-again",
    ]  # fmt: skip


def test_a_cause_is_as_bad_as_its_worst_entry(run):
    worse = dataclasses.replace(run.causes[2], id="lint", why="As engine-getitem-metadata.")
    run.causes = [run.causes[1], worse]
    (item,) = live(run)
    assert (item.id, item.oracle, item.label) == (
        "engine-getitem-metadata", "signature", "wrong-signature@load",
    )  # fmt: skip


def test_an_unknown_upstream_is_no_reference(run):
    run.causes[2] = dataclasses.replace(run.causes[2], upstream="unknown")
    assert [item.upstream for item in live(run)] == [(), ()]


def test_the_smallest_case_is_that_with_the_fewest_engine_bytes(run):
    size = {case.name: 900 - 100 * at for at, case in enumerate(run.cases)}
    run.records = [
        dataclasses.replace(record, engine_bytes=size[record.key.case]) for record in run.records
    ]
    cells = cell_frame(run.records, run.cases, run.subjects, run.classes)
    assert smallest_first(cells, run.cases) == [case.name for case in run.cases[::-1]]


def test_without_engine_bytes_the_order_of_the_corpus_stands(run):
    cells = cell_frame(run.records, run.cases, run.subjects, run.classes)
    assert smallest_first(cells, run.cases) == [case.name for case in run.cases]
