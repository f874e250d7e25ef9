"""What a reproduction script looks for; `script` copies the one function that each needs.

They are the oracles in short: each looks for one kind of failure and returns the first it finds.
"""

from __future__ import annotations

import copy
import hashlib
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import GraphModule, Interpreter, Node

from harness.rig.reproduce.attempt import Attempt, Check, Outcome, outcome
from harness.rig.reproduce.engines import Call


def ends_by(stage: str, error: str) -> Check:
    """Whether it ends at this stage by an exception of this name."""

    def check(attempt: Attempt, split: GraphModule, calls: Sequence[Call]) -> str:
        same = (attempt.stage, type(attempt.error).__name__) == (stage, error)
        return attempt.ended if same else ""

    return check


def check_values(attempt: Attempt, split: GraphModule, calls: Sequence[Call]) -> str:
    """Whether the inlined module or the reloaded program computes something else than the split."""
    expected = outcome(copy.deepcopy(split), calls)
    found: list[tuple[str, Outcome | None]] = [("reloaded program", attempt.results)]
    if attempt.inlined is not None and attempt.stage not in ("inline-engines", "inline-fallbacks"):
        try:
            inlined = copy.deepcopy(attempt.inlined)
            inlined.recompile()
            found.insert(0, ("inlined module", outcome(inlined, calls)))
        except Exception as error:  # noqa: BLE001 - a result as well
            if attempt.results is not None:
                return f"inlined module: raises {type(error).__name__}: {error}"
    for name, results in found:
        said = difference(expected, results) if results is not None else ""
        if said:
            return f"{name}: {said}"
    return ""


def check_wiring(attempt: Attempt, split: GraphModule, calls: Sequence[Call]) -> str:
    """Whether something else is computed, or the same numbers are made of other values."""
    if said := check_values(attempt, split, calls):
        return said
    if attempt.inlined is None or attempt.stage in ("inline-engines", "inline-fallbacks"):
        return ""
    made: dict[str, tuple[str, list[str]]] = {}
    count = sum(node.op == "placeholder" for node in split.graph.nodes)
    inputs = [f"input {number}" for number in range(count)]
    wanted, got = (terms(module, inputs, made) for module in (split, attempt.inlined))
    for right, wrong in zip(wanted, got, strict=False):
        reader, of = "an output", ""
        while right != wrong:
            (op, reads), (other, others) = (made.get(term, (term, [])) for term in (right, wrong))
            parts = [pair for pair in zip(reads, others, strict=False) if pair[0] != pair[1]]
            if op != other or not parts:
                return f"inlined module: {reader} reads {of}{other}, should read {of}{op}"
            reader, of = (reader, f"{op} of ") if op.startswith("output ") else (op, "")
            right, wrong = parts[0]
    return ""


def terms(
    module: GraphModule, inputs: Sequence[Any], made: dict[str, tuple[str, list[str]]]
) -> list[str]:
    """What each output is made of, as digests; ``made`` has the op and the arguments of each.

    An engine is a function of its name, whatever it computes.
    """
    values: dict[Node, Any] = {}
    given = iter(inputs)

    def term(op: str, args: Any) -> str:
        reads = [each if isinstance(each, str) else repr(each) for each in pytree.tree_leaves(args)]
        digest = hashlib.sha256(repr((op, reads)).encode()).hexdigest()
        made[digest] = op, reads
        return digest

    for node in module.graph.nodes:
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
        if node.op == "placeholder":
            values[node] = next(given, node.name)
        elif node.op == "get_attr":
            held = operator.attrgetter(node.target)(module)
            tensor = isinstance(held, torch.Tensor)
            values[node] = str(held.tolist()) if tensor else node.target.removesuffix("_engine")
        elif node.op == "call_module":
            child = module.get_submodule(node.target)
            if isinstance(child, GraphModule):
                found = terms(child, pytree.tree_leaves((args, kwargs)), made)
                values[node] = found if len(found) > 1 else found[0]
            else:
                called = term(node.target, args)
                several = all(user.target is operator.getitem for user in node.users)
                values[node] = called if several else term("output 0", called)
        elif node.target is operator.getitem:
            whole, number = args
            values[node] = (
                whole[number] if isinstance(whole, list) else term(f"output {number}", whole)
            )
        elif "execute_engine" in str(node.target):
            values[node] = term(args[1], args[0])
        elif node.op == "output":
            return pytree.tree_leaves(args)
        else:
            values[node] = term(str(node.target), (args, kwargs))
    return []


def check_compiled(attempt: Attempt, split: GraphModule, calls: Sequence[Call]) -> str:
    """Whether what a package compiled computes something else than the model."""
    if attempt.eager is None or attempt.stage == "compile":
        return ""
    # An engine that really runs may differ by this much.
    said = difference(attempt.eager, outcome(copy.deepcopy(split), calls), tolerance=1e-3)
    return f"compiled module: {said}" if said else ""


def difference(expected: Outcome, got: Outcome, tolerance: float = 0.0) -> str:
    """Where two outcomes part first, or an empty string; NaN equals NaN.

    How results are packed comes after what they are, since a package may get both wrong.
    """
    returned = [*zip(expected.returned, got.returned, strict=True)]
    inputs = zip(expected.inputs, got.inputs, strict=True)
    for what, pairs in (("output", returned), ("input afterwards", inputs)):
        for call, (wanted, found) in enumerate(pairs):
            left, right = pytree.tree_leaves(wanted), pytree.tree_leaves(found)
            for at, (one, other) in enumerate(zip(left, right, strict=False)):
                said = unlike(one, other, tolerance) if len(left) == len(right) else ""
                if said:
                    return f"call {call}, {what} {at}: {said}"
    for call, (wanted, found) in enumerate(returned):
        if pytree.tree_structure(wanted) != pytree.tree_structure(found):
            return f"call {call} returns another structure"
    alike = len(expected.changed) == len(got.changed)
    if not alike or (not tolerance and expected.changed != got.changed):
        return (
            f"calls change {len(got.changed)} parameters and buffers, should change "
            f"{len(expected.changed)}, or to other values"
        )
    return ""


def unlike(one: Any, other: Any, tolerance: float = 0.0) -> str:
    """How ``other`` differs from ``one``."""
    if not torch.is_tensor(one) or not torch.is_tensor(other):
        same = type(one) is type(other) and (one == other or one != one)
        return "" if same else f"{other!r}, should be {one!r}"
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return f"{other.dtype} {tuple(other.shape)}, should be {one.dtype} {tuple(one.shape)}"
    close = torch.isclose(other, one, rtol=tolerance, atol=tolerance, equal_nan=True)
    if close.all():
        return ""
    at = tuple((~close).nonzero()[0].tolist())
    return f"at {list(at)} is {other[at].item()}, should be {one[at].item()}"


def check_structure(attempt: Attempt, split: GraphModule, calls: Sequence[Call]) -> str:
    """Whether a graph is malformed, or the inlined module has other inputs than the split."""
    programs = [program for program in (attempt.program, attempt.reloaded) if program is not None]
    modules = [program.graph_module for program in programs]
    if attempt.inlined is not None and attempt.stage in ("export", "save", "load", "run"):
        modules.insert(0, attempt.inlined)
        wanted, got = ([n.target for n in m.graph.nodes if n.op == "placeholder"]
                       for m in (split, attempt.inlined))  # fmt: skip
        if wanted != got:
            return f"its inputs are {got}, should be {wanted}"
    for module in modules:
        try:
            module.graph.lint()
            compile(module.graph.python_code("self").src, "<graph>", "exec")
        except (RuntimeError, ValueError, AssertionError, SyntaxError) as error:
            return f"{type(error).__name__}: {error}".splitlines()[0]
        left = [node.name for node in module.graph.nodes if node.op == "call_module"]
        if left:
            return f"children are still called: {left}"
    return ""


def check_signature(attempt: Attempt, split: GraphModule, calls: Sequence[Call]) -> str:
    """Whether the program has other inputs, outputs or ranges of sizes than the split module."""
    args, kwargs = copy.deepcopy(calls[0])
    in_spec = pytree.tree_structure((args, kwargs))
    out_spec = pytree.tree_structure(copy.deepcopy(split)(*args, **kwargs))
    for program in (attempt.program, attempt.reloaded):
        if program is None:
            continue
        specs = program.graph_signature.input_specs
        users = {spec.arg.name for spec in specs if spec.kind is InputKind.USER_INPUT}
        outputs = program.graph_signature.output_specs
        returned = [spec for spec in outputs if spec.kind is OutputKind.USER_OUTPUT]
        for what, got, wanted in (
            ("inputs", len(users), in_spec.num_leaves),
            ("outputs", len(returned), out_spec.num_leaves),
            ("input structure", program.call_spec.in_spec, in_spec),
            ("output structure", program.call_spec.out_spec, out_spec),
        ):
            if got != wanted:
                return f"{what}: {got}, should be {wanted}"
        nodes = [node for node in program.graph.nodes if node.name in users]
        sizes = [size for node in nodes for size in getattr(node.meta.get("val"), "shape", ())]
        symbols = {s for size in sizes if not isinstance(size, int) for s in size.node.expr.free_symbols}  # fmt: skip  # noqa: E501
        stated = {n.name: n.meta["val"] for n in split.graph.nodes if n.op == "placeholder"}
        dynamic = [v for v in stated.values() if torch.is_tensor(v) and any(not isinstance(s, int) for s in v.shape)]  # fmt: skip  # noqa: E501
        if dynamic and not symbols:
            return "every dynamic dimension became static"
        lost = [str(symbol) for symbol in symbols if symbol not in program.range_constraints]
        if lost:
            return f"the range of {', '.join(sorted(lost))} is lost"
    return ""


def check_state(attempt: Attempt, split: GraphModule, calls: Sequence[Call]) -> str:
    """Whether a parameter or buffer is lost, or is no longer what it was."""

    def described(value: torch.Tensor) -> str:
        return f"{value.dtype} {tuple(value.shape)} {value.tolist()}"

    wanted: dict[str, set[str]] = {}
    for module in split.modules():
        outside = module._non_persistent_buffers_set
        for name, value in [*module._parameters.items(), *module._buffers.items()]:
            if value is not None:
                kind = "parameter" if name in module._parameters else "buffer"
                kind = "constant" if name in outside else kind
                says = f"{kind}, requires_grad {value.requires_grad}"
                wanted.setdefault(described(value), set()).add(says)
    engines = len({id(module.engine) for module in split.modules() if hasattr(module, "engine")})
    for program in (attempt.program, attempt.reloaded):
        if program is None:
            continue
        held = {**program.state_dict, **program.constants}
        objects = [value for value in held.values() if isinstance(value, torch.ScriptObject)]
        if len(objects) != engines:
            return f"it holds {len(objects)} engines, should hold {engines}"
        got: dict[str, set[str]] = {}
        for spec in program.graph_signature.input_specs:
            target = str(spec.target)
            value = held.get(target)
            if not torch.is_tensor(value):
                continue
            kept = target in program.state_dict
            if spec.kind is InputKind.BUFFER and kept != bool(spec.persistent):
                return f"{target}: persistent is {spec.persistent}, in the state dict {kept}"
            kind = "parameter" if isinstance(value, torch.nn.Parameter) else "buffer"
            says = f"{kind if kept else 'constant'}, requires_grad {value.requires_grad}"
            got.setdefault(described(value), set()).add(says)
        for content in wanted.keys() & got.keys():
            if wanted[content] != got[content]:
                now, before = (", ".join(sorted(each[content])) for each in (got, wanted))
                return f"a {before} became a {now}"
    return ""


def check_unflatten(attempt: Attempt, split: GraphModule, calls: Sequence[Call]) -> str:
    """Whether the reloaded program, given its modules back, is not what the split module is."""
    if attempt.reloaded is None:
        return ""
    raises = "unflatten raises"
    try:
        module = torch.export.unflatten(attempt.reloaded)
        raises = "unflattened: raises"
        results = outcome(module, calls)
    except Exception as error:  # noqa: BLE001 - torch's own, and the answer to the question
        return f"{raises} {type(error).__name__}: {error}".splitlines()[0]
    said = difference(outcome(copy.deepcopy(split), calls), results)
    return f"unflattened: {said}" if said else ""


class NodeValues(Interpreter):
    """Runs a lifted graph and keeps the value of every node."""

    def run_node(self, n: Node) -> Any:
        self.values: dict[Node, Any] = getattr(self, "values", {})
        self.values[n] = super().run_node(n)
        return self.values[n]


def check_metadata(attempt: Attempt, split: GraphModule, calls: Sequence[Call]) -> str:
    """Whether a node's `meta["val"]` is not of the type, shape and dtype of what it computes."""
    for program in (attempt.program, attempt.reloaded):
        if program is None or attempt.results is None:
            continue
        held = {**program.constants, **program.state_dict}
        specs = program.graph_signature.input_specs
        lifted = [held[str(s.target)] for s in specs if s.kind is not InputKind.USER_INPUT]
        args, kwargs = copy.deepcopy(calls[min(1, len(calls) - 1)])
        leaves, _ = program._get_flat_args_with_check(args, kwargs)
        flat = [x.detach().clone() if torch.is_tensor(x) else x for x in (*lifted, *leaves)]
        run = NodeValues(program.graph_module, garbage_collect_values=False)
        with torch.no_grad():
            run.run(*flat)
        sizes: dict[Any, int] = {}
        for node, value in run.values.items():
            if node.op != "output":
                said = mismatch(node.meta.get("val"), value, sizes, strides=node.op == "placeholder"
                                and torch.is_tensor(value) and node.name not in
                                program.graph_signature.user_inputs)  # fmt: skip
                if said:
                    return f"{node.name}: {said}"
    return ""


def mismatch(meta: Any, value: Any, sizes: dict[Any, int], strides: bool = False) -> str:
    """What is wrong with ``meta`` for ``value``; ``sizes`` is what each symbol is in this run."""
    if isinstance(value, tuple | list):
        if not isinstance(meta, tuple | list) or len(meta) != len(value):
            return f"states {meta}, computes {len(value)} values"
        found = (mismatch(one, other, sizes) for one, other in zip(meta, value, strict=True))
        return next(filter(None, found), "")
    if not torch.is_tensor(value):
        return ""
    if not torch.is_tensor(meta):
        return f"states a {type(meta).__name__}, computes a tensor"
    stated = tuple(sizes_in(meta.shape, value.shape, sizes))
    if (stated, meta.dtype) != (tuple(value.shape), value.dtype):
        return f"states {meta.dtype} {stated}, computes {value.dtype} {tuple(value.shape)}"
    if strides and meta.stride() != value.stride():
        return f"states strides {meta.stride()}, has {value.stride()}"
    return ""


def sizes_in(stated: Any, got: Any, sizes: dict[Any, int]) -> Iterator[Any]:
    for at, size in enumerate(stated):
        if isinstance(size, int):
            yield size
            continue
        expression = size.node.expr
        if expression.is_Symbol and at < len(got):
            sizes.setdefault(expression, got[at])
        yield expression.xreplace(sizes)
