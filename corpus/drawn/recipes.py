"""Recipes: a frame and the motifs that stand in it, and the blueprint that comes of them."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from corpus.blueprints.blueprint import (
    AttributeKind,
    Blueprint,
    Form,
    FormKind,
    Keyword,
    Ref,
    StepKind,
    packed,
    value,
)
from corpus.drawn import engine_motifs, fallback_motifs, state_motifs
from corpus.drawn.dense_motifs import DENSE
from corpus.drawn.draft import NO_VALUE, Draft, item, tuple_of
from corpus.drawn.motifs import MOTIFS, Motif, calm_engine, calm_fallback

CHILDREN = 32  # of its motifs: from here on a recipe takes no more

BOTH, ENGINES, FALLBACKS = "parent/both", "parent/only-engines", "parent/only-fallbacks"
STATIC, ONE, SEVERAL = "dimensions/static", "dimensions/one", "dimensions/several"

# Containers of the model's arguments and of what it returns; a None ends every legacy program.
CONTAINERS = {
    "dict": FormKind.DICT,
    "list": FormKind.LIST,
    "tuple": FormKind.TUPLE,
    "namedtuple": FormKind.NAMED_PAIR,
    "dataclass": FormKind.DATA_PAIR,
}
FATAL_FORMS = ("model input/none", "model output/none")
# Keywords in another order than a handmade module's own are bound wrongly by torch.export itself.
CALLED = ("arguments/keyword-only", "model input use/unused", "model input use/returned")
SIZES = ("sizes/shared", "sizes/derived")

SILENT = "model outputs/none"
_ALL_FORMS = (
    *(f"model {side}/{name}" for side in ("input", "output") for name in CONTAINERS),
    *CALLED,
)

REGISTERED = (engine_motifs, fallback_motifs, state_motifs)  # importing them is what fills MOTIFS

T = TypeVar("T")


@dataclass(frozen=True)
class Recipe:
    """``forms`` are values of the interface; ``motifs`` are in the order in which they stand."""

    parent: str
    dims: str
    sizes: tuple[str, ...]
    forms: tuple[str, ...]
    motifs: tuple[Motif, ...]

    @property
    def values(self) -> frozenset[str]:
        """What the recipe stands for; a split module built of it has more."""
        given = {name for motif in self.motifs for name in motif.gives}
        bounds = () if self.dims == STATIC else ("sizes/bounds",)
        return frozenset({self.parent, self.dims, *self.sizes, *self.forms, *bounds, *given})


def random_recipe(source: random.Random) -> Recipe:
    parent = source.choices((BOTH, ENGINES, FALLBACKS), (8, 1, 1))[0]
    dims = source.choice((STATIC, ONE, SEVERAL))
    fatal = source.random() < 0.85
    fits = [motif for motif in MOTIFS if _fits(motif, parent, dims)]
    deadly: list[Motif | str] = [*(motif for motif in fits if motif.fatal), *FATAL_FORMS]
    chosen = source.choice(deadly) if fatal else None
    harmless = _some(source, [motif for motif in fits if not motif.fatal], 60)
    motifs: list[Motif] = [chosen] if isinstance(chosen, Motif) else []
    motifs += [motif for motif in DENSE if _fits(motif, parent, dims) and source.random() < 0.9]
    children = sum(map(_children, motifs))
    for motif in harmless:
        children += _children(motif)
        if children <= CHILDREN:
            motifs.append(motif)
    source.shuffle(motifs)
    forms = [f"{side}/{name}" for side in ("model input", "model output") for name in CONTAINERS]
    some_forms = [*_some(source, forms, 8), *_some(source, CALLED, 2)]
    if isinstance(chosen, str):
        some_forms.append(chosen)
    if "model input use/returned" not in some_forms and source.random() < 0.3:
        one_output = [form for form in some_forms if not form.startswith("model output/")]
        some_forms = [*one_output, "model outputs/one"]
    sizes = () if dims == STATIC else tuple(_some(source, SIZES, source.choice((1, 2))))
    return Recipe(parent, dims, sizes, tuple(sorted(some_forms)), tuple(motifs))


def long_recipe(source: random.Random) -> Recipe:
    """A recipe of more than a hundred children: every motif that ends no program."""
    harmless = [m for m in MOTIFS if not m.fatal and _fits(m, BOTH, ONE)]
    source.shuffle(harmless)
    forms = tuple(f"model {side}/{name}" for side in ("input", "output") for name in CONTAINERS)
    return Recipe(BOTH, ONE, SIZES, (*forms, *CALLED), (*DENSE, *harmless))


def silent_recipe(source: random.Random) -> Recipe:
    """A recipe that returns nothing: what it computes ends in a buffer."""
    harmless = [m for m in MOTIFS if not m.fatal and _fits(m, BOTH, ONE)]
    writes = next(motif for motif in MOTIFS if motif.name == "state/one-buffer")
    forms = tuple(f"model input/{name}" for name in CONTAINERS)
    chosen = (*DENSE, *_some(source, harmless, 22), writes)
    return Recipe(BOTH, ONE, SIZES, (*forms, *CALLED[:2], SILENT), chosen)


def lone_blueprint(name: str, *, engine: bool) -> Blueprint:
    """One child, which takes and gives as much as one can."""
    draft = Draft()
    recipe = Recipe(ENGINES if engine else FALLBACKS, SEVERAL, SIZES, _ALL_FORMS, ())
    main = draft.input("rows", 8)
    draft.arguments.append(value(main.at))
    reads = [main, *(Ref(at) for at, _ in _take_arguments(draft, recipe, "rows"))]
    if engine:
        table = draft.tensor("layer.table", AttributeKind.BUFFER, (32768, 8))
        made = draft.engine(
            [main, main, *reads],
            tuple_of(("sub", ("times", 0, 3.0), 1), ("positive", 0), ("mean", 0), ("nothing", 2)),
            attributes=(table,),
        )
    else:
        held = [
            draft.tensor(f"{'Layer.' if at % 2 else ''}held_{at}", kind)
            for at, kind in enumerate(AttributeKind)
        ]
        held.append(draft.tensor("Layer_held_1", AttributeKind.FROZEN))
        first = 2 + len(reads)
        mixed: object = ("times", 0, 3.0)
        for at in range(len(held)):
            mixed = ("add", mixed, ("to_float", first + at))
        returned = ("abs", 0)
        made = draft.fallback(
            [main, main, *reads],
            tuple_of(
                ("soften", mixed),
                first,
                first + len(AttributeKind) - 3,
                returned,
                returned,
                ("draw", 0),
                ("flip", 0),
                ("rows", 0),
                None,
                Form(FormKind.NUMBER, number=7),
            ),
            attributes=tuple(held),
        )
    draft.history += [item(made, 0), item(made, 0), item(made, 1)]
    if not engine:
        draft.extra += [value(made.at, at) for at in (2, 3, 4, 5, 6)]
    sentence = "one child alone that takes and gives as much as one can, with no other to lean on"
    return draft.finished(name, sentence, _returned(draft, recipe))


def blueprint_of(recipe: Recipe, name: str) -> Blueprint:
    """A recipe's split program."""
    draft = Draft()
    rows = 3 if recipe.dims == STATIC else "rows"
    main = draft.input(rows, 8)
    draft.arguments.append(value(main.at))
    vectors = _take_arguments(draft, recipe, rows)
    draft.history.append(main)
    calm = calm_fallback if recipe.parent == FALLBACKS else calm_engine
    for _ in range(2):  # what a motif may take for an older value, or for a wrong one
        calm(draft)
    add = draft.fallback if recipe.parent == FALLBACKS else draft.engine
    for at, reduced in vectors:
        leaf = Ref(at)
        weighed = ("column", 1) if reduced else 1
        draft.goes_on(add([draft.current, leaf], ("soften", ("add", 0, ("times", weighed, 0.5)))))
    for motif in recipe.motifs:
        if recipe.parent == BOTH and draft.current.at % 5 == 0:
            calm_engine(draft)
        motif.apply(draft)
    if SILENT not in recipe.forms:
        calm_fallback(draft) if recipe.parent != ENGINES else calm_engine(draft)
        if recipe.parent == BOTH:
            calm_engine(draft)
    return draft.finished(name, _sentence(recipe), _returned(draft, recipe))


def _fits(motif: Motif, parent: str, dims: str) -> bool:
    if motif.dynamic and dims == STATIC:
        return False
    return not ((motif.engines and parent == FALLBACKS) or (motif.fallbacks and parent == ENGINES))


@functools.cache
def _children(motif: Motif) -> int:
    """How many children a motif adds."""
    draft = Draft(history=[Ref(0), Ref(1)])
    motif.apply(draft)
    return sum(step.kind in {StepKind.ENGINE, StepKind.FALLBACK} for step in draft.steps)


def _some(source: random.Random, items: Sequence[T], most: int) -> list[T]:
    """Some of the items, at most so many, in a random order."""
    return source.sample(list(items), min(most, len(items)))


def _take_arguments(draft: Draft, recipe: Recipe, rows: int | str) -> list[tuple[int, bool]]:
    """Add the arguments beside the first; each leaf to be read, and whether it has rows."""
    read: list[tuple[int, bool]] = []
    if "sizes/shared" in recipe.sizes:
        read.append((draft.input(rows, 8).at, True))
        draft.arguments.append(value(read[-1][0]))
    if "sizes/derived" in recipe.sizes:
        read.append((draft.input("2*rows", 8).at, True))
        draft.arguments.append(value(read[-1][0]))
    if recipe.dims == SEVERAL:
        read.append((draft.input("others", 8).at, True))
        draft.arguments.append(value(read[-1][0]))
    for name, kind in CONTAINERS.items():
        if f"model input/{name}" in recipe.forms:
            leaves = [draft.input(8).at for _ in range(2)]
            draft.arguments.append(packed(kind, *map(value, leaves)))
            read += [(leaf, False) for leaf in leaves]
    if "model input use/unused" in recipe.forms:
        draft.arguments.append(value(draft.input(8).at))
    if "model input/none" in recipe.forms:
        draft.arguments.append(NO_VALUE)
    if "arguments/keyword-only" in recipe.forms:
        for name in ("scale", "shift"):
            read.append((draft.input(8).at, False))
            draft.keywords.append(Keyword(name, value(read[-1][0])))
    return read


def _returned(draft: Draft, recipe: Recipe) -> Form:
    if SILENT in recipe.forms:
        return NO_VALUE
    last = value(draft.current.at, *draft.current.path)
    if "model outputs/one" in recipe.forms and not draft.extra:
        return last
    items = [last, *draft.extra]
    if "model input use/returned" in recipe.forms:
        items.append(value(0))
    earlier = [value(ref.at, *ref.path) for ref in draft.history[1:-1]]
    for name, kind in CONTAINERS.items():
        if f"model output/{name}" in recipe.forms:
            items.append(packed(kind, earlier[0], earlier[-1]))
            earlier = earlier[1:-1] if len(earlier) > 3 else earlier
    if "model output/none" in recipe.forms:
        items.append(NO_VALUE)
    return packed(FormKind.TUPLE, *items)


def _sentence(recipe: Recipe) -> str:
    """What the case would catch, by the values that few others have."""
    rare = [motif.name for motif in recipe.motifs if motif.fatal]
    rare += [form for form in recipe.forms if form in FATAL_FORMS]
    rare += [motif.name for motif in recipe.motifs if not motif.fatal]
    told = " with ".join(rare[:2])
    return f"what goes wrong only together: {told}, among {len(recipe.values)} values"
