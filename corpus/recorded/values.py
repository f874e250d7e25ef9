"""How a recording writes what stands in a graph: targets, arguments, metadata, tensors.

Arguments: a string is a node's name; numbers, None and lists are themselves; all else is an object
with one key that says what it is, {"dtype": "float32"} or {"tuple": [...]}.

Metadata: {"tensor": TYPE, "shape": [...]}, with "stride" where it is not contiguous, {"size":
EXPRESSION}, {"list": [...]}, {"tuple": [...]}, or {"is": CONSTANT}. A size is a number, or an
expression over the symbols of the inputs' dynamic dimensions. A node with a tensor has
`meta["tensor_meta"]` as well, which the splitter looks for, unless `UNTOLD` says that it had none.
"""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Mapping
from typing import Any

import sympy
import torch
from torch.fx import Node
from torch.utils._sympy.functions import FloorDiv, Mod

UNTOLD = "no tensor_meta"
PARAMETER, BUFFER = "parameter", "buffer"  # or NON_PERSISTENT, PLAIN of `corpus.children`

#: A tensor of so many elements, or of a type without a range, is written element by element.
WRITTEN_OUT = 32
MOST_WRITTEN_OUT = 4096

_WORDS = re.compile(r"[A-Za-z]\w*")
_NAMED = {  # an argument's type, by how it is written
    "dtype": torch.dtype,
    "layout": torch.layout,
    "memory_format": torch.memory_format,
}


class CannotRecord(ValueError):
    """Something in a graph that a recording has no words for."""


def target_text(target: Any) -> str:
    """An op's name: `aten.relu.default`, `_operator.getitem`, or what a node's target says."""
    if isinstance(target, str | torch._ops.OpOverload):
        return str(target)
    name = getattr(target, "__name__", "")
    if getattr(operator, name, None) is target:
        return f"_operator.{name}"
    raise CannotRecord(f"a call of {target}")


def target_of(op: str, text: str) -> Any:
    """What `target_text` wrote."""
    if op != "call_function":
        return text
    if text.startswith("_operator."):
        return getattr(operator, text.removeprefix("_operator."))
    return functools.reduce(getattr, text.split("."), torch.ops)


def argument_data(item: Any) -> Any:
    """A node's argument as plain data."""
    if isinstance(item, Node):
        return item.name
    if item is None or isinstance(item, bool | int):
        return item
    if isinstance(item, float):
        return item if math.isfinite(item) else {"float": str(item)}
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, tuple):
        return {"tuple": [argument_data(part) for part in item]}
    if isinstance(item, list):
        return [argument_data(part) for part in item]
    if isinstance(item, torch.device):
        return {"device": str(item)}
    for name, kind in _NAMED.items():
        if isinstance(item, kind):
            return {name: str(item).removeprefix("torch.")}
    raise CannotRecord(f"an argument {item!r}")


def argument_of(data: Any, nodes: Mapping[str, Node]) -> Any:
    """What `argument_data` wrote; ``nodes`` are those so far, by name."""
    if isinstance(data, str):
        return nodes[data]
    if isinstance(data, list):
        return [argument_of(part, nodes) for part in data]
    if not isinstance(data, Mapping):
        return data
    ((kind, said),) = data.items()
    if kind == "tuple":
        return tuple(argument_of(part, nodes) for part in said)
    if kind in _NAMED:
        return getattr(torch, said)
    return {"float": float, "text": str, "device": torch.device}[kind](said)


def value_data(value: Any, names: dict[str, str]) -> Any:
    """What a node's `meta["val"]` is, as plain data.

    Args:
        names: what a symbol is called here; those that are new are added. torch names them by
            where an input comes from, and not by one rule in all of its versions.
    """
    if isinstance(value, torch.Tensor):
        shape = [_size_data(size, names) for size in value.shape]
        data = {"tensor": str(value.dtype).removeprefix("torch."), "shape": shape}
        if value.is_contiguous():
            return data
        return {**data, "stride": [_size_data(step, names) for step in value.stride()]}
    if isinstance(value, torch.SymInt):
        return {"size": _size_data(value, names)}
    if isinstance(value, tuple | list):
        return {type(value).__name__: [value_data(part, names) for part in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return {"is": value}
    raise CannotRecord(f"metadata of a {type(value).__name__}")


def _size_data(size: Any, names: dict[str, str]) -> int | str:
    if not isinstance(size, torch.SymInt):
        return int(size)
    expression = size.node.expr
    if isinstance(expression, sympy.Integer):
        return int(expression)
    symbols = sorted(expression.free_symbols, key=str)
    for symbol in symbols:
        names.setdefault(str(symbol), f"s{len(names)}")
    return str(expression.xreplace({each: symbol_of(names[str(each)]) for each in symbols}))


def symbol_of(name: str) -> sympy.Symbol:
    """A dynamic dimension's size."""
    return sympy.Symbol(name, positive=True, integer=True)


def expression_of(size: str) -> sympy.Expr:
    """A size over symbols, as it was written."""
    known = {"FloorDiv": FloorDiv, "Mod": Mod}
    names = set(_WORDS.findall(size)) - set(known)
    return sympy.sympify(size, locals={**known, **{name: symbol_of(name) for name in names}})


def tensor_data(tensor: torch.Tensor) -> dict[str, Any]:
    """A tensor that a module holds: all of it if it is small, else what noise has to be like."""
    data: dict[str, Any] = {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "requires_grad": tensor.requires_grad,
    }
    if not tensor.is_contiguous():
        data["stride"] = list(tensor.stride())
    flat = tensor.detach().contiguous().reshape(-1)
    if tensor.is_complex():
        raise CannotRecord(f"a tensor of {tensor.dtype}")
    if tensor.is_floating_point() and flat.numel() > WRITTEN_OUT and flat.isfinite().all():
        low, high = flat.double().aminmax()
        return {**data, "low": _short(low), "high": _short(high)}
    if flat.numel() > MOST_WRITTEN_OUT:
        raise CannotRecord(f"{flat.numel()} numbers of {tensor.dtype}, to be written out")
    return {**data, "values": [_number(item) for item in flat.tolist()]}


def _short(number: torch.Tensor) -> float:
    return float(f"{number.item():.4g}")


def _number(item: Any) -> Any:
    return str(item) if isinstance(item, float) and not math.isfinite(item) else item


def tensor_of(data: Mapping[str, Any], kind: str, seed: int) -> torch.Tensor:
    """A tensor like the recorded one: its values, or seeded noise in their range."""
    dtype, shape = getattr(torch, data["dtype"]), data["shape"]
    if "values" in data:
        numbers = [float(item) if isinstance(item, str) else item for item in data["values"]]
        made = torch.tensor(numbers, dtype=dtype).reshape(shape)
    else:
        noise = torch.rand(shape, generator=torch.Generator().manual_seed(seed))
        made = (data["low"] + (data["high"] - data["low"]) * noise).to(dtype)
    if "stride" in data:
        made = torch.empty_strided(shape, data["stride"], dtype=dtype).copy_(made)
    if kind == PARAMETER:
        return torch.nn.Parameter(made, requires_grad=data["requires_grad"])
    return made.requires_grad_(data["requires_grad"])
