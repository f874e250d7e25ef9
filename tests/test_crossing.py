"""What a crossing asks, and how what became of it is held against what is expected."""

from __future__ import annotations

import dataclasses
import sys

import pytest

from harness.corpus_client import read_corpus
from harness.crossing import (
    CASES,
    NOT_SAVED,
    ROUTES,
    UNSUPPORTED,
    FailureClass,
    Pair,
    Program,
    Saved,
    idle_parts,
    judge_pairs,
    plan_programs,
    settle,
)
from harness.errors import SurroundingsError
from harness.expectations.crossing_file import CROSSING_FILE, read_classes
from harness.findings import CellClass, Gate
from harness.releases import Catalogue
from harness.rig.records import CaseInfo, Lane

STATIC = CaseInfo("static", "f", "product", "c", lane="package")
DYNAMIC = dataclasses.replace(STATIC, name="dynamic", dynamic=True)
OLD_TO_NEW = FailureClass(
    id="abi",
    savers=("<2.13",),
    loaders=("2.13.0",),
    cases=("*",),
    routes=("retrace",),
    outcome="error@load",
    message="RuntimeError: .*ABI.*",
    upstream="unknown",
    why="another ABI",
)


def pair(saver: str, loader: str, outcome: str = "ok", message: str = "") -> Pair:
    return Pair(saver, loader, "static", "retrace", outcome, message)


REFUSED = pair("2.12.1", "2.13.0", "error@load", "RuntimeError: another ABI")


def standing(it: Pair, *classes: FailureClass) -> CellClass:
    (judged,) = judge_pairs([it], classes or [OLD_TO_NEW]).pairs
    return judged.standing


def test_a_dynamic_model_is_not_specialised_and_a_static_one_is_not_told_shapes(
    catalogue: Catalogue,
) -> None:
    newest = [catalogue.get("2.14.0")]
    routes = newest[0].package_routes
    planned = plan_programs(newest, [STATIC, DYNAMIC], routes)
    assert {each.route for each in planned if each.case == "static"} == {
        "no-retrace",
        "retrace",
        "no-retrace-export",
    }
    assert {each.route for each in planned if each.case == "dynamic"} == {
        *routes,
    } - {"retrace"}


def test_a_release_saves_only_by_the_routes_that_it_has(catalogue: Catalogue) -> None:
    planned = plan_programs([catalogue.get("2.10.0")], [STATIC], ["retrace", "no-retrace-export"])
    assert planned == (Program("2.10.0", "static", "retrace"),)


def test_every_program_meets_every_loader_its_own_too() -> None:
    made = Program("2.12.1", "static", "retrace")
    own, other = pair("2.12.1", "2.12.1"), REFUSED
    pairs = settle(
        [made],
        ["2.12.1", "2.13.0"],
        {made: Saved(made, "2.13.0", "ok")},
        {(made, "2.12.1"): own, (made, "2.13.0"): other},
        {},
    )
    assert pairs == (own, other)


def test_what_was_not_saved_fails_in_every_loader_for_the_savers_reason() -> None:
    made = Program("2.12.1", "static", "retrace")
    saved = {made: Saved(made, "2.13.0", "error@export", "KeyError: relu")}
    (found,) = settle([made], ["2.13.0"], saved, {}, {})
    assert (found.outcome, found.message) == (NOT_SAVED, "error@export: KeyError: relu")
    assert standing(found, dataclasses.replace(OLD_TO_NEW, savers=("2.9.0",))) is (
        CellClass.UNEXPECTED_FAILURE
    )


def test_a_release_that_cannot_be_had_leaves_the_gate_open_and_breaks_no_expectation() -> None:
    made = Program("2.12.1", "static", "retrace")
    (found,) = settle([made], ["2.13.0"], {}, {}, {"2.13.0": "no wheel"})
    assert (found.outcome, found.message) == (UNSUPPORTED, "no wheel")
    judged = judge_pairs([found], [OLD_TO_NEW])
    assert judged.gate is Gate.INCONCLUSIVE


@pytest.mark.parametrize(
    ("it", "expected"),
    [
        (REFUSED, CellClass.EXPECTED_FAILURE),
        (pair("2.12.1", "2.12.1"), CellClass.OK),
        (pair("2.12.1", "2.13.0"), CellClass.UNEXPECTED_PASS),
        (pair("2.12.1", "2.13.0", "error@load", "KeyError: x"), CellClass.UNEXPECTED_FAILURE),
        (pair("2.12.1", "2.13.0", "wrong-values", "ABI"), CellClass.UNEXPECTED_FAILURE),
        (pair("2.13.0", "2.12.1", "error@load", REFUSED.message), CellClass.UNEXPECTED_FAILURE),
    ],
)
def test_a_class_demands_exactly_what_it_lists(it: Pair, expected: CellClass) -> None:
    assert standing(it) is expected
    red = expected in (CellClass.UNEXPECTED_FAILURE, CellClass.UNEXPECTED_PASS)
    assert judge_pairs([it], [OLD_TO_NEW]).gate is (Gate.RED if red else Gate.GREEN)


def test_what_is_not_as_listed_is_told_with_what_was_expected() -> None:
    (odd,) = judge_pairs([pair("2.12.1", "2.13.0")], [OLD_TO_NEW]).unexpected
    assert odd.sentence == (
        "static [2.12.1 retrace -> 2.13.0]: ok, but abi expects error@load /RuntimeError: .*ABI.*/"
    )
    (odd,) = judge_pairs([REFUSED], []).unexpected
    assert odd.sentence.endswith("RuntimeError: another ABI, and no class lists it")


def test_two_classes_of_one_pair_are_red() -> None:
    judged = judge_pairs([REFUSED], [OLD_TO_NEW, dataclasses.replace(OLD_TO_NEW, id="again")])
    assert judged.gate is Gate.RED
    assert judged.faults[0].startswith("abi and again both list static [2.12.1 retrace")


def test_a_part_of_a_class_that_selects_nothing_is_told() -> None:
    narrow = dataclasses.replace(OLD_TO_NEW, savers=("<2.13", "==2.5.*"), cases=("gone",))
    assert list(idle_parts([narrow], ["2.12.1", "2.13.0"], ["static"])) == [
        "abi: '==2.5.*' selects nothing; take it out",
        "abi: 'gone' selects nothing; take it out",
    ]
    assert not list(idle_parts([OLD_TO_NEW], ["2.12.1", "2.13.0"], ["static"]))


def test_the_real_classes_list_no_release_that_loads_its_own_and_no_pair_twice(
    catalogue: Catalogue,
) -> None:
    classes = read_classes()
    versions = [release.version for release in catalogue if release.package_routes]
    for saver in versions:
        for loader in versions:
            covering = [each for each in classes if each.covers(pair(saver, loader))]
            assert len(covering) == (catalogue.get(saver).abi != catalogue.get(loader).abi) or (
                # The one pair of releases that share an ABI and not a way to write it.
                [each.id for each in covering] == ["engines-in-python"]
            ), (saver, loader)


def test_the_cases_asked_by_default_are_of_the_corpus() -> None:
    corpus = read_corpus(sys.executable)
    known = {case.name: case for case in corpus.of_lane(Lane.PACKAGE)}
    assert set(CASES) <= set(known)
    assert not list(
        idle_parts(read_classes(), ["2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.0"], known)
    )
    assert set(ROUTES) == {"no-retrace", "retrace"}


GOOD = CROSSING_FILE.read_text()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('id = "abi-8"', 'id = "abi-7"', "class 'abi-7': its id is taken"),
        ('savers = ["==2.11.*"]', 'savers = ["old"]', "'savers': 'old' is no version"),
        ('savers = ["==2.11.*"]', "savers = []", "'savers' is empty"),
        ('outcome = "error@load"', 'outcome = "error"', "unknown outcome 'error'"),
        ('routes = ["no-retrace"', 'routes = ["legacie"', "unknown route 'legacie'"),
        ("(10|12|13)'", "(10|12|13'", "message is not a regular expression"),
        ("schema = 1", "schema = 2", "schema 2"),
        ('upstream = "unknown"\n', "", "key 'upstream' is missing"),
    ],
)
def test_a_mistake_in_the_file_is_named(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str, told: str
) -> None:
    assert old in GOOD
    path = tmp_path_factory.mktemp("classes") / "crossing.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(SurroundingsError, match=told):
        read_classes(path)
