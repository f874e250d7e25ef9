"""Hypothesis strategies over models: modules that `torch.export` and the product itself split.

A model is drawn as the lines of its user's file. A value has a kind, one letter for each shape and
type, and a line takes the kinds that it is written for. What is drawn first is simplest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from hypothesis import strategies as st

from corpus.drawn.model import DrawnModel

MOST_LINES: Final = 7

# The kinds of values: (rows, 8), (rows, 4), (8,), (rows, 1), 0-d, bool (rows, 8), int64 (rows, 8),
# a buffer of (8,).
MATRIX, HALF, VECTOR, COLUMN, SCALAR, MASK, PLACES, BUFFER = "mhvcsbip"
_ADDED: Final = MATRIX + COLUMN + SCALAR + VECTOR + BUFFER


@dataclass(frozen=True)
class _Line:
    """A line of `forward`: the kinds of its operands, and what it computes from them.

    ``{0}`` and ``{1}`` stand for operands, and ``{n}`` for a number of its own.
    ``op`` is what a user may leave in PyTorch, empty where that is not drawn.
    """

    takes: tuple[str, ...]
    text: str
    gives: str
    op: str = ""
    init: str = ""


_PART: Final = "aten.slice_scatter.default"
_LINES: Final = (
    _Line((MATRIX,), "torch.relu({0})", "m", "aten.relu.default"),
    _Line((MATRIX,), "torch.sigmoid({0})", "m", "aten.sigmoid.default"),
    _Line((MATRIX,), "torch.neg({0})", "m", "aten.neg.default"),
    _Line((MATRIX, _ADDED), "{0} * {1}", "m", "aten.mul.Tensor"),
    _Line((MATRIX, _ADDED), "{0} + {1}", "m", "aten.add.Tensor"),
    _Line((MATRIX, _ADDED), "{0} - {1}", "m", "aten.sub.Tensor"),
    _Line((MATRIX,), "self.layer{n}({0})", "m", "", "self.layer{n} = nn.Linear(8, 8)"),
    _Line(
        (MATRIX,),
        "{0} * self.scale{n}",
        "m",
        "aten.mul.Tensor",
        "self.scale{n} = nn.Parameter(torch.rand(8))",
    ),
    _Line((MATRIX,), "torch.sort({0})", "mi", "aten.sort.default"),
    _Line((MATRIX,), "torch.topk({0}, 4)", "h?", "aten.topk.default"),
    _Line((MATRIX,), "{0}.chunk(2, dim=-1)", "hh"),
    _Line((HALF, HALF), "torch.cat([{0}, {1}], dim=-1)", "m", "aten.cat.default"),
    _Line((MATRIX,), "{0}.flip(-1)", "m", "aten.flip.default"),
    _Line((MATRIX,), "torch.cumsum({0}, -1)", "m", "aten.cumsum.default"),
    _Line((MATRIX,), "{0}.max(-1, keepdim=True)", "c?", "aten.max.dim"),
    _Line((MATRIX, PLACES), "torch.gather({0}, -1, {1})", "m", "aten.gather.default"),
    _Line((MATRIX, HALF), "torch.slice_scatter({0}, {1}, 1, 2, 6)", "m", _PART),
    _Line((MATRIX, HALF), "torch.slice_scatter({0}, {1}, 1, 0, 8, 2)", "m", _PART),
    _Line((MATRIX, COLUMN), "torch.select_scatter({0}, {1}[:, 0], 1, -2)", "m", _PART),
    _Line((MATRIX,), "{0}.mean()", "s", "aten.mean.default"),
    _Line((MATRIX,), "{0} > 0", "b", "aten.gt.Scalar"),
    _Line((MASK, MATRIX, MATRIX), "torch.where({0}, {1}, {2})", "m", "aten.where.self"),
)
#: Lines that give nothing and change what they are given.
_WRITES: Final = (
    _Line((BUFFER,), "{0}.add_(1.0)", ""),
    _Line((BUFFER, VECTOR), "{0}.copy_({1})", ""),
)
#: Names that nodes of a graph have too, or that torch gives to what it lifts.
_NAMES: Final = ("y", "add", "relu", "p_weight", "getitem", "arg0_1")
_BUFFERS: Final = ("state", "relu", "layer0_weight")


@dataclass
class _Scope:
    """The model while it is drawn; ``values`` has the newest last."""

    arguments: list[str] = field(default_factory=lambda: ["x"])
    examples: list[str] = field(default_factory=lambda: ["torch.randn(3, 8)"])
    inits: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    values: list[tuple[str, str]] = field(default_factory=lambda: [("x", MATRIX)])
    ops: list[str] = field(default_factory=list)

    def of(self, kinds: str) -> list[str]:
        """The newest first."""
        return [text for text, kind in reversed(self.values) if kind in kinds]


@st.composite
def models(draw: st.DrawFn) -> DrawnModel:
    """Models with the ops that their users leave in PyTorch."""
    scope = _Scope()
    dynamic = draw(st.integers(0, 4)) == 4
    if not dynamic:
        draw(_more_inputs(scope))
    if draw(st.integers(0, 3)) == 3:
        name = draw(st.sampled_from(_BUFFERS))
        scope.inits.append(f'self.register_buffer("{name}", torch.rand(8))')
        scope.values.append((f"self.{name}", BUFFER))
    for number in range(MOST_LINES):
        draw(_line(scope, number))
        if not draw(st.integers(0, 4)):
            break
    returned = draw(_returned(scope))
    fallback = [op for op in dict.fromkeys(scope.ops) if draw(st.booleans())]
    return DrawnModel(_text(scope, returned), tuple(fallback), ("x:0=2:8",) if dynamic else ())


@st.composite
def _more_inputs(draw: st.DrawFn, scope: _Scope) -> None:
    leaves = {MATRIX: "torch.randn(3, 8)", VECTOR: "torch.randn(8)"}
    for name in draw(st.lists(st.sampled_from(_NAMES), max_size=2, unique=True)):
        kind = draw(st.sampled_from(sorted(leaves)))
        form = draw(st.sampled_from(("tensor", "tuple", "dict", "none")))
        scope.arguments.append(name)
        texts, example = {
            "tensor": ([name], leaves[kind]),
            "tuple": ([f"{name}[0]", f"{name}[1]"], f"({leaves[kind]}, {leaves[kind]})"),
            "dict": (
                [f'{name}["one"]', f'{name}["relu"]'],
                f'{{"one": {leaves[kind]}, "relu": {leaves[kind]}}}',
            ),
            "none": ([], "None"),
        }[form]
        scope.examples.append(example)
        scope.values += [(text, kind) for text in texts]


@st.composite
def _line(draw: st.DrawFn, scope: _Scope, number: int) -> None:
    lines = (*_LINES, *(_WRITES if scope.of(BUFFER) else ()))
    fits = [line for line in lines if all(scope.of(kinds) for kinds in line.takes)]
    line = draw(st.sampled_from(fits))
    reads = [draw(st.sampled_from(scope.of(kinds))) for kinds in line.takes]
    computed = line.text.format(*reads, n=number)
    names = [f"v{number}" if len(line.gives) < 2 else f"v{number}_{at}" for at in range(2)]
    names = names[: len(line.gives)]
    scope.lines.append(f"{', '.join(names)} = {computed}" if names else computed)
    scope.values += zip(names, line.gives, strict=True)
    if line.op:
        scope.ops.append(line.op)
    if line.init:
        scope.inits.append(line.init.format(n=number))


@st.composite
def _returned(draw: st.DrawFn, scope: _Scope) -> str:
    able = scope.of(MATRIX + HALF + COLUMN + SCALAR + PLACES + MASK + BUFFER)
    able.sort(key=lambda text: not text.startswith("v"))  # what is computed comes first
    texts = draw(st.lists(st.sampled_from(able), min_size=1, max_size=4))
    form: Callable[[list[str]], str] = draw(st.sampled_from(_FORMS))
    return form(texts)


def _plain(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else ", ".join(texts)


_FORMS: Final[tuple[Callable[[list[str]], str], ...]] = (
    _plain,
    lambda texts: f"[{', '.join(texts)}]",
    lambda texts: "{" + ", ".join(f'"out{at}": {text}' for at, text in enumerate(texts)) + "}",
    lambda texts: f"{texts[0]}, ({', '.join(texts)},)",
    lambda texts: f"{_plain(texts)}, None",
)


def _text(scope: _Scope, returned: str) -> str:
    inits = "".join(f"        {line}\n" for line in scope.inits)
    lines = "".join(f"        {line}\n" for line in scope.lines)
    init = f"    def __init__(self):\n        super().__init__()\n{inits}\n" if inits else ""
    return (
        "import torch\nfrom torch import nn\n\n\nclass Model(nn.Module):\n"
        f"{init}    def forward(self, {', '.join(scope.arguments)}):\n{lines}"
        f"        return {returned}\n\n\ndef example():\n"
        f"    return ({', '.join(scope.examples)},)\n"
    )
