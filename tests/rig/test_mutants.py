"""What a quick run is for: each mutant of a real inliner is found by the quick cases alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import pytest

from corpus.case import Family, all_cases, find_case
from corpus.selection import QUICK
from harness.rig.cell.prepare import PreparedCase
from harness.rig.cell.sharing import Shared
from harness.rig.inliners.protocol import Inliner
from harness.wire.oracles import Oracle
from tests.mutants import MUTANTS, Mutant
from tests.rig.conftest import cell_record

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


def verdicts(case, inliner, route):
    record = cell_record(case, inliner, route)
    return [(verdict.label, verdict.message) for verdict in record.verdicts]


@pytest.fixture(scope="module")
def quick(prepared):
    """The quick cases; what is equal is judged once, as in a run."""
    cases = {name: dataclasses.replace(prepared(name)) for name in sorted(QUICK)}
    for case in cases.values():
        case.shared = Shared()
    return cases


def differences(
    mutant: Inliner, sound: Inliner, cases: Mapping[str, PreparedCase]
) -> Iterator[str]:
    """Where a mutant is judged otherwise than what it was made of."""
    for name, case in cases.items():
        for route in ("legacy", "export"):
            if verdicts(case, mutant, route) != verdicts(case, sound, route):
                yield f"{name} by {route}"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_quick_cases_find_every_mutant(mutant, load_mutant, quick, inliners):
    assert next(differences(load_mutant(mutant), inliners[NEWEST], quick), None)


def test_what_was_not_mutated_is_not_found(load_mutant, quick, inliners):
    same = load_mutant(Mutant("none", "def transform(", "def transform("))
    assert list(differences(same, inliners[NEWEST], quick)) == []


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


def test_quick_cases_are_few_and_of_every_family_that_is_written_by_hand_for_graphs():
    families = {find_case(name).family for name in QUICK}
    assert len(QUICK) < len(all_cases()) / 4
    assert families >= {
        Family.MULTI_OUTPUT_ENGINES, Family.ALTERNATING_RELU, Family.NAME_COLLISIONS,
        Family.SHARED_VALUES, Family.FALLBACK_OUTPUTS, Family.ATTRIBUTES, Family.DYNAMIC_SHAPES,
        Family.INTERFACES, Family.ARCHITECTURES,
    }  # fmt: skip
