"""What a quick run is for: each mutant of a real inliner is found by the quick cells alone."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping

import pytest

from corpus.case import all_cases, find_case
from corpus.selection import only_when_full
from harness.catalogue.releases import load_catalogue
from harness.rig.cell.prepare import PreparedCase
from harness.rig.cell.sharing import Shared
from harness.rig.inliners.protocol import Inliner
from harness.run.order import quick_cells, read_order
from harness.wire.oracles import Oracle
from harness.wire.routes import Lane
from tests.mutants import MUTANTS, Mutant
from tests.rig.conftest import cell_record, said

NEWEST = "2.14.0"


#: For each oracle a mutant, and a case and a route by which it fails and no other oracle does.
ALONE = {
    Oracle.COMPLETION: ("parameters_forgotten", "batch_norm_in_fallback", "legacy"),
    Oracle.WIRING: ("fallback_inputs_reversed", "residual_over_a_fallback", "legacy"),
    Oracle.STRUCTURE: (
        "names_told_apart_by_their_dots",
        "names_that_collide_without_dots",
        "legacy",
    ),
    Oracle.SIGNATURE: ("no_range_constraints", "dynamic_batch_weights_in_fallbacks", "legacy"),
    Oracle.STATE: ("every_parameter_wants_a_gradient", "frozen_weight_in_fallback", "legacy"),
    Oracle.METADATA: ("metadata_of_an_engine_reversed", "chunk_as_fallback", "legacy"),
    Oracle.DETERMINISM: ("other_names_every_time", "linears_in_two_fallbacks", "export"),
}
NO_MUTANT = {
    Oracle.VALUES: "an inliner's wrong values have a wrong wire, which is read; of a whole package "
    "test_cell plants faults that values alone shows",
    Oracle.UNFLATTEN: "no verdict on a route of an inliner; test_unflatten plants its faults",
}


def verdicts(record):
    return [(verdict.label, verdict.message) for verdict in record.verdicts]


#: Those mutants that say the same of a cell each time.
REPEATING = [mutant for mutant in MUTANTS if mutant.name != "other_names_every_time"]
ASKED = [ranked.cell for ranked in read_order() if ranked.cell in quick_cells(read_order())]
QUICK = [cell for cell in ASKED if cell.lane is Lane.GRAPH]


@pytest.fixture(scope="module")
def quick(prepared):
    """The quick cases; what is equal is judged once, as in a run."""
    cases = {name: dataclasses.replace(prepared(name)) for name in {cell.case for cell in QUICK}}
    for case in cases.values():
        case.shared = Shared()
    return cases


@pytest.fixture(scope="module")
def sound(quick, inliners):
    """The record of a quick cell of the newest release; it is asked once."""
    return functools.cache(lambda cell: cell_record(quick[cell.case], inliners[NEWEST], cell.route))


def differences(mutant: Inliner, sound, cases: Mapping[str, PreparedCase]) -> Iterator[str]:
    """The quick cells in which a mutant is judged otherwise than what it was made of."""
    for cell in QUICK:
        record = cell_record(cases[cell.case], mutant, cell.route)
        if verdicts(record) != verdicts(sound(cell)):
            yield f"{cell.case} by {cell.route}"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_quick_cells_find_every_mutant(mutant, load_mutant, quick, sound):
    assert next(differences(load_mutant(mutant), sound, quick), None)


def test_a_mutant_is_judged_alike_if_programs_that_were_judged_need_no_verdicts(
    load_mutant, quick, sound
):
    """Each quick cell is asked of one mutant."""
    taken = set()
    for number, mutant in enumerate(REPEATING):
        wrong = load_mutant(mutant)
        for cell in QUICK[number :: len(REPEATING)]:
            case = quick[cell.case]
            right = sound(cell)
            if right.verdict(Oracle.DETERMINISM).failed:
                continue
            told = cell_record(case, wrong, cell.route, like=right.program)
            taken |= {mutant.name} if not told.verdicts else set()
            in_full = cell_record(case, wrong, cell.route)
            assert said(told if told.verdicts else right) == said(in_full), (mutant.name, cell)
    assert len(taken) > len(REPEATING) / 2


def test_what_was_not_mutated_is_not_found(load_mutant, quick, sound):
    same = load_mutant(Mutant("none", "def transform(", "def transform("))
    assert list(differences(same, sound, quick)) == []


def test_every_oracle_alone_finds_a_mutant_or_says_why_it_finds_none_alone():
    assert sorted([*ALONE, *NO_MUTANT]) == sorted(Oracle)
    assert {name for name, _, _ in ALONE.values()} <= {mutant.name for mutant in MUTANTS}


@pytest.mark.parametrize("oracle", ALONE)
def test_a_mutant_that_no_other_oracle_finds_is_found(oracle, load_mutant, inliners, prepared):
    name, case, route = ALONE[oracle]
    (mutant,) = [each for each in MUTANTS if each.name == name]
    sound, found = (
        {(verdict.oracle, verdict.message) for verdict in record.failures}
        for record in (
            cell_record(prepared(case), inliners[NEWEST], route),
            cell_record(prepared(case), load_mutant(mutant), route),
        )
    )
    assert {each for each, _ in found - sound} == {oracle}


def test_every_quick_cell_is_one_that_a_run_of_the_newest_release_asks():
    newest = load_catalogue().newest
    for cell in ASKED:
        case = find_case(cell.case)
        assert cell.lane in case.lanes, cell
        assert cell.lane not in only_when_full(case), cell
        assert case.capture in (None, cell.capture), cell
        routes = newest.routes if cell.lane is Lane.GRAPH else newest.package_routes
        assert cell.route in routes, cell


def test_quick_cells_are_few():
    assert len({cell.case for cell in ASKED}) < len(all_cases()) / 4
