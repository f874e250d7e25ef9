"""Markup, control characters and names of ten thousand characters, through every page and form.

The names of cases, families and runs, what failures say, and where an environment lies are hostile
here. `test_pull_request` does the same for the comment.
"""

import dataclasses
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from harness.gate.qualify import qualify
from harness.gate.reach import observed_reach
from harness.report.pages.junit import junit
from harness.report.pages.qualify_page import qualification_html, qualification_markdown
from harness.report.pages.rendering import render
from harness.report.pages.report_page import COMMENT_LIMIT, markdown, page
from harness.report.text import printable
from harness.runs.provenance import provenance_to_json
from harness.wire.oracles import Oracle
from harness.wire.records import CaseInfo, CellKey, passed
from harness.wire.routes import Route
from tests.record_builders import provenance

UNSHOWN = "\x00\x07\x1b[31m\x7f\x9b\u202e\u2066\ufffe"
MARKUP = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>\"'`|[a](javascript:alert(1))</td>&lt;"
)
HOSTILE = (MARKUP, f"a{UNSHOWN}b", "x" * 10_000, f"{MARKUP}{UNSHOWN}" * 100)


class Seen(HTMLParser):
    """The elements of a page that a hostile text would have made."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts, self.handlers, self.images, self.links = 0, [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.images += [value for name, value in attrs if tag == "img" and value == "x"]
        self.links += [v for name, v in attrs if name == "href" and (v or "").startswith("javas")]


@pytest.fixture(params=HOSTILE, ids=["markup", "unshown", "long", "all"])
def said(request):
    return request.param


@pytest.fixture
def clean(run):
    """The page of the run as it was."""
    return page(run.model())


@pytest.fixture
def hostile(clean, run, said):
    """The full run with a failing case of a hostile name, family and message."""
    run.cases.append(CaseInfo(name=said, family=said, origin="exported", catches=said))
    for name in ("2.13.0", "2.14.0"):
        key = CellKey(said, "nonstrict", name, Route.EXPORT)
        run.add(key, {Oracle.VALUES: said}, given_class="unexpected_failure", seconds={}, steps=1)
    run.name = said[:200]
    run.defects = [said]
    run.said = said
    return run


def harmless(text: str, clean: str) -> None:
    seen = Seen(text)
    assert seen.scripts == Seen(clean).scripts
    assert [*seen.handlers, *seen.images, *seen.links] == []
    shown_not = {each for each in UNSHOWN if each not in "[31m"}
    assert not shown_not & {*text}


def test_the_report_shows_a_hostile_run_as_words(clean, hostile):
    harmless(page(hostile.model()), clean)
    short = markdown(hostile.model())
    assert len(short) <= COMMENT_LIMIT
    harmless(MarkdownIt("commonmark").enable("table").render(short), "")


def test_junit_and_qualify_show_it_as_words(hostile):
    parts = (hostile.plan, hostile.records, hostile.cases, hostile.subjects, hostile.classes)
    ET.fromstring(junit(*parts, hostile.provenance))
    specs = {spec.subject: spec for spec in hostile.subjects}
    reach_of = observed_reach(hostile.cases, {}, ())
    before = [r for r in hostile.records if (r.key.case, r.key.subject) != (hostile.said, "2.13.0")]
    right = dataclasses.replace(hostile.records[-2], verdicts=tuple(map(passed, Oracle)))
    q = qualify(
        [*before, right], hostile.cases, specs["2.13.0"], specs["2.14.0"], reach_of=reach_of
    )
    assert [change.key.case for change in q.stoppers] == [hostile.said]
    told = provenance_to_json(provenance(*hostile.subjects))
    harmless(qualification_html(q, told), "")
    text = qualification_markdown(q, told)
    harmless(MarkdownIt("commonmark").enable("table").render(text), "")


@pytest.mark.parametrize("template", ["not_judged.md"])
def test_what_a_log_says_is_words(template, said):
    text = render(template, said=[said], commit=said, meaning=said)
    harmless(MarkdownIt("commonmark").render(text), "")


def test_what_no_page_shows_becomes_a_sign_and_all_else_stays():
    assert printable(UNSHOWN).replace("[31m", "") == "\ufffd" * 8
    plain = "A tab\tand a line\nin Größe, 日本語, 🙂\u200b"
    assert printable(plain) == plain
