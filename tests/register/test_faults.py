"""Register and table hold each other to their word; each contradiction is told."""

import dataclasses

import pytest

from harness.register.defects import Defect, Sign
from harness.register.faults import faults_of
from harness.register.review import review
from harness.register.standing import Standing, Standings, State
from harness.register.table import ALL, Table, asked_of
from harness.runs.plan import judged_cells
from harness.wire.oracles import Oracle
from tests.record_builders import RELEASES, Row, case, defect, entry, register, subject, table

SIGN = Sign("values", "boom")
ROW = entry(subjects=RELEASES)


def told(*defects: Defect, rows: tuple[Row, ...] = (ROW,)) -> list[str]:
    return [fault.reason for fault in faults_of(register(*defects), table(*rows))]


def test_a_register_and_a_table_that_agree_have_no_fault():
    assert told(defect("known", SIGN)) == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"fixed_in": "2.14.0"}, "known is not alive in 2.14.0..; correct since or fixed_in"),
        ({"since": "2.13.0"}, "known is not alive in 2.10.0; correct since or fixed_in"),
        ({"minimal_case": "b"}, "its minimal case b has no row in 2.14.0; name another, such as a"),
        (
            {"avoid": ("direct",)},
            "avoid has direct, and nothing that shows the defect is asked and",
        ),
        ({"avoid": ("export",)}, "avoid has export, and a meets it by export; take it out"),
        ({"not_visible": "why"}, "is not_visible, and 1 rows show it: delete not_visible"),
        ({"signs": (SIGN, Sign("wiring", "x"))}, "no row bears its sign wiring /x/; delete it"),
        ({"signs": (Sign("values", "x"),)}, "known has no sign for values wrong-values@run: boom"),
    ],
)
def test_a_defect_that_the_table_contradicts_is_told(fields, words):
    assert any(words in reason for reason in told(defect("known", **{"signs": (SIGN,), **fields})))  # type: ignore[arg-type]


def test_a_defect_without_a_row_and_a_row_without_a_defect_are_told():
    known = defect("known", SIGN)
    assert told(known, defect("other", SIGN))[0].startswith("other has no row: delete it, or say")
    (reason,) = told(known, defect("other", SIGN, not_visible="why"))
    assert reason.startswith("other is not in the table's list of defects without rows")
    listed = dataclasses.replace(table(ROW), without_rows=frozenset({"other", "gone"}))
    both = register(known, defect("other", SIGN, not_visible="why"))
    (fault,) = faults_of(both, listed)
    assert fault.reason.startswith("gone is not in the register")
    assert "no defect is called 'known'" in told(defect("other", SIGN, not_visible="why"))[0]


def test_a_defect_that_is_left_by_all_its_cells_is_to_be_marked_as_fixed():
    gone = entry(subjects=("2.10.0", "2.13.0"))
    (reason,) = told(defect("known", SIGN), rows=(gone,))
    assert reason == "known: no row is left in 2.14.0; set fixed_in and fixed_by"
    assert told(defect("known", SIGN, fixed_in="2.14.0"), rows=(gone,)) == []


def test_a_defect_that_a_release_should_have_and_that_its_cells_pass_is_told():
    again = entry(subjects=("2.10.0", "2.14.0"))
    (reason,) = told(defect("known", SIGN), rows=(again,))
    assert reason == "known: no row in 2.13.0, where its cells pass; correct since or fixed_in"
    early = entry(subjects=("2.10.0",))
    (reason,) = told(defect("known", SIGN, fixed_in="2.14.0"), rows=(early,))
    assert reason == "known: no row in 2.13.0, where its cells pass; correct since or fixed_in"
    assert told(defect("known", SIGN, fixed_in="2.13.0"), rows=(early,)) == []
    late = entry(subjects=("2.14.0",))
    assert len(told(defect("known", SIGN, since="2.13.0"), rows=(late,))) == 1
    assert told(defect("known", SIGN, since="2.14.0"), rows=(late,)) == []


def test_a_minimal_case_shows_its_defect_in_the_newest_release_that_has_it():
    rows = (entry(case="b", subjects=RELEASES), entry(subjects=RELEASES[:1]))
    (reason,) = told(defect("known", SIGN, minimal_case="a"), rows=rows)
    assert reason == "known: its minimal case a has no row in 2.14.0; name another, such as b"


def test_what_a_release_mends_is_asked_there():
    known = register(defect("known", SIGN, fixed_in="2.14.0"))
    row = entry(subjects=RELEASES[:2])

    def of(*more: Row, asked: tuple[str, ...] = RELEASES) -> list[str]:
        made = table(row, *more)
        own = {asked_of(row[0].place): asked, ("graph", "segment", "pinned", "cross"): RELEASES}
        faults = faults_of(known, Table(made.entries, own))
        return [fault.reason for fault in faults if fault.about == "known"]

    assert of() == []
    wrong = ["known: fixed_in 2.14.0, and a is not asked there; ask it, or correct fixed_in"]
    assert of(asked=RELEASES[:2]) == wrong
    cannot = entry("unsupported", "no op", subjects=("2.14.0",), defect="")
    assert of(cannot) == wrong
    assert of(cannot, entry(case="b", subjects=RELEASES[:2])) == []


def test_what_a_release_mends_is_asked_in_the_environment_that_it_pins():
    known = register(defect("known", SIGN, fixed_in="2.14.0"))
    row = entry(subjects=("2.13.0",), environment="torch-2.13")

    def reasons(route: str) -> list[str]:
        own = {
            asked_of(row[0].place): ("2.13.0",),
            ("graph", "segment", "torch-2.14", route): ("2.14.0",),
        }
        faults = faults_of(known, Table(table(row).entries, own))
        return [fault.reason for fault in faults if "not asked there" in fault.reason]

    assert reasons("export") == []
    assert len(reasons("cross")) == 1


def test_a_call_that_avoids_a_defect_is_asked_and_passes_where_it_shows():
    known = defect("known", SIGN, avoid=("direct",))
    first = defect("first", Sign("completion", "boom"))
    direct = ("graph", "segment", "pinned", "direct")

    def of(*rows: Row) -> list[str]:
        made = table(ROW, *rows)
        asked = {**made.asked, direct: ("torch",)}
        faults = faults_of(register(known, first), Table(made.entries, asked))
        return [fault.reason for fault in faults if fault.about == "known"]

    assert of() == []
    wrong = "known: avoid has direct, and nothing that shows the defect is asked and passes by"
    ends = entry(Oracle.COMPLETION, route="direct", subjects=("torch",), defect="first")
    assert of(ends) == [f"{wrong} direct; take it out"]
    cannot = entry("unsupported", "no op", route="direct", subjects=("torch",), defect="")
    assert of(cannot) == [f"{wrong} direct; take it out"]


def test_a_defect_is_hidden_where_every_cell_that_last_showed_it_ends_by_another():
    known, first = defect("known", SIGN), defect("first", Sign("completion", "boom"))
    gone = [entry(case=name, subjects=RELEASES[:2]) for name in ("a", "b")]
    old = entry(case="c", subjects=RELEASES[:1])  # passes in 2.13.0, which has the defect
    ends = [
        entry(Oracle.COMPLETION, case=name, subjects=RELEASES[2:], defect="first")
        for name in ("a", "b")
    ]

    def standing(*rows: Row) -> Standing:
        return Standings(register(known, first), table(*rows)).of("known", "2.14.0")

    hidden = standing(*gone, old, *ends)
    assert (hidden.state, hidden.behind) == (State.HIDDEN, ("first",))
    assert standing(*gone, old, ends[0]).state is State.ABSENT
    unlisted = dataclasses.replace(ends[0][0], defect=""), ends[0][1]
    assert standing(gone[0], unlisted).state is State.ABSENT


def test_a_review_tells_what_is_hidden_and_not_that_it_is_gone():
    known, first = defect("known", SIGN), defect("first", Sign("completion", "boom"))
    before = table(entry(subjects=RELEASES[:2]), releases=RELEASES[:2])
    ends = entry(Oracle.COMPLETION, subjects=RELEASES[2:], defect="first")
    for rows, line in (
        ((ends,), "  known: cannot be seen, as its cases fail by first"),
        ((), '  known: no row left; set fixed_in = "2.14.0"'),
    ):
        after = table(entry(subjects=RELEASES[:2]), *rows)
        assert line in review(before, after, register(known, first))


def test_a_defect_whose_cases_end_earlier_by_another_one_is_hidden_and_not_gone():
    gone = entry(subjects=("2.10.0", "2.13.0"))
    stops = entry(Oracle.COMPLETION, subjects=("2.14.0",), defect="first")
    first = defect("first", Sign("completion", "boom"), since="2.14.0")
    assert told(defect("known", SIGN), first, rows=(gone, stops)) == []


def test_an_overlay_takes_away_only_what_it_inherits():
    gone = entry(removed=True, environment="torch-2.9", subjects=("2.13.0",))
    known = defect("known", SIGN)
    assert told(known, rows=(ROW, gone)) == []
    other = dataclasses.replace(gone[0], fact=dataclasses.replace(gone[0].fact, says="x"))
    (reason,) = told(known, rows=(ROW, (other, gone[1])))
    assert "takes away values wrong-values@run: x, which it does not inherit" in reason


def test_a_row_of_what_is_never_asked_is_told():
    judged = judged_cells([case("a")], [subject("2.13.0", "export"), subject("2.14.0", "legacy")])
    known = register(defect("known", SIGN))

    def of(*rows: Row) -> list[str]:
        return [fault.reason for fault in faults_of(known, table(*rows), judged)]

    assert of(ROW) == []
    assert of(ROW, entry(case="b")) == [
        "b: the corpus has no such case; write the table anew from a run"
    ]
    assert "no run asks this" in of(ROW, entry(route="cross"))[0]
    assert "has releases that are never asked" in of(entry(subjects=("2.14.0", "positional")))[0]


def test_what_could_not_be_asked_is_nobodys_defect():
    unasked = entry("unsupported", "no op", route=ALL, subjects=(ALL,), defect="known")
    known = defect("known", SIGN)
    assert "is nobody's defect" in told(known, rows=(ROW, unasked))[0]
    nobodys = dataclasses.replace(unasked[0], defect=""), unasked[1]
    assert told(known, rows=(ROW, nobodys)) == []
