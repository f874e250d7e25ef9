"""The table of a crossing: what each square says, in words, signs and colours."""

import io

import pyarrow.parquet as pq

from harness.crossing.judge import FailureClass, Pair, judge_pairs
from harness.report.pages.crossing_page import (
    CrossingView,
    crossing_html,
    crossing_markdown,
    headline,
    table_files,
)

ABI = FailureClass(
    id="abi",
    savers=("1.0",),
    loaders=("2.0",),
    cases=("*",),
    routes=("retrace",),
    outcome="error@load",
    message="another <ABI>",
    upstream="unknown",
    why="The ABI is | another.",
)
AT = {
    version: {"torch": "2.13.0", "tensorrt": "10.1", "abi": abi}
    for version, abi in (("1.0", "7"), ("2.0", "8"))
}


def pair(saver: str, loader: str, outcome: str = "ok", message: str = "", case: str = "a") -> Pair:
    return Pair(saver, loader, case, "retrace", outcome, message, detail="line 1\nline 2")


SOUND = [
    pair("1.0", "1.0"),
    pair("1.0", "2.0", "error@load", "another <ABI>"),
    pair("2.0", "1.0"),
    pair("2.0", "2.0"),
]


def view(*pairs: Pair) -> CrossingView:
    return CrossingView(judge_pairs(pairs, [ABI]), (ABI,), AT, {"run_id": "R"})


def test_a_square_says_how_many_load_and_by_which_class_the_others_fail():
    it = view(*SOUND)
    assert [[it.short(square) for square in row] for row in it.rows] == [
        ["✓ 1", "E A"],
        ["✓ 1"] * 2,
    ]
    assert it.tone(it.rows[0][1]) == "error"
    assert it.sentence(it.rows[0][1]) == "saved by 1.0, loaded by 2.0: 1 error@load, as listed: abi"
    assert headline(it.judged) == (
        "gate: green: 4 pairs: 3 load and compute the same, 1 fail as listed"
    )


def test_what_is_silently_wrong_comes_before_an_error_and_before_what_is_right():
    odd = pair("2.0", "1.0", "wrong-values", "numbers differ", case="b")
    it = view(SOUND[2], pair("2.0", "1.0", "error@run", "x", case="c"), odd)
    ((square,),) = it.rows
    assert it.tone(square) == "silent"
    assert it.short(square) == "✗ 1, ✓ 1"
    assert square.unexpected == 2
    assert headline(it.judged).startswith("gate: red: 3 pairs: 1 load")
    assert "2 not as listed" in headline(it.judged)


def test_the_page_has_every_square_in_words_and_escapes_what_it_is_told():
    text = crossing_html(view(*SOUND))
    assert text.count('<td class="t-') == 4
    assert "saved by 1.0, loaded by 2.0: 1 error@load, as listed: abi" in text
    assert "another &lt;ABI&gt;" in text
    assert "http" not in text
    assert "Not as listed" not in text


def test_what_is_not_as_listed_is_on_both_pages():
    it = view(*SOUND[:1], pair("1.0", "2.0"))
    told = "a [1.0 retrace -&gt; 2.0]: ok, but abi expects error@load"
    assert told in crossing_html(it)
    assert told.replace("[", r"\[").replace("]", r"\]") in crossing_markdown(it)


def test_markdown_keeps_its_columns():
    text = crossing_markdown(view(*SOUND))
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert table[2] == "| **1.0** | 2.13.0 | 7 | ✓ 1 | E A |"
    assert {line.count("|") for line in table} == {6}
    assert r"- **A** `abi`, 1 pairs: The ABI is \| another." in text


def test_every_pair_is_a_row_with_its_standing():
    files = dict(table_files(view(*SOUND).judged))
    rows = pq.read_table(io.BytesIO(files["crossing.parquet"])).to_pylist()
    assert [row["standing"] for row in rows] == ["ok", "expected_failure", "ok", "ok"]
    assert rows[1]["listed"] == "abi"
    assert rows[1]["detail"] == "line 1\nline 2"
    lines = files["crossing.csv"].decode().splitlines()
    assert len(lines) == 5  # no evidence in it, which has lines of its own
