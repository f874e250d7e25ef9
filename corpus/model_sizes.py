"""Which sizes of a user's model may vary, as its user states them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import torch
import torch.utils._pytree as pytree
from torch.export import Dim

from corpus.case import Inputs
from corpus.varying import CannotVary, Path, Place, Sizes, Varying, at, leaves, plain, sizes_of

_RANGE: Final = re.compile(r"(?P<places>[^=]+)=(?P<low>\d+):(?P<high>\d+)")
_KEYWORDS: Final = inspect.Parameter.VAR_KEYWORD


def sizes_of_model(model: torch.nn.Module, example: Inputs, stated: Sequence[str]) -> Sizes:
    """Sizes as a user states them by texts."""
    if not stated:
        return Sizes()
    groups = [_parsed(text, model, example) for text in stated]
    places = [place for group in groups for place in group]
    _refuse_twice(places)
    made = sizes_of(_shapes(model, example, groups), places, example)
    refuse_fixed(made, example)
    return made


def refuse_fixed(sizes: Sizes, example: Inputs) -> None:
    """Refuse an example by which torch fixes a size that is to vary.

    `torch.export.export` takes a size of 0 or 1 for one that is always so.
    """
    for place in sizes.places:
        size = at(example, place.path).shape[place.axis]
        if size < 2:
            raise CannotVary(
                f"the example has size {size} in {place.named}, and torch.export.export takes that "
                "for one that never varies; give an example with 2 or more there"
            )


def _parsed(text: str, model: torch.nn.Module, example: Inputs) -> list[Place]:
    """The places of one text, which all have the same size."""
    low, high, named = limits(text)
    varying = Varying(text, low, high, (low, high))
    return [_place(text, each, varying, model, example) for each in named]


def _refuse_twice(places: Sequence[Place]) -> None:
    known = set()
    for place in places:
        if (place.path, place.axis) in known:
            raise CannotVary(f"dynamic {place.named} is stated twice; state it once")
        known.add((place.path, place.axis))


def limits(text: str) -> tuple[int, int, list[str]]:
    """The least and the largest size of a text, and the places that it names.

    Raises:
        CannotVary: it is not written so.
    """
    match = _RANGE.fullmatch(text.replace(" ", ""))
    if match is None:
        raise CannotVary(
            f"dynamic {text!r}: write INPUT:DIMENSION=LOW:HIGH, such as x:0=2:64, or "
            "x:0,mask:0=2:64 where two have the same size"
        )
    low, high = int(match["low"]), int(match["high"])
    if low >= high:
        raise CannotVary(f"dynamic {text!r}: the upper size has to be above the lower one")
    return low, high, match["places"].split(",")


def _place(
    text: str, named: str, varying: Varying, model: torch.nn.Module, example: Inputs
) -> Place:
    name, _, axis = named.rpartition(":")
    known = {".".join(map(str, names)): path for names, path, _ in _named(model, example)}
    if name not in known or not re.fullmatch(r"-?\d+", axis):
        has = ", ".join(known) or "no tensor"
        raise CannotVary(
            f"dynamic {text!r}: write INPUT:DIMENSION=LOW:HIGH, such as "
            f"{next(iter(known), 'x')}:0=2:64; the inputs are {has}"
        )
    shape = at(example, known[name]).shape
    if not -len(shape) <= int(axis) < len(shape):
        raise CannotVary(
            f"dynamic {text!r}: {name} has {len(shape)} dimensions, {list(shape)}; count them from "
            f"0, as in {name}:0"
        )
    return Place(known[name], int(axis) % len(shape), named, varying)


def _named(
    model: torch.nn.Module, example: Inputs
) -> Iterator[tuple[tuple[Any, ...], Path, torch.Tensor]]:
    """Every tensor that the model is given: its name as `forward` has it, where it is, itself."""
    for names, path, leaf in bound(model, example):
        if isinstance(leaf, torch.Tensor):
            yield names, path, leaf


def bound(model: torch.nn.Module, example: Inputs) -> Iterator[tuple[tuple[Any, ...], Path, Any]]:
    """All that the model is given: what it is called in `forward`, where it is, and itself.

    The second of ``*args`` is called ``args.1``, and a keyword by its own name.
    """
    parameters = inspect.signature(model.forward).parameters
    names = list(parameters)
    for path, leaf in leaves(example):
        if path[0] == 1:
            yield path[1:], path, leaf
            continue
        number = min(path[1], len(names) - 1)
        several = [
            place
            for place, name in enumerate(names)
            if parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        ]
        if several and number >= several[0]:
            yield (names[several[0]], path[1] - several[0], *path[2:]), path, leaf
        else:
            yield (names[number], *path[2:]), path, leaf


def _shapes(model: torch.nn.Module, example: Inputs, groups: Sequence[Sequence[Place]]) -> Any:
    """The places in the form in which `torch.export` takes ``dynamic_shapes``."""
    dims: dict[Path, dict[int, Any]] = {}
    names: set[str] = set()  # which torch says where a size cannot vary
    for number, group in enumerate(groups):
        name = re.sub(r"\W", "_", group[0].named)
        name = f"{name}_{number}" if name in names else name
        names.add(name)
        dim = Dim(name, min=group[0].size.low, max=group[0].size.high)
        for place in group:
            dims.setdefault(place.path, {})[place.axis] = dim
    return built(model, example, dims)


def built(model: torch.nn.Module, example: Inputs, dims: Mapping[Path, dict[int, Any]]) -> Any:
    """Dimensions of tensors by where these are, in the packing of the inputs."""
    refuse_keywords(model, example)
    args, kwargs = pytree.tree_map_with_path(
        lambda keys, leaf: dims.get(plain(keys)), (example.args, dict(example.kwargs))
    )
    return inspect.signature(model.forward).bind(*args, **kwargs).arguments


def refuse_keywords(model: torch.nn.Module, example: Inputs) -> None:
    """Refuse a model that is given keywords by ``**``: torch takes no ``dynamic_shapes`` of them.

    `torch._export.non_strict_utils._flatten_dynamic_shapes` raises an AssertionError.
    """
    parameters = inspect.signature(model.forward).parameters.values()
    whole = next((each.name for each in parameters if each.kind is _KEYWORDS), "")
    own = {each.name for each in parameters}
    if whole and (loose := [name for name in example.kwargs if name not in own]):
        raise CannotVary(
            f"dynamic: forward is given {', '.join(loose)} by **{whole}, of which "
            "torch.export.export takes no dynamic_shapes; name each in forward's signature"
        )
