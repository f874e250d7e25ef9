"""A finding in the words of the console."""

from harness.gate.findings import CellClass, Finding, finding_lines
from harness.runs.commands import Places
from tests.record_builders import key


def test_a_finding_about_a_whole_cell_says_what_became_of_it():
    found = Finding(key("a", "2.14.0"), CellClass.MISSING, "it was never asked")
    (first, *_) = finding_lines(found, "", Places())
    assert first == "  no record: a [2.14.0 export]: it was never asked"
