"""The expected table is written by a machine and read back exactly; every mistake is named."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import SurroundingsError
from harness.register.facts import Place, facts_in, masked
from harness.register.table import ALL, Table, filled
from harness.register.table_files import ranges, read_table, rows_of, table_texts, write_table
from harness.wire.oracles import Oracle
from tests.record_builders import RELEASES, entry, failed, table

ROWS = (
    entry(says='a, b; "c"', subjects=RELEASES),
    entry(says='a, b; "c"', route="legacy", subjects=RELEASES),
    entry(says="two", subjects=("2.10.0", "2.14.0", "torch")),
    entry(Oracle.METADATA, case="b", environment="torch-2.9", removed=True),
    entry(Oracle.METADATA, case="b", builder="tensorrt-rtx-1.5", lane="package"),
    entry(Oracle.METADATA, case="b", builder="tensorrt-rtx-1.6", lane="package", harm="cosmetic"),
    entry("unsupported", "no op", route=ALL, subjects=(ALL,), defect="", case="c"),
)


def test_a_table_reads_back_exactly(tmp_path):
    made = table(*ROWS)
    write_table(made, tmp_path)
    again = read_table(tmp_path)
    assert (again.entries, again.asked) == (made.entries, made.asked)
    assert table_texts(again) == table_texts(made)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "asked.csv", "builders.csv", "environments.csv", "graph.csv",
    ]  # fmt: skip


def test_routes_that_say_the_same_are_one_row_and_a_range_is_open_where_the_newest_has_it():
    rows = rows_of(table(*ROWS))["graph"]
    assert [(row.routes, row.releases) for row in rows if row.case == "a"] == [
        ("export", "2.10.0 2.14.0.. torch"),
        ("export+legacy", "2.10.0.."),
    ]
    assert [(row.routes, row.releases) for row in rows if row.case == "c"] == [("*", "*")]


def test_a_file_that_has_no_row_any_more_goes(tmp_path):
    write_table(table(*ROWS), tmp_path)
    write_table(table(ROWS[0]), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["asked.csv", "graph.csv"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("known", "?", r"graph.csv, line 2: a: the defect of .* is not decided \(\?\); write"),
        ("known", "?one|other", r"not decided \(\?one\|other\)"),
        ("known", "", "a row without a defect; write its id"),
        ("2.10.0..", "2.10.0..2.14.0", r"write '2\.10\.0\.\.'"),
        ("2.10.0..", "2.11.0..", r"releases '2\.11\.0\.\.': a release, a range"),
        ("graph,a", "lane,a", "unknown lane 'lane'; write graph or package"),
        ("values", "value", "unknown oracle 'value'"),
        (",,known", ",bad,known", "unknown harm 'bad'"),
        ("graph,a", "package,a", "this row belongs in package.csv"),
        ("pinned,", "pinned,extra,", "line 2: 13 fields, but there are 12 columns"),
        ("lane,case", "case,lane", "its first line has to be lane,case"),
    ],
)
def test_every_mistake_is_named_with_its_file_its_line_and_what_to_write(tmp_path, old, new, words):
    write_table(table(entry(subjects=RELEASES)), tmp_path)
    path = tmp_path / "graph.csv"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(SurroundingsError, match=words):
        read_table(tmp_path)


def test_a_row_that_is_there_twice_is_refused(tmp_path):
    write_table(table(entry()), tmp_path)
    path = tmp_path / "graph.csv"
    path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
    with pytest.raises(SurroundingsError, match="another row says the same"):
        read_table(tmp_path)


def test_an_undecided_row_is_read_where_it_is_to_be_decided(tmp_path):
    write_table(table(entry(defect="?one|other")), tmp_path)
    (row,) = read_table(tmp_path, undecided=True).undecided
    assert row.defect == "?one|other"


@given(st.sets(st.sampled_from([*RELEASES, "torch", "positional"]), min_size=1))
def test_any_set_of_subjects_is_ranges_and_back(subjects):
    made = table(entry(subjects=tuple(subjects)))
    (row,) = rows_of(made)["graph"]
    assert row.releases == ranges(subjects, RELEASES)


def test_a_range_reaches_over_releases_that_are_never_asked_but_not_before_the_first():
    place = entry()[0].place
    known = Table({}, {
        ("graph", "segment", "pinned", "export"): ("2.10.0", "2.13.0", "torch"),
        ("graph", "segment", "pinned", "legacy"): ("2.9.0", "2.10.0", "2.11.0", "2.13.0", "2.14.0"),
    })  # fmt: skip
    assert filled(place, frozenset(("2.10.0", "2.13.0")), known) == {
        "2.10.0", "2.11.0", "2.13.0", "2.14.0",
    }  # fmt: skip
    assert filled(place, frozenset(("2.10.0",)), known) == {"2.10.0"}


def test_an_overlay_says_what_differs_and_inherits_the_rest():
    made = table(
        entry(says="one"),
        entry(says="two"),
        entry(says="two", environment="torch-2.9", removed=True),
        entry(says="three", environment="torch-2.9", builder="tensorrt-rtx-1.5"),
    )

    def said(builder: str, environment: str) -> list[str]:
        place = Place("graph", "a", "nonstrict", "export", builder, environment)
        return sorted(fact[2] for fact in made.expected(place, "2.13.0"))

    assert said("segment", "pinned") == ["one", "two"]
    assert said("segment", "torch-2.9") == ["one"]
    assert said("tensorrt-rtx-1.5", "torch-2.9") == ["one", "three"]
    assert said("tensorrt-rtx-1.5", "torch-2.10") == ["one", "two"]


@pytest.mark.parametrize(
    ("message", "line", "says"),
    [
        ("AssertionError", "assert a == 1", "AssertionError in inline: assert a == #"),
        ("AssertionError", "assert 'b' in a", "AssertionError in inline: assert '*' in a"),
        ("KeyError: 'b'", "a['b']", "KeyError: '*'"),
    ],
)
def test_two_bare_assertions_are_told_apart_by_where_upstream_raised_them(message, line, says):
    bare = failed(Oracle.COMPLETION, message)
    (here,) = facts_in(dataclasses.replace(bare, raised=f"inline (dynamo/x.py:7): {line}"))
    (moved,) = facts_in(dataclasses.replace(bare, raised=f"inline (dynamo/y.py:9): {line}"))
    (nowhere,) = facts_in(bare)
    assert here.says == moved.says == says
    assert nowhere.says == masked(message)


def test_a_finding_is_masked_for_numbers_and_quoted_names_but_not_for_types():
    assert masked("Argument 'getitem_1' of Node \"relu\" has 3") == "Argument '*' of Node '*' has #"
    told = "AttributeError: 'NoneType' object has no attribute 'meta'"
    assert masked(told) == told
    assert masked("a value of type 'List[Tensor]' for argument 'x'") == (
        "a value of type 'List[Tensor]' for argument '*'"
    )
    guarded = masked("AssertionError: Guard failed: x.size()[0] == 4")
    assert guarded == "AssertionError: Guard failed: *.size()[#] == #"
    assert masked("SerializeError: Failed serializing node a in graph: %a = f(%b)") == (
        "SerializeError: Failed serializing node *"
    )
    assert masked("of type 'List[Tensor]' for argument '*'") == (
        "of type 'List[Tensor]' for argument '*'"
    )
    assert masked("doesn't say what isn't") == "doesn't say what isn't"
