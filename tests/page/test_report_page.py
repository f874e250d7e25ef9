"""The report's page as a person meets it, in a real browser."""

import re
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

MOST_BYTES = 5_000_000
MOST_PAPER = 80  # pages


def test_the_page_renders_without_a_complaint_and_without_a_request(browser, html):
    with visit(browser, html) as opened:
        assert opened.page.locator("h1").is_visible()
        assert opened.page.locator("#defects .defects").first.is_visible()
        opened.page.mouse.wheel(0, 20_000)
        assert opened.complaints == []
        assert opened.requests == []
    assert html.stat().st_size < MOST_BYTES


def test_every_link_has_a_target(browser, html):
    with visit(browser, html) as opened:
        assert broken_links(opened.page) == []


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_title_of_every_defect_opens_it(browser, html, scripts):
    with visit(browser, html, java_script_enabled=scripts) as opened:
        assert closed_defects(opened.page) == []


def test_an_opened_defect_is_seen_with_its_title_and_closes(browser, html):
    with visit(browser, html) as opened:
        assert unseen_titles(opened.page) == []


def test_filters_filter_count_and_survive_in_a_link(browser, html):
    assert wrong_filters(browser, html) == []


@pytest.mark.parametrize("how", [{}, {"viewport": PHONE}], ids=["desk", "phone"])
def test_a_typed_question_is_answered_on_the_first_screen(browser, html, how):
    assert unanswered(browser, html, **how) == []


def test_who_names_a_release_or_what_no_defect_is_named_after_is_told_the_safest_save(
    browser, fresh
):
    with visit(browser, fresh) as opened:
        for words, release in (
            ("CNN 2.12.0", "2.12.0"),
            ("CNN", "2.14.0"),
            ("buffer 2.9", "2.9.0"),
        ):
            opened.page.fill("form.filters input[name=find]", words)
            told = opened.page.inner_text(".found")
            assert told.startswith(f"Safest save in {release}, no state: save("), words
            assert f"Safest save in {release}, a cache: " in told, words
        opened.page.fill("form.filters input[name=find]", "global partitioner")
        assert "Safest save" not in opened.page.inner_text(".found")


def test_filters_that_a_mouse_opens_and_a_key_chooses_filter(browser, html):
    with visit(browser, html) as opened:
        opened.page.click("select[name=release]")
        opened.page.keyboard.press("ArrowDown")
        opened.page.keyboard.press("Enter")
        shown, total = opened.page.locator("form.filters output").inner_text().split(" of ")
        assert shown != total.removesuffix(" defects")


def test_a_phone_opens_and_folds_all_filters_with_one_button_and_keeps_the_legend(browser, html):
    with visit(browser, html, viewport=PHONE) as opened:
        page = opened.page
        shown = page.locator("form.filters select").filter(visible=True)
        folded = shown.count()
        page.click("button.every")
        assert shown.count() == page.locator("form.filters select").count() > folded
        assert wider_than_the_screen(page) == []
        page.select_option("select[name=harm]", "silent")
        left, total = page.locator("form.filters output").inner_text().split(" of ")
        assert left != total.removesuffix(" defects")
        page.click("button.every")
        assert shown.count() == folded
        assert page.locator(".legend.signs li").filter(visible=True).count() > 0
    with visit(browser, html) as opened:
        assert not opened.page.locator("button.every").is_visible()


def test_a_phone_comes_to_the_search_by_one_touch_on_its_first_screen(browser, fresh):
    with visit(browser, fresh, viewport=PHONE) as opened:
        link = opened.page.locator("nav .to-search")
        box = link.bounding_box()
        assert box["y"] + box["height"] < PHONE["height"] / 4
        assert box["height"] >= 36
        link.click()
        search = opened.page.locator("form.filters input")
        assert 0 <= search.bounding_box()["y"] < PHONE["height"] / 3
        assert search.evaluate("each => each === document.activeElement")


def test_the_first_screen_and_the_search_list_what_is_new_in_one_order(browser, fresh):
    with visit(browser, fresh, "#defects?change=new in 2.14.0") as opened:
        found = opened.page.locator(".found .titles a").all_text_contents()
        line = opened.page.locator(".answers div", has=opened.page.get_by_text("New defects"))
        listed = line.locator("a").all_text_contents()
        assert len(listed) > 10
        assert [title for title in found if title in listed] == listed


def test_headings_say_the_chosen_release_and_column_heads_stay_in_view(browser, html):
    with visit(browser, html, "#defects?release=2.13.0") as opened:
        heads = opened.page.locator("#defects .heading").filter(visible=True).all_inner_texts()
        assert heads
        assert all(each.startswith("In 2.13.0, and ") for each in heads)
    with visit(browser, html, "#defect-strided-cache-copied") as opened:
        opened.page.mouse.wheel(0, 300)
        top = opened.page.locator("#defects-product thead").bounding_box()["y"]
        bar = opened.page.locator("form.filters").bounding_box()["height"]
        assert 0 < top <= bar


def test_the_page_is_whole_without_scripts(browser, html):
    with visit(browser, html, java_script_enabled=False) as opened:
        assert unreadable_without_scripts(opened.page) == []


@pytest.mark.parametrize(
    "how", [{}, {"color_scheme": "dark"}, {"viewport": PHONE}], ids=["light", "dark", "phone"]
)
def test_axe_objects_to_nothing(browser, html, how):
    with visit(browser, html, **how) as opened:
        assert inaccessible(opened.page) == []


def test_a_phone_does_not_scroll_sideways(browser, html):
    with visit(browser, html, viewport=PHONE) as opened:
        assert wider_than_the_screen(opened.page) == []


@pytest.mark.parametrize(("scheme", "light"), [("light", True), ("dark", False)])
def test_the_paper_is_light_or_dark_as_the_reader_likes(browser, html, scheme, light):
    with visit(browser, html, color_scheme=scheme) as opened:
        colour = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (min(map(int, re.findall(r"\d+", colour))) > 200) is light


def test_the_page_prints_with_its_folded_parts_and_without_its_filters(browser, html):
    with visit(browser, html, color_scheme="dark") as opened:
        assert unprinted(opened.page) == []
        colour = opened.page.evaluate("getComputedStyle(document.body).color")
        assert colour == "rgb(0, 0, 0)"  # whatever the screen likes
        pages = re.findall(rb"/Type /Page\b", opened.page.pdf())
        assert 1 < len(pages) < MOST_PAPER


def test_long_names_of_a_users_own_do_not_widen_a_phone(browser, fresh, tmp_path):
    name = "our_" + "scale_with_a_rather_long_name_" * 3
    first = f'<div class="first"><b>{name}</b></div>'
    cases = f'<div class="scroll"><table class="few"><tbody><tr><th scope="row">{name}</th>'
    long = re.sub(
        "<h1>.*?</h1>",
        f"<h1>{name}</h1>{first}{cases}<td>right</td></tr></tbody></table></div>",
        fresh.read_text(),
        count=1,
    )
    page = tmp_path / "report.html"
    page.write_text(long)
    with visit(browser, page, viewport=PHONE) as opened:
        assert wider_than_the_screen(opened.page) == []
        row = opened.page.locator("header tbody th").bounding_box()
        assert row["width"] < PHONE["width"] * 0.7, "the name leaves no room for the signs"
