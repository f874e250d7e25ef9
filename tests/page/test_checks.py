"""Every check of the page is seen to tell a fault that was planted in a sound page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.page.checks import (
    PHONE,
    broken_links,
    closed_defects,
    inaccessible,
    unanswered,
    unprinted,
    unreadable_without_scripts,
    unseen_titles,
    visit,
    wider_than_the_screen,
    wrong_filters,
)

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.browser


@pytest.fixture
def plant(fresh, tmp_path):
    """The fresh page with what a pattern finds first replaced."""

    def planted(old: str, new: str) -> Path:
        text, count = re.subn(old, new, fresh.read_text(), count=1, flags=re.DOTALL)
        assert count, f"nothing to replace: {old}"
        file = tmp_path / "planted.html"
        file.write_text(text)
        return file

    return planted


def test_an_error_in_a_script_is_told(browser, plant):
    with visit(browser, plant("<main>", "<main><script>nothing.there()</script>")) as opened:
        assert "nothing is not defined" in opened.complaints[0]


def test_a_request_is_told(browser, plant):
    with visit(browser, plant("<main>", '<main><img alt="" src="missing.png">')) as opened:
        assert opened.requests[0].endswith("missing.png")


def test_a_link_that_leads_nowhere_is_told(browser, plant):
    with visit(browser, plant('href="#latency"', 'href="#lateness"')) as opened:
        assert broken_links(opened.page) == ["a link leads to #lateness, which is not there"]


def test_a_title_that_opens_nothing_is_told(browser, plant):
    with visit(browser, plant('row"><a href="#defect-[^"]*"', 'row"><a href="#latency"')) as opened:
        assert len(closed_defects(opened.page)) == 1
    with visit(
        browser, plant("tr.more:target { display: table-row;", "tr.more:target {")
    ) as opened:
        assert "opens nothing" in closed_defects(opened.page)[0]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (r"scrollBy\(\{top: row", "void ({top: row", "goes from"),
        (r"Math\.max\(top, under\)", "top", "is at"),
        (r"link\.hash !== location\.hash \? link\.hash", "true ? link.hash", "stays open"),
    ],
)
def test_an_opened_defect_whose_title_is_not_seen_is_told(browser, plant, old, new, told):
    with visit(browser, plant(old, new)) as opened:
        assert told in unseen_titles(opened.page)[0]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (r"= !left\.has\(row\)", "= false", "rows for"),
        (r"\$\{left\.size\} of", "${rows.length} of", "it says"),
        (r"history\.replaceState", "void ", "the address says"),
        (r"given\.get\(control\.name\)", "control.value", "shared link"),
        (r"each\.textContent = count", "each.textContent = 0", "add up"),
    ],
)
def test_a_filter_that_does_not_filter_count_or_last_is_told(browser, plant, old, new, told):
    assert any(told in fault for fault in wrong_filters(browser, plant(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            r"dataset\.fixed === word\) return 9",
            "dataset.fixed === word) return 1",
            "#4079: the first",
        ),
        (r"if \(named && change\)", "if (false)", "what is new in 2.14.0?: the first are"),
        (r"\[4, 1\]\[", "[90, 90][", "the first are"),
        (r"=> scrollTo\(0, scrollY", "=> void (0, scrollY", "ends at"),
        (r"title\.indexOf\(stem\) / 1000", "0", "None: the first are"),
        (r"each\.sum >= least", "true", "None?: "),
        (r"card\.append\(whole\)", "void 0", "opens nothing where it stands"),
        (r"b\.shown - a\.shown", "a.shown - b.shown", "does 2.13.0 write KV caches right?"),
    ],
)
def test_a_search_that_does_not_answer_on_the_first_screen_is_told(browser, plant, old, new, told):
    assert any(told in fault for fault in unanswered(browser, plant(old, new)))


def test_a_row_that_needs_a_script_is_told(browser, plant):
    file = plant('<tr class="defect"', '<tr hidden class="defect"')
    with visit(browser, file, java_script_enabled=False) as opened:
        assert any("not to be seen" in fault for fault in unreadable_without_scripts(opened.page))


@pytest.mark.parametrize(
    ("planted", "rule"),
    [
        ('<p style="color: #b5b5b5">pale</p>', "color-contrast"),
        ("<button></button>", "button-name"),
        ('<img src="data:,">', "image-alt"),
    ],
)
def test_what_axe_objects_to_is_told(browser, plant, planted, rule):
    # All else is cut away: axe takes its time for a long page.
    with visit(browser, plant("<main>.*</main>", f"<main>{planted}</main>")) as opened:
        assert any(fault.startswith(rule) for fault in inaccessible(opened.page))


def test_a_page_wider_than_a_phone_is_told(browser, plant):
    with visit(browser, plant("<main>", f"<main><p>{'m' * 90}</p>"), viewport=PHONE) as sound:
        assert wider_than_the_screen(sound.page) == []  # a long word breaks
    with visit(browser, plant("<main>", f"<main><pre style='white-space: pre'>{'m' * 90}</pre>"),
               viewport=PHONE) as opened:  # fmt: skip
        assert "pixels wide in 390" in wider_than_the_screen(opened.page)[0]


def test_what_stays_folded_on_paper_is_told(browser, plant):
    with visit(browser, plant("content-visibility: visible;", "")) as opened:
        assert any("folded away on paper" in fault for fault in unprinted(opened.page))
