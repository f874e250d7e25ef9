"""Markup, control characters and long names in the pages of crossing, bench, check and replay."""

import dataclasses
import io
import json

import pyarrow.parquet as pq
import pytest
from markdown_it import MarkdownIt

from harness.bench.plan import BenchCell
from harness.crossing.judge import judge_pairs
from harness.gate.model_answer import CallAnswer, Cause, ModelAnswer, Standing
from harness.report.check_report import check_html, check_json
from harness.report.pages.bench_page import bench_markdown, bench_page
from harness.report.pages.crossing_page import (
    CrossingView,
    crossing_html,
    crossing_markdown,
    table_files,
)
from harness.report.pages.replay_page import replay_files
from harness.run.replayed import InLane, Replayed, State
from harness.toolchain.checkout import Commit
from harness.wire.bench_records import BenchCase
from harness.wire.oracles import Harm
from harness.wire.routes import Lane, Route
from tests.bench.simulated import plan_of, record
from tests.report import test_check_report, test_crossing_page
from tests.report.test_hostile import HOSTILE, harmless

checked = test_check_report.checked
FORMULA = "$\\frac{a$ $$ \\ %"  # a drawing would take it for one


@pytest.fixture(params=[*HOSTILE, FORMULA], ids=["markup", "unshown", "long", "all", "formula"])
def said(request):
    return request.param


def as_page(markdown: str) -> str:
    return MarkdownIt("commonmark").enable("table").render(markdown)


def crossing_of(text: str) -> CrossingView:
    listed = dataclasses.replace(test_crossing_page.ABI, message="", why=text, upstream=text)
    pairs = [
        test_crossing_page.pair("1.0", "1.0", case=text),
        test_crossing_page.pair("1.0", "2.0", "error@load", text, case=text),
        test_crossing_page.pair("2.0", "1.0", "error@load", text, case=text),
        test_crossing_page.pair("2.0", "2.0", case=text),
    ]
    pairs = [dataclasses.replace(each, detail=text) for each in pairs]
    at = {release: dict.fromkeys(told, text) for release, told in test_crossing_page.AT.items()}
    return CrossingView(judge_pairs(pairs, [listed]), (listed,), at, {"run_id": text})


def test_a_crossing_shows_them_as_words(said):
    view = crossing_of(said)
    harmless(crossing_html(view), crossing_html(crossing_of("word")))
    harmless(as_page(crossing_markdown(view)), "")
    files = dict(table_files(view.judged))
    (parquet,) = (content for name, content in files.items() if name.endswith(".parquet"))
    assert set(pq.read_table(io.BytesIO(parquet)).column("case").to_pylist()) == {said}


def bench_of(folder, text: str):
    name = text[:200]  # of a file, which the bench's own folder has
    cells = tuple(
        BenchCell(BenchCase(f"{case}{name}"), "legacy", "family") for case in ("fails", "a")
    )
    judged = record(folder, plan_of(cells=cells, budget_s=1e9), cpu_model=text)
    report = dataclasses.replace(
        judged.report,
        reasons=(text,),
        notes=(text,),
        not_measured={cells[0].cell_id: text},
    )
    return judged.plan, report, judged.provenance


def test_a_bench_shows_them_as_words(said, tmp_path):
    parts, clean = bench_of(tmp_path / "said", said), bench_of(tmp_path / "clean", "word")
    harmless(bench_page(*parts), bench_page(*clean))
    harmless(as_page(bench_markdown(*parts)), "")


def check_of(checked, text: str):
    cause = Cause((), text, Harm.SILENT)
    calls = {
        ("2.13.0", route): CallAnswer("2.13.0", route, standing, causes, reason=reason)
        for route, standing, causes, reason in (
            (Route.COMPILE, Standing.SILENT, (cause,), ""),
            (Route.RETRACE, Standing.NOT_ASKED, (), text),
        )
    }
    routes = (Route.COMPILE, Route.RETRACE)
    name = checked.answers[0].model
    split = {**checked.splits[name], "crossing": [text]}
    split["fallbacks"] = [{"op": text, "count": 1, "why": text}]
    return dataclasses.replace(
        checked,
        place=text,
        torch=text,
        answers=(
            ModelAnswer(name, ("2.13.0",), routes, calls, None),
            ModelAnswer(name, ("2.13.0",), routes, calls, None, wrong=text),
        ),
        splits={name: split},
    )


def test_a_check_shows_them_as_words(said, checked):
    hostile = check_of(checked, said)
    harmless(check_html(hostile), check_html(check_of(checked, "word")))
    assert json.loads(json.dumps(check_json(hostile)))["models"]


def replay_of(text: str) -> tuple[str, bytes]:
    commit = Commit(
        sha="0" * 40,
        parent="1" * 40,
        tree="2" * 40,
        parents_tree="3" * 40,
        version=text,
        day="2026-01-01",
        title=text,
        paths=(text,),
    )
    told = [
        InLane(Lane.GRAPH, State.ASKED, text, 3, (text,) * 20, (text,) * 6, (text,) * 6),
        InLane(Lane.GRAPH, State.UNASKED, text),
    ]
    replayed = [Replayed(commit, text, (lane,), "missing case", text) for lane in told]
    files = dict(replay_files(replayed, text))
    return files["replay.md"].decode(), files["replay.json"]


def test_a_replay_shows_them_as_words(said):
    page, table = replay_of(said)
    harmless(as_page(page), "")
    clean, _ = replay_of("word")
    for tag in ("<tr>", "<li>", "<h2>", "<a "):  # no row, item, title or link is made or lost
        assert as_page(page).count(tag) == as_page(clean).count(tag)
    assert [row["title"] for row in json.loads(table)] == [said] * 2
