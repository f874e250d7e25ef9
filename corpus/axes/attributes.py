"""What fallbacks hold: parameters, buffers, constants, objects, and under which names."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from corpus.axes.space import Predicate, axis
from corpus.axes.view import Call, SplitView, op_names
from corpus.children import NON_PERSISTENT, PLAIN


def _held(view: SplitView) -> Iterator[tuple[Call, str, Any]]:
    for call in view.fallbacks:
        for path, value in call.held.items():
            yield call, path, value


def _tensors(view: SplitView) -> list[tuple[Call, str, torch.Tensor]]:
    return [item for item in _held(view) if isinstance(item[2], torch.Tensor)]


def _kind(view: SplitView, call: Call, path: str, value: Any) -> str:
    if isinstance(value, torch.nn.Parameter):
        return "parameter"
    if not isinstance(value, torch.Tensor):
        return "other"
    if path in view.kinds:
        return view.kinds[path]
    *owner, name = path.split(".")
    module = call.child.get_submodule(".".join(owner))
    if name not in module._buffers:
        return PLAIN
    return NON_PERSISTENT if name in module._non_persistent_buffers_set else "buffer"


def _holds_kind(kind: str) -> Predicate:
    return lambda view: any(_kind(view, *item) == kind for item in _held(view))


def _parameter_that(wanted: Callable[[torch.nn.Parameter], bool]) -> Predicate:
    return lambda view: any(
        isinstance(value, torch.nn.Parameter) and wanted(value) for _, _, value in _held(view)
    )


def _pairs(view: SplitView) -> Iterator[tuple[tuple[Call, str, torch.Tensor], ...]]:
    return itertools.combinations(_tensors(view), 2)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one is other or (one.numel() > 0 and one.data_ptr() == other.data_ptr())


def _read_by_two(view: SplitView) -> bool:
    return any(
        one[0].target != other[0].target and one[1] == other[1] and _same(one[2], other[2])
        for one, other in _pairs(view)
    )


def _tied(view: SplitView) -> bool:
    if any(one[1] != other[1] and _same(one[2], other[2]) for one, other in _pairs(view)):
        return True
    # Capture gives tied weights one name, so the split module has one weight that is read twice.
    named = view.model.named_parameters(remove_duplicate=False) if view.model is not None else ()
    held = {path for _, path, _ in _tensors(view)}
    names: dict[int, set[str]] = {}
    for name, parameter in named:
        names.setdefault(id(parameter), set()).add(name)
    return any(len(group) > 1 and group & held for group in names.values())


def _other_values(view: SplitView) -> bool:
    return any(
        one[0].target != other[0].target
        and one[1] == other[1]
        and not torch.equal(one[2], other[2])
        for one, other in _pairs(view)
    )


def _collide(view: SplitView) -> bool:
    paths = {path for _, path, _ in _tensors(view)}
    return len({path.replace(".", "_") for path in paths}) < len(paths)


def _some_path(wanted: Callable[[str], bool]) -> Predicate:
    return lambda view: any(wanted(path) for _, path, _ in _tensors(view))


def _higher_order(name: str) -> Predicate:
    return lambda view: any(op == name for call in view.fallbacks for _, op in op_names(call))


def _compiled_before(view: SplitView) -> bool:
    return any(hasattr(view.split, f"{call.target}_engine") for call in view.engines)


KIND = axis(
    "attribute",
    parameter=("a fallback reads a parameter", _holds_kind("parameter")),
    buffer=("a fallback reads a persistent buffer", _holds_kind("buffer")),
    non_persistent=("a fallback reads a non-persistent buffer", _holds_kind(NON_PERSISTENT)),
    plain=("a fallback reads a tensor that is neither parameter nor buffer", _holds_kind(PLAIN)),
    integer=(
        "a fallback reads an integer parameter",
        _parameter_that(lambda p: not p.is_floating_point() and not p.is_complex()),
    ),
    half=(
        "a fallback reads a parameter of half precision",
        _parameter_that(lambda p: p.dtype in {torch.float16, torch.bfloat16}),
    ),
    frozen=(
        "a fallback reads a frozen parameter",
        _parameter_that(lambda p: p.is_floating_point() and not p.requires_grad),
    ),
)
SHARING = axis(
    "attribute sharing",
    two_fallbacks=("two fallbacks read one weight", _read_by_two),
    tied=("one weight has two names", _tied),
    other_values=("two fallbacks have other values under one name", _other_values),
    underscores=("two names are one when dots become underscores", _collide),
)
NAME = axis(
    "attribute name",
    plain=("a name without a dot", _some_path(lambda path: "." not in path)),
    dotted=("a name with a dot", _some_path(lambda path: "." in path)),
    upper_case=("a name with an upper-case letter", _some_path(lambda path: path != path.lower())),
)
SUBMODULE = axis(
    "submodule",
    cond=("a fallback has the branches of a cond", _higher_order("cond")),
    while_loop=("a fallback has the body of a while_loop", _higher_order("while_loop")),
    map=("a fallback has the body of a map", _higher_order("map_impl")),
    compiled_before=("an engine's attribute is there already", _compiled_before),
)

AXES = (KIND, SHARING, NAME, SUBMODULE)
