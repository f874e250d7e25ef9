"""What a candidate does otherwise than a release, told in defects."""

import pytest

from harness.gate.attribution import (
    Difference,
    attributed,
    defects_told,
    difference,
    due_to,
)
from harness.gate.difference_words import difference_parts
from harness.gate.findings import CellClass, Finding
from harness.register.defects import Sign
from harness.register.facts import Fact
from harness.wire.oracles import Oracle
from harness.wire.records import Verdict
from tests.record_builders import (
    RELEASES,
    defect,
    entry,
    failed,
    key,
    record,
    register,
    table,
    unsupported,
)


def in_one(told: Difference, like: str) -> str:
    return "; ".join(difference_parts(told, like, {}))


def test_a_defect_that_was_fixed_and_shows_again_is_brought_back():
    known = register(
        defect("old", Sign("values", "boom"), fixed_in="2.13.0"),
        defect("new", Sign("structure", "boom")),
    )
    rows = table(entry(defect="old", subjects=("2.10.0",)))
    mine = record(key("a", "file:1"), failed(Oracle.VALUES), failed(Oracle.STRUCTURE))
    told = difference("file:1", "2.13.0", [record(key()), mine], rows, known)
    assert in_one(told, "2.13.0") == (
        "brings back: old (fixed in 2.13.0) in 1 cell; breaks: new in 1 cell; all else as 2.13.0"
    )
    before = difference("file:1", "2.10.0", [record(key(name="2.10.0")), mine], rows, known)
    assert in_one(before, "2.10.0").startswith("breaks: new in 1 cell; breaks: old in 1 cell")


def test_a_known_defect_in_a_cell_that_ended_before_is_seen_first_now_and_not_broken():
    known = register(
        defect("old", Sign("completion", "boom"), fixed_in="2.14.0"),
        defect("kept", Sign("values", "boom"), title="Kept"),
    )
    rows = table(entry(Oracle.COMPLETION, defect="old", subjects=("2.13.0",)))
    records = [
        record(key(name="2.13.0"), failed(Oracle.COMPLETION)),
        record(key(name="2.14.0"), failed(Oracle.VALUES)),
    ]
    told = difference("2.14.0", "2.13.0", records, rows, known)
    assert in_one(told, "2.13.0") == (
        "mends: old; seen first now: kept in 1 cell; all else as 2.13.0"
    )
    parts = difference_parts(told, "2.13.0", known.titles)
    assert parts[1] == 'seen first now: "Kept" in 1 cell'
    sound = [record(key(name="2.13.0")), records[1]]
    told = difference("2.14.0", "2.13.0", sound, rows, known)
    assert in_one(told, "2.13.0") == "breaks: kept in 1 cell; all else as 2.13.0"


def test_what_cannot_be_unflattened_of_numbers_that_are_mended_is_seen_first_now():
    known = register(defect("old", Sign("values", "boom")))
    rows = table(entry(Oracle.VALUES, defect="old", subjects=("2.13.0",)))
    wrong = record(key(route="direct"), failed(Oracle.VALUES))

    def told(*now: Verdict) -> str:
        mine = record(key("a", "file:1", "direct"), *now)
        return in_one(difference("file:1", "2.13.0", [wrong, mine], rows, known), "2.13.0")

    assert told(failed(Oracle.UNFLATTEN)) == (
        "mends: old; seen first now: unflatten not-unflattenable@run: boom in 1 cell; "
        "all else as 2.13.0"
    )
    assert told(failed(Oracle.VALUES), failed(Oracle.UNFLATTEN)).startswith("breaks: ")


def test_right_numbers_that_are_packed_as_the_release_packs_them_are_seen_first_behind_wrong_ones():
    known = register(
        defect("old", Sign("values", "boom")), defect("tuple", Sign("values", "structure differs"))
    )
    rows = table(entry(Oracle.VALUES, defect="old", subjects=("2.13.0",)))
    wrong, right = record(key(), failed(Oracle.VALUES)), record(key())
    packed = record(key("a", "file:1"), failed(Oracle.VALUES, "structure differs"))
    told = difference("file:1", "2.13.0", [wrong, packed], rows, known)
    assert in_one(told, "2.13.0") == (
        "mends: old; seen first now: tuple in 1 cell; all else as 2.13.0"
    )
    told = difference("file:1", "2.13.0", [right, packed], rows, known)
    assert in_one(told, "2.13.0") == "breaks: tuple in 1 cell; all else as 2.13.0"


def test_a_known_error_in_place_of_silently_wrong_numbers_is_seen_first_now_and_not_broken():
    known = register(
        defect("old", Sign("values", "boom")),
        defect("kept", Sign("completion", "boom"), title="Kept"),
    )
    rows = table(entry(Oracle.VALUES, defect="old", subjects=("2.13.0",)))
    records = [
        record(key(name="2.13.0"), failed(Oracle.VALUES)),
        record(key("a", "file:1"), failed(Oracle.COMPLETION)),
    ]
    told = difference("file:1", "2.13.0", records, rows, known)
    assert "seen first now: kept in 1 cell" in in_one(told, "2.13.0")
    assert "breaks" not in in_one(told, "2.13.0")


def test_what_both_show_in_a_case_that_no_table_knows_is_neither_mended_nor_broken():
    known = register(defect("kept", Sign("values", "boom")))
    records = [record(key("own", name), failed(Oracle.VALUES)) for name in ("2.13.0", "file:1")]
    assert attributed(records, table(), known)[0].defect == "kept"
    told = difference("file:1", "2.13.0", records, table(), known)
    assert in_one(told, "2.13.0") == "all as 2.13.0"


def test_what_both_show_by_two_defects_of_the_table_is_mended_and_broken():
    known = register(defect("gone", Sign("values", "boom")), defect("come", Sign("values", "boom")))
    rows = table(
        entry(defect="gone", subjects=("2.13.0",)), entry(defect="come", subjects=("2.14.0",))
    )
    records = [record(key(name=name), failed(Oracle.VALUES)) for name in ("2.13.0", "2.14.0")]
    told = difference("2.14.0", "2.13.0", records, rows, known)
    assert in_one(told, "2.13.0") == ("mends: gone; breaks: come in 1 cell; all else as 2.13.0")


def test_findings_without_a_known_sign_in_the_very_same_cells_are_one_failure():
    known = register(defect("old", Sign("completion", "never")))
    records = []
    for case in ("a", "b"):
        wrong = failed(Oracle.VALUES, "numbers differ; inlined module: numbers differ")
        wire = failed(Oracle.WIRING, "reads another engine")
        records += [record(key(case)), record(key(case, "file:1"), wrong, wire)]
    apart = failed(Oracle.STATE, "an engine is lost")
    records += [record(key("c")), record(key("c", "file:1"), apart)]
    told = difference("file:1", "2.13.0", records, table(), known)
    assert difference_parts(told, "2.13.0", {}) == [
        "breaks: values wrong-values@run: inlined module: numbers differ; numbers differ, "
        "and wiring wrong-wiring@run: reads another engine in 2 cells",
        "breaks: state lost-state@run: an engine is lost in 1 cell",
        "all else as 2.13.0",
    ]


BOTH = (Sign("values", "boom"), Sign("completion", "boom"))
OLD = defect("old", *BOTH, fixed_in="2.13.0")
NEW = defect("new", *BOTH)
ROW = entry(subjects=RELEASES[:1], defect="old")


def named(
    subject: str, case: str = "a", like: str = "", oracle: Oracle = Oracle.VALUES
) -> list[str]:
    place, fact = entry(case=case)[0].place, entry(oracle)[0].fact
    return [each.id for each in due_to(place, fact, subject, table(ROW), register(OLD, NEW), like)]


def test_a_release_that_is_known_has_what_is_alive_in_it():
    assert named("2.10.0", "b") == ["old", "new"]
    assert named("2.14.0", "b") == ["new"]


@pytest.mark.parametrize(("subject", "like"), [("file:1a", "2.14.0"), ("2.15.0", "")])
def test_a_candidate_and_a_release_to_come_bring_back_what_their_cell_showed(subject, like):
    assert named(subject, like=like) == ["old"]
    assert named(subject, "b", like, Oracle.COMPLETION) == ["old", "new"]  # openly ambiguous


def test_wrong_numbers_that_no_release_showed_there_are_of_no_known_defect():
    assert named("file:1a", "b", "2.14.0") == []


def test_right_numbers_of_a_candidate_that_are_packed_otherwise_name_the_defect_of_that_sign():
    place = entry(case="b")[0].place
    packed = Fact("values", "wrong-values@compile", "split module against eager: structure differs")
    known = register(defect("tuple", Sign("values", packed.says)), NEW)
    due = due_to(place, packed, "file:1a", table(ROW), known, "2.14.0")
    assert [each.id for each in due] == ["tuple"]


@pytest.mark.parametrize(
    ("lacks", "named"),
    [(("state",), ["spectra"]), (("state", "complex-of-reals"), []), ((), [])],
    ids=["has-what-it-needs", "lacks-it", "nobody-knows"],
)
def test_a_sign_of_some_cases_is_enough_where_the_model_has_what_the_defect_needs(lacks, named):
    sign = Sign("values", "boom", cases=("ours",))
    known = register(defect("spectra", sign, needs=("complex-of-reals",)))
    place, fact = entry(case="theirs")[0].place, entry()[0].fact
    due = due_to(place, fact, "2.14.0", table(), known, lacks=lacks)
    assert [each.id for each in due] == named


def test_a_sign_of_some_cases_is_not_enough_for_a_defect_that_needs_nothing():
    known = register(defect("any", Sign("values", "boom", cases=("ours",))))
    place, fact = entry(case="theirs")[0].place, entry()[0].fact
    assert due_to(place, fact, "2.14.0", table(), known, lacks=("state",)) == ()


def test_where_a_candidate_fails_otherwise_the_defect_is_named_that_its_release_has_there():
    """A release is held against the table, so that nothing is named."""
    known, rows = register(OLD, NEW), table(entry(subjects=RELEASES, defect="new"))
    for subject, like, names in (("file:1a", "2.14.0", ("new",)), ("2.14.0", None, ())):
        verdict = failed(Oracle.VALUES, "something else")
        cell = key(name=subject)
        found = Finding(cell, CellClass.UNEXPECTED_FAILURE, "worse", Oracle.VALUES, verdict)
        assert defects_told(found, rows, known, like).defects == names


def test_a_record_of_a_candidate_is_attributed_to_what_it_brings_back():
    records = [record(key(name="file:1a"), failed(Oracle.VALUES))]
    (told,) = attributed(records, table(ROW), register(OLD, NEW), {"file:1a": "2.14.0"})
    assert (told.defect, told.expected) == ("old", False)


def test_wrong_numbers_of_a_candidate_are_what_the_same_cell_of_its_release_shows():
    known = register(defect("kept", Sign("values", "boom")))
    places = [("own", "2.14.0"), ("own", "file:1"), ("other", "file:1")]
    records = [record(key(*place), failed(Oracle.VALUES)) for place in places]
    told = attributed(records, table(), known, {"file:1": "2.14.0"})
    assert [each.defect for each in told] == ["kept", "kept", ""]


@pytest.mark.parametrize(
    ("says", "named"), [("reads another size", "static"), ("reads another op", "")]
)
def test_a_size_that_a_candidate_reads_as_a_constant_is_of_the_defect_that_made_it_static(
    says, named
):
    known = register(defect("static", Sign("wiring", "reads another .*")))
    there = entry(Oracle.SIGNATURE, "became static", subjects=("2.14.0",), defect="static")
    records = [record(key(name="file:1"), failed(Oracle.WIRING, says))]
    (told,) = attributed(records, table(there), known, {"file:1": "2.14.0"})
    assert told.defect == named


def test_of_many_defects_those_with_the_most_cells_are_named_and_the_others_counted():
    none: dict[str, int] = {}
    broken = {f"defect-{number}": number for number in range(1, 9)}
    told = Difference(none, none, none, none, none, broken, none, compared=8)
    parts = difference_parts(told, "2.13.0", {})
    assert parts[:2] == ["breaks: defect-8 in 8 cells", "breaks: defect-7 in 7 cells"]
    assert parts[5:] == ["breaks: defect-3 in 3 cells", "breaks: 2 more", "all else as 2.13.0"]
    assert difference_parts(told, "2.13.0", {}, most=1)[1:] == ["breaks: 7 more", parts[-1]]


def test_where_nothing_was_asked_of_both_nothing_is_told_as_equal():
    known = register(defect("kept", Sign("values", "boom")))
    mine = record(key("a", "file:1"), failed(Oracle.VALUES))
    for other in ([], [unsupported(key())], [record(key("b"))]):
        told = difference("file:1", "2.13.0", [mine, *other], table(), known)
        assert in_one(told, "2.13.0") == "nothing to compare with: 2.13.0 was not asked"
