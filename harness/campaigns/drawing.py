"""Hypothesis strategies over blueprints: every program that is drawn builds and runs.

A value has a kind, one letter for each shape and type, and an op takes the kinds that it is defined
for. What is drawn first is simplest, and the newest value comes first, so that Hypothesis shrinks
to few steps, each of which reads the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hypothesis import strategies as st

from corpus.blueprints.blueprint import (
    Attribute,
    AttributeKind,
    Blueprint,
    Form,
    FormKind,
    Input,
    Keyword,
    KeywordRef,
    Naming,
    Op,
    Ref,
    Step,
    StepKind,
    packed,
    value,
)

#: Every program has this name, since a case's numbers come from its name.
NAME: Final = "drawn"
MOST_STEPS: Final = 7
MOST_OPS: Final = 3

# The kinds of values: (rows, 8), (8,), 0-d, (rows, 1), bool (rows, 8), (0, 8), (rows, 4),
# (1, rows, 8), a size, a pair of (rows, 8) that is read whole, inputs of other sizes, an attribute,
# a buffer that may be written to.
MATRIX, VECTOR, SCALAR, COLUMN, MASK, EMPTY, HALF, VIEW, SIZE, PAIR = "mvscbehfnp"
OTHER, ATTRIBUTE, BUFFER = "oaw"
_ADDED: Final = MATRIX + VECTOR + SCALAR + COLUMN + ATTRIBUTE + BUFFER + SIZE


@dataclass(frozen=True)
class _Signature:
    """The kinds that each operand of an op may have, and the kind of what it returns."""

    op: str
    takes: tuple[str, ...]
    gives: str
    numbers: tuple[float, ...] = (0.0,)


_COMPUTED: Final = (
    _Signature("relu", (MATRIX,), MATRIX),
    _Signature("plus", (MATRIX,), MATRIX, (1.0, 0.3)),
    _Signature("times", (MATRIX,), MATRIX, (2.0, 0.7)),
    _Signature("soften", (MATRIX,), MATRIX),
    _Signature("abs", (MATRIX,), MATRIX),
    _Signature("sigmoid", (MATRIX,), MATRIX),
    _Signature("add", (MATRIX, _ADDED), MATRIX),
    _Signature("sub", (MATRIX, _ADDED), MATRIX),
    _Signature("mul", (MATRIX, _ADDED), MATRIX),
    _Signature("sub_pair", (PAIR,), MATRIX),
    _Signature("to_float", (ATTRIBUTE + BUFFER + VECTOR,), VECTOR),
    _Signature("column", (MATRIX + OTHER,), VECTOR),
    _Signature("sum", (MATRIX,), SCALAR),
    _Signature("mean", (MATRIX + OTHER,), SCALAR),
    _Signature("side", (MATRIX,), COLUMN),
    _Signature("positive", (MATRIX,), MASK),
    _Signature("pick", (MASK, MATRIX, MATRIX), MATRIX),
    _Signature("nothing", (MATRIX,), EMPTY),
    _Signature("cat", (EMPTY, MATRIX), MATRIX),
    _Signature("left", (MATRIX,), HALF),
    _Signature("wide", (HALF, HALF), MATRIX),
    _Signature("drop", (VIEW,), MATRIX),
    _Signature("ramp", (), VECTOR, (0.1,)),
)
#: What TensorRT has no op for, or what an engine does not do.
_IN_PYTORCH_ALONE: Final = (
    _Signature("flip", (MATRIX,), VIEW),
    _Signature("rows", (MATRIX,), SIZE),
    _Signature("draw", (MATRIX,), MATRIX),
    _Signature("count", (MATRIX,), SCALAR),
    _Signature("cond", (MATRIX,), MATRIX),
    _Signature("while_loop", (MATRIX,), MATRIX),
    _Signature("map", (MATRIX,), MATRIX),
    _Signature("write", (BUFFER, VECTOR + SCALAR + ATTRIBUTE), BUFFER),
)
#: Names that a parent's nodes have, or that torch gives to what it lifts.
_PATHS: Final = ("weight", "layer.weight", "layer_weight", "Layer.W", "getitem", "p_weight", "x0")
_NAMES: Final = ("", "renamed", "getitem", "relu")
_KEYWORDS: Final = ("scale", "shift", "relu")
_CONTAINERS: Final = (
    FormKind.TUPLE,
    FormKind.LIST,
    FormKind.DICT,
    FormKind.NAMED_PAIR,
    FormKind.DATA_PAIR,
)
_SEEDS_OF_A_KIND: Final = 2


@dataclass(frozen=True)
class _Value:
    ref: Ref
    kind: str


@dataclass
class _Scope:
    """The parent while it is drawn; ``values`` has the newest last."""

    rows: int | str
    inputs: list[Input] = field(default_factory=list)
    arguments: list[Form] = field(default_factory=list)
    keywords: list[Keyword] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    values: list[_Value] = field(default_factory=list)

    def of(self, kinds: str) -> list[_Value]:
        """The newest first."""
        return [each for each in reversed(self.values) if each.kind in kinds]

    def input(self, kind: str, *shape: int | str) -> Ref:
        self.inputs.append(Input(shape))
        ref = Ref(len(self.inputs) - 1)
        self.values.append(_Value(ref, kind))
        return ref

    def add(self, step: Step, kinds: Form | str) -> None:
        """Add a step; ``kinds`` is the kind of its value, or a form whose numbers are kinds."""
        self.steps.append(step)
        ref = Ref(len(self.inputs) + len(self.steps) - 1)
        if isinstance(kinds, str):
            self.values.append(_Value(ref, kinds))
            return
        items = _elements(kinds, ref)
        self.values += items
        matrices = [each.kind for each in items] == [MATRIX, MATRIX]
        if matrices and all(item.kind is FormKind.NUMBER for item in kinds.items):
            self.values.insert(0, _Value(ref, PAIR))


@st.composite
def blueprints(draw: st.DrawFn) -> Blueprint:
    """Splits that are put together by hand."""
    rows: int | str = draw(st.sampled_from((3, "rows")))
    scope = _Scope(rows)
    scope.arguments.append(value(scope.input(MATRIX, rows, 8).at))
    draw(_more_inputs(scope))
    for _ in range(MOST_STEPS):
        draw(_step(scope))
        if not draw(st.integers(0, 3)):
            break
    returns = draw(_returned(scope))
    return Blueprint(
        name=NAME,
        catches="",
        inputs=tuple(scope.inputs),
        arguments=tuple(scope.arguments),
        keywords=tuple(scope.keywords),
        keyword_order=tuple(item.name for item in scope.keywords),
        steps=tuple(scope.steps),
        returns=returns,
    )


@st.composite
def _more_inputs(draw: st.DrawFn, scope: _Scope) -> None:
    rows = scope.rows
    shapes: list[tuple[str, tuple[int | str, ...]]] = [(VECTOR, (8,)), (MATRIX, (rows, 8))]
    if rows != 3:
        shapes += [(OTHER, ("2*rows", 8)), (OTHER, ("others", 8))]

    def leaf() -> Form:
        kind, shape = draw(st.sampled_from(shapes))
        return value(scope.input(kind, *shape).at)

    for _ in range(draw(st.integers(0, 2))):
        kind = draw(st.sampled_from((FormKind.VALUE, *_CONTAINERS, FormKind.NONE)))
        if kind in (FormKind.VALUE, FormKind.NONE):
            scope.arguments.append(leaf() if kind is FormKind.VALUE else Form(FormKind.NONE))
        else:
            scope.arguments.append(packed(kind, leaf(), leaf()))
    for name in draw(st.lists(st.sampled_from(_KEYWORDS), max_size=2, unique=True)):
        scope.keywords.append(Keyword(name, leaf()))


@st.composite
def _step(draw: st.DrawFn, scope: _Scope) -> None:
    kinds = [StepKind.ENGINE, StepKind.FALLBACK, StepKind.CONSTANT, StepKind.LOOSE]
    if any(step.returns is not None and not step.keywords for step in scope.steps):
        kinds.append(StepKind.AGAIN)
    kind = draw(st.sampled_from(kinds))
    if kind is StepKind.CONSTANT:
        path = draw(st.sampled_from(("held", f"_run_on_acc_{len(scope.steps) + 1}_engine")))
        path = path if all(path != a.path for s in scope.steps for a in s.attributes) else "other"
        held = Attribute(path, AttributeKind.BUFFER, (8,), 1000 + len(scope.steps))
        scope.add(Step(kind, attributes=(held,)), VECTOR)
    elif kind is StepKind.LOOSE:
        one, other = (draw(st.sampled_from(scope.of(MATRIX))) for _ in range(2))
        scope.add(Step(kind, (one.ref, other.ref)), MATRIX)
    elif kind is StepKind.AGAIN:
        draw(_again(scope))
    else:
        draw(_child(scope, kind))


@st.composite
def _again(draw: st.DrawFn, scope: _Scope) -> None:
    first = len(scope.inputs)
    callable_again = [
        at
        for at, step in reversed(list(enumerate(scope.steps)))
        if step.returns is not None and not step.keywords
    ]
    at = draw(st.sampled_from(callable_again))
    step = scope.steps[at]
    kind_of = {each.ref: each.kind for each in scope.values}
    # A path may end in a getitem of its own.
    given = [
        kind_of[Ref(ref.at, tuple(at if at >= 0 else -1 - at for at in ref.path))]
        for ref in step.reads
    ]
    reads = tuple(draw(st.sampled_from(scope.of(kind))).ref for kind in given)
    assert step.returns is not None
    form = _kinds(step.returns, _child_kinds(step, given))
    scope.add(Step(StepKind.AGAIN, reads, again=first + at), form)


@st.composite
def _child(draw: st.DrawFn, scope: _Scope, kind: StepKind) -> None:
    in_pytorch = kind is StepKind.FALLBACK
    readable = scope.of("".join(each.kind for each in scope.values))
    if not in_pytorch:  # a size into an engine is drawn too, a tuple that is read whole is not
        readable = [each for each in readable if each.kind not in PAIR + VIEW]
    reads = draw(st.lists(st.sampled_from(readable), min_size=0, max_size=3)) or []
    if not reads and draw(st.integers(0, 7)):
        reads = [readable[0]]
    again = draw(st.booleans()) if reads and reads[-1].ref.path else False
    refs = [each.ref for each in reads]
    if again:  # a getitem of its own, beside the one that is there
        refs[-1] = Ref(refs[-1].at, (*refs[-1].path[:-1], -1 - max(refs[-1].path[-1], 0)))
    keywords: tuple[KeywordRef, ...] = ()
    if in_pytorch and not draw(st.integers(0, 7)) and not again:
        more = draw(st.sampled_from(scope.of(MATRIX)))
        keywords = (KeywordRef(draw(st.sampled_from(("other", "relu"))), more.ref),)
        reads = [*reads, more]
    attributes = draw(_attributes(in_pytorch))
    kinds = [each.kind for each in reads]
    kinds += [_held_as(each.kind) for each in attributes]
    ops = draw(_ops(kinds, in_pytorch))
    returns = draw(_child_form(kinds, len(kinds) - len(ops), in_pytorch))
    others = len(scope.inputs) + len(scope.steps) > 1
    plain = not (in_pytorch and reads and others) or bool(keywords)
    step = Step(
        kind,
        tuple(refs),
        keywords=keywords,
        ops=ops,
        attributes=attributes,
        returns=returns,
        naming=Naming.OWN if plain else draw(st.sampled_from(list(Naming))),
        name=draw(_mostly("", _NAMES)),
        nested=in_pytorch and not draw(st.integers(0, 7)),
    )
    scope.add(step, _kinds(returns, kinds))


def _mostly(usual: str, others: Sequence[str]) -> st.SearchStrategy[str]:
    return st.integers(0, 7).flatmap(
        lambda number: st.sampled_from(others) if number == 7 else st.just(usual)
    )


@st.composite
def _attributes(draw: st.DrawFn, in_pytorch: bool) -> tuple[Attribute, ...]:
    if draw(st.integers(0, 2)) != 2:
        return ()
    kinds = list(AttributeKind) if in_pytorch else [AttributeKind.BUFFER, AttributeKind.PARAMETER]
    paths = draw(st.lists(st.sampled_from(_PATHS), min_size=1, max_size=2, unique=True))
    held = []
    for path in paths:
        kind = draw(st.sampled_from(kinds))
        seed = 1 + draw(st.integers(0, _SEEDS_OF_A_KIND - 1))
        seed += _SEEDS_OF_A_KIND * list(AttributeKind).index(kind)
        held.append(Attribute(path, kind, (8,), seed))
    return tuple(held)


def _held_as(kind: AttributeKind) -> str:
    return BUFFER if kind in (AttributeKind.BUFFER, AttributeKind.NON_PERSISTENT) else ATTRIBUTE


@st.composite
def _ops(draw: st.DrawFn, kinds: list[str], in_pytorch: bool) -> tuple[Op, ...]:
    """One op or more, and their kinds behind ``kinds``."""
    signatures = (*_COMPUTED, *(_IN_PYTORCH_ALONE if in_pytorch else ()))
    ops: list[Op] = []
    while True:
        fits = [
            each
            for each in signatures
            if all(any(kind in takes for kind in kinds) for takes in each.takes)
        ]
        signature = draw(st.sampled_from(fits))
        reads = tuple(
            draw(st.sampled_from([at for at in reversed(range(len(kinds))) if kinds[at] in takes]))
            for takes in signature.takes
        )
        ops.append(Op(signature.op, reads, draw(st.sampled_from(signature.numbers))))
        kinds.append(signature.gives)
        if len(ops) == MOST_OPS or not draw(st.booleans()):
            return tuple(ops)


@st.composite
def _child_form(draw: st.DrawFn, kinds: list[str], first: int, in_pytorch: bool) -> Form:
    """What a child returns. An engine returns what it computed, and no container but a tuple."""
    able = list(reversed(range(0 if in_pytorch else first, len(kinds))))
    able = [at for at in able if kinds[at] not in (PAIR,) and (in_pytorch or kinds[at] != VIEW)]
    able = able or [len(kinds) - 1]
    count = draw(st.integers(1, 4))
    if count == 1 and not (in_pytorch and not draw(st.integers(0, 9))):
        return value(able[0])
    refs = [value(draw(st.sampled_from(able))) for _ in range(count)]
    if not in_pytorch:
        distinct = list(dict.fromkeys(refs))
        return distinct[0] if len(distinct) == 1 else packed(FormKind.TUPLE, *distinct)
    if not draw(st.integers(0, 7)):
        refs.append(draw(st.sampled_from((Form(FormKind.NONE), Form(FormKind.NUMBER, number=7)))))
    kind = FormKind.TUPLE if draw(st.integers(0, 7)) else FormKind.LIST
    if count > 2 and not draw(st.integers(0, 7)):
        refs = [packed(FormKind.TUPLE, *refs[:2]), *refs[2:]]
    return packed(kind, *refs)


@st.composite
def _returned(draw: st.DrawFn, scope: _Scope) -> Form:
    able = scope.of("".join({each.kind for each in scope.values} - {PAIR}))
    forms = [value(able[0].ref.at, *able[0].ref.path)]
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from((FormKind.VALUE, *_CONTAINERS, FormKind.NONE)))
        if kind is FormKind.NONE:
            forms.append(Form(FormKind.NONE))
            continue
        picked = [draw(st.sampled_from(able)) for _ in range(1 if kind is FormKind.VALUE else 2)]
        values = [value(each.ref.at, *each.ref.path) for each in picked]
        forms.append(values[0] if kind is FormKind.VALUE else packed(kind, *values))
    if len(forms) == 1:
        return forms[0]
    if len(forms) == 2 and forms[1].kind in _CONTAINERS and draw(st.booleans()):
        return forms[1]
    return packed(FormKind.TUPLE, *forms)


def _child_kinds(step: Step, given: Sequence[str]) -> list[str]:
    """The kinds of all values of a child, told from its ops."""
    kinds = [*given, *(_held_as(each.kind) for each in step.attributes)]
    gives = {each.op: each.gives for each in (*_COMPUTED, *_IN_PYTORCH_ALONE)}
    return [*kinds, *(gives[op.name] for op in step.ops)]


def _kinds(form: Form, kinds: Sequence[str]) -> Form | str:
    """A child's form with the kinds of its values in the place of their refs."""
    if form.ref is not None:
        return {ATTRIBUTE: VECTOR, BUFFER: VECTOR}.get(kinds[form.ref.at], kinds[form.ref.at])
    if not form.items:
        return Form(FormKind.NONE)
    items = [_kinds(item, kinds) for item in form.items]
    marked = (
        Form(FormKind.NUMBER, number=ord(each)) if isinstance(each, str) else each for each in items
    )
    return packed(form.kind, *marked)


def _elements(form: Form, ref: Ref) -> list[_Value]:
    """The readable elements of what a step returned."""
    found: list[_Value] = []
    for index, item in enumerate(form.items):
        part = Ref(ref.at, (*ref.path, index))
        if item.kind is FormKind.NUMBER:
            found.append(_Value(part, chr(item.number)))
        else:
            found += _elements(item, part)
    return found
