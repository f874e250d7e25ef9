"""Reads the graph of a split module, an inlined module or an exported program as terms.

Two correct programs may differ in the following, so a reading normalises it:
    calls        a fallback's call is read as its body, an engine's as `execute_engine` and its
                 outputs, whether a module or an op makes the call
    names        nodes, placeholders and attributes have none; a parameter or constant is its value
    arguments    an op's arguments are bound to its schema and defaults filled in, since saving
                 drops those equal to the default
    sizes        a symbolic size is its expression over the model inputs' dimensions, since export
                 asks the input for what the split asked an intermediate
    casts        a size given to an engine is the size, whether the engine's module makes a tensor
                 of it, as `TorchTensorRTModule.forward` does, or the graph
    items        a number that is read out of an engine's output is that output, since the module
                 that calls the engine gives a size as a tensor, and torch reads it in a trace
    elements     an element of a list that the graph itself makes is what stands there
    branches     the graphs that a cond, a loop or a map holds are read as what they return of their
                 own inputs, since export names their nodes anew
    identities   `detach`, `lift_fresh_copy` and `alias` are what they are applied to: export adds
                 and drops them
    dead code    nodes that no output needs are not read, assertions among them; the child that
                 torch's own `ExportedProgram.module` puts in to check a call's inputs is one
The term of an op that mutates or draws random numbers has the op's number among all such ops. What
it writes is what later nodes read there, by whatever name: a fallback that is called twice reads
what its first call wrote, and what the first call returned is written to by the second.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import GraphModule, Node
from torch.utils._sympy.functions import FloorDiv, Mod

from harness.rig.engines.emulated import NAME_SLOT, engine_digest, engine_slots, is_placeholder
from harness.rig.engines.module import is_engine_child, returned_outputs
from harness.rig.oracles.copied_back import returned_places
from harness.rig.oracles.observing import content_digest
from harness.rig.oracles.scope import Place, Scope
from harness.rig.oracles.terms import (
    CASTS,
    IDENTITIES,
    ITEMS,
    OF_A_NUMBER,
    Kind,
    Term,
    TermTable,
    bound_arguments,
    has_effect,
    mutates,
)

_SIZE_ARITHMETIC: dict[Any, Callable[..., sympy.Expr]] = {
    operator.add: operator.add,
    operator.sub: operator.sub,
    operator.mul: operator.mul,
    operator.neg: operator.neg,
    operator.floordiv: FloorDiv,
    operator.mod: Mod,
}


class Unreadable(Exception):
    """A graph holds something that cannot be read as a term; the message says what and where."""


@dataclass
class Reading:
    """A program as terms: its outputs and its effects, in order."""

    outputs: tuple[Any, ...]
    effects: tuple[Term, ...] = ()


Attribute = Callable[[str], Any]


@dataclass
class GraphReader:
    """Reads graphs into one table, so that terms of several programs can be compared."""

    table: TermTable = field(default_factory=TermTable)
    _digests: dict[int, tuple[torch.Tensor, str]] = field(default_factory=dict)

    def read_module(self, module: GraphModule, user_inputs: int) -> Reading:
        """Read a split or inlined module; placeholders beyond ``user_inputs`` are leaked ones."""
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        bound = {
            node: self._input(index, node.name, index >= user_inputs)
            for index, node in enumerate(placeholders)
        }
        reading = self._read(module.graph, bound, _attribute_of(module))
        places = returned_places(module)
        return Reading(tuple(_terms(reading.outputs[place]) for place in places), reading.effects)

    def read_program(self, program: ExportedProgram, user_inputs: int) -> Reading:
        """Read an exported program, whose lifted inputs the signature resolves."""
        placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
        specs = program.graph_signature.input_specs
        if len(specs) != len(placeholders):
            raise Unreadable(
                f"the signature has {len(specs)} inputs, the graph {len(placeholders)}"
            )
        bound: dict[Node, Any] = {}
        users = 0
        for node, spec in zip(placeholders, specs, strict=True):
            if spec.kind is InputKind.USER_INPUT:
                bound[node] = self._input(users, node.name, users >= user_inputs)
                users += 1
            else:
                bound[node] = self._value(_lifted_value(program, str(spec.target)), node.name)
        inputs = {node.name: term for node, term in bound.items()}
        reading = self._read(program.graph, bound, _attribute_of(program.graph_module))
        returned = program.graph_signature.output_specs
        if len(returned) != len(reading.outputs):
            raise Unreadable(
                f"the signature has {len(returned)} outputs, the graph {len(reading.outputs)}"
            )
        users_only, effects = [], list(reading.effects)
        for output, returned_spec in zip(map(_terms, reading.outputs), returned, strict=True):
            if returned_spec.kind is OutputKind.USER_OUTPUT:
                users_only.append(output)
            elif returned_spec.kind is OutputKind.USER_INPUT_MUTATION:
                effects.append(self._copy(inputs[str(returned_spec.target)], output, len(effects)))
        return Reading(tuple(users_only), tuple(effects))

    def _copy(self, place: Term, value: Term, number: int) -> Term:
        """A declared write to an input, as the copy_ that it stands for, which waits for it."""
        name = str(torch.ops.aten.copy_.default)
        waits = self._argument(False, {})
        return self.table.make(Kind.EFFECT, (name, number), (place, value, waits), note=name)

    def _input(self, index: int, name: str, leaked: bool) -> Term:
        kind = Kind.LEAKED if leaked else Kind.INPUT
        return self.table.make(kind, index, note=f"{kind} {index} ({name})")

    def _read(
        self,
        graph: torch.fx.Graph,
        bound: Mapping[Node, Any],
        attribute: Attribute,
        scope: Scope | None = None,
    ) -> Reading:
        """The outputs are `Place`s, which others may still write to, or terms that nobody can."""
        scope = scope or Scope.of(graph)
        values = {node: _place(given) for node, given in bound.items()}
        # What nodes need is read on demand and without recursion, so that a graph whose nodes stand
        # in the wrong order, of which lint complains, still says which wire goes where.
        for node in _needed(graph):
            self._evaluate(node, values, attribute, scope)
        returned = graph.output_node().args[0]
        flat = returned if isinstance(returned, tuple | list) else (returned,)
        outputs = tuple(self._given(item, values) for item in flat)
        return Reading(outputs, tuple(scope.effects))

    def _evaluate(
        self, root: Node, values: dict[Node, Any], attribute: Attribute, scope: Scope
    ) -> None:
        stack, entered = [root], set()
        while stack:
            node = stack[-1]
            if node in values or (node.op == "output" and node in entered):
                stack.pop()
                continue
            waiting = [source for source in node.all_input_nodes if source not in values]
            if not waiting:
                if node.op != "output":
                    values[node] = _place(self._node(node, values, attribute, scope))
                entered.add(node)
                stack.pop()
                continue
            if node in entered:  # its sources were tried, and one of them needs this node
                for source in waiting:
                    cycle = self.table.make(Kind.CYCLE, 0, note=cycle_note(source))
                    values[source] = Place(cycle)
                continue
            entered.add(node)
            stack.extend(reversed(waiting))

    def _node(self, node: Node, values: dict[Node, Any], attribute: Attribute, scope: Scope) -> Any:
        if node.op == "placeholder":
            # Every placeholder of the graph is bound, so this one was erased and is still read.
            return self.table.make(Kind.DANGLING, 0, note=f"erased placeholder {node.name}")
        if node.op == "get_attr":
            held = attribute(str(node.target))
            if isinstance(held, GraphModule):
                return self._branch(held)
            place = Place(self._value(held, str(node.target)))
            return scope.attributes.setdefault(id(held), (held, place))[1]
        if node.op == "call_module":
            return self._child(node, values, attribute, scope)
        if node.op != "call_function":
            raise Unreadable(f"{node.op} {node.name}")
        if node.target is operator.getitem:
            return self._item(self._given(node.args[0], values), node.args[1])
        if node.target in IDENTITIES:
            return self._given(node.args[0], values)
        placeholder = is_placeholder(node.target)
        if placeholder or node.target is torch.ops.tensorrt.execute_engine.default:
            inputs = self._argument(node.args[0], values)
            if not isinstance(inputs, Term) or inputs.kind is not Kind.LIST:
                raise Unreadable(f"{node.name} gives its engine no list of inputs")
            if placeholder:
                engine = self._slots([str(item) for item in node.args[1:]])
            else:
                engine = self._argument(node.args[1], values)
            return self._engine(engine, inputs.children)
        if str(node.target) in ITEMS:  # before the size that torch may know it to be
            source = self._argument(node.args[0], values)
            if source.kind is Kind.ENGINE_OUTPUT:
                return source
        size = self._size(node, values, scope)
        return size if size is not None else self._op(node, values, scope)

    def _size(self, node: Node, values: dict[Node, Any], scope: Scope) -> Term | None:
        """A symbolic size as an expression over the model inputs' sizes; None for anything else.

        It is computed from what the node is wired to, and not from the node's own metadata, which
        are still right when the wire is wrong.
        """
        if node.target is torch.ops.aten.sym_size.int:
            expr = scope.size_of(node.args[0], node.args[1])
        elif node.target in _SIZE_ARITHMETIC:
            terms = [self._argument(item, values) for item in node.args]
            if any(not isinstance(term, Term) or term.kind is not Kind.SIZE for term in terms):
                return None
            expr = _SIZE_ARITHMETIC[node.target](*(term.label for term in terms))
        else:
            expr = scope.canonical(node.meta.get("val"))
        return None if expr is None else self.table.make(Kind.SIZE, expr, note=f"size {expr}")

    def _child(
        self, node: Node, values: dict[Node, Any], attribute: Attribute, scope: Scope
    ) -> Any:
        child = attribute(str(node.target))
        if type(child).__name__ == "GuardsFn":
            return self.table.make(Kind.CONSTANT, "guards", note="guards")
        args = tuple(self._given(item, values) for item in node.args)
        if is_engine_child(child):
            inputs = tuple(map(_terms, args))
            outputs = self._engine(self._value(child.engine, child.name), inputs)
            return self._item(outputs, 0) if returned_outputs(child) == 1 else outputs
        if not isinstance(child, GraphModule):
            raise Unreadable(f"child {node.target} is a {type(child).__name__}")
        placeholders = [item for item in child.graph.nodes if item.op == "placeholder"]
        bound = dict(zip(placeholders, args, strict=False))
        for item in placeholders[len(args) :]:
            if item.target not in node.kwargs:
                raise Unreadable(f"call of {node.target} gives no {item.target}")
            bound[item] = self._given(node.kwargs[str(item.target)], values)
        reading = self._read(child.graph, bound, _attribute_of(child), scope)
        if isinstance(child.graph.output_node().args[0], tuple | list):
            return reading.outputs
        return reading.outputs[0]

    def _branch(self, module: GraphModule) -> Term:
        """The graph of a higher-order op: its outputs as a function of its own inputs."""
        inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
        bound = {
            node: self.table.make(Kind.INPUT, ("branch", index), note=f"branch input {index}")
            for index, node in enumerate(inputs)
        }
        reading = self._read(module.graph, bound, _attribute_of(module))
        parts = (*map(_terms, reading.outputs), *reading.effects)
        return self.table.make(Kind.LIST, ("branch", len(inputs)), parts)

    def _engine(self, engine: Term, inputs: Sequence[Term]) -> Term:
        given = tuple(_uncast(item) for item in inputs)
        return self.table.make(Kind.ENGINE, engine.label, given, note=engine.note)

    def _item(self, source: Any, index: Any) -> Any:
        if isinstance(source, tuple):
            return source[index]
        source = _terms(source)
        if source.kind is Kind.LIST:
            return source.children[index]
        kind = Kind.ENGINE_OUTPUT if source.kind is Kind.ENGINE else Kind.ITEM
        return self.table.make(kind, index, (source,))

    def _op(self, node: Node, values: dict[Node, Any], scope: Scope) -> Term:
        arguments = tuple(self._argument(item, values) for item in bound_arguments(node))
        name = str(node.target)
        if not has_effect(node):
            return self.table.make(Kind.OP, name, arguments, note=name)
        effect = self.table.make(Kind.EFFECT, (name, len(scope.effects)), arguments, note=name)
        scope.effects.append(effect)
        if not mutates(node) or not isinstance(node.args[0], Node):
            return effect
        written = values[node.args[0]]
        if isinstance(written, Place):
            written.term = effect
        return written

    def _given(self, item: Any, values: Mapping[Node, Any]) -> Any:
        """An argument as what may be written to, by whoever is given it."""
        return values[item] if isinstance(item, Node) else self._argument(item, values)

    def _argument(self, item: Any, values: Mapping[Node, Any]) -> Any:
        """An argument as the term that it is now."""
        if isinstance(item, Node):
            return _terms(values[item])
        if isinstance(item, tuple | list):
            children = tuple(self._argument(child, values) for child in item)
            if all(isinstance(child, Term) for child in children):
                return self.table.make(Kind.LIST, len(children), children)
            return children
        if isinstance(item, slice):
            parts = (item.start, item.stop, item.step)
            return self.table.make(
                Kind.LIST, "slice", tuple(self._argument(part, values) for part in parts)
            )
        if isinstance(item, int) and not isinstance(item, bool):
            return self.table.make(Kind.SIZE, sympy.Integer(item), note=str(item))
        return self.table.make(Kind.CONSTANT, (type(item).__name__, repr(item)), note=repr(item))

    def _value(self, value: Any, name: str) -> Term:
        if isinstance(value, torch.Tensor):
            return self.table.make(Kind.STATE, self.digest(value), note=f"parameter {name}")
        if isinstance(value, torch.ScriptObject) or hasattr(value, "real_obj"):
            return self._slots(engine_slots(value))
        raise Unreadable(f"attribute {name} is a {type(value).__name__}")

    def _slots(self, slots: Sequence[str]) -> Term:
        return self.table.make(Kind.CONSTANT, engine_digest(slots), note=slots[NAME_SLOT])

    def digest(self, tensor: torch.Tensor) -> str:
        """A tensor's content as text. It is computed once, so nobody may write to the tensor."""
        known = self._digests.get(id(tensor))
        if known is None:
            # The tensor is kept alive, or its id could be reused for another one.
            known = self._digests[id(tensor)] = (tensor, content_digest(tensor))
        return known[1]


def _needed(graph: torch.fx.Graph) -> list[Node]:
    """Nodes with which all is read; where something is written, all, as reads keep their order."""
    effects = [node for node in graph.nodes if node.op == "call_module" or has_effect(node)]
    waiting, found = [*effects, graph.output_node()], set[Node]()
    if not any(map(mutates, effects)):
        return waiting
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += node.all_input_nodes
    return [node for node in graph.nodes if node in found]


def _place(value: Any) -> Any:
    return Place(value) if isinstance(value, Term) else value


def _terms(value: Any) -> Any:
    """A value with the terms that its places have now."""
    if isinstance(value, tuple):
        return tuple(map(_terms, value))
    return value.term if isinstance(value, Place) else value


def cycle_note(source: Node) -> str:
    """The note of a term that stands for a value that depends on itself."""
    return f"itself ({source.name})"


def _attribute_of(root: torch.nn.Module) -> Attribute:
    def attribute(path: str) -> Any:
        value: Any = root
        for part in path.split("."):
            if not hasattr(value, part):
                raise Unreadable(f"the graph reads {path}, which the module does not have")
            value = getattr(value, part)
        return value

    return attribute


def _lifted_value(program: ExportedProgram, target: str) -> Any:
    if target in program.state_dict:
        return program.state_dict[target]
    if target in program.constants:
        return program.constants[target]
    raise Unreadable(f"the signature names {target}, which the program does not hold")


def _uncast(given: Term) -> Term:
    """An engine's input without the casts that make a tensor of a size or another number."""
    term = given
    while term.kind is Kind.OP and term.label in CASTS:
        if term.label == OF_A_NUMBER:
            return term.children[0]
        term = term.children[0]
    return term if term.kind is Kind.SIZE else given
