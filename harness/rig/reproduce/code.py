"""A case as plain Python: graphs as `create_node` calls, tensors, arguments.

Weights and inputs are drawn anew from a seed where they are floats, since no wiring depends on
their numbers; integers stand as they are.
"""

from __future__ import annotations

import enum
import math
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.export import Dim
from torch.fx import GraphModule, Node
from torch.fx.graph import _PyTreeCodeGen
from torch.fx.node import _get_qualified_name

from corpus import structures
from corpus.case import Inputs

WHOLE = "split"  # the function that makes the split module
ENGINE_PREFIX = "_run_on_acc_"
_LITERAL = 64  # integers up to so many are written out


class Unwritable(Exception):
    """A case holds what this does not write as Python: what, and where."""


class CaseWriter:
    """Collects the lines of one case: tensors first, then a function a graph."""

    def __init__(self, beside: Iterable[types.ModuleType] = ()) -> None:
        """Args: beside: modules that the case imports, such as those of its custom ops."""
        self.tensors: list[str] = []
        self.functions: list[str] = []
        self.modules: set[str] = set()  # what the code imports beside torch
        self.dims: dict[str, str] = {}  # dynamic dimensions, by their names
        self.beside = [*beside]  # what else the script has to hold
        self._names: dict[int, str] = {}
        self._kept: list[torch.Tensor] = []  # alive, so that an id stays one tensor's

    def state(self, value: torch.Tensor) -> str:
        """The name of a tensor of the split module: one for each, however many hold it."""
        if id(value) not in self._names:
            self._names[id(value)] = f"t{len(self._names)}"
            self._kept.append(value)
            code = tensor(value, positive=True)
            if isinstance(value, torch.nn.Parameter):
                code = f"torch.nn.Parameter({code}, requires_grad={value.requires_grad})"
            self.tensors.append(f"{self._names[id(value)]} = {code}")
        return self._names[id(value)]

    def graph(self, module: GraphModule, name: str) -> str:
        """Write a graph module and its children as functions; returns the call that makes it.

        Raises:
            Unwritable: it holds a value, a child or a target that has no plain form.
        """
        lines = ["root, graph = torch.nn.Module(), torch.fx.Graph()"]
        values_of = {node.target: node.meta.get("val") for node in module.graph.nodes}
        for child_name, child in module.named_children():
            bare = isinstance(values_of.get(child_name), torch.Tensor)
            lines += self._child(child, child_name, name, bare)
        lines += self._attributes(module, "")
        lines += ["node = graph.create_node"]
        values: dict[Node, str] = {}
        for node in module.graph.nodes:
            values[node] = _local(node.name)
            lines.append(f"{values[node]} = {self._node(node, values)}")
        codegen = module.graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            info = codegen.pytree_info
            self.modules.add("torch.fx.graph")
            lines += [
                f"in_spec = {self._spec(info.in_spec)}",
                f"out_spec = {'None' if info.out_spec is None else self._spec(info.out_spec)}",
                f"info = torch.fx.graph._PyTreeInfo({info.orig_args!r}, in_spec, out_spec)",
                "graph.set_codegen(torch.fx.graph._PyTreeCodeGen(info))",
            ]
        lines.append("module = torch.fx.GraphModule(root, graph)")
        lines += _order(module)
        for attribute in ("_in_spec", "_out_spec"):
            spec = getattr(module, attribute, None)
            if isinstance(spec, pytree.TreeSpec):
                lines.append(f"module.{attribute} = {self._spec(spec)}")
        lines += [*self._kept_otherwise(module), "return module.eval()"]
        body = "\n".join(f"    {line}" for line in lines)
        self.functions.append(f"def {name}() -> torch.fx.GraphModule:\n{body}\n")
        return f"{name}()"

    def _child(self, child: torch.nn.Module, name: str, owner: str, bare: bool) -> list[str]:
        """Args: bare: of an engine, that the value of its call is its one output and no list."""
        where = f'root.add_module("{name}", '
        if isinstance(child, GraphModule):
            made = self.graph(child, _function(name if owner == WHOLE else f"{owner}_{name}"))
            if name.startswith(ENGINE_PREFIX):
                made = self.engine(made, bare=bare)
            return [f"{where}{made})"]
        if _computes(child):
            raise Unwritable(f"{owner} holds a {type(child).__name__}")
        return [f"{where}torch.nn.Module())", *self._nested(child, name)]

    def engine(self, made: str, *, bare: bool) -> str:
        """What stands in an engine's place, of the expression that makes its segment."""
        return f"Engine({made}{', bare=True' if bare else ''})"

    def _nested(self, module: torch.nn.Module, path: str) -> list[str]:
        """What a module without a forward holds: it is but a part of the names of tensors."""
        lines = self._attributes(module, path)
        for name, child in module.named_children():
            if isinstance(child, GraphModule) or _computes(child):
                raise Unwritable(f"{path}.{name} is a {type(child).__name__}")
            lines.append(f'{_owner("root", path)}.add_module("{name}", torch.nn.Module())')
            lines += self._nested(child, f"{path}.{name}")
        return lines

    def _attributes(self, module: torch.nn.Module, path: str) -> list[str]:
        owner, lines = _owner("root", path), []
        for name, parameter in module._parameters.items():
            if parameter is not None:
                lines.append(f'{owner}.register_parameter("{name}", {self.state(parameter)})')
        for name, buffer in module._buffers.items():
            if buffer is not None:
                lines.append(f'{owner}.register_buffer("{name}", {self.state(buffer)})')
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                lines.append(f'{owner}.register_buffer("{name}", {self.state(value)})')
            elif isinstance(value, torch.ScriptObject):
                raise Unwritable(f"{path or WHOLE} holds an engine as its attribute {name}")
        return lines

    def _kept_otherwise(self, module: GraphModule) -> list[str]:
        """What a graph module, which makes an ordinary buffer of every tensor, is told after."""
        lines = []
        for path, owner in _own_modules(module):
            made = _owner("module", path)
            for name in owner._non_persistent_buffers_set:
                tensor_name = self.state(owner.get_buffer(name))
                lines.append(f'{made}.register_buffer("{name}", {tensor_name}, persistent=False)')
            for name, value in vars(owner).items():
                if isinstance(value, torch.Tensor):
                    lines += [f"del {made}.{name}", f"{made}.{name} = {self.state(value)}"]
        return lines

    def _node(self, node: Node, values: Mapping[Node, str]) -> str:
        plain = isinstance(node.target, str)
        target = f'"{node.target}"' if plain else self._target(node.target)
        args, kwargs = (self.value(item, values) for item in (node.args, dict(node.kwargs)))
        return f'node("{node.op}", {target}, {args}, {kwargs}, "{node.name}")'

    def _target(self, target: Any) -> str:
        name = _get_qualified_name(target)
        if name.startswith("torch.ops."):
            return name
        module, _, _ = name.rpartition(".")
        if not re.fullmatch(r"[\w.]+", name):
            raise Unwritable(f"a call of {name}")
        self.modules.add(module)
        return name

    def value(self, value: Any, nodes: Mapping[Node, str] | None = None) -> str:
        """A node's argument, or one of a call's: tensors of a call are drawn where they stand."""
        if isinstance(value, Node):
            assert nodes is not None
            return nodes[value]
        if isinstance(value, torch.Tensor):
            return self.given(value)
        if type(value) in (tuple, torch.Size):
            inside = ", ".join(self.value(item, nodes) for item in value)
            return f"({inside}{',' if len(value) == 1 else ''})"
        if type(value).__module__ == "torch.return_types":
            return f"torch.return_types.{type(value).__name__}({self.value(tuple(value), nodes)})"
        if isinstance(value, list):
            return f"[{', '.join(self.value(item, nodes) for item in value)}]"
        if isinstance(value, dict):
            pairs = (f"{key!r}: {self.value(item, nodes)}" for key, item in value.items())
            return f"{{{', '.join(pairs)}}}"
        if isinstance(value, slice):
            parts = (self.value(part, nodes) for part in (value.start, value.stop, value.step))
            return f"slice({', '.join(parts)})"
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if isinstance(value, torch.device):
            return f'torch.device("{value}")'
        plain = (str, int, float, bool, complex, torch.dtype, torch.layout, torch.memory_format)
        if (value is None or isinstance(value, plain)) and not isinstance(value, enum.Enum):
            return repr(value)
        if type(value).__module__ == structures.__name__:
            return self._own(value, lambda item: self.value(item, nodes))
        raise Unwritable(f"an argument of type {type(value).__name__}")

    def given(self, value: torch.Tensor) -> str:
        """A tensor among the arguments of a call, or in a graph."""
        return tensor(value)

    def _own(self, value: Any, write: Callable[[Any], str]) -> str:
        """One of the corpus's containers, whose classes the script then has to hold."""
        if structures not in self.beside:
            self.beside.append(structures)
        held = value if isinstance(value, tuple) else vars(value).values()
        return f"{type(value).__name__}({', '.join(map(write, held))})"

    def _spec(self, spec: pytree.TreeSpec) -> str:
        """A pytree's structure, as that of numbers in its containers."""
        self.modules.add("torch.utils._pytree")
        example = pytree.tree_unflatten(range(spec.num_leaves), spec)
        return f"torch.utils._pytree.tree_structure({self.value(example)})"

    def calls(self, calls: Sequence[Inputs]) -> str:
        """Every call as (args, kwargs)."""
        return "[" + ",\n             ".join(map(self.call, calls)) + "]"

    def call(self, call: Inputs) -> str:
        return f"({self.value(call.args)}, {self.value(dict(call.kwargs))})"

    def shapes(self, shapes: Any) -> str:
        """Dynamic shapes as the case states them."""
        if isinstance(shapes, Mapping):
            pairs = (f"{key!r}: {self.shapes(item)}" for key, item in shapes.items())
            return f"{{{', '.join(pairs)}}}"
        if type(shapes).__module__ == structures.__name__:
            return self._own(shapes, self.shapes)
        if isinstance(shapes, tuple | list):
            inside = ", ".join(self.shapes(item) for item in shapes)
            one = "," if len(shapes) == 1 else ""
            return f"({inside}{one})" if isinstance(shapes, tuple) else f"[{inside}]"
        root = getattr(shapes, "root", None)
        if root is not None:  # such as 2 * rows + 1
            offset = shapes.fn(0)
            product = f"{shapes.fn(1) - offset} * {self.shapes(root)}"
            return f"{product} + {offset}" if offset else product
        if isinstance(shapes, Dim):
            ends = ((name, getattr(shapes, name)) for name in ("min", "max"))
            stated = "".join(f", {name}={end}" for name, end in ends if isinstance(end, int))
            self.dims[shapes.__name__] = f'torch.export.Dim("{shapes.__name__}"{stated})'
            return shapes.__name__
        if shapes is None or isinstance(shapes, int):
            return repr(shapes)
        hint = getattr(shapes, "type", None)
        if isinstance(hint, enum.Enum):
            return f"torch.export.Dim.{hint.name}"
        raise Unwritable(f"a dynamic dimension of type {type(shapes).__name__}")


def tensor(value: torch.Tensor, *, positive: bool = False) -> str:
    """An expression that makes a tensor of the same type and sizes.

    Args:
        positive: keep a tensor positive that is, such as a variance.
    """
    size, dtype = list(value.shape), value.dtype
    if dtype.is_floating_point or dtype.is_complex:
        sizes = ", ".join(map(str, size)) or "()"
        drawn = f"torch.randn({sizes})"
        if positive and not dtype.is_complex and value.numel() and bool((value > 0).all()):
            drawn = f"(torch.rand({sizes}) + 0.5)"
        code = drawn if dtype is torch.float32 else f"{drawn}.to({dtype})"
    elif value.numel() <= _LITERAL:
        plain = dtype in (torch.int64, torch.bool)  # as torch takes the numbers by itself
        code = f"torch.tensor({value.tolist()}{'' if plain else f', dtype={dtype}'})"
        if value.numel() == 0:
            code = f"torch.empty({size}, dtype={dtype})"
    else:
        low, high = int(value.min()), int(value.max())
        code = f"torch.randint({low}, {high + 1}, {size}).to({dtype})"
    if value.numel() and not value.is_contiguous():
        strides = list(value.stride())
        code = f"torch.empty_strided({size}, {strides}, dtype={dtype}).copy_({code})"
    return code


def _order(module: GraphModule) -> list[str]:
    """What gives children their own order, where that is not the one in which they are called.

    The inliners go by it.
    """
    used = [node for node in module.graph.nodes if node.op in ("call_module", "get_attr")]
    called = list(dict.fromkeys(str(node.target).partition(".")[0] for node in used))
    names = [name for name, _ in module.named_children() if name in called]
    if names == [name for name in called if name in names]:
        return []
    return [f"module._modules = {{name: module._modules[name] for name in {names!r}}}"]


def _computes(module: torch.nn.Module) -> bool:
    return type(module).forward is not torch.nn.Module.forward


def _own_modules(module: torch.nn.Module, path: str = "") -> Iterator[tuple[str, torch.nn.Module]]:
    """A module and those in it that are but parts of names, by their paths; not its children."""
    yield path, module
    for name, child in module.named_children():
        if not _computes(child):
            yield from _own_modules(child, f"{path}.{name}".strip("."))


def _owner(module: str, path: str) -> str:
    return f'{module}.get_submodule("{path}")' if path else module


def _function(name: str) -> str:
    return "make_" + re.sub(r"\W", "_", name).strip("_")


def _local(name: str) -> str:
    """A node's name as a variable that hides nothing which the function uses."""
    taken = {"root", "graph", "node", "module", "torch", "info", "in_spec", "out_spec", "Engine"}
    plain = re.sub(r"\W", "_", name)
    return f"{plain}_" if plain in taken or re.fullmatch(r"t\d+", plain) else plain
