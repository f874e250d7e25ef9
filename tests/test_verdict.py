"""The verdict in one line: green is no praise, and what is known to fail is told with it."""

from __future__ import annotations

import dataclasses

import pytest

from harness.rig.records import CellRecord, Oracle, SubjectKind
from harness.verdict import Remaining, remaining, verdict_words
from tests.record_builders import failed, key, record, stopped, subject, unsupported

SUBJECTS = [
    subject("2.9.0"),
    subject("2.10.0"),
    subject("2.14.0.dev1", kind=SubjectKind.FILE),
    subject("positional", kind=SubjectKind.BUILTIN),
]
LEFT = Remaining("2.10.0", asked=1200, unasked=0, silent=4, loud=17, lesser=98)
NONE = dict.fromkeys(
    ("planned", "unexpected_failure", "unexpected_pass", "unsupported", "missing"), 0
)


def of(case: str, name: str = "2.10.0", **failures: str) -> CellRecord:
    return record(key(case, name), *(failed(Oracle(o), said) for o, said in failures.items()))


def test_what_fails_is_counted_by_what_a_user_meets_each_cell_once() -> None:
    records = [
        of("a", values="off", wiring="swapped", metadata="a list"),
        of("b", wiring="swapped"),
        record(key("c", "2.10.0"), failed(Oracle.COMPLETION), failed(Oracle.WIRING)),
        of("d", structure="no code"),
        of("e", metadata="a list"),
        of("f"),
    ]
    assert remaining(records, SUBJECTS) == Remaining(
        "2.10.0", asked=6, unasked=0, silent=2, loud=1, lesser=2
    )


def test_only_reachable_cells_of_the_newest_release_that_was_asked_count() -> None:
    records = [
        of("a", "2.9.0", values="off"),
        of("a", "2.14.0.dev1", values="off"),
        of("a", "positional", values="off"),
        dataclasses.replace(of("a", values="off"), hypothetical=True),
        of("b"),
        unsupported(key("c", "2.10.0")),
    ]
    assert remaining(records, SUBJECTS) == Remaining("2.10.0", 1, 1, 0, 0, 0)
    unasked = [unsupported(key("a", "2.10.0")), stopped(key("a", "2.9.0"))]
    assert remaining(unasked, SUBJECTS) == Remaining("2.9.0", 1, 0, 0, 1, 0)
    assert remaining([of("a", "positional")], SUBJECTS) is None


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (
            LEFT,
            "Green: nothing unexpected; "
            "2.10.0 still has 4 silent, 17 loud and 98 lesser known failures in 1,200 cells",
        ),
        (
            Remaining("2.10.0", 1, 3, 0, 0, 0),
            "Green: nothing unexpected; 2.10.0 has no known failure in 1 cell, 3 not asked",
        ),
        (None, "Green: nothing unexpected"),
    ],
)
def test_green_tells_what_the_newest_release_is_known_to_get_wrong(
    left: Remaining | None, words: str
) -> None:
    assert verdict_words("green", {**NONE, "planned": 9}, 0, left) == words


@pytest.mark.parametrize(
    ("gate", "counts", "faults", "words"),
    [
        ("red", {"unexpected_failure": 1}, 0, "Red: 1 unexpected failure"),
        ("red", {"unexpected_pass": 2}, 0, "Red: 2 unexpected passes"),
        ("red", {}, 1, "Red: 1 fault in the ledger"),
        (
            "red",
            {"unexpected_failure": 1200, "unexpected_pass": 1},
            2,
            "Red: 1,200 unexpected failures and 1 unexpected pass and 2 faults in the ledger",
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
def test_every_other_gate_says_why(
    gate: str, counts: dict[str, int], faults: int, words: str
) -> None:
    assert verdict_words(gate, {**NONE, **counts}, faults, LEFT) == words
