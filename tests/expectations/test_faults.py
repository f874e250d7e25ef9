"""Register and table hold each other to their word; each contradiction is told."""

from __future__ import annotations

import dataclasses

import pytest

from harness.expectations.defects import Defect, Sign
from harness.expectations.faults import faults_of
from harness.expectations.table import ALL
from harness.rig.vocabulary import Oracle
from tests.record_builders import RELEASES, Row, case, defect, entry, register, subject, table

SIGN = Sign("values", "boom")
ROW = entry(subjects=RELEASES)


def told(*defects: Defect, rows: tuple[Row, ...] = (ROW,)) -> list[str]:
    return [fault.reason for fault in faults_of(register(*defects), table(*rows))]


def test_a_register_and_a_table_that_agree_have_no_fault() -> None:
    assert told(defect("known", SIGN)) == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"fixed_in": "2.14.0"}, "known is not alive in 2.14.0..; correct since or fixed_in"),
        ({"since": "2.13.0"}, "known is not alive in 2.10.0; correct since or fixed_in"),
        ({"minimal_case": "b"}, "its minimal case b has no row; name another, such as a"),
        ({"avoid": ("export",)}, "avoid has export, and a meets it by export; take it out"),
        ({"not_visible": "why"}, "is not_visible, and 1 rows show it: delete not_visible"),
        ({"signs": (SIGN, Sign("wiring", "x"))}, "no row bears its sign wiring /x/; delete it"),
        ({"signs": (Sign("values", "x"),)}, "known has no sign for values wrong-values@run: boom"),
    ],
)
def test_a_defect_that_the_table_contradicts_is_told(fields: dict[str, str], words: str) -> None:
    assert any(words in reason for reason in told(defect("known", **{"signs": (SIGN,), **fields})))  # type: ignore[arg-type]


def test_a_defect_without_a_row_and_a_row_without_a_defect_are_told() -> None:
    known = defect("known", SIGN)
    assert told(known, defect("other", SIGN))[0].startswith("other has no row: delete it, or say")
    assert told(known, defect("other", SIGN, not_visible="why")) == []
    assert "no defect is called 'known'" in told(defect("other", SIGN, not_visible="why"))[0]


def test_a_defect_that_is_left_by_all_its_cells_is_to_be_marked_as_fixed() -> None:
    gone = entry(subjects=("2.10.0", "2.13.0"))
    (reason,) = told(defect("known", SIGN), rows=(gone,))
    assert reason == "known: no row is left in 2.14.0; set fixed_in and fixed_by"
    assert told(defect("known", SIGN, fixed_in="2.14.0"), rows=(gone,)) == []


def test_a_defect_whose_cases_end_earlier_by_another_one_is_hidden_and_not_gone() -> None:
    gone = entry(subjects=("2.10.0", "2.13.0"))
    stops = entry(Oracle.COMPLETION, subjects=("2.14.0",), defect="first")
    first = defect("first", Sign("completion", "boom"))
    assert told(defect("known", SIGN), first, rows=(gone, stops)) == []


def test_an_overlay_takes_away_only_what_it_inherits() -> None:
    gone = entry(removed=True, environment="torch-2.9.0", subjects=("2.13.0",))
    known = defect("known", SIGN)
    assert told(known, rows=(ROW, gone)) == []
    other = dataclasses.replace(gone[0], fact=dataclasses.replace(gone[0].fact, says="x"))
    (reason,) = told(known, rows=(ROW, (other, gone[1])))
    assert "takes away values wrong-values@run: x, which it does not inherit" in reason


def test_a_row_of_what_is_never_asked_is_told() -> None:
    cases, subjects = [case("a")], [subject("2.13.0", "export"), subject("2.14.0", "legacy")]
    known = register(defect("known", SIGN))

    def of(*rows: Row) -> list[str]:
        return [fault.reason for fault in faults_of(known, table(*rows), cases, subjects)]

    assert of(ROW) == []
    assert of(ROW, entry(case="b")) == [
        "b: the corpus has no such case; write the table anew from a run"
    ]
    assert "no run asks this" in of(ROW, entry(route="cross"))[0]
    assert "has releases that are never asked" in of(entry(subjects=("2.14.0", "positional")))[0]


def test_what_could_not_be_asked_is_nobodys_defect() -> None:
    unasked = entry("unsupported", "no op", route=ALL, subjects=(ALL,), defect="known")
    known = defect("known", SIGN)
    assert "is nobody's defect" in told(known, rows=(ROW, unasked))[0]
    nobodys = dataclasses.replace(unasked[0], defect=""), unasked[1]
    assert told(known, rows=(ROW, nobodys)) == []
