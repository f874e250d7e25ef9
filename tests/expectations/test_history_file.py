"""The history file is read strictly: a mistake in it is named, with its place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.corpus_client import read_corpus
from harness.errors import SurroundingsError
from harness.expectations.history_file import HISTORY_FILE, read_history
from harness.expectations.ledger import selects_case
from harness.history import Fix
from harness.releases import load_catalogue
from harness.rig.vocabulary import Oracle
from harness.toolchain.environment import PROJECT_ROOT

RELEASES = ("2.13.0", "2.14.0")
GOOD = """\
schema = 1
[[fix]]
id = "wiring"
pull_request = "#4446"
first_good = "2.14.0"
what = "It is right."
cases = ["a", "b-*"]
oracle = "values"
routes = ["legacy", "export"]
"""
HIDDEN = """\
[[fix]]
id = "hidden"
pull_request = "unknown"
first_good = "2.14.0"
what = "It is right."
not_visible = "needs a GPU"
"""


def read(tmp_path: Path, text: str) -> tuple[Fix, ...]:
    path = tmp_path / "history.toml"
    path.write_text(text)
    return read_history(RELEASES, path)


def test_a_fix_is_read(tmp_path: Path) -> None:
    routes = ("legacy", "export")
    assert read(tmp_path, GOOD + HIDDEN) == (
        Fix("wiring", "#4446", "2.14.0", "It is right.", ("a", "b-*"), Oracle.VALUES, routes),
        Fix("hidden", "unknown", "2.14.0", "It is right.", not_visible="needs a GPU"),
    )


def test_any_oracle_may_be_asked_for(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD.replace('"values"', '"any"'))[0].oracle is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("schema = 1", "schema = 2", "schema 2"),
        ("schema = 1", "schema = 1\nother = 1", "unknown key 'other'"),
        ("schema = 1\n[[fix]]", "schema = 1\n[fix]", "'fix' is not a list"),
        ('what = "It is right."\n', "", "'what' is missing"),
        ('what = "It is right."', 'what = ""', "'what': '' is not valid"),
        ('id = "wiring"\n', "", "fix number 1: key 'id' is missing"),
        ('oracle = "values"', 'oracle = "numbers"', "unknown oracle 'numbers'; there are values"),
        ('"2.14.0"', '"2.15.0"', "first_good '2.15.0'"),
        ('"2.14.0"', '"2.13.0"', "first_good '2.13.0'"),  # what could have failed before it?
        ('"#4446"', '"4446"', "pull_request '4446'"),
        ('["legacy", "export"]', '["direct"]', "unknown route 'direct'; there are legacy, export"),
        ('["legacy", "export"]', "[]", "'routes' is empty"),
        ('["a", "b-*"]', "[]", "'cases' is empty"),
        ('["a", "b-*"]', '["a", "a"]', "'cases' is not a list of different strings"),
        ('oracle = "values"', 'oracle = "values"\ncase = "a"', "fix 'wiring': unknown key 'case'"),
        ('oracle = "values"', 'oracle = "values"\nnot_visible = "x"', "unknown key 'cases'"),
    ],
)
def test_a_mistake_is_named_with_its_place(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(SurroundingsError, match=r"history\.toml") as refused:
        read(tmp_path, GOOD.replace(old, new))
    assert message in str(refused.value)


def test_an_id_is_given_once(tmp_path: Path) -> None:
    with pytest.raises(SurroundingsError, match="fix 'hidden': its id is taken"):
        read(tmp_path, GOOD + HIDDEN + HIDDEN)


def test_a_fix_that_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SurroundingsError, match="number 1 is not a table"):
        read(tmp_path, 'schema = 1\nfix = ["wiring"]\n')


def test_the_committed_history_names_only_cases_that_exist() -> None:
    names = read_corpus(sys.executable, cache=PROJECT_ROOT / ".cache").names
    for fix in read_history(load_catalogue().versions, HISTORY_FILE):
        for selector in fix.cases:
            assert any(selects_case(selector, name) for name in names), f"{fix.id}: {selector}"
