"""A case whose numbers cannot show a swapped wire is a weak case.

Any two edges of one type in a case's split module change places, and a value has to change on the
case's calls. That a swap makes no other program, as where a value stands under two names, is told
by the terms of both, and so is a swap of what commutes. Drawn and found programs are left out:
their numbers are nobody's choice.
"""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest
import torch
from torch.fx import GraphModule, Node

from corpus.case import Case, Family, Inputs, Origin, Program, cases_of, find_case
from corpus.handmade import SplitBuilder
from corpus.inputs import floats
from harness.rig.capture.capture import capture
from harness.rig.engines.emulated import load_runtime
from harness.rig.oracles.observing import observe
from harness.rig.oracles.reading import GraphReader
from harness.rig.oracles.terms import Kind, Term, TermTable
from harness.rig.oracles.values import Observed
from harness.rig.oracles.wiring import compare, reference_reading
from harness.wire.vocabulary import Stage
from tests.chosen import quick_first

SAMPLED = 3  # swaps a case; all of them where the test is the slow one

CASES = [case for case in cases_of("graph") if case.family not in (Family.DRAWN, Family.FOUND)]
SMALL = [case for case in CASES if case.family is not Family.ARCHITECTURES]

# (case, one edge, the other): why no number can tell them apart.
SYMMETRIC: dict[tuple[str, str, str], str] = {
    ("every_interface_at_once", "_run_on_acc_15[0]", "_run_on_acc_15[4]"): (
        "summands, and the half of the cat that one of them is in too is read by nobody"
    ),
    ("engine_below_the_block_size", "_run_on_acc_1[0]", "_run_on_acc_1[2]"): (
        "relu of what a relu returned is the same again"
    ),
    ("noise_drawn_twice", "_run_on_acc_2[0]", "_run_on_acc_2[1]"): (
        "two draws of one distribution, of which one is as good as the other"
    ),
    ("noise_drawn_twice", "_run_on_acc_2[0]", "_run_on_acc_2[2]"): "both are summands",
    ("clone_of_an_input_returned", "_run_on_acc_1[0]", "output[0]"): (
        "a tensor and its copy: who gets which shows by what they share, and not by numbers"
    ),
}


@pytest.fixture(autouse=True)
def runtime(library):
    """Terms of a program know the engine's op."""
    torch.set_num_threads(1)
    load_runtime(library)


def weak_swaps(split: Split, most: int | None) -> list[tuple[str, str, str]]:
    """Swaps that no call shows and that nobody has declared, among so many or among all."""
    name = split.case.name
    possible = list(swaps(split))
    random.Random(split.case.seed).shuffle(possible)
    weak = []
    for one, other in itertools.islice(possible, most):
        if (name, str(one), str(other)) in SYMMETRIC:
            continue
        if shows(split, swapped(split.module, one, other)):
            continue
        if not computes_alike(split.module, swapped(split.module, one, other)):
            weak.append((name, str(one), str(other)))
    return weak


@pytest.mark.parametrize("name", quick_first(case.name for case in SMALL))
def test_a_swapped_wire_changes_a_value(name):
    assert weak_swaps(split_of(find_case(name)), SAMPLED) == []


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_swapped_wire_changes_a_value(case):
    assert weak_swaps(split_of(case), None) == []


@pytest.mark.parametrize("declared", sorted(SYMMETRIC))
def test_what_is_declared_symmetric_is(declared):
    name, *edges = declared
    split = split_of(next(case for case in CASES if case.name == name))
    (pair,) = [pair for pair in swaps(split) if [str(edge) for edge in pair] == edges]
    assert not shows(split, swapped(split.module, *pair))


def handmade(build: object) -> Case:
    return Case("a_case", Family.SHARED_VALUES, Origin.HANDMADE, "a swapped wire", build)  # type: ignore[arg-type]


def test_a_weak_case_is_found():
    """Also where the two values are an engine's and a fallback's: the splitter types neither."""

    def symmetric() -> Program:
        builder = SplitBuilder()
        x = builder.input("x", 2, 8)
        low = builder.engine(lambda a: a - 9, x)
        lower = builder.fallback(lambda a: a - 18, low)
        return Program(
            floats((2, 8)),
            split=builder.finish(
                builder.engine(lambda a, b: torch.relu(a) - torch.relu(b), low, lower)
            ),
        )

    weak = weak_swaps(split_of(handmade(symmetric)), None)
    assert weak == [("a_case", "_run_on_acc_2[0]", "_run_on_acc_2[1]")]


@pytest.mark.parametrize("alpha", [1, 2])
def test_what_commutes_is_no_swap_and_a_scaled_sum_does_not_commute(alpha):
    def added() -> Program:
        builder = SplitBuilder()
        x, y = builder.input("x", 2, 8), builder.input("y", 2, 8)
        summed = builder.engine(lambda a, b: torch.add(a, b, alpha=alpha), x, y)
        return Program(floats((2, 8), (2, 8)), split=builder.finish(summed))

    split = split_of(handmade(added))
    (pair,) = swaps(split)
    assert computes_alike(split.module, swapped(split.module, *pair)) is (alpha == 1)
    assert weak_swaps(split, None) == []


def test_a_strong_case_is_not_and_a_value_under_two_names_is_no_swap():
    def strong() -> Program:
        builder = SplitBuilder()
        x = builder.input("x", 2, 8)
        both = builder.engine(lambda a: (a + 1, a * 2), x)
        again, first, second = (builder.item(both, index) for index in (0, 0, 1))
        return Program(
            floats((2, 8)),
            split=builder.finish(builder.fallback(lambda a, b, c: a - b * c, again, first, second)),
        )

    split = split_of(handmade(strong))
    alike = (Edge("_run_on_gpu_1", 0, "getitem"), Edge("_run_on_gpu_1", 1, "getitem_1"))
    assert alike in list(swaps(split))
    assert computes_alike(split.module, swapped(split.module, *alike))
    assert weak_swaps(split, None) == []


# Bit for bit, in floating point too. `add` with an `alpha` other than 1 does not.
COMMUTE = frozenset(f"aten.{name}.Tensor" for name in ("add", "mul", "bitwise_and", "bitwise_xor"))


class Commuting(TermTable):
    """Terms of which `a + b` and `b + a` are one."""

    def make(
        self, kind: Kind, label: Hashable, children: tuple[Term, ...] = (), note: str = ""
    ) -> Term:
        if kind is Kind.OP and label in COMMUTE and all(rest.label == 1 for rest in children[2:]):
            children = (*sorted(children[:2], key=id), *children[2:])
        return super().make(kind, label, children, note)


@dataclass(frozen=True)
class Edge:
    """The value that a node reads at one place. Nodes are named, for a graph may be copied."""

    consumer: str
    slot: int  # among the values that it reads, in order
    source: str

    def __str__(self) -> str:
        return f"{self.consumer}[{self.slot}]"


@dataclass(frozen=True)
class Split:
    """A case's split module with segments in place of engines, and what its calls do.

    ``kinds`` holds the type and shape of every node that is a tensor, one pair a call.
    """

    case: Case
    module: GraphModule
    calls: tuple[Inputs, ...]
    reference: Observed
    kinds: Mapping[str, tuple[object, ...]]


def split_of(case: Case) -> Split:
    captured = capture(case, "nonstrict")
    module = captured.split()
    reference = observe(copy.deepcopy(module), captured.calls)
    return Split(case, module, captured.calls, reference, kinds_of(module, captured.calls))


def kinds_of(module: GraphModule, calls: Sequence[Inputs]) -> dict[str, tuple[object, ...]]:
    """What every node is on each call. Not read off its metadata: a splitter leaves none."""
    kinds: dict[str, list[object]] = {}

    def saw(name: str, value: object) -> None:
        kind = (value.dtype, tuple(value.shape)) if isinstance(value, torch.Tensor) else None
        kinds.setdefault(name, []).append(kind)

    probe = copy.deepcopy(module)
    for node in list(probe.graph.nodes):
        if node.op != "output":
            with probe.graph.inserting_after(node):
                probe.graph.call_function(saw, (node.name, node))
    probe.recompile()
    observe(probe, calls)
    return {name: tuple(seen) for name, seen in kinds.items() if None not in seen}


def swaps(split: Split) -> Iterator[tuple[Edge, Edge]]:
    """Every two edges of one type that can change places: each source stands before both readers.

    Only such as change what is computed: a value may stand under two names.
    """
    order = {node.name: index for index, node in enumerate(split.module.graph.nodes)}
    edges = [edge for edge in _edges(split.module) if edge.source in split.kinds]
    for one, other in itertools.combinations(edges, 2):
        alike = split.kinds[one.source] == split.kinds[other.source]
        if one.source == other.source or not alike:
            continue
        if order[one.source] < order[other.consumer] and order[other.source] < order[one.consumer]:
            yield one, other


def swapped(module: GraphModule, one: Edge, other: Edge) -> GraphModule:
    """A copy with two edges in each other's place."""
    wrong = copy.deepcopy(module)
    nodes = {node.name: node for node in wrong.graph.nodes}
    for edge, source in ((one, other.source), (other, one.source)):
        _rewire(nodes[edge.consumer], edge.slot, nodes[source])
    wrong.recompile()
    return wrong


def computes_alike(module: GraphModule, wrong: GraphModule) -> bool:
    """Whether two modules are the same terms, but for the order of what commutes."""
    reader = GraphReader(Commuting())
    reading, inputs = reference_reading(reader, module)
    return not list(compare(reading, reader.read_module(wrong, inputs), Stage.SPLIT))


def shows(split: Split, wrong: GraphModule) -> bool:
    """Whether the case's calls tell a module from the right one; an exception tells, too."""
    try:
        results = observe(wrong, split.calls)
    except Exception:  # noqa: BLE001 - whatever a wrongly wired module raises
        return True
    return split.reference.difference(results) is not None


def _edges(module: GraphModule) -> Iterator[Edge]:
    for node in module.graph.nodes:
        for slot, source in enumerate(_reads(node)):
            yield Edge(node.name, slot, source.name)


def _reads(node: Node) -> list[Node]:
    reads: list[Node] = []
    torch.fx.node.map_arg((node.args, node.kwargs), reads.append)
    return reads


def _rewire(node: Node, slot: int, source: Node) -> None:
    count = itertools.count()
    node.args, node.kwargs = torch.fx.node.map_arg(
        (node.args, node.kwargs), lambda read: source if next(count) == slot else read
    )
