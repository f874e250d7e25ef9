"""Which causes get a script, and what the report says of the others."""

import dataclasses
from typing import Any

import pytest

from harness.base.errors import SurroundingsError
from harness.report import reproduction
from harness.report.pages.report_page import markdown
from harness.report.reproduction import Wanted, reproduce_command, script_from_json, with_scripts
from harness.report.sections.causes import CAUSES, LiveCause, Script
from harness.report.write import write_report
from harness.runs.commands import Places
from harness.wire.records import SubjectSpec
from harness.wire.routes import Route
from harness.wire.vocabulary import SubjectKind
from tests.report.conftest import cause, full_run, model_with, undrawn_page

MADE = Script(
    text='print("<b>the defect & more</b>")\n',
    label="wrong-values@run",
    said="the defect is there: 1 & 2",
    why_not="",
    command="python -m harness reproduce case_a --subject 2.14.0 --route legacy",
)


class Judged:
    provenance = type(
        "Provenance",
        (),
        {"corpus": (), "seeds": (7,), "subjects": full_run().subjects, "run_id": "RUN"},
    )()
    candidates = ()
    case_places = ()
    places = Places(
        corpus=("ours.py",),
        run="RUN",
        out="../runs",
        candidates=frozenset({full_run().model()[CAUSES].live[0].subject}),
    )


def spec(**changes: object) -> SubjectSpec:
    found = SubjectSpec("2.14.0", SubjectKind.RELEASE, (Route.LEGACY,), wheel_path="a.whl")
    return dataclasses.replace(found, **changes)  # type: ignore[arg-type]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Wanted]:
    """What the rig is asked for, while it answers with one and the same script."""
    seen: list[Wanted] = []

    def answer(wanted: list[Wanted], *_: Any) -> list[Script]:
        seen.extend(wanted)
        return [MADE for _ in wanted]

    monkeypatch.setattr(reproduction, "scripts_for", answer)
    return seen


def scripted(
    monkeypatch: pytest.MonkeyPatch, *causes: LiveCause, **of_spec: object
) -> dict[str, Script]:
    monkeypatch.setattr(reproduction, "found_again", lambda *_: (spec(**of_spec),))
    monkeypatch.setattr(reproduction, "whole_package", lambda *_: (None, "a package"))
    model = with_scripts(model_with(*causes), Judged(), None, Releases())  # type: ignore[arg-type]
    assert model.no_scripts == ""
    return dict(model.scripts)


def test_a_cause_of_the_graph_lane_is_asked_for_by_what_it_is_seen_as(monkeypatch, asked):
    one = cause()
    assert scripted(monkeypatch, one) == {"some-cause": MADE}
    (wanted,) = asked
    assert (wanted.case, wanted.routes, wanted.file) == (
        one.cases[0],
        (one.route,),
        "some-cause.py",
    )
    assert wanted.labels == tuple((entry.oracle, entry.label) for entry in one.entries)
    command = reproduce_command(wanted, "export")
    assert command.endswith("--route export --run ../runs/RUN")


@pytest.mark.parametrize(
    ("changes", "of_spec", "why"),
    [
        ({"label": "timeout@export"}, {}, "does not end by itself"),
        ({}, {"unavailable": "no net"}, "the wheel of 2.14.0 is not at hand"),
    ],
)
def test_a_cause_without_a_script_says_why(monkeypatch, asked, changes, of_spec, why):
    found = scripted(monkeypatch, cause(**changes), **of_spec)
    assert asked == []
    assert found["some-cause"].text == ""
    assert why in found["some-cause"].why_not


def test_a_cause_that_only_packages_show_is_asked_of_its_package(monkeypatch, asked):
    def answer(wanted: list[Wanted], *_: object) -> list[Script]:
        return [dataclasses.replace(MADE, said=each.file) for each in wanted]

    monkeypatch.setattr(reproduction, "package_scripts_for", answer)
    found = scripted(monkeypatch, cause(cells=0, package_cells=2), cause("other"))
    assert [each.file for each in asked] == ["other.py"]
    assert found["some-cause"].said == "some-cause.py"


def test_a_package_that_cannot_be_had_is_said_where_its_script_would_be(monkeypatch, asked):
    def refuse(*_: object) -> None:
        raise SurroundingsError("no compiler")

    monkeypatch.setattr(reproduction, "package_scripts_for", refuse)
    found = scripted(monkeypatch, cause(cells=0, package_cells=2), cause("other"))
    assert found["some-cause"].why_not == "no compiler"
    assert found["other"] == MADE


class Releases:
    """A catalogue that knows every release."""

    def get(self, version: str) -> str:
        return version


def test_a_page_without_scripts_says_why(monkeypatch):
    def refuse(*_: object) -> None:
        raise SurroundingsError("no compiler")

    monkeypatch.setattr(reproduction, "found_again", refuse)
    model = with_scripts(model_with(cause()), Judged(), None, None)  # type: ignore[arg-type]
    assert (model.scripts, model.no_scripts) == ({}, "no compiler")
    assert "No scripts: no compiler." in undrawn_page(model)


def test_the_command_names_all_that_makes_the_cell():
    wanted = Wanted("a_case", "nonstrict", ("legacy", "export"), spec())
    command = "python -m harness reproduce a_case --subject 2.14.0 --route export"
    assert reproduce_command(wanted, "export") == command
    strict = dataclasses.replace(wanted, capture="strict")
    assert reproduce_command(strict, "export") == f"{command} --capture strict"


def test_a_script_is_read_as_the_rig_prints_it():
    data = {"script": "code", "label": "a@b", "said": "so", "why_not": "", "route": "legacy"}
    data |= {"printed": "so and more", "test": "def test", "expected": "It."}
    script = Script("code", "a@b", "so", "", "again", "so and more", "def test", "It.")
    assert script_from_json(data, "again") == script


def test_a_script_is_in_the_page_beside_it_and_named_in_the_comment(tmp_path):
    model = dataclasses.replace(
        model_with(cause(), cause("other")),
        scripts={"some-cause": MADE, "other": dataclasses.replace(MADE, text="", why_not="so")},
    )
    html = undrawn_page(model)
    assert "print(&#34;&lt;b&gt;the defect &amp; more" in html
    assert "No script: so." in html
    assert MADE.command in markdown(model)
    written = write_report(tmp_path, model)
    assert tmp_path / "reproduce" / "some-cause.py" in written
    assert (tmp_path / "reproduce" / "some-cause.py").read_text() == MADE.text
    assert not (tmp_path / "reproduce" / "other.py").exists()
