"""junit.xml: a test case a cell, failing only where the gate is surprised."""

import xml.etree.ElementTree as ET

import pytest

from harness.report.pages.junit import junit
from harness.wire.oracles import Oracle
from harness.wire.records import CellKey
from harness.wire.routes import Route


def cases_of(run):
    text = junit(run.plan, run.records, run.cases, run.subjects, run.classes, run.provenance)
    return ET.fromstring(text)


def test_there_is_a_test_case_a_cell_and_a_suite_a_subject(run):
    root = cases_of(run)
    assert len(root.findall(".//testcase")) == 80
    assert [suite.get("name") for suite in root.findall("testsuite")] == [
        "2.10.0", "2.13.0", "2.14.0", "name-matching", "positional", "torch",
    ]  # fmt: skip


def test_a_known_failure_passes_and_a_hypothetical_cell_is_skipped_with_its_reason(run):
    root = cases_of(run)
    assert root.find(".//failure") is None
    skipped = root.findall(".//skipped")
    assert len(skipped) == 8
    assert "no user call reaches export in 2.10.0" in skipped[0].get("message")


def test_an_unexpected_failure_fails_with_its_message(red, planted):
    (failure,) = cases_of(red).findall(".//failure")
    assert failure.get("message") == f"wrong-values@run: {planted}"
    assert "node relu_3" in failure.text


def test_an_unexpected_pass_fails_too(run):
    run.classes[run.plan[-1].cell_id] = "unexpected_pass"
    (failure,) = cases_of(run).findall(".//failure")
    assert failure.get("message").startswith("unexpected pass")


def test_each_defect_is_a_test_case_beside_the_cells(run):
    parts = (run.plan, run.records, run.cases, run.subjects, run.classes, run.provenance)
    told = [("one", "It fails", "2 cells", ""), ("two", "So does it", "no cell", "passes")]
    root = ET.fromstring(junit(*parts, defects=told))
    found = root.findall(".//testsuite[@name='defects']/testcase")
    assert [case.get("name") for case in found] == ["one: It fails", "two: So does it"]
    (failure,) = root.findall(".//testsuite[@name='defects']/testcase/failure")
    assert failure.get("message") == "passes"


def test_expectations_that_are_not_exact_fail_in_a_suite_of_its_own(run):
    parts = (run.plan, run.records, run.cases, run.subjects, run.classes, run.provenance)
    root = ET.fromstring(junit(*parts, ["one and other"]))
    (failure,) = root.findall(".//testsuite[@name='expectations']/testcase/failure")
    assert failure.get("message") == "one and other"
    assert root.get("failures") == "1"


def test_an_unsupported_cell_is_skipped_with_its_reason(run):
    run.unsupported("no wheel")
    skipped = cases_of(run).findall(".//skipped")
    assert {item.get("message") for item in skipped} == {"unsupported: no wheel"}
    assert len(skipped) == 80


def test_a_planned_cell_without_a_record_is_an_error(run):
    run.records.pop()
    assert len(cases_of(run).findall(".//error")) == 1


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\ufffe"])
def test_a_message_with_characters_that_no_xml_may_hold_still_parses(run, character):
    key = CellKey("case_parameters", "strict", "2.14.0", Route.EXPORT)
    run.add(key, {Oracle.VALUES: f"a{character}b"}, given_class="unexpected_failure")
    (failure,) = cases_of(run).findall(".//failure")
    assert failure.get("message") == "wrong-values@run: a\ufffdb"
