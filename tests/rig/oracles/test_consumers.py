"""Which consumers tell wrong metadata from right, and that harm is graded by it.

`nox -s tests -- --full` asks every consumer of each kind of difference that the newest releases
make in memory.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram

from corpus.case import Case, Family, Inputs, Origin, Program, find_case
from corpus.handmade import SplitBuilder
from corpus.inputs import floats
from harness.register.expected import read_expectations
from harness.rig.cell.harm import harm_of
from harness.rig.cell.prepare import prepare
from harness.rig.clock import StageClock
from harness.rig.inliners.protocol import Inliner, Inlining
from harness.rig.oracles import metadata
from harness.rig.oracles.finding import Finding
from harness.wire.oracles import Harm, Oracle
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage
from tests.rig.oracles.consumers import (
    CONSUMERS,
    Asked,
    Heard,
    NoRightTwin,
    ask_consumers,
    right_twin,
)
from tests.rig.oracles.test_metadata import as_double, in_list, node_of, transposed

NEWEST = 2  # releases
QUICK = [name for name in CONSUMERS if name != "AOTInductor"]  # which starts a compiler
SHAPES = ({0: torch.export.Dim("n", min=1, max=8)},)
Change = Callable[[Any], Any]


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(2, 2)
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = self.project(x + self.shift).chunk(2, dim=-1)
        return left * right + x.new_ones(1)


class MakesAType(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.int().type_as(x)


def called(*sizes: int) -> Asked:
    generator = torch.Generator().manual_seed(0)
    calls = [Inputs((torch.randn(size, 2, generator=generator),)) for size in sizes]
    return Asked(calls, SHAPES if len(set(sizes)) > 1 else None)


def planted(
    asked: Asked, changes: Mapping[str, Change], model: type[torch.nn.Module] = Model
) -> ExportedProgram:
    program = torch.export.export(model(), asked.example.args, dynamic_shapes=asked.dynamic_shapes)
    for name, change in changes.items():
        node = node_of(program, name)
        node.meta["val"] = change(node.meta["val"])
    return program


def kinds(program: ExportedProgram, asked: Asked) -> set[str]:
    found = metadata.check_program(program, asked.calls[1], Stage.EXPORT)
    return {finding.kind for finding in found}


def harm(kind: str) -> Harm | None:
    return harm_of(Oracle.METADATA, [Finding(Stage.EXPORT, kind)], reloaded=True)


def told(heard: dict[str, Heard]) -> dict[str, str]:
    """Who tells, and how; every consumer has to have come to an end."""
    assert {name: each.both_end for name, each in heard.items() if each.both_end} == {}
    return {name: each.told for name, each in heard.items() if each.told}


def test_the_type_of_an_input_is_told_and_so_is_not_cosmetic():
    asked = called(3, 3, 3)
    program = planted(asked, {"x": as_double})
    (tells,) = told(ask_consumers(program, asked, QUICK)).items()
    assert tells == (
        "run_decompositions",
        "dtype differs: call 0: output 0: torch.float64, should be torch.float32",
    )
    (kind,) = kinds(program, asked)
    assert (kind, harm(kind)) == ("model input: another dtype", Harm.INTERFACE)


def test_a_consumer_that_raises_on_one_alone_tells():
    asked = called(3, 3, 3)
    program = planted(asked, {"x": as_double}, MakesAType)
    (tells,) = told(ask_consumers(program, asked, QUICK)).items()
    mismatch = "Tensor dtype mismatch! Expected: torch.float32, Got: torch.float64"
    assert tells == ("run_decompositions", f"raises: AssertionError: {mismatch}")


@pytest.mark.slow
def test_sources_that_are_compiled_ahead_of_time_tell_the_type_of_an_input_too():
    asked = called(3, 3, 3)
    program = planted(asked, {"x": as_double})
    tells = told(ask_consumers(program, asked, ["AOTInductor"]))
    assert tells == {"AOTInductor": "makes another program"}


STATIC, DYNAMIC = (3, 3, 3), (3, 4, 8)


@pytest.mark.parametrize(
    ("sizes", "changes"),
    [
        (
            STATIC,
            {
                "linear": in_list,
                "getitem_1": in_list,
                "chunk": lambda value: value[:1],
                "p_project_weight": transposed,
                "b_shift": as_double,
            },
        ),
        (DYNAMIC, {"linear": as_double, "p_project_weight": as_double}),
        (DYNAMIC, {"linear": transposed, "getitem_1": in_list}),
    ],
)
def test_the_metadata_of_what_is_no_input_is_told_by_nobody_and_is_cosmetic(sizes, changes):
    asked = called(*sizes)
    program = planted(asked, changes)
    wrong = {node.name for node, _, _ in metadata.differences(program, asked.calls[1])}
    assert wrong == set(changes)
    assert told(ask_consumers(program, asked, QUICK)) == {}
    assert {harm(kind) for kind in kinds(program, asked)} == {Harm.COSMETIC}


def test_a_twin_is_right_for_every_call_and_keeps_what_was_right():
    asked = called(3, 4, 8)
    program = planted(asked, {"linear": in_list})
    before = {node.name: node.meta.get("val") for node in program.graph.nodes}
    twin = right_twin(program, asked.calls)
    changed = [
        node.name for node in twin.graph.nodes if node.meta.get("val") is not before[node.name]
    ]
    assert changed == ["linear"]
    assert str(node_of(twin, "linear").meta["val"].shape[0]) == str(before["x"].shape[0])
    assert kinds(program, asked) == {"op: a list for a tensor"}  # which it was, and still is


def test_there_is_no_twin_of_what_is_right_nor_of_an_input_whose_size_would_be_guessed():
    asked = called(3, 4, 8)
    with pytest.raises(NoRightTwin, match="nothing differs"):
        right_twin(planted(asked, {"x": copy.copy}), asked.calls)
    with pytest.raises(RuntimeError, match="to be equal to 3, but got 4"):
        right_twin(planted(asked, {"x": as_double}), asked.calls)


# ------------------------------------------------------- what the newest releases really make


def of_two_types() -> Program:
    builder = SplitBuilder()
    engine = builder.engine(lambda a: (a * 2, (a + 1).half()), builder.input("x", 2, 8))
    relu = builder.fallback(torch.relu, builder.item(engine, 1))
    return Program(floats((2, 8)), split=builder.finish(relu))


def first_of_two() -> Program:
    builder = SplitBuilder()
    engine = builder.engine(lambda a: (a * 2, a + 1), builder.input("x", 2, 8))
    relu = builder.fallback(torch.relu, builder.item(engine, 0))
    return Program(floats((2, 8)), split=builder.finish(relu))


OWN = {
    build.__name__: Case(
        build.__name__, Family.ENGINE_OUTPUTS, Origin.HANDMADE, "asked here", build
    )
    for build in (of_two_types, first_of_two)
}
#: What the package's lane alone makes is planted, on what it makes it on.
ONE_SHORT = "engine call: a list of another length"
REAL = [
    ("element of an engine: a list for a tensor", "2.14.0", "relu_once"),
    ("element of an engine: a list for a tensor", "2.14.0", "dynamic_batch"),
    ("element of an engine: another shape", "2.14.0", "only_the_last_output_read"),
    ("element of an engine: another dtype", "2.14.0", "of_two_types"),
    ("lifted parameter: another stride", "2.13.0", "linear_beside_an_output"),
    ("lifted parameter: another dtype", "2.13.0", "half_weight_in_fallback"),
    (ONE_SHORT, "2.14.0", "first_of_two"),
]


def made_by(inliner: Inliner, name: str) -> tuple[ExportedProgram, Asked]:
    """A release's program in memory, by the legacy exporter."""
    prepared = prepare(OWN.get(name) or find_case(name), "nonstrict", 0, StageClock())
    captured = prepared.captured
    shapes = captured.shapes_given(Route.LEGACY)
    program = inliner.produce(
        prepared.split, Route.LEGACY, captured.given_to_save, shapes, StageClock(), Inlining()
    )
    return program, Asked(captured.calls, captured.shapes_given(Route.EXPORT))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "release", "name"), REAL)
def test_no_consumer_tells_what_a_release_makes_and_harm_calls_cosmetic(
    inliners, kind, release, name
):
    program, asked = made_by(inliners[release], name)
    if kind == ONE_SHORT:
        assert kinds(program, asked) == set()
        call = node_of(program, "execute_engine_default")
        call.meta["val"] = call.meta["val"][:1]
    assert kind in kinds(program, asked)
    assert told(ask_consumers(program, asked)) == {}
    assert harm(kind) is Harm.COSMETIC


def test_every_cosmetic_kind_that_the_newest_releases_make_is_asked():
    """Harm is not told in rows of before it was judged."""
    table = read_expectations().table
    newest = set(table.releases[-NEWEST:])
    made = {
        entry.fact.says
        for entry, subjects in table.entries.items()
        if entry.fact.oracle == Oracle.METADATA
        and entry.fact.stage == Stage.EXPORT
        and entry.fact.harm in ("", Harm.COSMETIC)
        and subjects & newest
        and not entry.removed
    }
    assert made
    assert made - {kind for kind, _, _ in REAL} == set()
