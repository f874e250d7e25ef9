"""A candidate's first red cells are told while its run goes on."""

from harness.run.at_once import MOST, AtOnce
from harness.wire.oracles import Oracle
from tests.record_builders import failed, key, record


def told(*mine, base=True):
    lines: list[str] = []

    def known(cell):
        return record(cell) if base else None

    at_once = AtOnce({"checkout:1": "base:1"}, known, lines.append)
    for each in mine:
        at_once.ended(each)
    return lines


def red(case, message="boom"):
    return record(key(case, "checkout:1"), failed(Oracle.VALUES, message))


def test_the_first_cell_of_a_cause_is_told_and_no_second_one():
    (line,) = told(red("a"), red("b"))
    assert line.startswith("red so far: a by ")
    assert "values: worse than base:1: wrong numbers in a call: boom" in line


def test_what_is_right_or_not_known_of_the_base_or_no_candidates_is_not_told():
    assert (
        told(record(key("a", "checkout:1")), record(key("a", "2.14.0"), failed(Oracle.VALUES)))
        == []
    )
    assert told(red("a"), base=False) == []


def test_the_end_tells_the_rest():
    assert len(told(*(red("a", f"boom {n}") for n in range(MOST + 3)))) == MOST
