"""A section is a module with its template: page and Markdown walk over all of them."""

import dataclasses

from harness.gate.case_matrix import CaseMatrix, CaseRow
from harness.report import model as model_module
from harness.report.model import SECTIONS, ReportModel
from harness.report.pages.rendering import TEMPLATES
from harness.report.pages.report_page import markdown
from harness.report.reported_run import Section
from harness.report.sections.latency import LATENCY
from harness.report.sections.version_matrix import VERSIONS
from harness.wire.vocabulary import SubjectKind
from tests.report.conftest import subject, undrawn_page


def test_a_new_section_takes_a_view_and_a_template_and_is_in_page_and_markdown(monkeypatch, run):
    hypothetical = next(each for each in SECTIONS if each.name == "hypothetical")
    again = dataclasses.replace(hypothetical, name="again", link="Seen again")
    monkeypatch.setattr(model_module, "SECTIONS", (*SECTIONS, again))
    model = run.model()
    text = undrawn_page(model)
    assert '<a href="#again">Seen again</a>' in text
    assert text.count('<section id="hypothetical"') == 2
    assert markdown(model).count("### Hypothetical routes") == 2


def test_every_section_has_a_name_of_its_own_and_a_part_of_the_page():
    assert len({section.name for section in SECTIONS}) == len(SECTIONS)
    for section in SECTIONS:
        assert (TEMPLATES / "sections" / f"{section.template}.html").is_file(), section.name


def test_a_section_without_a_view_is_left_out(run):
    shown = [section.name for section, _ in run.model().sections]
    assert not {"package", "engine", "findings", "defects"} & set(shown)
    assert shown[:3] == ["causes", "matrix", "versions"]


def test_a_view_is_made_once_however_often_it_is_shown(run):
    made = []
    counted = Section("counted", lambda reported: made.append(reported), template="matrix")
    model = ReportModel(run.reported())
    assert model[counted] is None
    assert model[counted] is None
    assert len(made) == 1


def test_versions_and_latency_are_folded_where_the_page_is_about_a_candidate_or_own_cases(run):
    own = ReportModel(
        run.reported(own_cases=CaseMatrix(("2.14.0",), (CaseRow("mine", ("ok",), ()),)))
    )
    candidate = subject("file:mine", SubjectKind.FILE, "export")
    theirs = ReportModel(run.reported(subjects=[*run.subjects, candidate]))
    for model, folded in ((run.model(), 0), (own, 1), (theirs, 1)):
        text = undrawn_page(model)
        for name in (VERSIONS.name, LATENCY.name):
            before = text.partition(f'<section id="{name}"')[0]
            assert before.count("<details") - before.count("</details>") == folded
            assert (f'<a href="#{name}"' in text) == (not folded)
            assert ("<details><summary>Version matrix:" in markdown(model)) == (not folded)
