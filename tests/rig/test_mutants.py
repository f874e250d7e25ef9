"""What a quick run is for: each mutant of a real inliner is found by the quick cases alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from corpus.case import Family, all_cases, find_case
from corpus.selection import QUICK
from harness.rig.cell.prepare import PreparedCase
from harness.rig.cell.sharing import Shared
from harness.rig.inliners.loader import load_inliner
from harness.rig.inliners.protocol import Inliner
from harness.wire.records import SubjectSpec
from harness.wire.vocabulary import SubjectKind
from tests.mutants import MUTANTS, Mutant
from tests.rig.conftest import cell_record

Prepared = Callable[[str], PreparedCase]
NEWEST = "2.14.0"


def verdicts(case: PreparedCase, inliner: Inliner, route: str) -> list[tuple[str, str]]:
    record = cell_record(case, inliner, route)
    return [(verdict.label, verdict.message) for verdict in record.verdicts]


@pytest.fixture(scope="module")
def quick(prepared: Prepared) -> Mapping[str, PreparedCase]:
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
def test_the_quick_cases_find_every_mutant(
    mutant: Mutant,
    quick: Mapping[str, PreparedCase],
    inliners: Mapping[str, Inliner],
    release_specs: Mapping[str, SubjectSpec],
    tmp_path: Path,
) -> None:
    spec = release_specs[NEWEST]
    assert spec.wheel_path is not None
    path = mutant.write(Path(spec.wheel_path), tmp_path)
    loaded = load_inliner(
        dataclasses.replace(
            spec, subject=mutant.name, kind=SubjectKind.FILE, exporter_path=str(path)
        )
    )
    assert next(differences(loaded, inliners[NEWEST], quick), None)


def test_what_was_not_mutated_is_not_found(
    quick: Mapping[str, PreparedCase],
    inliners: Mapping[str, Inliner],
    release_specs: Mapping[str, SubjectSpec],
    tmp_path: Path,
) -> None:
    spec = release_specs[NEWEST]
    assert spec.wheel_path is not None
    same = Mutant("none", "def transform(", "def transform(").write(Path(spec.wheel_path), tmp_path)
    loaded = load_inliner(
        dataclasses.replace(spec, subject="same", kind=SubjectKind.FILE, exporter_path=str(same))
    )
    assert list(differences(loaded, inliners[NEWEST], quick)) == []


def test_quick_cases_are_cases_of_the_families_that_are_handwritten() -> None:
    families = {find_case(name).family for name in QUICK}
    assert len(QUICK) < len(all_cases()) / 4
    assert families >= {
        Family.MULTI_OUTPUT_ENGINES,
        Family.ALTERNATING_RELU,
        Family.NAME_COLLISIONS,
        Family.SHARED_VALUES,
        Family.FALLBACK_OUTPUTS,
        Family.ATTRIBUTES,
        Family.DYNAMIC_SHAPES,
        Family.INTERFACES,
        Family.ARCHITECTURES,
    }
