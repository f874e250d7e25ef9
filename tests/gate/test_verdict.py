"""The verdict in one line, and how a release fails in cells, by harm and by reach."""

import dataclasses

import pytest

from harness.gate.verdict import Remaining, counts_by_lane, remaining, verdict_words
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Lane
from harness.wire.vocabulary import Reach, SubjectKind
from tests.record_builders import failed, key, record, stopped, subject, unsupported

SUBJECTS = [
    subject("2.9.0"),
    subject("2.10.0"),
    subject("2.14.0.dev1", kind=SubjectKind.FILE),
    subject("positional", kind=SubjectKind.BUILTIN),
]
NONE = dict.fromkeys(
    ("planned", "unexpected_failure", "unexpected_pass", "unsupported", "missing"), 0
)


def reach_of(key: CellKey) -> Reach:
    return Reach.HANDMADE if key.case.startswith("handmade") else Reach.PRODUCT


def left_of(*records: CellRecord) -> tuple[Remaining, ...]:
    return remaining(records, SUBJECTS, reach_of)


def of(case: str, name: str = "2.10.0", **failures: str) -> CellRecord:
    return record(key(case, name), *(failed(Oracle(o), said) for o, said in failures.items()))


def test_what_fails_is_counted_by_what_a_user_meets_each_cell_once():
    records = [
        of("a", values="off", wiring="swapped", metadata="a list"),
        of("b", wiring="swapped"),
        record(key("c", "2.10.0"), failed(Oracle.COMPLETION), failed(Oracle.WIRING)),
        of("d", structure="no code"),
        of("e", metadata="a list"),
        of("f"),
    ]
    assert left_of(*records) == (
        Remaining("2.10.0", 6, {Harm.SILENT: 2, Harm.ERROR: 1, Harm.INTERFACE: 2}),
    )


def test_a_cell_with_a_cosmetic_defect_alone_is_right():
    cosmetic = dataclasses.replace(failed(Oracle.METADATA), harm=Harm.COSMETIC)
    (left,) = left_of(record(key("a", "2.10.0"), cosmetic), of("b", metadata="a list"))
    assert (left.right, left.failing) == (1, 1)


def test_splits_of_the_product_are_counted_first_and_handmade_ones_apart():
    found = left_of(of("handmade_a", values="off"), of("b"))
    assert [(left.reach, left.failing, left.asked) for left in found] == [
        (Reach.PRODUCT, 0, 1),
        (Reach.HANDMADE, 1, 1),
    ]


def test_only_reachable_cells_of_the_newest_release_that_was_asked_count():
    records = [
        of("a", "2.9.0", values="off"),
        of("a", "2.14.0.dev1", values="off"),
        of("a", "positional", values="off"),
        dataclasses.replace(of("a", values="off"), hypothetical=True),
        of("b"),
        unsupported(key("c", "2.10.0")),
    ]
    assert left_of(*records) == (Remaining("2.10.0", 1, {}),)
    unasked = [unsupported(key("a", "2.10.0")), stopped(key("a", "2.9.0"))]
    assert left_of(*unasked) == (Remaining("2.9.0", 1, {Harm.ERROR: 1}),)
    assert left_of(of("a", "positional")) == ()


def test_green_is_no_more_than_that_nothing_is_unexpected():
    assert verdict_words("green", {Lane.GRAPH: {**NONE, "planned": 9}}, 0) == (
        "Green: no unknown failure"
    )


@pytest.mark.parametrize(
    ("gate", "counts", "faults", "words"),
    [
        ("red", {"unexpected_failure": 1}, 0, "Red: 1 unexpected failure"),
        ("red", {"unexpected_pass": 2}, 0, "Red: 2 unexpected passes"),
        ("red", {}, 1, "Red: 1 fault in the expectations"),
        (
            "red",
            {"unexpected_failure": 1200, "unexpected_pass": 1},
            2,
            "Red: 1,200 unexpected failures and 1 unexpected pass and 2 faults in the expectations",
        ),
        ("inconclusive", {}, 0, "Inconclusive: nothing was asked"),
        (
            "inconclusive",
            {"planned": 2, "unsupported": 2},
            0,
            "Inconclusive: none of 2 cells could be asked",
        ),
        (
            "inconclusive",
            {"planned": 3, "unsupported": 1},
            0,
            "Inconclusive: 1 of 3 cells not asked",
        ),
        ("failed", {"missing": 1}, 0, "Failed: the harness broke, 1 cell missing"),
        ("failed", {}, 0, "Failed: the harness broke"),
    ],
)
def test_every_other_gate_says_why(gate, counts, faults, words):
    assert verdict_words(gate, {Lane.GRAPH: {**NONE, **counts}}, faults) == words


@pytest.mark.parametrize(
    ("own_cases", "words"),
    [
        ((1, 2), "Red: 1 of your 2 cases fails somewhere"),
        ((2, 2), "Red: 2 of your 2 cases fail somewhere"),
    ],
)
def test_of_a_users_own_cases_the_cases_that_fail_are_counted_and_not_their_cells(own_cases, words):
    counts = {Lane.PACKAGE: {**NONE, "unexpected_failure": 6}}
    assert verdict_words("red", counts, 0, own_cases) == words


def package(found: CellRecord) -> CellRecord:
    """The same cell in the package lane."""
    return dataclasses.replace(found, key=dataclasses.replace(found.key, lane=Lane.PACKAGE))


def test_the_lanes_are_counted_apart():
    records = [of("a", values="off"), package(of("a", values="off")), package(of("b"))]
    assert remaining(records, SUBJECTS, reach_of, Lane.PACKAGE) == (
        Remaining("2.10.0", 2, {Harm.SILENT: 1}, Lane.PACKAGE),
    )


@pytest.mark.parametrize(
    ("graph", "whole", "words"),
    [
        (None, 2, "Red: 2 unexpected failures in the package lane"),
        (0, 2, "Red: 2 unexpected failures in the package lane"),
        (3, 0, "Red: 3 unexpected failures in the graph lane"),
        (3, 2, "Red: 5 unexpected failures (3 in the graph lane and 2 in the package lane)"),
    ],
)
def test_a_sum_over_lanes_says_so(graph, whole, words):
    counts = {Lane.GRAPH: {**NONE, "unexpected_failure": graph}} if graph is not None else {}
    counts[Lane.PACKAGE] = {**NONE, "unexpected_failure": whole}
    assert verdict_words("red", counts, 0) == words


def test_every_planned_cell_is_counted_in_its_own_lane_and_class():
    classes = {"a": "ok", "b": "missing", "c": "ok", "d": "ok"}
    lane_of = {"a": Lane.GRAPH, "b": Lane.GRAPH, "c": Lane.PACKAGE, "d": Lane.PACKAGE}
    counts = counts_by_lane(classes, lane_of)
    assert counts[Lane.GRAPH] == {"planned": 2, "ok": 1, "missing": 1}
    assert counts[Lane.PACKAGE] == {"planned": 2, "ok": 2}
    assert counts_by_lane({}, {}) == {}
