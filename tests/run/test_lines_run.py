"""Which cells run the lines that a candidate changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.catalogue.releases import load_catalogue
from harness.run.changed_lines import Changed
from harness.run.lines_run import (
    CELLS_A_LINE,
    LinesRun,
    cells_of_change,
    lines_run_by,
    lines_run_text,
    never_run,
    read_lines_run,
)
from harness.run.order import Ranked
from harness.toolchain.rig_client import read_corpus
from harness.wire.records import CellKey
from harness.wire.routes import Lane, Route

FILE = "dynamo/_exporter.py"


def cell(case: str, route: Route = Route.RETRACE) -> CellKey:
    return CellKey(case, "nonstrict", "", route, Lane.PACKAGE)


def answer(case: str, route: Route, *lines: int) -> dict[str, object]:
    return {"case": case, "route": route, "lines": {FILE: [*lines]}}


def by_line(*answers: dict[str, object], order: tuple[CellKey, ...] = ()) -> LinesRun:
    return lines_run_by("2.14.0", answers, [Ranked(each, 1.0) for each in order])


def test_a_line_has_the_cells_that_run_it_in_the_order_of_what_finds_most():
    known = by_line(
        answer("a", Route.RETRACE, 1), answer("b", Route.RETRACE, 1), order=(cell("b"), cell("a"))
    )
    assert known.by_file[FILE][1] == (cell("b"), cell("a"))


def test_of_a_case_one_cell_is_enough_and_compiling_is_in_all_of_them():
    first, second = cell("a", Route.NO_RETRACE), cell("a", Route.RETRACE)
    known = by_line(
        answer("a", Route.COMPILE, 1),
        answer("a", Route.RETRACE, 2, 3),
        answer("a", Route.NO_RETRACE, 3),
        order=(cell("a", Route.COMPILE), first, second),
    )
    assert known.by_file[FILE] == {1: (first,), 2: (second,), 3: (first,)}


def test_a_line_that_all_cases_run_has_a_few_of_them():
    known = by_line(*(answer(f"case_{number}", Route.RETRACE, 1) for number in range(20)))
    assert len(known.by_file[FILE][1]) == CELLS_A_LINE


def test_each_changed_statement_has_its_turn_and_its_cells_are_those_that_run_most_of_it():
    known = by_line(
        answer("a", Route.RETRACE, 1, 9), answer("b", Route.RETRACE, 1, 2, 3),
        answer("c", Route.RETRACE, 9),
    )  # fmt: skip
    changed = (Changed(FILE, 1, 3), Changed(FILE, 9, 9))
    assert cells_of_change(known, changed) == (cell("b"), cell("a"), cell("c"))


def test_what_no_case_runs_is_told_by_its_place():
    known = by_line(answer("a", Route.RETRACE, 1))
    changed = (Changed(FILE, 1, 1), Changed(FILE, 5, 6), Changed("dynamo/utils.py", 3, 3))
    assert never_run(known, changed) == (f"{FILE}:5", "dynamo/utils.py:3")


@given(st.dictionaries(st.integers(1, 30), st.sets(st.sampled_from("abc"), min_size=1)))
def test_a_table_is_read_as_it_was_written(tmp_path_factory, lines):
    known = by_line(
        *(
            answer(case, Route.RETRACE, *(line for line, cases in lines.items() if case in cases))
            for case in "abc"
        )
    )
    path = tmp_path_factory.mktemp("table") / "lines_run.csv"
    path.write_text(lines_run_text(known))
    assert read_lines_run(path).by_file == known.by_file


@pytest.fixture(scope="module")
def committed() -> LinesRun:
    return read_lines_run()


def test_the_committed_table_is_of_the_newest_release(committed):
    assert committed.release == load_catalogue().newest.version


def test_the_committed_table_names_cells_that_a_run_asks(committed, toolchain):
    cases = {case.name: case for case in read_corpus(toolchain.python, cache=toolchain.cache).cases}
    routes = load_catalogue().newest.package_routes
    named = {
        cell for lines in committed.by_file.values() for cells in lines.values() for cell in cells
    }
    for cell in named:
        assert Lane.PACKAGE in cases[cell.case].lanes, cell
        assert cell.route in routes, cell
        assert cases[cell.case].fits(cell.route), cell


def test_a_change_in_lowering_has_cells_of_the_pass_that_it_is_in(committed):
    file = "dynamo/lowering/passes/complex_graph_rewrite.py"
    runs = {line: cells for line, cells in committed.by_file[file].items() if len(cells) == 1}
    (line, (only,)), *_ = runs.items()
    assert cells_of_change(committed, [Changed(file, line, line)]) == (only,)
