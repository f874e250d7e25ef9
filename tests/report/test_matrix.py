"""The matrix: a row a subject, and rows that say the same of one inliner put together."""

import dataclasses

import pytest

from harness.report.frames import tables
from harness.report.frames.frames import cell_frame
from harness.report.sections.matrix import MATRIX, grouped
from harness.report.text import cell_words
from harness.wire.oracles import Harm, Oracle
from harness.wire.vocabulary import SubjectKind
from tests.report.conftest import change, release, share_an_inliner, verdicts


def members(run):
    return [group.members for group in run.model()[MATRIX].groups]


def with_inliner(run, *names):
    """The run, in which these subjects have one inliner; its cells stay as they are."""
    run.subjects = [
        dataclasses.replace(spec, inliner_id="a" * 64) if spec.subject in names else spec
        for spec in run.subjects
    ]
    return run


def test_a_row_sums_its_families_and_has_the_worst_of_them(run):
    row = next(row for row in run.model()[MATRIX].rows if row.subject == "2.13.0")
    assert (row.whole.ok, row.whole.failing, row.whole.total) == (4, 12, 16)
    assert row.whole.worst == "wrong-values@run"


@pytest.mark.parametrize(
    ("harm", "line"),
    [
        (Harm.SILENT, ("✗ 0/2", "wrong values")),
        (Harm.WARNED, ("! 0/2", "wrong values")),
        (Harm.ERROR, ("E 0/2", "wrong values")),
        (Harm.INTERFACE, ("~ 0/2", "wrong values")),
        (Harm.COSMETIC, ("✓ 2/2", "")),
    ],
)
def test_the_sign_of_a_cell_follows_the_harm_whatever_the_oracle(run, harm, line):
    graded = dataclasses.replace(verdicts({Oracle.VALUES: "off"})[0], harm=harm)
    change(run, "2.14.0", "architectures", {Oracle.VALUES: "off"})
    run.records = [
        dataclasses.replace(record, verdicts=(graded, *record.verdicts[1:]))
        if (record.key.subject, record.key.case) == ("2.14.0", "case_architectures")
        else record
        for record in run.records
    ]
    table = tables.matrix(cell_frame(run.records, run.cases, run.subjects, run.classes))
    assert cell_words(tables.matrix_cells(table)["2.14.0", "architectures"]) == line


def test_subjects_that_share_an_inliner_say_so(run):
    shares = {row.subject: row.shares for row in with_inliner(run, "2.10.0").model()[MATRIX].rows}
    assert shares["2.10.0"] == ("2.13.0",)
    assert shares["2.13.0"] == ("2.10.0",)
    assert shares["2.14.0"] == ()


def test_releases_of_one_inliner_with_equal_cells_are_one_group(run):
    assert members(share_an_inliner(run))[:2] == [("2.10.0", "2.13.0"), ("2.14.0",)]


def test_releases_of_one_inliner_that_differ_in_one_cell_stay_apart_and_say_so(run):
    groups = with_inliner(run, "2.10.0", "2.13.0").model()[MATRIX].groups
    assert [group.members for group in groups[:2]] == [("2.10.0",), ("2.13.0",)]
    assert groups[0].unlike == ("2.13.0",)


def test_releases_that_are_equal_by_chance_stay_apart(run):
    share_an_inliner(run)
    run.subjects = [
        dataclasses.replace(spec, inliner_id=spec.subject) if spec.inliner_id else spec
        for spec in run.subjects
    ]
    assert members(run)[:2] == [("2.10.0",), ("2.13.0",)]


def test_a_release_between_two_that_say_the_same_keeps_them_apart(run):
    share_an_inliner(run)
    run.subjects.append(release("2.12.0", "2.12", "10.16", "c"))
    assert members(run)[:3] == [("2.10.0",), ("2.12.0",), ("2.13.0",)]


def test_a_file_is_not_lost_in_the_row_of_the_release_that_it_is_a_copy_of(run):
    row = share_an_inliner(run).model()[MATRIX].rows[0]
    twin = dataclasses.replace(row, subject="2.13.0", shares=("2.10.0",))
    file = dataclasses.replace(twin, kind=SubjectKind.FILE.value)
    assert [group.members for group in grouped([row, twin])] == [("2.10.0", "2.13.0")]
    apart = grouped([row, file])
    assert [group.members for group in apart] == [("2.10.0",), ("2.13.0",)]
    assert apart[0].unlike == ("2.13.0",)
