"""A bench's page and its markdown."""

import dataclasses
import re
from pathlib import Path

from harness.bench.judging import Gate
from harness.bench.plan import IMPORT_CELL, BenchCell
from harness.report.pages.bench_page import bench_markdown, bench_page
from harness.wire.bench_records import BenchCase
from harness.wire.routes import Lane
from tests.bench.simulated import plan_of, record

STEPS = tuple(
    BenchCell(BenchCase(f"steps@{size}", "steps", size), "legacy", "sweep")
    for size in (10, 20, 50, 100)
)
CELLS = (BenchCell(BenchCase("a<b>|c"), "legacy", "family"), *STEPS)


def pages(out: Path, **how: object) -> tuple[str, str]:
    judged = record(out, plan_of(cells=CELLS, budget_s=1e9), **how)  # type: ignore[arg-type]
    report = judged.report
    return (
        bench_page(judged.plan, report, judged.provenance),
        bench_markdown(judged.plan, report, judged.provenance),
    )


def test_the_page_is_one_file_without_a_network(tmp_path):
    html, _ = pages(tmp_path)
    assert "<script" not in html
    assert not re.search(r'(?:src|href)="(?:https?:)?//', html)
    assert html.count("<svg") == 2


def test_every_title_says_that_engines_are_emulated(tmp_path):
    html, markdown = pages(tmp_path)
    assert html.count("engines are emulated") >= 3
    assert "engines are emulated" in markdown


def test_a_page_of_whole_packages_says_what_its_stages_are(tmp_path):
    cells = (BenchCell(BenchCase("relu_once"), "no-retrace", "family"), IMPORT_CELL)
    plan = dataclasses.replace(plan_of(cells=cells), lane=Lane.PACKAGE)
    judged = record(tmp_path, plan)
    html, markdown = (
        page(judged.plan, judged.report, judged.provenance) for page in (bench_page, bench_markdown)
    )
    assert "package lane, builder segment, engines are emulated" in html
    assert "Package lane, builder segment, engines are emulated" in markdown
    assert "torch_tensorrt.save and load as a user calls them" in html
    assert html.count("torch_tensorrt~import") >= 2
    assert "as a user calls them" not in "".join(pages(tmp_path))


def test_a_regression_is_the_headline_and_stands_with_its_interval(tmp_path):
    html, markdown = pages(tmp_path, slower={"candidate": 1.3})
    for page in (html, markdown):
        assert "Slower" in page
        assert "regressed" in page
        assert re.search(r"\+3\d\.\d % \(\+2\d\.\d % to \+3\d\.\d %\)", page)


def test_inconclusive_is_never_told_as_no_change(tmp_path):
    html, markdown = pages(tmp_path, noise=0.4)
    for page in (html, markdown):
        assert "Inconclusive" in page
        assert "No slowdown" not in page
        assert "is not" in page


def test_a_bench_of_sweeps_alone_tells_of_growth_and_is_no_verdict(tmp_path):
    judged = record(tmp_path, plan_of(cells=STEPS, budget_s=1e9))
    assert judged.report.gate is Gate.INCONCLUSIVE
    html, markdown = (
        page(judged.plan, judged.report, judged.provenance) for page in (bench_page, bench_markdown)
    )
    for page in (html, markdown):
        assert "How time grows with size" in page
        assert "name --cases for a verdict" in page
        assert "No slowdown" not in page
    assert html.index("Growth") < html.index("Stage by stage")
    assert html.count("<svg") == 1, "no picture of changes that nobody asked about"


def test_exponents_stand_beside_the_picture_of_growth(tmp_path):
    html, markdown = pages(tmp_path)
    assert "steps (engines and fallbacks)" in html
    for page in (html, markdown):
        assert re.search(r"(1\.0|0\.9)\d \(", page)


def test_names_have_no_meaning_to_a_page(tmp_path):
    html, markdown = pages(tmp_path)
    assert "a<b>" not in html
    assert "a&lt;b&gt;|c" in html
    assert "a&lt;b&gt;\\|c" in markdown
