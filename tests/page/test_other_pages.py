"""The pages of a bench, of a crossing and of a qualification: whole, quiet, and fit for axe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.report.pages.bench_page import bench_page
from harness.report.pages.crossing_page import crossing_html
from harness.report.pages.qualify_page import qualification_html
from tests.bench.simulated import plan_of, record
from tests.gate.test_qualify import LESSER, WRONG, cell, held, sound
from tests.page.checks import (
    PHONE,
    broken_links,
    inaccessible,
    unreadable_without_scripts,
    visit,
    wider_than_the_screen,
)
from tests.page.conftest import PUBLISHED
from tests.report.test_bench_page import CELLS
from tests.report.test_crossing_page import SOUND, view

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.browser


def bench(folder: Path) -> str:
    judged = record(folder, plan_of(cells=CELLS, budget_s=1e9), slower={"candidate": 1.3})
    return bench_page(judged.plan, judged.report, judged.provenance)


def crossing(folder: Path) -> str:
    return crossing_html(view(*SOUND))


def qualification(folder: Path) -> str:
    worse = cell("plain", "2.14.0", WRONG), cell("other", "2.14.0", LESSER)
    before = cell("plain", "2.13.0"), cell("other", "2.13.0")
    return qualification_html(held(*sound("plain", "other"), *before, *worse), {})


def published(pattern: str) -> Callable[[Path], str]:
    def newest(folder: Path) -> str:
        return sorted(PUBLISHED.glob(pattern))[-1].read_text()

    return newest


MADE = {
    "bench": bench,
    "crossing": crossing,
    "qualification": qualification,
    "published bench": published("*-bench/cases/bench.html"),
    "published sweep": published("*-bench/sweeps/bench.html"),
    "published crossing": published("*-crossing/matched/crossing.html"),
    "published environments": published("*-all-environments/report.html"),
}


@pytest.fixture(params=MADE)
def html(request, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(MADE[request.param](tmp_path))
    return file


@pytest.mark.parametrize(
    "how", [{}, {"color_scheme": "dark"}, {"viewport": PHONE}], ids=["light", "dark", "phone"]
)
def test_the_page_is_quiet_whole_and_accessible(browser, html, how):
    with visit(browser, html, **how) as opened:
        assert broken_links(opened.page) == []
        assert inaccessible(opened.page) == []
        assert wider_than_the_screen(opened.page) == []
        assert opened.complaints == []
        assert opened.requests == []


def test_the_page_is_whole_without_scripts(browser, html):
    with visit(browser, html, java_script_enabled=False) as opened:
        assert unreadable_without_scripts(opened.page) == []
