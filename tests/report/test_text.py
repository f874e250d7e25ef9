"""Numbers as words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report import text
from harness.report.frames.tables import MatrixCell
from harness.report.sections.provenance import flatten


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (0.01234, "0.0123"), (9.996, "10.0"), (4.5, "4.50"), (123.4, "123"),
     (1234.0, "1,230"), (999.6, "1,000")],
)  # fmt: skip
def test_a_number_has_three_significant_digits(value, words):
    assert text.number(value) == words


@given(st.floats(min_value=1e-6, max_value=1e9))
def test_a_number_as_words_is_within_half_a_percent_of_itself(value):
    assert float(text.number(value).replace(",", "")) == pytest.approx(value, rel=0.0051)


def test_nothing_measured_is_said_and_not_shown_as_zero():
    assert text.milliseconds(None) == "not measured"
    assert text.bytes_median(None) == "not measured"


def test_a_long_list_is_cut_and_says_how_much():
    assert text.listed("abcdefg", most=3) == "a, b, c and 4 more"
    assert text.listed("abc", most=3) == "a, b, c"


def test_provenance_is_flat_facts_and_long_lists_apart():
    found = flatten({"torch": {"version": "2.13.0"}, "gpu": None, "freeze": list("abcdef")})
    assert found.facts == (("torch version", "2.13.0"), ("gpu", "not recorded"))
    assert found.lists == (("freeze", tuple("abcdef")),)


def test_a_long_word_may_break_between_syllables_and_a_short_one_may_not():
    assert text.breakable("real_architectures").replace("\u00ad", "-") == "real archi-tec-tu-res"
    assert text.breakable("values read twice") == "values read twice"
    assert text.breakable("multi-output engines") == "multi-output engines"


@given(st.text())
def test_a_breakable_name_is_the_name(name):
    plain = name.replace("_", " ")
    assert text.breakable(name).replace("\u00ad", "") == plain.replace("\u00ad", "")


def test_a_matrix_cell_counts_what_is_right_of_what_was_asked_in_every_table():
    cell = MatrixCell("s", "f", 9, 3, 2, 0, 0, "wrong-metadata@export", "interface")
    assert text.cell_words(cell) == ("~ 9/12", "wrong metadata")
    assert text.cell_right(cell) == "~ 9/12"
    unasked = MatrixCell("s", "f", 0, 0, 2, 0, 0, "", "unsupported")
    assert text.cell_words(unasked) == ("?", "not asked")


def test_a_code_of_a_failure_is_told_in_plain_words_wherever_it_stands():
    assert text.plain("not expected: error@load: RuntimeError: no") == (
        "not expected: an error in load(): RuntimeError: no"
    )
    assert text.plain("wrong-values@inline-fallbacks, but 2.14.0 is ok") == (
        "wrong numbers after inlining, but 2.14.0 is ok"
    )
    twice = "wrong-values@run: inlined module: shape differs; shape differs"
    once = "wrong numbers in a call: shape differs, in the inlined module already"
    assert text.plain(f"{twice}, but 2.14.0 is ok") == f"{once}, but 2.14.0 is ok"
    assert text.plain(f"{twice}; numbers differ") == f"{once}; numbers differ"
    assert text.plain("timeout@run") == "no end in time in a call"
    assert text.plain("write to user@save.example") == "write to user@save.example"
