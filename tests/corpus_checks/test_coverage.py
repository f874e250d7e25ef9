from typing import Any

import pytest

from harness.base.errors import SurroundingsError
from harness.corpus_checks.coverage import Space, cover, read_extraction, to_json, to_lines

AXES = {
    "size": {"size/small": "a small one", "size/large": "a large one"},
    "colour": {"colour/red": "a red one", "colour/blue": "a blue one"},
}
SPACE = Space(AXES, {frozenset(("size/large", "colour/blue")): "there is none"})
ALL_THREE = {
    "one": ("size/small", "colour/red"),
    "two": ("size/small", "colour/blue"),
    "three": ("size/large", "colour/red"),
}


def test_all_pairs_that_can_exist_are_enough():
    found = cover(SPACE, ALL_THREE)
    assert (found.single, found.pairwise, found.possible_pairs) == (1.0, 1.0, 3)
    assert found.enough
    assert found.missing_values == found.missing_pairs == ()


def test_a_pair_that_no_case_has_is_named():
    found = cover(SPACE, {"one": ALL_THREE["one"], "two": ALL_THREE["two"]})
    assert found.missing_values == ("size/large",)
    assert found.missing_pairs == (("size/large", "colour/red"),)
    assert not found.enough
    assert "missing: size/large" in to_lines(found)
    assert "missing pair: size/large with colour/red" in to_lines(found, all_missing=True)


def test_every_value_and_too_few_pairs_are_not_enough():
    space = Space(AXES, {})
    cases = {"one": ("size/small", "colour/red"), "two": ("size/large", "colour/blue")}
    found = cover(space, cases)
    assert (found.single, found.pairwise) == (1.0, 0.5)
    assert not found.enough


def test_a_case_that_has_an_impossible_pair_contradicts_the_declaration():
    found = cover(SPACE, {**ALL_THREE, "four": ("size/large", "colour/blue")})
    assert found.contradicted == (("colour/blue", "size/large"),)
    assert not found.enough
    assert any("but a case has both" in line for line in to_lines(found))


def test_values_of_one_axis_make_no_pair():
    assert ("size/small", "size/large") not in SPACE.pairs()
    assert len(SPACE.pairs()) == 3


def test_an_axis_of_its_own_is_counted_and_makes_no_pair():
    axes = {**AXES, "setting": {"setting/lazy": "a lazy one"}}
    space = Space(axes, SPACE.impossible, alone=frozenset({"setting"}))
    assert space.pairs() == SPACE.pairs()
    assert cover(space, ALL_THREE).missing_values == ("setting/lazy",)
    assert cover(space, {**ALL_THREE, "four": ("setting/lazy",)}).enough


def test_the_table_names_cases_and_what_no_case_can_have():
    space = Space(AXES, SPACE.impossible, {"size/none": "it would be nothing"})
    lines = to_lines(cover(space, ALL_THREE))
    assert any("small" in line and "2 cases" in line and "one, two" in line for line in lines)
    assert "no case can have size/none: it would be nothing" in lines
    assert "pairs: 3 of 3 that can exist (100.0%); 1 cannot" in lines


def test_the_json_holds_what_the_table_says():
    data = to_json(cover(SPACE, {"one": ALL_THREE["one"]}))
    assert data["values"]["size/small"] == ["one"]
    assert data["missing_values"] == ["size/large", "colour/blue"]
    assert ["size/small", "colour/blue"] in data["missing_pairs"]
    assert data["impossible"] == [
        {"pair": ["colour/blue", "size/large"], "reason": "there is none"}
    ]


def extraction() -> dict[str, Any]:
    return {
        "axes": [{"name": name, "values": values, "alone": False} for name, values in AXES.items()],
        "impossible": [{"pair": ["size/large", "colour/blue"], "reason": "there is none"}],
        "unreachable": {},
        "cases": {name: list(values) for name, values in ALL_THREE.items()},
    }


def test_an_extraction_is_read_back():
    space, cases = read_extraction(extraction())
    assert space == SPACE
    assert cover(space, cases) == cover(SPACE, ALL_THREE)


def test_an_extraction_of_another_form_is_refused_with_what_to_do():
    broken = extraction()
    del broken["axes"][0]["values"]
    with pytest.raises(SurroundingsError, match="remove the folder `coverage`"):
        read_extraction(broken)
