"""How a child is called: twice, by keyword, under a name that is not its target."""

from __future__ import annotations

import torch

from corpus.case import Family, Origin, Program, case
from corpus.handmade import SplitBuilder
from corpus.inputs import floats


@case(
    Family.CALLS,
    catches="one fallback called twice: the second call finds its child already inlined",
    origin=Origin.HANDMADE,
    wiring=True,
)
def fallback_called_twice() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    first = builder.fallback(lambda a: torch.relu(a) + 1, x, placeholders=["inner"])
    engine = builder.engine(lambda a: a * 2 - 3, first)
    return Program(floats((2, 8)), split=builder.finish(builder.again(first, engine)))


@case(
    Family.CALLS,
    catches="one engine called twice: its node is looked up by name, and found once",
    origin=Origin.HANDMADE,
    wiring=True,
)
def engine_called_twice() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    first = builder.engine(lambda a: a * 2 - 3, x)
    relu = builder.fallback(torch.relu, first, placeholders=["inner"])
    return Program(floats((2, 8)), split=builder.finish(builder.again(first, relu)))


@case(
    Family.CALLS,
    catches="an engine called again before another, whose child has the name of that call's node",
    origin=Origin.HANDMADE,
    wiring=True,
)
def engine_called_again_before_another() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    first = builder.engine(lambda a: a * 2 - 3, x)
    last = builder.engine(lambda a: a + 5, builder.again(first, first))
    return Program(floats((2, 8)), split=builder.finish(last))


@case(
    Family.CALLS,
    catches="an argument of a fallback given by keyword, which the positional form does not see",
    origin=Origin.HANDMADE,
    wiring=True,
)
def fallback_with_a_keyword() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: (a + 1, a * 2), x)
    left, right = builder.item(engine, 0), builder.item(engine, 1)
    difference = builder.fallback(lambda a, b: torch.relu(a) - b, left, keywords={"b": right})
    return Program(floats((2, 8)), split=builder.finish(difference))


@case(
    Family.CALLS,
    catches="a call whose node is not named after its child, which is then looked up by that name",
    origin=Origin.HANDMADE,
    wiring=True,
)
def call_named_unlike_its_child() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a + 1, x)
    relu = builder.fallback(torch.relu, engine, name="_run_on_gpu_renamed")
    return Program(floats((2, 8)), split=builder.finish(relu))


@case(
    Family.CALLS,
    catches="an engine's call whose node is not named after its child, which is looked up by name",
    origin=Origin.HANDMADE,
    wiring=True,
)
def engine_called_by_another_name() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a * 2 - 3, x, name="renamed")
    return Program(floats((2, 8)), split=builder.finish(builder.fallback(torch.relu, engine)))


@case(
    Family.CALLS,
    catches="one value given to both inputs of a fallback",
    origin=Origin.HANDMADE,
    wiring=True,
)
def one_value_for_two_inputs() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a + 1, x)
    product = builder.fallback(lambda a, b: torch.relu(a) * b, engine, engine)
    return Program(floats((2, 8)), split=builder.finish(product))


@case(
    Family.CALLS,
    catches="a parent with only fallbacks, where there is no engine to hang anything on",
    origin=Origin.HANDMADE,
    wiring=True,
)
def only_fallbacks() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    y = builder.input("y", 2, 8)
    first = builder.fallback(lambda a, b: torch.relu(a) - b, x, y)
    second = builder.fallback(lambda a, b: a * torch.abs(b), first, y)
    return Program(floats((2, 8), (2, 8)), split=builder.finish(second))


@case(
    Family.CALLS,
    catches="a parent with only engines, one after the other and no fallback",
    origin=Origin.HANDMADE,
    wiring=True,
)
def only_engines() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    pair = builder.engine(lambda a: (a + 1, a * 2), x)
    last = builder.engine(lambda a, b: a - b, builder.item(pair, 0), builder.item(pair, 1))
    return Program(floats((2, 8)), split=builder.finish(last))


@case(
    Family.CALLS,
    catches="a fallback with a child of its own, which its parent does not have under that name",
    origin=Origin.HANDMADE,
    wiring=True,
)
def fallback_with_a_child() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a + 1, x)
    relu = builder.fallback(lambda a: torch.relu(a) * 2, engine, nested=True)
    return Program(floats((2, 8)), split=builder.finish(relu))


@case(
    Family.CALLS,
    catches="a fallback whose own child reads a weight, which its parent has under a longer name",
    origin=Origin.HANDMADE,
    wiring=True,
)
def weight_of_the_child_of_a_fallback() -> Program:
    builder = SplitBuilder()
    engine = builder.engine(lambda a: a + 1, builder.input("x", 2, 8))
    weight = {"weight": torch.nn.Parameter(torch.randn(8))}
    scaled = builder.fallback(
        lambda a, w: torch.relu(a) * w, engine, attributes=weight, nested=True
    )
    return Program(floats((2, 8)), split=builder.finish(scaled))


@case(
    Family.CALLS,
    catches="ops of the parent's own between its children, which no pass may touch",
    origin=Origin.HANDMADE,
    wiring=True,
)
def loose_ops_beside_children() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a + 1, x)
    doubled = builder.op(torch.ops.aten.mul.Tensor, engine, 2)
    relu = builder.fallback(torch.relu, doubled, placeholders=["inner"])
    difference = builder.op(torch.ops.aten.sub.Tensor, relu, engine)
    return Program(floats((2, 8)), split=builder.finish(difference))


@case(
    Family.CALLS,
    catches="a parent with neither engine nor fallback, where every pass finds nothing to do",
    origin=Origin.HANDMADE,
    wiring=True,
    cross=True,
)
def no_child_at_all() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    relu = builder.op(torch.ops.aten.relu.default, x)
    difference = builder.op(torch.ops.aten.sub.Tensor, relu, x)
    return Program(floats((2, 8)), split=builder.finish(difference))


class OneEngine(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + 1) * 2


@case(
    Family.CALLS,
    catches="a model that is one engine, without any fallback to inline",
    wiring=True,
)
def one_engine_alone() -> Program:
    return Program(floats((2, 8)), model=OneEngine())


@case(
    Family.CALLS,
    catches="the name that an engine's attribute gets is taken, as in a model compiled before",
    origin=Origin.HANDMADE,
    wiring=True,
)
def engine_attribute_there_already() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a + 1, x)
    taken = builder.constant("_run_on_acc_0_engine", torch.randn(8))
    product = builder.fallback(lambda a, b: torch.relu(a) * b, engine, taken)
    return Program(floats((2, 8)), split=builder.finish(product))
