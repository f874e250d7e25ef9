"""A candidate: a model as a flat graph, with its inputs, and what is asked of its release.

Every candidate is a whole program again: it is exported anew before anything is asked of it.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
import torch.utils._pytree as pytree
from torch.fx import Graph, GraphModule, Interpreter, Node
from torch.fx.graph import _PyTreeCodeGen, _PyTreeInfo

from corpus.case import Case, Inputs, Program

IS: Final = "is"  # in a node's meta: the `Value` that it was when the model was run


@dataclass(frozen=True)
class Value:
    """What a node is when the model runs: its type and sizes, for a call of each of two sizes.

    ``dtype`` is None for what is no tensor; ``number`` is then the number, if it is one.
    """

    dtype: torch.dtype | None
    shapes: tuple[tuple[int, ...], ...] = ()
    number: Any = None

    @property
    def tensor(self) -> bool:
        return self.dtype is not None


@dataclass(frozen=True)
class Leaf:
    """One input of a model.

    ``source`` is the number of the leaf of the original's call that it is, None of one that is
    drawn. ``sizes`` are those to which it is cut, or of a drawn one has; "size" stands for that of
    the dynamic dimensions, and None for as it is. ``spec`` tells its dynamic dimensions.
    """

    source: int | None
    sizes: tuple[int | str | None, ...] = ()
    dtype: torch.dtype | None = None
    spec: Any = None

    def made(self, given: Sequence[Any], generator: torch.Generator, size: int | None) -> Any:
        """Its value in a call, of which the original's leaves are given."""
        if self.source is not None:
            value = given[self.source]
            if not isinstance(value, torch.Tensor) or set(self.sizes) <= {None}:
                return value
            cut = tuple(slice(each if isinstance(each, int) else None) for each in self.sizes)
            return value[cut].contiguous()
        assert self.dtype is not None
        shape = [size if each == "size" else each for each in self.sizes]
        if self.dtype.is_floating_point or self.dtype.is_complex:
            return torch.randn(shape, generator=generator, dtype=self.dtype)  # type: ignore[arg-type]
        return torch.randint(0, 2, shape, generator=generator).to(self.dtype)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Held:
    """What a model holds under a name.

    ``kind`` is "parameter", "buffer", "passing" (a buffer that is not persistent), "constant" (a
    plain attribute) or "module" (a branch of a higher-order op).
    """

    value: Any
    kind: str


@dataclass(frozen=True)
class Candidate:
    """A model and how it is asked.

    ``leaves`` are by the names of placeholders; ``args`` and ``kwargs`` hold such names where a
    call has values. ``out_spec`` tells how results are packed; None for as the output node has
    them. ``case`` is asked in its own words, but for what it builds, and ``program`` for its model.
    """

    graph: Graph
    held: Mapping[str, Held]
    leaves: Mapping[str, Leaf]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    out_spec: pytree.TreeSpec | None
    case: Case
    program: Program
    mode: str = "nonstrict"

    @property
    def calls(self) -> tuple[Node, ...]:
        """The ops of the graph."""
        return tuple(node for node in self.graph.nodes if node.op == "call_function")

    @property
    def outputs(self) -> tuple[Any, ...]:
        (returned,) = self.graph.output_node().args
        return returned if isinstance(returned, tuple) else (returned,)

    @property
    def positional(self) -> bool:
        """Whether it is called with its leaves alone, one by one."""
        return not self.kwargs and all(isinstance(name, str) for name in self.args)

    @property
    def dynamic(self) -> bool:
        return self.program.dynamic_shapes is not None

    @property
    def nodes(self) -> int:
        return len(self.graph.nodes)

    def measure(self) -> tuple[int, ...]:
        """How large it is: of two candidates the one that sorts first is the smaller."""
        arguments = [
            item
            for node in self.graph.nodes
            for item in pytree.tree_leaves((node.args, dict(node.kwargs)))
        ]
        tensors = [each.value for each in self.held.values() if torch.is_tensor(each.value)]
        sizes = [size for leaf in self.leaves.values() for size in leaf.sizes]
        shapes = [node.meta[IS].shapes[0] for node in self.graph.nodes if self._is_tensor(node)]
        return (
            len(self.calls),
            self.nodes,
            len(self.outputs),
            self._peculiarities(),
            sum(isinstance(item, Node) for item in arguments),
            len(arguments),
            sum(map(sum, shapes)) + sum(each.numel() for each in tensors),
            sum(size is not None for size in sizes),
            sum(map(len, [*self.held, *self.leaves])),
        )

    @staticmethod
    def _is_tensor(node: Node) -> bool:
        return IS in node.meta and node.meta[IS].tensor

    def _peculiarities(self) -> int:
        """How much of it is more than a model that is called with tensors one by one."""
        program, case = self.program, self.case
        hooks = (
            program.before_compile,
            program.after_compile,
            program.given_to_save,
            program.shapes_for_save,
        )
        return (
            len(case.fallback)
            + len(case.settings)
            + len(case.save_keywords)
            + (case.min_block_size != 1)
            + 2 * self.dynamic
            + sum(hook is not None for hook in hooks)
            + program.names_sizes
            + (not self.positional)
            + (self.out_spec is not None)
            + (self.mode != "nonstrict")
            + isinstance(self.graph.output_node().args[0], tuple)
        )

    def digest(self) -> str:
        """The same for candidates that are the same program, asked in the same way."""
        tensors = [
            (name, each.kind, tuple(getattr(each.value, "shape", ())))
            for name, each in self.held.items()
        ]
        case = dataclasses.replace(self.case, build=_nothing)
        asked = (self.args, self.kwargs, self.out_spec, self.leaves, tensors, self.mode, case)
        hooks = (self.program.before_compile, self.program.after_compile)
        own = (self.program.shapes_for_save is not None, self.program.names_sizes)
        more = (hooks, self.program.given_to_save, own, self.dynamic)
        nodes = "\n".join(str(node.format_node()) for node in self.graph.nodes)
        return hashlib.sha256(f"{nodes}\n{asked}\n{more}".encode()).hexdigest()

    def module(self) -> GraphModule:
        """The model, which shares its tensors with every other one."""
        root = torch.nn.Module()
        for name, each in self.held.items():
            _put(root, name, each)
        graph = copy.deepcopy(self.graph)
        _in_order(graph, pytree.tree_leaves((self.args, dict(self.kwargs))))
        if not self.positional or self.out_spec is not None:
            spec = pytree.tree_structure((self.args, dict(self.kwargs)))
            names = [
                item if isinstance(item, str) else f"given_{number}"
                for number, item in enumerate(self.args)
            ]
            info = _PyTreeInfo([*names, *self.kwargs], spec, self.out_spec)
            graph.set_codegen(_PyTreeCodeGen(info))
        graph.lint()
        module = GraphModule(root, graph, "Model")
        for name, each in self.held.items():
            _put(module, name, each)  # a graph module makes an ordinary buffer of every tensor
        return module.eval()

    def inputs(self, generator: torch.Generator, size: int | None) -> Inputs:
        """The arguments of one call, as `Program` makes them."""
        given = self.program.inputs(generator, size)
        leaves = pytree.tree_leaves((given.args, dict(given.kwargs)))
        values = {name: leaf.made(leaves, generator, size) for name, leaf in self.leaves.items()}
        args, kwargs = pytree.tree_map(values.__getitem__, (self.args, dict(self.kwargs)))
        return Inputs(args, kwargs)

    def as_case(self) -> Case:
        """A case that builds it."""
        program = dataclasses.replace(
            self.program, inputs=self.inputs, model=self.module(), archive=None
        )
        return dataclasses.replace(
            self.case,
            build=lambda: program,
            dynamic=self.dynamic,
            capture=self.mode,
            made_by=None,
        )

    def watched(self) -> Candidate:
        """The same, with every node's value noted as it is when the model runs.

        Raises:
            Exception: it does not run.
        """
        bounds = self.program.bounds
        sizes = (None, None) if bounds is None else (sum(bounds) // 2, bounds[1])
        graph = copy.deepcopy(self.graph)
        seen: list[dict[str, Any]] = []
        for size in sizes[: 2 if self.dynamic else 1]:
            call = self.inputs(torch.Generator().manual_seed(self.case.seed), size)
            leaves = pytree.tree_leaves((call.args, dict(call.kwargs)))
            watching = _Watching(copy.deepcopy(self.module()))
            with torch.no_grad():
                watching.run(*copy.deepcopy(leaves), enable_io_processing=False)
            seen.append(watching.seen)
        for node in graph.nodes:
            node.meta = {IS: _value([each.get(node.name) for each in seen])}
        return dataclasses.replace(self, graph=graph)


class _Watching(Interpreter):
    """Runs a graph and keeps what its nodes were."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.seen: dict[str, Any] = {}

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        self.seen[n.name] = (
            (value.dtype, tuple(value.shape)) if torch.is_tensor(value) else _plain(value)
        )
        return value


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | bool) else None


def _value(seen: Sequence[Any]) -> Value:
    if isinstance(seen[0], tuple):
        return Value(seen[0][0], tuple(each[1] for each in seen))
    return Value(None, number=seen[0])


def _put(root: torch.nn.Module, name: str, held: Held) -> None:
    """Make a module hold something under a name with dots."""
    *path, own = name.split(".")
    owner = root
    for part in path:
        if part not in owner._modules:
            owner.add_module(part, torch.nn.Module())
        owner = owner.get_submodule(part)
    for kept in (owner._parameters, owner._buffers, owner._modules, vars(owner)):
        kept.pop(own, None)
    owner._non_persistent_buffers_set.discard(own)
    if held.kind in ("buffer", "passing"):
        owner.register_buffer(own, held.value, persistent=held.kind == "buffer")
    else:
        setattr(owner, own, held.value)


def _in_order(graph: Graph, names: Sequence[str]) -> None:
    """Let placeholders stand in this order, before all else."""
    nodes = {node.name: node for node in graph.nodes if node.op == "placeholder"}
    for name in reversed(names):
        first = next(iter(graph.nodes))
        if nodes[name] is not first:
            first.prepend(nodes[name])


def _nothing() -> Program:
    raise NotImplementedError


def value_of(node: Node) -> Value:
    found: Value = node.meta.get(IS, Value(None))
    return found


def alike(one: Node, other: Node) -> bool:
    return value_of(one).tensor and value_of(one) == value_of(other)
