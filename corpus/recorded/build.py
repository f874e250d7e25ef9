"""From a recording to the split module that was recorded: names, metadata and all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.fx import Graph, GraphModule, Node
from torch.fx.graph import _PyTreeCodeGen, _PyTreeInfo
from torch.fx.passes.shape_prop import _extract_tensor_metadata
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis

from corpus.case import Case, Program, find_case
from corpus.children import hold_tensor
from corpus.handmade import SplitBuilder
from corpus.recorded.recording import AttributeData, GraphData, Recording
from corpus.recorded.values import (
    UNTOLD,
    argument_of,
    expression_of,
    symbol_of,
    target_of,
    tensor_of,
)

_NO_CHILDREN: Mapping[str, GraphModule] = MappingProxyType({})


def build(recording: Recording) -> Program:
    """The recorded split, called as the model that it was recorded from."""
    modules = RecordedModules(recording)
    model = modules.model
    return Program(
        model.inputs,
        split=modules.split(),
        dynamic_shapes=model.dynamic_shapes,
        bounds=model.bounds,
    )


def builder_of(recording: Recording) -> Callable[[], Program]:
    """A function that builds it, of the recording's name, as a case is registered."""

    def build_it() -> Program:
        return build(recording)

    build_it.__name__ = recording.name
    vars(build_it)["recording"] = recording
    return build_it


def recording_of(case: Case) -> Recording | None:
    """The recording of a case; None for one that is no recording."""
    return getattr(case.build, "recording", None)


class RecordedModules:
    """One recording while its modules are made: the fake mode, the symbols, the tensors."""

    def __init__(self, recording: Recording) -> None:
        model = find_case(recording.model).build()
        self.model = model
        self._recording = recording
        placeholders = (node for node in recording.split.parent.nodes if node.op == "placeholder")
        shapes = [node.value["shape"] for node in placeholders if "shape" in node.value]
        dims = _dimensions(shapes, model.bounds)
        call = model.inputs(torch.Generator().manual_seed(0), model.bounds and model.bounds[1])
        _, leaves = SplitBuilder.for_call(call, [_dynamic(shape, dims) for shape in shapes])
        values = [item.meta["val"] for item in leaves]
        values = [value for value in values if isinstance(value, torch.Tensor)]
        self._mode = values[0].fake_mode
        self._symbols = {
            symbol_of(size): value.shape[axis]
            for shape, value in zip(shapes, values, strict=True)
            for axis, size in enumerate(shape)
            if size in dims
        }
        self._tensors: dict[int, torch.Tensor] = {}

    def split(self) -> GraphModule:
        """The parent, with its children, as a user calls it."""
        data = self._recording.split
        children = {name: self._module(child) for name, child in data.children.items()}
        return self._called_by_users(self._module(data.parent, children))

    def handed(self) -> GraphModule:
        """What the release's splitter was given."""
        return self._called_by_users(self._module(self._recording.handed))

    def _called_by_users(self, module: GraphModule) -> GraphModule:
        info = _PyTreeInfo(
            orig_args=list(self._recording.argument_names),
            in_spec=pytree.treespec_loads(self._recording.in_spec),
            out_spec=pytree.treespec_loads(self._recording.out_spec),
        )
        module.graph.set_codegen(_PyTreeCodeGen(info))
        module.recompile()
        return module

    def _module(
        self, data: GraphData, children: Mapping[str, GraphModule] = _NO_CHILDREN
    ) -> GraphModule:
        root = torch.nn.Module()
        for name, child in children.items():
            root.add_module(name, child)
        for attribute in data.attributes:
            self._hold(root, attribute)
        graph = Graph()
        nodes: dict[str, Node] = {}
        for item in data.nodes:
            args = tuple(argument_of(part, nodes) for part in item.args)
            kwargs = {key: argument_of(part, nodes) for key, part in item.kwargs.items()}
            target = target_of(item.op, item.target)
            made = graph.create_node(item.op, target, args, kwargs, name=item.name)
            nodes[item.name] = made
            if item.value is not None:
                value = made.meta["val"] = self._value(item.value)
                if isinstance(value, torch.Tensor) and UNTOLD not in item.value:
                    made.meta["tensor_meta"] = _extract_tensor_metadata(value)
        module = GraphModule(root, graph)
        for name, child in children.items():  # in their own order, and not in that of the calls
            del module._modules[name]
            module.add_module(name, child)
        for attribute in data.attributes:  # which made buffers of all that is no parameter
            owner, _, name = attribute.path.rpartition(".")
            delattr(module.get_submodule(owner), name)
            self._hold(module, attribute)
        return module

    def _hold(self, root: torch.nn.Module, attribute: AttributeData) -> None:
        hold_tensor(root, attribute.path, self._tensor(attribute), attribute.kind)

    def _tensor(self, attribute: AttributeData) -> torch.Tensor:
        """One tensor for all who hold it."""
        number = attribute.tensor
        if number not in self._tensors:
            data = self._recording.tensors[number]
            self._tensors[number] = tensor_of(data, attribute.kind, seed=number + 1)
        return self._tensors[number]

    def _value(self, data: Mapping[str, Any]) -> Any:
        if "is" in data:
            return data["is"]
        if "size" in data:
            return self._size(data["size"])
        if "list" in data:
            return [self._value(part) for part in data["list"]]
        if "tuple" in data:
            return tuple(self._value(part) for part in data["tuple"])
        shape = [self._size(size) for size in data["shape"]]
        dtype = getattr(torch, data["tensor"])
        with self._mode:
            if "stride" in data:
                stride = [self._size(step) for step in data["stride"]]
                return torch.empty_strided(shape, stride, dtype=dtype)
            return torch.empty(shape, dtype=dtype)

    def _size(self, size: int | str) -> Any:
        if isinstance(size, int):
            return size
        return sympy_interp(PythonReferenceAnalysis, self._symbols, expression_of(size))


def _dimensions(
    shapes: Sequence[Sequence[int | str]], bounds: tuple[int, int] | None
) -> dict[str, Any]:
    """A `Dim` for each symbol that is the size of an input's dimension by itself."""
    if bounds is None:
        return {}
    low, high = bounds
    sizes = {size for shape in shapes for size in shape if isinstance(size, str)}
    return {
        size: torch.export.Dim(size, min=low, max=high) for size in sizes if size.isidentifier()
    }


def _dynamic(shape: Sequence[int | str], dims: Mapping[str, Any]) -> dict[int, Any]:
    """The dynamic dimensions of one input; each is one of the symbols, or a multiple of one."""
    found = {}
    for axis, size in enumerate(shape):
        if isinstance(size, str):
            times, symbol = expression_of(size).as_coeff_Mul()
            found[axis] = dims[str(symbol)] if times == 1 else int(times) * dims[str(symbol)]
    return found
