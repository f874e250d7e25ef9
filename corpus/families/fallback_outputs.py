"""What a fallback returns: one tensor, several, other types, its own input."""

from __future__ import annotations

import torch

from corpus.case import Family, Origin, Program, case
from corpus.families.caches import PACKAGE_ALONE
from corpus.handmade import SplitBuilder
from corpus.inputs import floats

RELU = "aten.relu.default"
ABS = "aten.abs.default"


class TwoFromOne(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return torch.relu(y) * 3 - torch.abs(y)


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback with two outputs, which the legacy exporter looked up as one",
    fallback=[RELU, ABS],
    wiring=True,
)
def two_outputs() -> Program:
    return Program(floats((2, 8)), model=TwoFromOne())


class Mask(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = (x * 2).gt(0)
        return torch.where(mask, x - 1, x + 1) * 2


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback's output of another type than its input: bool to an engine",
    fallback=["aten.gt.Scalar"],
    wiring=True,
)
def bool_mask() -> Program:
    return Program(floats((2, 8)), model=Mask())


class ReturnedAndRead(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.relu(x + 1)
        return y, y * 2 - x


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback's output that the model returns and an engine reads",
    fallback=[RELU],
    wiring=True,
)
def returned_and_read() -> Program:
    return Program(floats((2, 8)), model=ReturnedAndRead())


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback that hands back its own input beside what it computed",
    origin=Origin.HANDMADE,
    wiring=True,
)
def returns_its_own_input() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a + 1, x)
    pair = builder.fallback(lambda a: (torch.relu(a), a), engine)
    relu, same = builder.item(pair, 0), builder.item(pair, 1)
    last = builder.engine(lambda a, b: a * 2 - b, relu, same)
    return Program(floats((2, 8)), split=builder.finish(last))


def _one_fallback(segment: object, *reads: int) -> Program:
    """An engine, a fallback that computes ``segment`` of it, and an engine of its elements."""
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a + 1, x)
    made = builder.fallback(segment, engine)  # type: ignore[arg-type]
    items = [builder.item(made, index) for index in reads]
    last = builder.engine(lambda a, *rest: a * 2 - sum(rest), *items)
    return Program(floats((2, 8)), split=builder.finish(last))


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback that returns a list, where only a tuple is taken for several outputs",
    origin=Origin.HANDMADE,
    wiring=True,
)
def returns_a_list() -> Program:
    return _one_fallback(lambda a: [torch.relu(a), torch.abs(a)], 0, 1)


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback that returns a tuple of one",
    origin=Origin.HANDMADE,
    wiring=True,
)
def returns_a_tuple_of_one() -> Program:
    return _one_fallback(lambda a: (torch.relu(a),), 0)


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback that returns one value twice, its elements read in both places",
    origin=Origin.HANDMADE,
    wiring=True,
)
def returns_one_value_twice() -> Program:
    def twice(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
        relu = torch.relu(a)
        return relu, torch.abs(a), relu

    return _one_fallback(twice, 0, 1, 2)


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback whose outputs are read in another order, the first one not at all",
    origin=Origin.HANDMADE,
    wiring=True,
)
def outputs_read_backwards() -> Program:
    return _one_fallback(lambda a: (a - 7, torch.relu(a), torch.abs(a)), 2, 1)


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a None beside the tensors that a fallback returns",
    origin=Origin.HANDMADE,
    wiring=True,
)
def returns_none_beside_tensors() -> Program:
    return _one_fallback(lambda a: (torch.relu(a), None, torch.abs(a)), 0, 2)


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a parameter that a fallback hands out as it is",
    origin=Origin.HANDMADE,
    wiring=True,
)
def returns_a_parameter() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a + 1, x)
    weight = torch.nn.Parameter(torch.randn(8))
    made = builder.fallback(lambda a, w: (torch.relu(a), w), engine, attributes={"weight": weight})
    last = builder.engine(lambda a, b: a * 2 - b, builder.item(made, 0), builder.item(made, 1))
    return Program(floats((2, 8)), split=builder.finish(last))


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a pair within a pair, whose elements are getitems of a getitem",
    origin=Origin.HANDMADE,
    wiring=True,
)
def returns_a_pair_in_a_pair() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a + 1, x)
    made = builder.fallback(lambda a: ((torch.relu(a), torch.abs(a)), a - 7), engine)
    pair, rest = builder.item(made, 0), builder.item(made, 1)
    inner = [builder.item(pair, index) for index in range(2)]
    last = builder.engine(lambda a, b, c: a * 2 - b / (c * c + 1), *inner, rest)
    return Program(floats((2, 8)), split=builder.finish(last))


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a buffer that a fallback hands out as it is",
    origin=Origin.HANDMADE,
    wiring=True,
)
def returns_a_buffer() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a + 1, x)
    made = builder.fallback(
        lambda a, w: (torch.relu(a), w), engine, attributes={"table": torch.randn(8)}
    )
    last = builder.engine(lambda a, b: a * 2 - b, builder.item(made, 0), builder.item(made, 1))
    return Program(floats((2, 8)), split=builder.finish(last))


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a number beside the tensors that a fallback returns",
    origin=Origin.HANDMADE,
    wiring=True,
)
def returns_a_number_beside_tensors() -> Program:
    return _one_fallback(lambda a: (torch.relu(a), 7, torch.abs(a)), 0, 2)


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback's tuple handed on as it is to another fallback",
    origin=Origin.HANDMADE,
    wiring=True,
)
def tuple_read_whole() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a + 1, x)
    made = builder.fallback(lambda a: (torch.relu(a), torch.abs(a)), engine)
    last = builder.fallback(lambda pair: pair[0] * 2 - pair[1], made)
    return Program(floats((2, 8)), split=builder.finish(last))


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback's tuple of which one reader takes an element and another takes it whole",
    origin=Origin.HANDMADE,
    wiring=True,
)
def tuple_read_whole_and_by_element() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a + 1, x)
    made = builder.fallback(lambda a: (torch.relu(a), torch.abs(a)), engine)
    second = builder.engine(lambda a: a * 3, builder.item(made, 1))
    last = builder.fallback(lambda pair, b: pair[0] * 2 - pair[1] + b, made, second)
    return Program(floats((2, 8)), split=builder.finish(last))


class Diagonal(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        return torch.diagonal(y) * 2 - y[:, :2].sum(0)


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback's output that is a view of its input, where an engine's never is",
    fallback=["aten.diagonal.default"],
    wiring=True,
)
def returns_a_view_of_its_input() -> Program:
    return Program(floats((2, 8)), model=Diagonal())


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback that does not read the first of its inputs, and is given it for the second",
    origin=Origin.HANDMADE,
    wiring=True,
)
def first_input_never_read() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    pair = builder.engine(lambda a: (a + 1, a * 2), x)
    unread, read = builder.item(pair, 0), builder.item(pair, 1)
    relu = builder.fallback(lambda _, b: torch.relu(b), unread, read)
    return Program(floats((2, 8)), split=builder.finish(builder.engine(lambda a: a - 1, relu)))


class LaidOutAnew(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        turned = (x * 2).t().clone(memory_format=torch.contiguous_format)
        return turned.view(-1) + 1


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a clone that is there for its layout, taken for one that does nothing",
    fallback=["aten.t.default", "aten.clone.default", "aten.view.default"],
    wiring=True,
)
def clone_for_its_layout() -> Program:
    return Program(floats((2, 8)), model=LaidOutAnew())


class Kept(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.clone(), torch.relu(x * 2) - 1


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a copy of an input that is returned, and then is the caller's own tensor",
    fallback=["aten.clone.default", RELU],
    wiring=True,
)
def clone_of_an_input_returned() -> Program:
    return Program(floats((2, 8)), model=Kept())


class CopyWritten(torch.nn.Module):
    """Writes to a copy of what it computed, and reads both."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        kept = torch.relu(x + 1)
        copy = kept.clone()
        copy.add_(1)
        return kept * 2, copy * 3


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a copy that somebody writes to, taken for what it was made of",
    fallback=["aten.relu.default"],
    lanes=PACKAGE_ALONE,
)
def copy_written_beside_what_it_was_made_of() -> Program:
    return Program(floats((2, 8)), model=CopyWritten())


class HeadsTogether(torch.nn.Module):
    """Heads side by side again, as behind every attention."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = torch.relu(x + 1).transpose(1, 2).contiguous()
        return heads.view(2, 8) * 2


@case(
    Family.FALLBACK_OUTPUTS,
    catches="what is made contiguous for a view, and left as it lay",
    fallback=["aten.relu.default"],
    lanes=PACKAGE_ALONE,
)
def heads_put_together() -> Program:
    return Program(floats((2, 4, 2)), model=HeadsTogether())
