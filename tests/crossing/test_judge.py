"""What a crossing asks, and how what became of it is held against what is expected."""

import dataclasses
import sys
from pathlib import Path

import pytest

from harness.base.errors import SurroundingsError, UsageError
from harness.crossing.expected import CROSSING_FILE, read_classes
from harness.crossing.folder import crossing_journal, open_crossing
from harness.crossing.judge import (
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
    saving_routes,
    settle,
)
from harness.gate.findings import CellClass, Gate
from harness.runs.provenance import Provenance, collect_provenance
from harness.subjects.stations import Station
from harness.toolchain import PackageSite
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import read_corpus
from harness.wire.records import CaseInfo
from harness.wire.routes import Lane

STATIC = CaseInfo("static", "f", "product", "c", lanes=("package",))
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
    return Pair(saver, loader, "static", "retrace", outcome, message, loader_torch="2.13.0+cpu")


REFUSED = pair("2.12.1", "2.13.0", "error@load", "RuntimeError: another ABI")


def standing(it: Pair, *classes: FailureClass) -> CellClass:
    (judged,) = judge_pairs([it], classes or [OLD_TO_NEW]).pairs
    return judged.standing


def test_a_dynamic_model_is_not_specialised_and_a_static_one_is_not_told_shapes(catalogue):
    newest = [catalogue.get("2.14.0")]
    planned = plan_programs(newest, [STATIC, DYNAMIC], newest[0].package_routes)
    assert {each.route for each in planned if each.case == "static"} == {
        "no-retrace",
        "retrace",
        "no-retrace-export",
    }
    assert {each.route for each in planned if each.case == "dynamic"} == {
        *saving_routes(newest[0])
    } - {"retrace", "save-exported"}  # the latter is asked of models with state alone


def test_a_release_saves_only_by_the_routes_that_it_has(catalogue):
    planned = plan_programs([catalogue.get("2.10.0")], [STATIC], ["retrace", "no-retrace-export"])
    assert planned == (Program("2.10.0", "static", "retrace"),)


def test_every_program_meets_every_loader_its_own_too():
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


def test_what_was_not_saved_fails_in_every_loader_for_the_savers_reason():
    made = Program("2.12.1", "static", "retrace")
    saved = {made: Saved(made, "2.13.0", "error@export", "KeyError: relu")}
    (found,) = settle([made], ["2.13.0"], saved, {}, {})
    assert (found.outcome, found.message) == (NOT_SAVED, "error@export: KeyError: relu")
    assert standing(found, dataclasses.replace(OLD_TO_NEW, savers=("2.9.0",))) is (
        CellClass.UNEXPECTED_FAILURE
    )


def test_a_release_that_cannot_be_had_leaves_the_gate_open_and_breaks_no_expectation():
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
def test_a_class_demands_exactly_what_it_lists(it, expected):
    assert standing(it) is expected
    red = expected in (CellClass.UNEXPECTED_FAILURE, CellClass.UNEXPECTED_PASS)
    assert judge_pairs([it], [OLD_TO_NEW]).gate is (Gate.RED if red else Gate.GREEN)


def test_a_class_may_be_of_loaders_with_some_torch_alone():
    older = dataclasses.replace(OLD_TO_NEW, loader_torch="<2.13")
    newer = dataclasses.replace(OLD_TO_NEW, id="newer", loader_torch=">=2.13")
    (judged,) = judge_pairs([REFUSED], [older, newer]).pairs
    assert judged.listed == newer
    matched = dataclasses.replace(REFUSED, loader_torch="2.12.0+cu130")
    (judged,) = judge_pairs([matched], [older, newer]).pairs
    assert judged.listed == older


def test_what_is_not_as_listed_is_told_with_what_was_expected():
    (odd,) = judge_pairs([pair("2.12.1", "2.13.0")], [OLD_TO_NEW]).unexpected
    assert odd.sentence == (
        "static [2.12.1 retrace -> 2.13.0]: ok, but abi expects error@load /RuntimeError: .*ABI.*/"
    )
    (odd,) = judge_pairs([REFUSED], []).unexpected
    assert odd.sentence.endswith("RuntimeError: another ABI, and no class lists it")


def test_two_classes_of_one_pair_are_red():
    judged = judge_pairs([REFUSED], [OLD_TO_NEW, dataclasses.replace(OLD_TO_NEW, id="again")])
    assert judged.gate is Gate.RED
    assert judged.faults[0].startswith("abi and again both list static [2.12.1 retrace")


def test_a_part_of_a_class_that_selects_nothing_is_told():
    narrow = dataclasses.replace(OLD_TO_NEW, savers=("<2.13", "==2.5.*"), cases=("gone",))
    assert list(idle_parts([narrow], ["2.12.1", "2.13.0"], ["static"])) == [
        "abi: '==2.5.*' selects nothing; take it out",
        "abi: 'gone' selects nothing; take it out",
    ]
    assert not list(idle_parts([OLD_TO_NEW], ["2.12.1", "2.13.0"], ["static"]))


def test_the_real_classes_list_no_release_that_loads_its_own_and_no_pair_twice(catalogue):
    classes = read_classes()
    versions = [release.version for release in catalogue if release.package_routes]
    for saver in versions:
        for loader in versions:
            covering = [each for each in classes if each.covers(pair(saver, loader))]
            assert len(covering) == (catalogue.get(saver).abi != catalogue.get(loader).abi) or (
                # The one pair of releases that share an ABI and not a way to write it.
                [each.id for each in covering] == ["engines-in-python"]
            ), (saver, loader)


def test_the_cases_asked_by_default_are_of_the_corpus():
    corpus = read_corpus(sys.executable, cache=PROJECT_ROOT / ".cache")
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
        ('loader_torch = ">=2.13"\nc', 'loader_torch = ""\nc', "'loader_torch': '' is not valid"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path_factory, old, new, told):
    assert old in GOOD
    path = tmp_path_factory.mktemp("classes") / "crossing.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(SurroundingsError, match=told):
        read_classes(path)


def test_a_folder_of_another_crossing_is_not_gone_on_with(tmp_path):
    site = PackageSite(Path("site"), "2.14.0", "segment", "11.1.0", "11.1.0.106")
    station = Station("2.14.0", "python", "2.14.0", "10", site)

    def now(digest: str) -> Provenance:
        return collect_provenance(
            root=PROJECT_ROOT, corpus_digest=digest, subjects=(), seeds=(0,), command_line=()
        )

    begun, _ = open_crossing(tmp_path, now("a"), {"2.14.0": station})
    again, _ = open_crossing(tmp_path, now("a"), {"2.14.0": station})
    assert again == begun
    with pytest.raises(UsageError, match="choose another --out: corpus digest: the run has a"):
        open_crossing(tmp_path, now("b"), {"2.14.0": station})
    other = dataclasses.replace(station, torch="2.13.0")
    with pytest.raises(UsageError, match=r"2.14.0: it has .*'torch': '2.14.0'"):
        open_crossing(tmp_path, now("a"), {"2.14.0": other})
    (tmp_path / "crossing.json").write_text("[]")
    with pytest.raises(UsageError, match="foreign or damaged"):
        open_crossing(tmp_path, now("a"), {"2.14.0": station})


def test_a_crossing_that_was_cut_off_keeps_what_had_ended(tmp_path):
    made = Program("2.12.1", "static", "retrace")
    with crossing_journal(tmp_path) as journal:
        journal.add(Saved(made, "2.13.0", "ok", archive_bytes=10))
        journal.add(REFUSED)
        with (
            pytest.raises(UsageError, match="being written by another process"),
            crossing_journal(tmp_path),
        ):
            pass
    path = tmp_path / "crossing.jsonl"
    path.write_bytes(path.read_bytes() + b"77 0123abcd {")  # as a kill in writing leaves it
    with crossing_journal(tmp_path) as journal:
        assert journal.saved == {made: Saved(made, "2.13.0", "ok", archive_bytes=10)}
        assert journal.loaded == {(made, "2.13.0"): REFUSED}
