"""Merging: a set of runs has one sum, and what cannot be summed up is refused by name."""

import dataclasses
import itertools
import json
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.runs.merging import Part, merge
from harness.runs.provenance import (
    Provenance,
    environment_bytes_in,
    provenance_from_json,
    provenance_to_json,
    tensorrt_in,
    torch_in,
)
from harness.wire.builders import CUDA
from harness.wire.oracles import Oracle
from harness.wire.records import CellKey, CellRecord, PackageSpec, SubjectSpec, Verdict
from harness.wire.routes import Route
from tests.record_builders import by_id, failed, planned, provenance, record, subject

PINNED = "pinned"
CASES = ("a", "b", "c")
RELEASES = ("2.12.0", "2.13.0")
ENVIRONMENTS = (PINNED, "torch-2.12.0", "torch-2.13.0")
TORCH = {PINNED: "2.13.0", "torch-2.12.0": "2.12.0", "torch-2.13.0": "2.13.0"}


def at(case: str = "a", release: str = "2.13.0", environment: str = PINNED) -> CellKey:
    return CellKey(case, "nonstrict", release, Route.EXPORT, environment=environment)


def part(name: str, records: Iterable[CellRecord], **fields: object) -> Part:
    """A run of these records, in the one environment that they have."""
    every = tuple(records)
    environment = every[0].key.environment
    names = dict.fromkeys(each.key.subject for each in every)
    given = {
        "run_id": name,
        "torch_version": TORCH[environment],
        "pip_freeze": (f"torch=={TORCH[environment]}",),
        **fields,
    }
    subjects = given.pop("subjects", [subject(each) for each in names])
    assert isinstance(subjects, list)
    made = provenance(*subjects, **given)
    plan = tuple(
        dataclasses.replace(planned(each.key), measured_as=each.measured_as) for each in every
    )
    return Part(name, made, plan, by_id(*every))


def truth(key: CellKey) -> tuple[Verdict, ...]:
    """What every run says of a cell: releases before 2.13.0 fail in case b."""
    return (failed(Oracle.VALUES),) if key.case == "b" and key.subject == "2.12.0" else ()


@st.composite
def runs(draw: st.DrawFn, number: int) -> Part:
    """A run of one environment and some cells; seconds and evidence are its own."""
    environment = draw(st.sampled_from(ENVIRONMENTS))
    everything = list(itertools.product(CASES, RELEASES))
    cells = draw(st.lists(st.sampled_from(everything), min_size=1, unique=True))
    records = []
    for case, release in cells:
        key = at(case, release, environment)
        seconds = {"save": draw(st.sampled_from([0.5, 1.0, 2.0]))}
        source = draw(st.sampled_from(["2.12.0", release]))
        told = [
            dataclasses.replace(verdict, evidence=draw(st.sampled_from(["", "here", "long"])))
            for verdict in truth(key)
        ]
        records.append(record(key, *told, seconds=seconds, measured_as=source))
    return part(f"run-{number}", records, started_at=f"2026-01-0{number + 1}T00:00:00+00:00")


@given(st.tuples(runs(0), runs(1), runs(2)))
def test_the_order_and_the_grouping_of_runs_do_not_matter(parts):
    a, b, c = parts
    whole = merge([a, b, c])
    assert all(merge(order) == whole for order in itertools.permutations(parts))
    assert merge([merge([a, b]), c]) == merge([a, merge([b, c])]) == whole
    assert list(whole.records) == list(merge([c, b, a]).records)


@given(st.tuples(runs(0), runs(1)))
def test_merging_again_what_is_in_already_changes_nothing(parts):
    one, other = parts
    alone, whole = merge([one]), merge([one, other])
    assert merge([one, one]) == merge([alone]) == alone
    assert (alone.provenance, alone.records) == (one.provenance, one.records)
    assert merge([whole]) == merge([whole, whole]) == merge([whole, one]) == whole


@given(st.tuples(runs(0), runs(1)))
def test_no_cell_is_lost_and_none_is_invented(parts):
    whole = merge(parts)
    cells = {cell.key for each in parts for cell in each.plan}
    assert [cell.key for cell in whole.plan] == sorted(cells)
    assert set(whole.records) == {key.cell_id for key in cells}
    for cell in whole.plan:
        mine = whole.records[cell.key.cell_id]
        assert cell.measured_as == mine.measured_as
        assert any(mine == each.records.get(cell.key.cell_id) for each in parts)


def test_of_two_records_that_say_the_same_the_one_with_evidence_is_kept():
    seen = record(at("b", "2.12.0"), failed(Oracle.VALUES), seconds={"save": 2.0})
    bare = dataclasses.replace(
        seen,
        verdicts=tuple(dataclasses.replace(verdict, evidence="") for verdict in seen.verdicts),
        seconds={"save": 1.0},
    )
    for order in ([seen, bare], [bare, seen]):
        parts = [part(f"run-{number}", [each]) for number, each in enumerate(order)]
        assert merge(parts).records == by_id(seen)


def test_times_do_not_disagree():
    parts = [part(f"run-{s}", [record(at(), seconds={"save": s})]) for s in (1.0, 2.0)]
    assert len(merge(parts).records) == 1


def refusal(*parts: Part, allow_mismatch: bool = False) -> str:
    """The message, which is the same in every order but for the order in it."""
    with pytest.raises(UsageError) as refused:
        merge(parts, allow_mismatch=allow_mismatch)
    with pytest.raises(UsageError):
        merge(parts[::-1], allow_mismatch=allow_mismatch)
    return str(refused.value)


def test_runs_that_disagree_are_refused_and_the_first_cells_are_named():
    keys = [at(case, "2.13.0") for case in ("a", "b", "c", "d", "e")]
    one = part("one", [record(key) for key in keys])
    two = part("two", [record(keys[0]), *(record(key, failed(Oracle.VALUES)) for key in keys[1:])])
    assert refusal(one, two) == (
        "cannot merge one and two: they disagree in 4 cells: "
        "b [2.13.0 export graph segment pinned]: ok against wrong-values@run; "
        "c [2.13.0 export graph segment pinned]: ok against wrong-values@run; "
        "d [2.13.0 export graph segment pinned]: ok against wrong-values@run; ...; "
        "leave one of them out, or run both anew"
    )


def test_one_symptom_for_another_reason_is_a_disagreement_too():
    parts = [
        part(why, [record(at(), failed(Oracle.COMPLETION, why))]) for why in ("KeyError", "boom")
    ]
    assert "they disagree in 1 cell: a [" in refusal(*parts)


def test_a_disagreement_with_a_merged_run_is_refused_too():
    here = part("here", [record(at())])
    there = part("there", [record(at("b"))])
    unlike = part("unlike", [record(at(), failed(Oracle.WIRING))])
    assert "disagree" in refusal(merge([here, there]), unlike)


def test_a_run_with_holes_is_refused():
    whole = part("whole", [record(at("a"))])
    torn = part("torn", [record(at(case, "2.12.0")) for case in CASES])
    torn = dataclasses.replace(torn, records=dict(list(torn.records.items())[:1]))
    said = refusal(whole, torn)
    assert said.startswith("cannot merge torn: 2 of its 3 cells have not ended: b [2.12.0 export")
    assert "run --resume torn" in said


def test_a_run_of_another_schema_is_refused_whatever_is_allowed():
    old = dataclasses.replace(part("old", [record(at())]), schema=1)
    said = refusal(part("new", [record(at("b"))]), old, allow_mismatch=True)
    assert said.startswith("cannot merge old: its schema is 1")


def test_one_name_with_two_inliners_is_refused_whatever_is_allowed():
    unlike = [subject("2.13.0", inliner_id="another")]
    said = refusal(
        part("one", [record(at())]),
        part("two", [record(at("b"))], subjects=unlike),
        allow_mismatch=True,
    )
    assert "unlike subjects of the name 2.13.0" in said
    assert "inliner id of 2.13.0, like 2.13.0 in one" in said
    assert "inliner another, like 2.13.0 in two" in said


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"corpus_digest": "other"}, "unlike corpora: digest in one, other in two"),
        (
            {"torch_version": "2.13.1"},
            "unlike torch builds in environment pinned: 2.13.0 (None) in one, 2.13.1 (None) in two",
        ),
        ({"torch_build": "cuda"}, "unlike torch builds in environment pinned"),
    ],
)
def test_unlike_corpora_and_torch_builds_are_refused_or_else_stamped(fields, said):
    parts = part("one", [record(at())]), part("two", [record(at("b"))], **fields)
    message = refusal(*parts)
    assert said in message
    assert "--allow-mismatch" in message
    whole = merge(parts, allow_mismatch=True)
    (stamp,) = whole.provenance.mismatches
    assert stamp.startswith(said)
    third = part("three", [record(at("c"))])
    assert "--allow-mismatch" in refusal(whole, third)  # the stamp does not wash off
    again = merge([whole, third], allow_mismatch=True)
    assert again == merge([*parts, third], allow_mismatch=True)


def two_environments() -> Sequence[Part]:
    def of(running: str) -> list[SubjectSpec]:
        package = PackageSpec("segment", (Route.NO_RETRACE,), tensorrt_running=running)
        return [subject("2.13.0", packages=(package,))]

    there = record(at(environment="torch-2.12.0"))
    return (
        part("one", [record(at())], subjects=of("11.0"), environment_bytes=1),
        part("two", [there], subjects=of("10.9"), environment_bytes=2, memory_bytes=7),
    )


def test_two_environments_have_a_torch_each_and_that_is_no_mismatch():
    whole = merge(two_environments()).provenance
    assert whole.mismatches == ()
    assert torch_in(whole, PINNED) == "2.13.0"
    assert torch_in(whole, "torch-2.12.0") == "2.12.0"
    assert tensorrt_in(whole, PINNED, "2.13.0", "segment") == "11.0"
    assert tensorrt_in(whole, "torch-2.12.0", "2.13.0", "segment") == "10.9"
    assert environment_bytes_in(whole, "torch-2.12.0", "2.13.0", "segment") == 2
    assert torch_in(whole.sources[0].run, "any") == "2.13.0"  # a run has but one


def test_what_differs_by_source_is_kept_of_each():
    whole = merge(two_environments()).provenance
    assert [source.environments for source in whole.sources] == [(PINNED,), ("torch-2.12.0",)]
    assert [source.run.pip_freeze for source in whole.sources] == [
        ("torch==2.13.0",),
        ("torch==2.12.0",),
    ]
    assert whole.torch_version == "2.12.0 and 2.13.0"
    assert (whole.pip_freeze, whole.memory_bytes, whole.cpu_model) == ((), 1, "a CPU")
    assert whole.command_line == ("python", "-m", "harness", "merge", "one", "two")


def test_a_merged_runs_provenance_goes_to_json_and_back_without_loss():
    whole: Provenance = merge(two_environments()).provenance
    data = json.loads(json.dumps(provenance_to_json(whole)))
    assert provenance_from_json(data, "run.json") == whole


def test_packages_that_different_runs_had_of_a_release_are_joined():
    def having(*packages: PackageSpec, **fields: str) -> list[SubjectSpec]:
        return [subject("2.13.0", packages=packages, **fields)]

    built = PackageSpec("tensorrt-rtx-1.5", (Route.NO_RETRACE,), tensorrt_running="1.5")
    absent = PackageSpec("segment", (Route.NO_RETRACE,), unavailable="no registry")
    segment = PackageSpec("segment", (Route.NO_RETRACE, Route.RETRACE), tensorrt_running="11.0")
    whole = merge(
        [
            part("one", [record(at("a"))], subjects=having(built, absent)),
            part("two", [record(at("b"))], subjects=having(segment)),
            part("three", [record(at("c"))], subjects=having(unavailable="no wheel")),
        ]
    )
    (joined,) = whole.provenance.subjects
    assert joined.packages == (segment, built)
    assert joined.unavailable == ""


def test_a_builder_whose_engines_ran_on_a_gpu_too_stays_two_packages():
    emulated = PackageSpec("tensorrt-rtx-1.6", (Route.NO_RETRACE,), tensorrt_running="1.6")
    on_gpu = dataclasses.replace(emulated, executor=CUDA)
    whole = merge(
        [
            part(name, [record(at(name))], subjects=[subject("2.13.0", packages=(package,))])
            for name, package in (("a", on_gpu), ("b", emulated))
        ]
    )
    (joined,) = whole.provenance.subjects
    assert joined.packages == (on_gpu, emulated)
