"""Unflatten by route: of the programs that ran, how many can be unflattened."""

from itertools import pairwise

from harness.report.pages.report_page import markdown
from harness.report.sections.short_tables import unflatten_rows
from harness.wire.oracles import Oracle
from harness.wire.records import CellKey
from harness.wire.routes import Route
from tests.report.conftest import undrawn_page


def rows_of(run):
    rows = unflatten_rows(run.reported())
    return {(member, row.route): (row.able, row.asked) for row in rows for member in row.members}


KEY = CellKey("case_architectures", "strict", "2.14.0", Route.LEGACY)


def test_a_program_that_cannot_be_unflattened_counts_as_completed_alone(run):
    able, asked = rows_of(run)["2.14.0", "legacy"]
    run.add(KEY, {Oracle.UNFLATTEN: "ValueError"})
    assert rows_of(run)["2.14.0", "legacy"] == (able, asked + 1)


def test_a_cell_that_broke_is_not_counted_at_all(run):
    before = rows_of(run)["2.14.0", "legacy"]
    run.add(KEY, {Oracle.COMPLETION: "boom"})
    assert rows_of(run)["2.14.0", "legacy"] == before


def test_a_hypothetical_cell_is_in_no_row(run):
    before = rows_of(run)
    run.add(KEY, {}, hypothetical=True)
    assert rows_of(run) == before


def test_neighbours_with_the_same_counts_are_one_row_and_a_route_is_never_mixed(run):
    rows = unflatten_rows(run.reported())
    assert len({(row.route, member) for row in rows for member in row.members}) == sum(
        len(row.members) for row in rows
    )
    for one, other in pairwise(rows):
        assert (one.route, one.able, one.asked) != (other.route, other.able, other.asked)


def test_the_table_is_in_the_markdown_folded_and_in_the_page(run):
    run.add(KEY, {Oracle.UNFLATTEN: "ValueError"})
    able, asked = rows_of(run)["2.14.0", "legacy"]
    text = markdown(run.model())
    folded = text[text.index("<details><summary>Unflatten by route") :]
    assert f"| legacy | 2.14.0 | {able} | {asked} |" in folded[: folded.index("</details>")]
    html = undrawn_page(run.model())
    section = html[html.index('id="unflatten"') :]
    numbers = f'<td class="number">{able}</td><td class="number">{asked}</td>'
    assert numbers in section[: section.index("</section>")]


def test_a_run_in_which_nothing_completed_says_so(run):
    run.unsupported("no wheel")
    assert "Unflatten by route" not in markdown(run.model())
    assert "No program came so far as to be asked." in undrawn_page(run.model())
