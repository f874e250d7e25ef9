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
