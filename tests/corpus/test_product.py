"""The cases of the package lane: models of the corpus, said truly."""

from __future__ import annotations

import pytest

from corpus.case import Origin, UnknownCase, find_case
from corpus.product import (
    DYNAMIC,
    FULL,
    STATIC,
    VARIANTS,
    VARIED,
    find_product_case,
    model_of,
    product_cases,
)

NAMES = [case.name for case in product_cases()]


def test_no_two_cases_have_one_name() -> None:
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_case_is_a_model_and_says_whether_it_is_dynamic(name: str) -> None:
    case = find_product_case(name)
    program = case.build()
    assert program.model is not None, "a handmade split is nothing that a package could compile"
    assert case.dynamic == (program.dynamic_shapes is not None)
    assert case.origin is Origin.PRODUCT


def test_a_case_is_the_model_of_the_graph_lane_s_case_and_its_fallbacks() -> None:
    case = find_product_case("pr_4360@product")
    assert case.fallback == find_case("pr_4360").fallback
    assert model_of(case.name) == "pr_4360"


def test_a_variant_changes_what_the_package_is_asked_and_nothing_else() -> None:
    for how, names in VARIED.items():
        for name in names:
            case = find_product_case(f"{name}@{how}")
            assert dict(case.settings) == dict(VARIANTS[how])
            assert case.build is find_case(name).build


def test_a_full_run_s_cases_are_cases() -> None:
    assert set(NAMES) >= FULL
    assert {case.name for case in product_cases() if case.full} == FULL


def test_a_model_is_not_both_static_and_dynamic() -> None:
    assert not set(STATIC) & set(DYNAMIC)


def test_an_unknown_case_is_told() -> None:
    with pytest.raises(UnknownCase):
        find_product_case("pr_4360")
