"""The page: whole without a network, honest when empty, and safe against what a message holds."""

import dataclasses
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from markupsafe import escape

from harness.report import style
from harness.report.pages.rendering import beneath
from harness.report.pages.report_page import page
from harness.report.reported_run import FindingView
from harness.report.sections.findings import together
from harness.report.sections.matrix import MATRIX, MatrixGroup
from harness.wire.oracles import Harm
from tests.report.conftest import ASIDE, share_an_inliner, undrawn_page

VOID = {"meta", "link", "br", "col", "hr", "img", "input"}


class Outline(HTMLParser):
    """Every start tag with its attributes, the ids, and a check that tags are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.open = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append((tag, found))
        if "id" in found:
            self.ids.append(found["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def text(model):
    return page(model)


def test_the_gate_stands_in_the_title_and_the_only_h1(text):
    title = re.search("<h1>(.*)</h1>", text)
    assert title[1] == "Torch-TensorRT 2.14.0 in place of 2.13.0: ship"
    assert text.count("<h1>") == 1
    assert "<title>✓ Torch-TensorRT 2.14.0 in place of 2.13.0: ship" in text
    assert ASIDE in text


def test_the_page_refers_to_nothing_outside_itself(text):
    for tag, attrs in Outline(text).tags:
        for name in ("src", "href", "xlink:href", "srcset", "action"):
            value = attrs.get(name, "#")
            assert value.startswith(("#", "data:,")), (tag, name, value)
    assert text.count("<script") == 1  # the page's own
    assert not re.search(r"@import|url\((?!#)", text)
    assert not re.search(r"\bhttps?://", text)


def test_every_inner_link_has_its_target_and_no_id_is_used_twice(text):
    outline = Outline(text)
    assert len(outline.ids) == len(set(outline.ids))
    targets = {attrs["href"][1:] for tag, attrs in outline.tags if tag == "a"}
    assert targets <= set(outline.ids)


def test_tables_have_scoped_headers_and_regions_have_names(text):
    tags = Outline(text).tags
    assert all("scope" in attrs for tag, attrs in tags if tag == "th")
    assert all(
        "aria-label" in attrs or "aria-labelledby" in attrs
        for tag, attrs in tags
        if tag in ("section", "nav", "svg") or "tabindex" in attrs
    )


def test_every_subject_and_family_is_on_the_page(run, text):
    for name in [spec.subject for spec in run.subjects]:
        assert f'<span class="name">{name}</span>' in text
    for case in run.cases:
        family = case.family.replace("_", " ")
        assert f'<th scope="col">{family}</th>' in text.replace("\u00ad", "")


def test_releases_that_say_the_same_are_one_row_that_names_them(run):
    text = undrawn_page(share_an_inliner(run).model())
    Outline(text)
    assert '<span class="name">2.10.0 \u2013 2.13.0</span><small>one inliner</small>' in text
    assert '<span class="name">2.10.0</span>' not in text
    assert '<th scope="row">2.13.0</th>' in text  # in the list of what each subject is
    assert "2.10 \u2013 2.13</td>" in text  # what they pin
    targets = {attrs["href"][1:] for tag, attrs in Outline(text).tags if tag == "a"}
    assert targets <= set(Outline(text).ids)


def test_a_row_of_many_names_every_member_and_a_lone_one_whom_it_shares_with(run):
    matrix = run.model()[MATRIX]
    row = matrix.rows[0]
    many = tuple(dataclasses.replace(row, subject=name) for name in ("2.7.0", "2.8.0", "2.9.0"))
    assert beneath(MatrixGroup(many)) == "2.7.0, 2.8.0, 2.9.0"
    assert beneath(MatrixGroup((dataclasses.replace(row, shares=("2.7.0",)),))) == (
        "inliner of 2.7.0"
    )
    assert [beneath(group) for group in matrix.groups] == [
        "", "", "", "built in", "built in", "control, no inliner",
    ]  # fmt: skip


def test_every_answer_stands_above_the_matrix(model, text):
    first = text[text.index("<h1>") : text.index('id="matrix"')]
    assert model.headline.answers
    for line in model.headline.answers:
        assert f"<dt>{line.asked}</dt><dd>{line.answer}" in first
        assert all(each.title in first for each in line.items)


def test_headings_descend_one_level_at_a_time(red):
    levels = [
        int(tag[1])
        for tag, _ in Outline(undrawn_page(red.model())).tags
        if re.fullmatch("h[1-6]", tag)
    ]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_landmarks_have_names_of_their_own(text):
    tags = Outline(text).tags
    names = [attrs.get("aria-labelledby", attrs.get("aria-label"))
             for tag, attrs in tags
             if tag in ("section", "nav") or attrs.get("role") == "region"]  # fmt: skip
    assert len(names) == len(set(names))


def test_findings_that_differ_in_the_subject_alone_are_one_row(red):
    finding = red.findings[0]
    others = [dataclasses.replace(finding, subject=name) for name in ("2.13.0", "positional")]
    unlike = dataclasses.replace(finding, subject="torch", reason="another reason")
    rows = together([finding, *others, unlike])
    assert [subjects for subjects, _ in rows] == [("2.14.0", "2.13.0", "positional"), ("torch",)]
    assert rows[0][1] is finding
    red.findings = [finding, *others, unlike]
    assert "<td>2.14.0, 2.13.0, positional</td>" in undrawn_page(red.model())


def test_a_defect_is_told_by_its_title_its_mechanism_and_its_workaround(run):
    text = undrawn_page(run.model())
    title = escape(run.causes[1].title)
    assert text.count(f"<h3>{title}</h3>") == 1
    told = text.partition(f"<h3>{title}</h3>")[2]
    assert "f (file.py)" in told
    assert "Workaround: none" in told


def test_a_red_page_names_case_subject_reason_and_command_above_the_matrix(red):
    text = undrawn_page(red.model())
    first = text[text.index("<h1>") : text.index('id="matrix"')]
    for word in ("case_name_collisions", "2.14.0", "legacy", "not expected",
                 "python -m harness explain"):  # fmt: skip
        assert word in first


def test_what_plain_torch_export_fails_too_is_marked_as_torchs_own(red):
    assert "Torch's own" not in undrawn_page(red.model())
    red.findings = [dataclasses.replace(red.findings[0], torchs_own=True)]
    assert "Torch's own" in undrawn_page(red.model())


def test_a_finding_about_a_whole_cell_and_good_news_are_shown_too(run):
    lost = FindingView("case_parameters", "2.14.0", "legacy", "unsupported", "unsupported",
                       "no wheel", "python -m harness explain case_parameters")  # fmt: skip
    run.gate = "inconclusive"
    run.findings = [lost]
    run.good_news = [dataclasses.replace(lost, tone="ok", label="ok")]
    text = undrawn_page(run.model())
    Outline(text)
    assert '<span class="tag t-unsupported">? unsupported</span>' in text
    assert '<span class="tag t-ok">✓ ok</span>' in text
    assert "Good news: 1 verdict better than before" in text


def test_what_was_not_measured_is_printed_so_and_never_as_zero(model):
    text = undrawn_page(model)
    body = text[text.index('id="latency"') : text.index('id="control"')]
    table = body[body.index("<table") :]
    assert "not measured" in table
    assert not re.search(r">\s*0(\.0*)?( ms| B)?\s*<", table)
    assert "emulated" in body


def test_a_run_that_could_ask_nothing_still_renders_and_says_so(run):
    run.unsupported("no wheel")
    run.gate = "inconclusive"
    text = undrawn_page(run.model())
    Outline(text)
    assert "none of 80 cells could be asked" in text
    assert "No release was asked." in text
    assert "Not measured." in text
    assert "The control was not asked" in text
    assert "✓ " not in text[text.index('class="matrix"') : text.index("</table>")]


def test_an_empty_run_still_renders_and_says_so(run):
    text = undrawn_page(type(run)(gate="inconclusive").model())
    Outline(text)
    assert "nothing was asked" in text
    assert ASIDE not in text
    assert "no unknown failure" not in text


def test_the_same_run_gives_the_same_page(model):
    assert page(model) == page(model)


def test_every_harm_has_a_colour_and_a_sign_and_a_place_in_the_legend(text):
    assert set(Harm) <= set(style.TONES)
    assert set(style.SIGNS) == set(style.TONES)
    assert len(set(style.TONES.values())) == len(style.TONES)
    for harm in (Harm.SILENT, Harm.WARNED, Harm.ERROR, Harm.INTERFACE):
        assert f'<span class="swatch t-{harm}"></span>{harm}</li>' in text
        assert style.SIGNS[harm] in {sign for sign, _ in style.LEGEND}
