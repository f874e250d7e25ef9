"""Motifs of what fallbacks take, give and are called like."""

from __future__ import annotations

from corpus.blueprints.blueprint import (
    AttributeKind,
    Form,
    FormKind,
    KeywordRef,
    Naming,
    Step,
    StepKind,
)
from corpus.drawn.draft import Draft, item, list_of, tuple_of
from corpus.drawn.motifs import BLEND, MIXED, Apply, calm_engine, calm_fallback, constant, motif


@motif("readers/two-fallbacks", fallbacks=True)
def _two_fallbacks(draft: Draft) -> None:
    source = draft.current
    one = draft.fallback([source], ("relu", 0))
    other = draft.fallback([source], ("abs", 0))
    draft.goes_on(draft.fallback([one, other], BLEND))


@motif("readers/many-fallbacks", fallbacks=True)
def _many_fallbacks(draft: Draft) -> None:
    source = draft.current
    made = [draft.fallback([source], (name, 0)) for name in ("relu", "abs", "sigmoid")]
    draft.goes_on(draft.fallback(made, ("soften", ("sub", ("add", 0, 2), 1))))


@motif("fan-out/dozens", fallbacks=True)
def _wide_out(draft: Draft) -> None:
    source = draft.current
    made = [draft.fallback([source], ("plus", ("times", 0, n / 13), n / 7)) for n in range(1, 13)]
    total: object = 0
    for index in range(1, 12):
        total = ("add", total, index)
    draft.goes_on(draft.fallback(made, ("soften", ("times", total, 0.2))))


@motif("fan-in/dozens", fallbacks=True)
def _wide_in(draft: Draft) -> None:
    parts = tuple_of(*(("plus", ("times", 0, n / 13), n / 7) for n in range(1, 13)))
    made = draft.fallback([draft.current], parts)
    total: object = 0
    for index in range(1, 12):
        total = ("sub" if index % 2 else "add", total, index)
    reads = [item(made, index) for index in reversed(range(12))]
    draft.goes_on(draft.fallback(reads, ("soften", total)))


@motif("fallback input/same-twice", fallbacks=True)
def _fallback_same(draft: Draft) -> None:
    draft.goes_on(
        draft.fallback([draft.current, draft.current], ("soften", ("sub", ("times", 0, 3.0), 1)))
    )


@motif("fallback input/none", "call/no-arguments", fallbacks=True)
def _fallback_none(draft: Draft) -> None:
    ramp = draft.fallback([], ("ramp", 0.1))
    draft.goes_on(draft.fallback([draft.current, ramp], ("soften", ("add", 0, 1))))


@motif("fallback input/constant", fallbacks=True)
def _fallback_constant(draft: Draft) -> None:
    held = draft.add(constant(draft, f"kept_{len(draft.steps)}"))
    draft.goes_on(draft.fallback([draft.current, held], ("soften", ("add", 0, 1))))


@motif("placeholder name/right", "argument order/as-defined", fallbacks=True)
def _named_right(draft: Draft) -> None:
    draft.goes_on(draft.fallback([draft.older, draft.current], BLEND, naming=Naming.RIGHT))


@motif("placeholder name/earlier", fallbacks=True)
def _named_earlier(draft: Draft) -> None:
    draft.goes_on(draft.fallback([draft.older, draft.current], BLEND, naming=Naming.EARLIER))


@motif("placeholder name/later", engines=True, fallbacks=True)
def _named_later(draft: Draft) -> None:
    draft.goes_on(draft.fallback([draft.older, draft.current], BLEND, naming=Naming.LATER))
    calm_engine(draft)


@motif("placeholder name/several", "argument order/otherwise", fallbacks=True)
def _named_several(draft: Draft) -> None:
    calm_fallback(draft)  # so that there are wrong nodes enough
    draft.goes_on(draft.fallback([draft.current, draft.older], BLEND, naming=Naming.SEVERAL))


@motif("placeholder name/none", fallbacks=True)
def _named_none(draft: Draft) -> None:
    calm_fallback(draft)


@motif("fallback output form/tuple", "fallback output use/getitem", fallbacks=True)
def _tuple(draft: Draft) -> None:
    made = draft.fallback([draft.current], tuple_of(("relu", 0), ("sigmoid", 0)))
    draft.goes_on(draft.fallback([item(made, 0), item(made, 1)], BLEND))


@motif("fallback output form/one-tuple", fallbacks=True)
def _one_tuple(draft: Draft) -> None:
    draft.goes_on(item(draft.fallback([draft.current], tuple_of(("relu", 0))), 0))


@motif("fallback output form/list", fallbacks=True, fatal=True)
def _list(draft: Draft) -> None:
    made = draft.fallback([draft.current], list_of(("relu", 0), ("sigmoid", 0)))
    draft.goes_on(draft.fallback([item(made, 0), item(made, 1)], BLEND))


@motif("fallback output form/nested", fallbacks=True, fatal=True)
def _nested_form(draft: Draft) -> None:
    inner = tuple_of(("relu", 0), ("sigmoid", 0))
    made = draft.fallback([draft.current], tuple_of(inner, ("abs", 0)))
    reads = [item(made, 0, 0), item(made, 0, 1), item(made, 1)]
    draft.goes_on(draft.fallback(reads, ("soften", ("sub", ("add", 0, 2), 1))))


@motif("fallback output/passed-through", fallbacks=True, fatal=True)
def _passed(draft: Draft) -> None:
    made = draft.fallback([draft.current], tuple_of(("relu", 0), 0))
    draft.goes_on(draft.fallback([item(made, 0), item(made, 1)], BLEND))


def _handed_out(kind: AttributeKind) -> Apply:
    def apply(draft: Draft) -> None:
        tensor = draft.tensor(f"given_{len(draft.steps)}", kind)
        made = draft.fallback([draft.current], tuple_of(("relu", 0), 1), attributes=(tensor,))
        draft.goes_on(draft.fallback([item(made, 0), item(made, 1)], BLEND))

    return apply


motif("fallback output/constant", fallbacks=True)(_handed_out(AttributeKind.BUFFER))
motif("fallback output/parameter", fallbacks=True)(_handed_out(AttributeKind.PARAMETER))


@motif("fallback output/none", fallbacks=True)
def _gives_none(draft: Draft) -> None:
    made = draft.fallback([draft.current], tuple_of(("relu", 0), None))
    draft.goes_on(item(made, 0))


@motif("fallback output/int", fallbacks=True)
def _gives_number(draft: Draft) -> None:
    number = Form(FormKind.NUMBER, number=7)
    made = draft.fallback([draft.current], tuple_of(("relu", 0), number))
    draft.goes_on(item(made, 0))


@motif("fallback output/symint", fallbacks=True, dynamic=True)
def _gives_size(draft: Draft) -> None:
    made = draft.fallback([draft.current], tuple_of(("relu", 0), ("rows", 0)))
    size = ("times", 1, 0.1)
    draft.goes_on(draft.fallback([item(made, 0), item(made, 1)], ("soften", ("add", 0, size))))


@motif("sizes/into-engine", engines=True, fallbacks=True, dynamic=True, fatal=True)
def _size_into_engine(draft: Draft) -> None:
    size = draft.fallback([draft.current], ("rows", 0))
    draft.goes_on(draft.engine([draft.current, size], ("soften", ("add", 0, 1))))


@motif("fallback output/same-twice", fallbacks=True)
def _gives_twice(draft: Draft) -> None:
    made = draft.fallback([draft.current], tuple_of(("relu", 0), ("sigmoid", 0), ("relu", 0)))
    reads = [item(made, index) for index in range(3)]
    draft.goes_on(draft.fallback(reads, ("sub", ("times", 0, 0.9), ("times", ("mul", 1, 2), 0.1))))


@motif("fallback output use/whole", fallbacks=True, fatal=True)
def _whole(draft: Draft) -> None:
    made = draft.fallback([draft.current], tuple_of(("relu", 0), ("sigmoid", 0)))
    draft.goes_on(draft.fallback([made], ("soften", ("sub_pair", 0))))


@motif("fallback output use/both", fallbacks=True, fatal=True)
def _whole_and_part(draft: Draft) -> None:
    made = draft.fallback([draft.current], tuple_of(("relu", 0), ("sigmoid", 0)))
    part = draft.fallback([item(made, 1)], ("times", 0, 0.5))
    draft.goes_on(draft.fallback([made, part], ("soften", ("add", ("sub_pair", 0), 1))))


@motif("call/keywords", fallbacks=True, fatal=True)
def _keywords(draft: Draft) -> None:
    keywords = (KeywordRef("other", draft.older),)
    draft.goes_on(draft.fallback([draft.current], BLEND, keywords=keywords))


@motif("call/nested", fallbacks=True, fatal=True)
def _nested_child(draft: Draft) -> None:
    draft.goes_on(draft.fallback([draft.current], ("relu", MIXED), nested=True))


@motif("parent/loose-ops")
def _loose(draft: Draft) -> None:
    draft.goes_on(draft.add(Step(StepKind.LOOSE, (draft.current, draft.older))))
