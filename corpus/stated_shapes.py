"""Which sizes vary by ``dynamic_shapes``, as a user's function returns them."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import torch

from corpus.case import Inputs
from corpus.exported_sizes import sizes_of_exported
from corpus.model_sizes import bound, refuse_fixed, refuse_keywords
from corpus.varying import MOST_NUMBERS, CannotVary, Place, Sizes, Varying, sizes_of

_SUCH_AS: Final = (
    'return what torch.export.export takes, such as {{"{0}": {{0: Dim("batch", min=2, max=64)}}}}'
)


def sizes_of_shapes(model: torch.nn.Module, example: Inputs, stated: Any) -> Sizes:
    """Sizes as `torch.export` takes ``dynamic_shapes``.

    Raises:
        CannotVary: they do not fit the inputs.
        Exception: whatever torch raises, where it is to find out itself what varies.
    """
    refuse_keywords(model, example)
    given = _by_input(model, example, stated)
    dims = list(_dims(model, example, given))
    _refuse_two_meanings(dims)
    if any(_hint(dim) for *_, dim in dims):
        own, inputs = copy.deepcopy((model, example))
        exported = torch.export.export(
            own.eval(), inputs.args, dict(inputs.kwargs), dynamic_shapes=stated
        )
        return sizes_of_exported(exported, example, stated)
    made = sizes_of(stated, list(_places(dims)), example)
    refuse_fixed(made, example)
    return made


_OneDim = tuple[tuple[Any, ...], torch.Tensor, int, str, Any]
"""Where a tensor is, itself, the dimension, how a user writes it, and what is stated of it."""


def _by_input(model: torch.nn.Module, example: Inputs, stated: Any) -> dict[str, Any]:
    """What is stated of each input, by its name."""
    arguments = inspect.signature(model.forward).bind(*example.args, **example.kwargs).arguments
    names = ", ".join(arguments)
    if not isinstance(stated, Mapping):
        if len(stated) != len(arguments):
            raise CannotVary(
                f"dynamic: dynamic_shapes has {len(stated)} entries, and the model is given "
                f"{len(arguments)} inputs ({names}); write one for each, None for what is fixed"
            )
        return dict(zip(arguments, stated, strict=True))
    unknown = [each for each in stated if each not in arguments]
    if unknown:
        raise CannotVary(
            f"dynamic: the model is given no input {', '.join(map(str, unknown))}; the inputs "
            f"are {names}"
        )
    lacking = [each for each in arguments if each not in stated]
    if lacking and stated:
        raise CannotVary(
            f"dynamic: dynamic_shapes says nothing of the input {', '.join(lacking)}; write "
            f'"{lacking[0]}": None where it is fixed, since torch.export.export asks for every one'
        )
    return dict(stated)


def _dims(model: torch.nn.Module, example: Inputs, given: Mapping[str, Any]) -> Iterator[_OneDim]:
    """What is stated of each dimension of each tensor."""
    for names, path, leaf in bound(model, example):
        name, shape = names[0], given.get(names[0])
        try:
            for key in names[1:]:
                shape = shape[key] if isinstance(shape, Mapping | Sequence) else shape
        except (KeyError, IndexError, TypeError) as error:
            raise CannotVary(
                f"dynamic: the dynamic_shapes of {name} are not built as the input is; there is "
                f"nothing for {'.'.join(map(str, names[1:]))}; write None for what is fixed"
            ) from error
        if shape is None or not isinstance(leaf, torch.Tensor):
            continue
        named, sizes = ".".join(map(str, names)), list(leaf.shape)
        if isinstance(shape, str) or not isinstance(shape, Mapping | Sequence):
            raise CannotVary(
                f"dynamic: a {type(shape).__name__} is no dynamic_shapes of {named}; "
                f"{_SUCH_AS.format(name)}"
            )
        if not isinstance(shape, Mapping) and len(shape) != len(sizes):
            raise CannotVary(
                f"dynamic: {len(shape)} sizes are stated of {named}, which has {len(sizes)} "
                f"dimensions, {sizes}; write one for each, None for what is fixed"
            )
        for axis, dim in shape.items() if isinstance(shape, Mapping) else enumerate(shape):
            if type(axis) is not int or not -len(sizes) <= axis < len(sizes):
                raise CannotVary(
                    f"dynamic: {named} has no dimension {axis!r}; it has {len(sizes)}, {sizes}"
                )
            yield path, leaf, axis % len(sizes), f"{named}:{axis}", _checked(dim, leaf, named, axis)


def _checked(dim: Any, leaf: torch.Tensor, named: str, axis: int) -> Any:
    """What is stated of one dimension, and None where it is fixed."""
    if dim is None or _hint(dim) == "STATIC":
        return None
    if isinstance(dim, int):
        if dim != leaf.shape[axis]:
            raise CannotVary(
                f"dynamic: {named}:{axis} is stated to be {dim}, and the example has "
                f"{leaf.shape[axis]} there; write that, or None"
            )
        return None
    if not (_hint(dim) or (hasattr(dim, "min") and hasattr(dim, "max"))):
        raise CannotVary(f"dynamic: {dim!r} is stated of {named}:{axis}; {_SUCH_AS.format(named)}")
    return dim


def _hint(dim: Any) -> str:
    """``AUTO`` or ``DYNAMIC`` where torch finds out what varies, ``STATIC``; of a Dim nothing."""
    name = type(dim).__name__
    return str(getattr(dim, "type", dim).name) if name == "_DimHint" else ""


def _refuse_two_meanings(dims: Sequence[_OneDim]) -> None:
    """Dims of one name are one size to torch, wherever they are made."""
    known: dict[str, tuple[Any, Any, str]] = {}
    for *_, named, dim in dims:
        root = getattr(dim, "root", dim)
        if root is None or _hint(root):
            continue
        low, high, other = known.setdefault(root.__name__, (root.min, root.max, named))
        if (low, high) != (root.min, root.max):
            raise CannotVary(
                f'dynamic: {other} and {named} have a Dim("{root.__name__}") each, with other '
                "ranges, and Dims of one name are one size; name them differently"
            )


def _places(dims: Sequence[_OneDim]) -> Iterator[Place]:
    known: dict[str, Varying] = {}
    for path, leaf, axis, named, dim in dims:
        if dim is None:
            continue
        root: Any = getattr(dim, "root", dim)
        offset = dim.fn(0) if root is not dim else 0
        factor = dim.fn(1) - offset if root is not dim else 1
        low = int(root.min) or 2
        high = None if root.max > MOST_NUMBERS else int(root.max)
        own = (leaf.shape[axis] - offset) // factor
        varying = Varying.of(root.__name__, low, high, own, (low, high))
        varying = known.setdefault(root.__name__, varying)
        yield Place(path, axis, named, varying, factor, offset)
