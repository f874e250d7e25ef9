"""The ledger: what an entry covers and expects, and how its file is read and written."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.expectations.ledger import (
    Entry,
    Ledger,
    obsolete,
    selects_case,
    selects_subject,
    uses,
)
from harness.expectations.ledger_file import LEDGER_FILE, parse_ledger, read_ledger, to_toml
from harness.expectations.scopes import scopes
from harness.rig.vocabulary import Oracle, Outcome, Route, Stage, Symptom, gates
from tests.record_builders import case, entry, failed, key, record, stopped, unsupported

GOOD = to_toml([entry()])


def changed(**fields: Any) -> str:
    return "schema = 1\n" + to_toml([dataclasses.replace(entry(), **fields)])


@pytest.mark.parametrize(
    ("lane", "covered"),
    [("package", {"package", "engine"}), ("engine", {"engine"}), ("graph", {"graph"})],
)
def test_what_is_known_of_whole_packages_holds_whoever_runs_their_engines(
    lane: str, covered: set[str]
) -> None:
    known = entry(lane=lane)
    cells = {each: dataclasses.replace(key(), lane=each) for each in ("graph", "package", "engine")}
    assert {each for each, cell in cells.items() if known.covers(cell, None)} == covered


def test_the_committed_ledger_can_be_read() -> None:
    assert isinstance(read_ledger(LEDGER_FILE), Ledger)


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        ("2.13.0", {"2.13.0"}),
        ("2.13", {"2.13.0"}),
        ("<2.14", {"2.10.0", "2.13.0"}),
        (">=2.11,<2.14", {"2.13.0"}),
        ("==2.1*", set()),
        ("<99", {"2.10.0", "2.13.0", "2.14.0", "2.15.0rc1"}),
        ("name-matching", {"name-matching"}),
        ("torch", {"torch"}),
    ],
)
def test_versions_and_specifiers_choose_releases_and_names_choose_the_named(
    selector: str, chosen: set[str]
) -> None:
    subjects = ["2.10.0", "2.13.0", "2.14.0", "2.15.0rc1", "name-matching", "torch", "file:1a2b"]
    if selector == "==2.1*":
        with pytest.raises(ValueError, match="Invalid specifier"):
            selects_subject(selector, "2.13.0")
        return
    assert {name for name in subjects if selects_subject(selector, name)} == chosen


def test_a_case_is_chosen_by_its_exact_name_or_a_glob_that_minds_case() -> None:
    assert selects_case("nested-*", "nested-two")
    assert selects_case("odd[name]", "odd[name]")
    assert not selects_case("Nested-*", "nested-two")
    assert not selects_case("nested", "nested-two")


@pytest.mark.parametrize(
    ("fields", "covered"),
    [
        ({}, True),
        ({"cases": ("b", "?")}, True),
        ({"cases": ("b",)}, False),
        ({"subjects": (">=2.14", "<2.11", "2.13")}, True),
        ({"subjects": ("name-matching",)}, False),
        ({"routes": ("legacy",)}, False),
        ({"capture": "nonstrict", "lane": "graph", "builder": "segment"}, True),
        ({"capture": "strict"}, False),
        ({"lane": "package"}, False),
        ({"builder": "tensorrt"}, False),
        ({"environment": "torch-*"}, False),
        ({"environment": "torch-*,pin*"}, True),
        ({"builder": "segment,tensorrt-rtx-1.4.*"}, True),
        ({"origin": "exported"}, True),
        ({"origin": "handmade"}, False),
    ],
)
def test_an_entry_covers_the_product_of_its_selectors(
    fields: dict[str, Any], covered: bool
) -> None:
    assert entry(**fields).covers(key(), "exported") is covered


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, True),
        ({"message": "b.*"}, True),
        ({"message": "boo"}, False),  # the whole message
        ({"message": ".oom\nand more"}, False),
        ({"stage": Stage.LOAD}, False),
        ({"symptom": Symptom.ERROR.value}, False),
        ({"oracle": Oracle.WIRING}, False),
    ],
)
def test_an_entry_expects_one_oracle_symptom_stage_and_whole_message(
    fields: dict[str, Any], expected: bool
) -> None:
    assert entry(**fields).expects(failed(Oracle.VALUES)) is expected


def test_a_dot_in_a_message_pattern_matches_a_line_break() -> None:
    assert entry(message="a.b").expects(failed(Oracle.VALUES, "a\nb"))


def test_an_entry_never_expects_a_pass() -> None:
    assert not entry(message=".*").expects(record(key()).verdict(Oracle.VALUES))


def test_an_unsupported_entry_permits_a_reason_and_expects_no_failure() -> None:
    permission = entry(Oracle.COMPLETION, symptom="unsupported", stage=None, message="no .*")
    assert permission.permits(unsupported(key(), "no wheel"))
    assert not permission.permits(unsupported(key(), "a reason with no wheel"))
    assert not permission.permits(stopped(key(), "no wheel"))
    assert not permission.expects(failed(Oracle.COMPLETION, "no wheel"))
    scope = scopes([key()], Ledger((permission,)), {})[key()]
    assert not scope.demanding(Oracle.COMPLETION)
    assert scope.permitting(unsupported(key(), "no wheel")) == (permission,)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("schema = 2\n", "schema 2, but this harness reads 1"),
        ("", "schema None"),
        ("schema = ", "not TOML"),
        ("schema = 1\nentries = []", "only `schema` and"),
        ("schema = 1\nentry = 3", "only `schema` and"),
        (f"schema = 1\n{GOOD}surprise = 1", "entry 'known': unknown key surprise"),
        (f"schema = 1\n{GOOD}".replace("upstream", "#"), "add the missing key upstream"),
        ("schema = 1\n[[entry]]\n", "entry number 1: add the missing key id"),
        (f"schema = 1\n{GOOD}\n{GOOD}", "entry 'known': its id is taken"),
        (f"schema = 1\n{GOOD}".replace('"values"', '"value"'), "unknown oracle 'value'"),
        (f"schema = 1\n{GOOD}".replace('"run"', '"ruin"'), "unknown stage 'ruin'"),
        (f"schema = 1\n{GOOD}".replace('stage = "run"', ""), "add the missing key stage"),
        (f"schema = 1\n{GOOD}".replace('["a"]', '"a"'), "cases must be a list"),
        (f"schema = 1\n{GOOD}".replace('["a"]', "[1]"), "cases must be a list"),
        (changed(symptom="wrong"), "unknown symptom 'wrong'; there are wrong-values,"),
        (changed(routes=("exprot",)), "unknown route 'exprot'"),
        (changed(message="a(b"), "message is not a regular expression: .*; escape it"),
        (changed(upstream=""), "upstream must be a string that is not empty"),
        (changed(lane=" "), "lane must be a string that is not empty"),
        (
            changed(
                subjects=("2.13.0", "<<2"),
            ),
            "subjects: '<<2' is no version",
        ),
        (changed(subjects=("positionl",)), "subjects: 'positionl' is no version"),
        (changed(subjects=("",)), "subjects: '' is no version"),
        (changed(subjects=()), "subjects must be a list of strings that is not empty"),
        (changed(why="UNEXPLAINED: later"), "not explained; write its cause into why"),
        (changed(why="UNEXPLAINED"), "not explained"),
        (changed(why="two\nlines"), "why must be one line"),
        (changed(why=" "), "why must be a string that is not empty"),
        (
            changed(oracle=Oracle.UNFLATTEN, routes=("direct", "legacy")),
            "unflatten is no defect on route legacy",
        ),
        (changed(symptom="unsupported"), 'unsupported goes with oracle = "completion"'),
        (
            changed(symptom="unsupported", oracle=Oracle.COMPLETION),
            "unsupported goes with .* without a stage",
        ),
    ],
)
def test_a_mistake_is_named_by_file_entry_and_what_to_do(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=rf"^some/ledger\.toml: .*{complaint}"):
        parse_ledger(text, "some/ledger.toml")


def test_a_ledger_that_cannot_be_read_is_wrong_use(tmp_path: Any) -> None:
    with pytest.raises(UsageError, match=r"cannot read the ledger .*nowhere"):
        read_ledger(tmp_path / "nowhere")


def test_an_unsupported_entry_can_be_read() -> None:
    text = changed(symptom="unsupported", oracle=Oracle.COMPLETION, stage=None)
    (found,) = parse_ledger(text, "ledger").entries
    assert found.permits_unsupported
    assert found.stage is None


words = st.text(min_size=1, max_size=12).filter(str.strip)
lists = st.lists(words, min_size=1, max_size=3).map(tuple)
entries = st.builds(
    Entry,
    id=words,
    oracle=st.sampled_from(Oracle),
    symptom=st.sampled_from([each.value for each in Symptom]),
    stage=st.sampled_from(Stage),
    message=words.map(re.escape),
    cases=lists,
    subjects=st.lists(
        st.sampled_from(["2.13.0", "<2.14", ">=2,<3", "torch"]), min_size=1, max_size=3
    ).map(tuple),
    routes=st.lists(st.sampled_from([r.value for r in Route]), min_size=1, max_size=2).map(tuple),
    upstream=words,
    why=words.map(lambda text: "because " + text.replace("\n", " ")),
    capture=st.none() | words,
    lane=st.none() | words,
    builder=st.none() | words,
    environment=st.none() | words,
    origin=st.none() | words,
).filter(lambda made: all(gates(made.oracle, route) for route in made.routes))


@given(st.lists(entries, max_size=3, unique_by=lambda each: each.id))
def test_entries_go_to_toml_and_back_without_loss(written: list[Entry]) -> None:
    text = "schema = 1\n" + to_toml(written)
    assert parse_ledger(text, "ledger") == Ledger(tuple(written))


def test_a_pattern_is_written_readably() -> None:
    text = to_toml([entry(message=r"expected \d+, got \(1\)", why='it\'s "so"')])
    assert r"message = 'expected \d+, got \(1\)'" in text
    assert r"""why = "it's \"so\"" """.strip() in text


def test_an_entry_that_matches_nowhere_is_obsolete_and_one_that_does_partly_is_too_wide() -> None:
    records = [record(key("a"), failed(Oracle.VALUES)), record(key("b"))]
    good, wide, gone, elsewhere = (
        entry(id="good"),
        entry(id="wide", cases=("*",)),
        entry(id="gone", cases=("b",)),
        entry(id="elsewhere", cases=("not-in-this-run",)),
    )
    ledger = Ledger((good, wide, gone, elsewhere))
    cases = [case("a"), case("b")]
    assert obsolete(records, ledger, cases) == [gone]
    assert [use.entry for use in uses(records, ledger, cases) if use.too_wide] == [wide]


def test_hypothetical_and_unasked_cells_make_no_entry_obsolete() -> None:
    permission = entry(Oracle.COMPLETION, symptom="unsupported", stage=None, message="no wheel")
    ledger = Ledger((entry(), permission))
    assert obsolete([record(key(), hypothetical=True)], ledger, [case("a")]) == []
    assert obsolete([unsupported(key())], ledger, [case("a")]) == []
    assert obsolete([record(key())], ledger, [case("a")]) == [entry()]
    assert obsolete([unsupported(key(), "no compiler")], ledger, [case("a")]) == [permission]


def test_an_entry_for_an_oracle_that_was_not_asked_matches_nothing() -> None:
    made = stopped(key())
    assert made.verdict(Oracle.VALUES).outcome is Outcome.NOT_APPLICABLE
    assert obsolete([made], Ledger((entry(),)), [case("a")]) == [entry()]
