"""Motifs that need engines alone."""

from __future__ import annotations

from corpus.blueprints.blueprint import AttributeKind, Step, StepKind
from corpus.drawn.draft import Draft, item, tuple_of
from corpus.drawn.motifs import BLEND, MIXED, constant, motif


@motif("engine outputs/two", engines=True)
def _two(draft: Draft) -> None:
    pair = draft.engine([draft.current], tuple_of(MIXED, ("times", 0, 0.7)))
    draft.goes_on(draft.engine([item(pair, 0), item(pair, 1)], ("sub", 0, ("times", 1, 0.4))))


@motif("engine outputs/many", engines=True)
def _many(draft: Draft) -> None:
    made = draft.engine([draft.current], tuple_of(MIXED, ("abs", 0), ("sigmoid", 0)))
    reads = [item(made, index) for index in range(3)]
    draft.goes_on(draft.engine(reads, ("sub", ("add", 0, 2), ("times", 1, 0.3))))


@motif("engine output use/unused", engines=True)
def _unused(draft: Draft) -> None:
    made = draft.engine([draft.current], tuple_of(("plus", 0, 7.0), MIXED))
    draft.goes_on(draft.engine([item(made, 1)], MIXED))


@motif("engine output use/out-of-order", engines=True)
def _out_of_order(draft: Draft) -> None:
    made = draft.engine([draft.current], tuple_of(("side", 0), MIXED))
    draft.goes_on(
        draft.engine([item(made, 1), item(made, 0)], ("soften", ("add", 0, ("times", 1, 0.1))))
    )


@motif("engine output use/twice", engines=True, fatal=True)
def _read_twice(draft: Draft) -> None:
    made = draft.engine([draft.current], tuple_of(MIXED, ("abs", 0)))
    reads = [item(made, 0), item(made, 1), item(made, -1)]
    draft.goes_on(draft.engine(reads, ("sub", ("add", 0, 1), ("times", 2, 0.3))))


@motif("engine output use/whole", engines=True, fallbacks=True)
def _whole_engine(draft: Draft) -> None:
    made = draft.engine([draft.current], tuple_of(MIXED, ("abs", 0)))
    draft.goes_on(draft.fallback([made], ("soften", ("sub_pair", 0))))


@motif("engine output use/nested", engines=True)
def _nested_engine(draft: Draft) -> None:
    made = draft.engine([draft.current], tuple_of(("left", MIXED), ("left", ("abs", 0))))
    again = draft.engine(
        [item(made, 0), item(made, 1)], ("left", ("wide", ("wide", 1, 0), ("wide", 0, 1)))
    )
    # Not contiguous as an element, but from an engine: an op of exact arithmetic evens that out.
    draft.goes_on(draft.engine([again], MIXED))


@motif("engine output kind/other-dtype", engines=True)
def _other_dtype(draft: Draft) -> None:
    made = draft.engine([draft.current], tuple_of(("positive", 0), MIXED, ("times", 0, 0.8)))
    reads = [item(made, index) for index in range(3)]
    draft.goes_on(draft.engine(reads, ("pick", 0, 1, 2)))


@motif("engine output kind/scalar", engines=True)
def _scalar(draft: Draft) -> None:
    made = draft.engine([draft.current], tuple_of(("mean", 0), MIXED))
    draft.goes_on(draft.engine([item(made, 0), item(made, 1)], ("add", 1, ("times", 0, 0.2))))


@motif("engine output kind/empty", engines=True)
def _empty(draft: Draft) -> None:
    made = draft.engine([draft.current], tuple_of(("nothing", 0), MIXED))
    draft.goes_on(draft.engine([item(made, 0), item(made, 1)], ("cat", 0, 1)))


@motif("engine input/same-twice", engines=True)
def _engine_same(draft: Draft) -> None:
    draft.goes_on(
        draft.engine([draft.current, draft.current], ("soften", ("sub", ("times", 0, 3.0), 1)))
    )


@motif("engine input/none", "call/no-arguments", engines=True, fatal=True)
def _engine_none(draft: Draft) -> None:
    ramp = draft.engine([], ("ramp", 0.1))
    draft.goes_on(draft.engine([draft.current, ramp], ("soften", ("add", 0, 1))))


@motif("engine input/constant", engines=True)
def _engine_constant(draft: Draft) -> None:
    held = draft.add(constant(draft, f"held_{len(draft.steps)}"))
    draft.goes_on(draft.engine([draft.current, held], ("soften", ("add", 0, 1))))


@motif("readers/two-engines", engines=True)
def _two_engines(draft: Draft) -> None:
    source = draft.current
    one = draft.engine([source], MIXED)
    other = draft.engine([source], ("abs", 0))
    draft.goes_on(draft.engine([one, other], BLEND))


@motif("readers/many-engines", engines=True)
def _many_engines(draft: Draft) -> None:
    source = draft.current
    made = [draft.engine([source], ("plus", ("times", 0, n), n)) for n in (0.3, 0.5, 0.7)]
    draft.goes_on(draft.engine(made, ("soften", ("sub", ("add", 0, 2), 1))))


@motif("payload/kilobytes", engines=True)
def _kilobytes(draft: Draft) -> None:
    tensor = draft.tensor("table", AttributeKind.BUFFER, (64, 8))
    draft.goes_on(
        draft.engine([draft.current], ("soften", ("add", 0, ("column", 1))), attributes=(tensor,))
    )


@motif("payload/megabytes", engines=True)
def _megabytes(draft: Draft) -> None:
    tensor = draft.tensor("table", AttributeKind.BUFFER, (32768, 8))
    weighed = ("times", ("column", 1), 0.0001)
    draft.goes_on(
        draft.engine([draft.current], ("soften", ("add", 0, weighed)), attributes=(tensor,))
    )


@motif("call/other-name", engines=True, fatal=True)
def _other_name(draft: Draft) -> None:
    name = f"renamed_{len(draft.steps)}"
    draft.goes_on(draft.engine([draft.current], MIXED, name=name))


@motif("call/twice", engines=True, fatal=True)
def _called_twice(draft: Draft) -> None:
    first = draft.engine([draft.current], MIXED)
    draft.goes_on(draft.add(Step(StepKind.AGAIN, (first,), again=first.at)))
