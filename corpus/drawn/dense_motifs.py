"""Motifs of which one child has many values at once, so that a small case covers many pairs."""

from __future__ import annotations

from corpus.blueprints.blueprint import AttributeKind, Form, FormKind, Naming, Step, StepKind
from corpus.drawn.draft import Draft, item, tuple_of
from corpus.drawn.motifs import BLEND, MIXED, Motif


def _full_fallback(draft: Draft) -> None:
    """One fallback that holds an attribute of every kind and hands out all that one can."""
    number = len(draft.steps)
    held = [
        draft.tensor(f"{'Layer.' if at % 2 else ''}held_{at}_{number}", kind)
        for at, kind in enumerate(AttributeKind)
    ]
    held.append(draft.tensor(f"Layer_held_1_{number}", AttributeKind.FROZEN))
    first = 2
    mixed: object = ("times", 0, 3.0)
    for at in range(len(held)):
        mixed = ("add", mixed, ("to_float", first + at))
    parameter, buffer = first, first + list(AttributeKind).index(AttributeKind.BUFFER)
    given = ("relu", 1)
    made = draft.fallback(
        [draft.current, draft.current],
        tuple_of(
            *(("soften", mixed), buffer, parameter, given, given, ("flip", 0), None),
            Form(FormKind.NUMBER, number=7),
        ),
        attributes=tuple(held),
    )
    reads = [item(made, at) for at in (5, 4, 3, 2, 1, 0)]
    total = ("sub", ("add", 5, 1), ("mul", 2, ("add", 3, ("times", 4, 0.3))))
    blended = ("soften", ("add", ("times", ("drop", 0), 0.4), total))
    draft.goes_on(draft.fallback(reads, blended, naming=Naming.SEVERAL))


def _full_engine(draft: Draft) -> None:
    """One engine that gives every kind of output; the next one reads them out of order."""
    table = draft.tensor("table", AttributeKind.BUFFER, (64, 8))
    given = draft.add(
        Step(
            StepKind.CONSTANT,
            attributes=(draft.tensor(f"parents_{len(draft.steps)}", AttributeKind.BUFFER),),
        )
    )
    weighed = ("add", ("times", ("column", 3), 0.01), ("add", ("times", 1, 0.7), 2))
    made = draft.engine(
        [draft.current, draft.current, given],
        tuple_of(
            *(("positive", 0), ("mean", 0), ("nothing", 0)),
            *(("soften", ("add", 0, weighed)), MIXED, ("plus", 0, 7.0)),
        ),
        attributes=(table,),
    )
    reads = [item(made, at) for at in (4, 3, 2, 1, 0)]
    picked = ("cat", 2, ("pick", 4, 0, 1))
    draft.goes_on(draft.engine(reads, ("add", picked, ("times", 3, 0.2))))


def _crowd_of_fallbacks(draft: Draft) -> None:
    source = draft.current
    made = [draft.fallback([source], (name, 0)) for name in ("relu", "abs", "sigmoid")]
    draft.goes_on(draft.fallback(made, ("soften", ("sub", ("add", 0, 2), 1))))
    one = draft.fallback([draft.current], ("relu", 0))
    draft.goes_on(draft.fallback([one, draft.current], BLEND))


def _crowd_of_engines(draft: Draft) -> None:
    source = draft.current
    made = [draft.engine([source], ("plus", ("times", 0, n), n)) for n in (0.3, 0.5, 0.7)]
    draft.goes_on(draft.engine(made, ("soften", ("sub", ("add", 0, 2), 1))))
    one = draft.engine([draft.current], ("abs", 0))
    draft.goes_on(draft.engine([one, draft.current], BLEND))


FULL_FALLBACK = Motif(
    (
        *(
            f"attribute/{name}"
            for name in (
                *("parameter", "buffer", "non-persistent", "plain"),
                *("integer", "half", "frozen"),
            )
        ),
        *(f"attribute name/{name}" for name in ("plain", "dotted", "upper-case")),
        *("attribute sharing/underscores", "state/aliasing"),
        *("fallback output/constant", "fallback output/parameter", "fallback output/none"),
        *("fallback output/int", "fallback output/same-twice", "fallback output form/tuple"),
        *("fallback output form/single", "fallback output use/getitem"),
        *("fallback input/same-twice", "placeholder name/several"),
    ),
    _full_fallback,
    fallbacks=True,
)
FULL_ENGINE = Motif(
    (
        *("engine outputs/many", "engine outputs/one", "payload/kilobytes", "payload/bytes"),
        *("engine output use/unused", "engine output use/out-of-order"),
        *("engine output kind/other-dtype", "engine output kind/scalar"),
        *("engine output kind/empty", "engine input/same-twice", "engine input/constant"),
    ),
    _full_engine,
    engines=True,
)
CROWDS = (
    Motif(
        ("readers/many-fallbacks", "readers/two-fallbacks", "readers/one-fallback"),
        _crowd_of_fallbacks,
        fallbacks=True,
    ),
    Motif(
        ("readers/many-engines", "readers/two-engines", "readers/one-engine"),
        _crowd_of_engines,
        engines=True,
    ),
)
DENSE = (FULL_FALLBACK, FULL_ENGINE, *CROWDS)
