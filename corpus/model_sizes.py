"""Which sizes of a user's model may vary, and its inputs with these sizes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
import torch.utils._pytree as pytree
from torch.export import Dim, ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils._sympy.numbers import int_oo

from corpus.case import Inputs

#: More numbers than this in the inputs of one call take too long, and too much memory, on a CPU.
MOST_NUMBERS: Final = 2**27
_RANGE: Final = re.compile(r"(?P<places>[^=]+)=(?P<low>\d+):(?P<high>\d+)")

Path = tuple[Any, ...]
"""Where a tensor is in ``(args, kwargs)``: keys of dictionaries and places in sequences."""


_Found = tuple[set[str], Any, tuple[int, int | None], "Place"]
"""A dynamic size of an archive: its names, its symbol, its range, and where it is."""


class CannotVary(Exception):
    """The sizes are not stated in a way that fits the model; says what to write instead."""


@dataclass(frozen=True)
class Place:
    """One dimension of one tensor, from ``low`` to ``high``, both inclusive.

    ``named`` is how a user writes it, INPUT:DIMENSION. ``takes`` is the range that the program is
    exported with, which may be wider than what is tried, and has None where nothing is stated.
    """

    path: Path
    axis: int
    low: int
    high: int
    named: str
    takes: tuple[int, int | None]


@dataclass(frozen=True)
class Sizes:
    """What a `Program` needs of its dynamic dimensions.

    ``bounds`` are the least and the largest size that is tried of any dimension, and None without
    dynamic dimensions. ``ranges`` has the ranges that the program takes where they are not just
    these, and ``unbounded`` says that some dimension has no largest size.
    """

    shapes: Any = None
    places: tuple[Place, ...] = ()
    bounds: tuple[int, int] | None = None
    ranges: tuple[tuple[int, int | None], ...] = ()
    unbounded: bool = False

    def applied(self, example: Inputs, size: int | None) -> Inputs:
        """The example with every dynamic dimension of this size, as far as its own range allows.

        At the middle of ``bounds`` it keeps the user's own sizes. One above the upper bound every
        dimension is one above its own. Values are repeated, so that indices stay in range.
        """
        if self.bounds is None or size is None or size == sum(self.bounds) // 2:
            return example
        by_path: dict[Path, list[Place]] = {}
        for place in self.places:
            by_path.setdefault(place.path, []).append(place)
        over = size > self.bounds[1]

        def resize(path: Path, leaf: Any) -> Any:
            for place in by_path.get(path, ()):
                wanted = min(max(size, place.low), place.high)
                if over:
                    wanted = (place.takes[1] or place.high) + 1
                index = torch.arange(wanted) % leaf.shape[place.axis]
                leaf = leaf.index_select(place.axis, index)
            return leaf

        args, kwargs = pytree.tree_map_with_path(
            lambda keys, leaf: resize(_plain(keys), leaf), (example.args, dict(example.kwargs))
        )
        return Inputs(args, kwargs)


def sizes_of_model(model: torch.nn.Module, example: Inputs, stated: Sequence[str] | Any) -> Sizes:
    """Sizes as a user states them: as texts, or as `torch.export` takes ``dynamic_shapes``."""
    if not stated:
        return Sizes()
    if isinstance(stated, tuple) and all(isinstance(item, str) for item in stated):
        groups = [_parsed(text, model, example) for text in stated]
        _refuse_twice(groups)
        shapes = _shapes(model, example, groups)
    else:
        shapes = stated
        groups = list(_groups_of(stated, model, example))
    return _sizes(shapes, [place for group in groups for place in group], example)


def sizes_of_archive(exported: ExportedProgram, example: Inputs, stated: Sequence[str]) -> Sizes:
    """The dynamic dimensions that an archive has, narrowed to what is stated.

    A text is ``NAME=LOW:HIGH`` where one size alone varies, else ``INPUT:DIMENSION=LOW:HIGH``.
    """
    found = list(_dynamic_of(exported, example))
    symbols = {symbol for _, symbol, _, _ in found}
    has = ", ".join(place.named for *_, place in found)
    limits: dict[Any, tuple[int, int]] = {}
    for text in stated:
        low, high, named = _limits(text)
        names = {each.replace(".", "_") for each in named}
        chosen = {symbol for own, symbol, _, _ in found if own & names}
        if not chosen and len(symbols) == 1 and ":" not in "".join(named):
            chosen = symbols
        if not chosen:
            raise CannotVary(
                f"dynamic {text!r}: the archive has no such dynamic size; write "
                f"INPUT:DIMENSION=LOW:HIGH of {has}"
                if has
                else f"dynamic {text!r}: the sizes of the archive are fixed; export it with "
                "dynamic_shapes, or leave this out"
            )
        limits |= dict.fromkeys(chosen, (low, high))
    places = []
    for _, symbol, (lowest, highest), place in found:
        least, most = limits.get(symbol, (lowest, highest))
        if least < lowest or (highest is not None and most is not None and most > highest):
            told = f"{lowest} to {highest or 'any'}"
            raise CannotVary(
                f"dynamic sizes {least} to {most} of {place.named}: the archive takes {told}"
            )
        size = _at(example, place.path).shape[place.axis]
        places.append(replace(place, low=least, high=2 * size if most is None else most))
    return _sizes(_shapes_of_archive(exported, example, found), places, example)


def _shapes_of_archive(
    exported: ExportedProgram, example: Inputs, found: Sequence[_Found]
) -> Any | None:
    """What its user gave to `torch.export`, as far as the archive tells; None where all is fixed.

    The ranges are the archive's own, whatever is asked: `save` is given what `export` was.
    """
    dims = {
        symbol: Dim(f"size{number}", min=low, max=high)
        for number, (symbol, (low, high)) in enumerate(
            {symbol: limits for _, symbol, limits, _ in found}.items()
        )
    }
    of_path: dict[Path, dict[int, Any]] = {}
    for _, symbol, _, place in found:
        of_path.setdefault(place.path, {})[place.axis] = dims[symbol]
    return _built(exported.module(), example, of_path) if found else None


def _sizes(shapes: Any, places: Sequence[Place], example: Inputs) -> Sizes:
    if not places:
        return Sizes()
    for place in places:
        size = _at(example, place.path).shape[place.axis]
        if not place.low <= size <= place.high:
            raise CannotVary(
                f"the example has size {size} in {place.named}, where {place.low}:{place.high} is "
                "stated; give an example within that range"
            )
    bounds = min(place.low for place in places), max(place.high for place in places)
    ranges = tuple(sorted({place.takes for place in places}, key=str))
    unbounded = any(high is None for _, high in ranges)
    made = Sizes(shapes, tuple(places), bounds, ranges if ranges != (bounds,) else (), unbounded)
    _refuse_huge(made, example)
    return made


def _refuse_huge(sizes: Sizes, example: Inputs) -> None:
    numbers = 0
    for path, leaf in _leaves(example):
        if not isinstance(leaf, torch.Tensor):
            continue
        own = {place.axis: place.high for place in sizes.places if place.path == path}
        shape = [own.get(axis, size) for axis, size in enumerate(leaf.shape)]
        numbers += int(torch.Size(shape).numel())
    if numbers > MOST_NUMBERS:
        raise CannotVary(
            f"at the largest sizes one call is given {numbers:,} numbers, which takes too long "
            "here; state a smaller range"
        )


def _parsed(text: str, model: torch.nn.Module, example: Inputs) -> list[Place]:
    """The places of one text, which all have the same size."""
    low, high, named = _limits(text)
    return [_place(text, each, low, high, model, example) for each in named]


def _refuse_twice(groups: Sequence[Sequence[Place]]) -> None:
    known = set()
    for place in (place for group in groups for place in group):
        if (place.path, place.axis) in known:
            raise CannotVary(f"dynamic {place.named} is stated twice; state it once")
        known.add((place.path, place.axis))


def _limits(text: str) -> tuple[int, int, list[str]]:
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
    text: str, named: str, low: int, high: int, model: torch.nn.Module, example: Inputs
) -> Place:
    name, _, axis = named.rpartition(":")
    known = {".".join(names): path for names, path, _ in _named(model, example)}
    if name not in known or not re.fullmatch(r"-?\d+", axis):
        has = ", ".join(known) or "no tensor"
        raise CannotVary(
            f"dynamic {text!r}: write INPUT:DIMENSION=LOW:HIGH, such as "
            f"{next(iter(known), 'x')}:0=2:64; the inputs are {has}"
        )
    shape = _at(example, known[name]).shape
    if not -len(shape) <= int(axis) < len(shape):
        raise CannotVary(
            f"dynamic {text!r}: {name} has {len(shape)} dimensions, {list(shape)}; count them from "
            f"0, as in {name}:0"
        )
    return Place(known[name], int(axis) % len(shape), low, high, named, (low, high))


def _named(
    model: torch.nn.Module, example: Inputs
) -> Iterator[tuple[tuple[str, ...], Path, torch.Tensor]]:
    """Every tensor that the model is given: its name as `forward` has it, where it is, itself."""
    parameters = _parameter_names(model, example)
    for path, leaf in _leaves(example):
        if isinstance(leaf, torch.Tensor):
            yield (parameters[path[:2]], *map(str, path[2:])), path, leaf


def _parameter_names(model: torch.nn.Module, example: Inputs) -> dict[Path, str]:
    names = list(inspect.signature(model.forward).parameters)
    given = {(0, number): names[min(number, len(names) - 1)] for number in range(len(example.args))}
    return given | {(1, name): name for name in example.kwargs}


def _shapes(model: torch.nn.Module, example: Inputs, groups: Sequence[Sequence[Place]]) -> Any:
    """The places in the form in which `torch.export` takes ``dynamic_shapes``."""
    dims: dict[Path, dict[int, Any]] = {}
    names: set[str] = set()  # which torch says where a size cannot vary
    for number, group in enumerate(groups):
        name = re.sub(r"\W", "_", group[0].named)
        name = f"{name}_{number}" if name in names else name
        names.add(name)
        dim = Dim(name, min=group[0].low, max=group[0].high)
        for place in group:
            dims.setdefault(place.path, {})[place.axis] = dim
    return _built(model, example, dims)


def _built(model: torch.nn.Module, example: Inputs, dims: Mapping[Path, dict[int, Any]]) -> Any:
    """Dimensions of tensors by where these are, in the packing of the inputs."""
    args, kwargs = pytree.tree_map_with_path(
        lambda keys, leaf: dims.get(_plain(keys)), (example.args, dict(example.kwargs))
    )
    names = _parameter_names(model, example)
    parameters = inspect.signature(model.forward).parameters
    shapes: dict[str, Any] = {}
    for number, shape in enumerate(args):
        name = names[0, number]
        if parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            shapes[name] = (*shapes.get(name, ()), shape)
        else:
            shapes[name] = shape
    return shapes | kwargs


def _groups_of(stated: Any, model: torch.nn.Module, example: Inputs) -> Iterator[list[Place]]:
    """Places out of ``dynamic_shapes`` as a user's function returns it."""
    names = _parameter_names(model, example)
    if isinstance(stated, Mapping):
        unknown = set(stated) - set(names.values())
        if unknown:
            raise CannotVary(
                f"dynamic: the model is given no input {', '.join(map(str, unknown))}; the inputs "
                f"are {', '.join(names.values())}"
            )
        of_input = {path: stated.get(name) for path, name in names.items()}
    else:
        of_input = {(0, number): shape for number, shape in enumerate(stated)}
    for path, leaf in _leaves(example):
        shape = of_input.get(path[:2])
        try:
            for key in path[2:]:
                shape = shape[key] if isinstance(shape, Mapping | Sequence) else shape
        except (KeyError, IndexError) as error:
            raise CannotVary(
                f"dynamic: the dynamic_shapes of {names[path[:2]]} are not built as the input is; "
                f"there is nothing for {'.'.join(map(str, path[2:]))}; write None for what is fixed"
            ) from error
        if shape is None or not isinstance(leaf, torch.Tensor):
            continue
        if not isinstance(shape, Mapping | Sequence):
            raise CannotVary(
                f"dynamic: a {type(shape).__name__} is no dynamic_shapes of {names[path[:2]]}; "
                "return what torch.export.export takes, such as "
                f'{{"{names[path[:2]]}": {{0: Dim("batch", min=2, max=64)}}}}'
            )
        pairs = shape.items() if isinstance(shape, Mapping) else enumerate(shape)
        for axis, dim in pairs:
            if dim is None or isinstance(dim, int):
                continue
            low, high = getattr(dim, "min", None), getattr(dim, "max", None)
            if axis not in range(leaf.dim()):
                raise CannotVary(
                    f"dynamic: {names[path[:2]]} has no dimension {axis}; it has {leaf.dim()}, "
                    f"{list(leaf.shape)}"
                )
            size = leaf.shape[axis]
            least = int(low) if low else 2
            most = None if high is None or high > MOST_NUMBERS else int(high)
            named = f"{names[path[:2]]}:{axis}"
            tried = 2 * size if most is None else most
            yield [Place(path, axis, least, tried, named, (least, most))]


def _dynamic_of(exported: ExportedProgram, example: Inputs) -> Iterator[_Found]:
    """Each dynamic size of an archive: its names, its symbol, its range, and where it is."""
    specs = exported.graph_signature.input_specs
    users = {spec.arg.name for spec in specs if spec.kind is InputKind.USER_INPUT}
    nodes = [node for node in exported.graph.nodes if node.op == "placeholder"]
    values = [node for node in nodes if node.name in users]
    for node, (path, _) in zip(values, _leaves(example), strict=True):
        for axis, size in enumerate(getattr(node.meta.get("val"), "shape", ())):
            symbols = size.node.expr.free_symbols if isinstance(size, torch.SymInt) else ()
            if len(symbols) != 1 or size.node.expr not in symbols:
                continue  # a size that follows from another
            held = exported.range_constraints.get(size.node.expr)
            high = None if held is None or held.upper == int_oo else int(held.upper)
            low = 2 if held is None else max(int(held.lower), 1)
            named = f"{node.name}:{axis}"
            place = Place(path, axis, low, low, named, (low, high))
            yield {named, str(size.node.expr)}, size.node.expr, (low, high), place


def _leaves(example: Inputs) -> Iterator[tuple[Path, Any]]:
    found, _ = pytree.tree_flatten_with_path((example.args, dict(example.kwargs)))
    for keys, leaf in found:
        yield _plain(keys), leaf


def _plain(keys: Sequence[Any]) -> Path:
    return tuple(
        getattr(key, "key", getattr(key, "idx", getattr(key, "name", None))) for key in keys
    )


def _at(example: Inputs, path: Path) -> torch.Tensor:
    found = dict(_leaves(example))[path]
    assert isinstance(found, torch.Tensor)
    return found
