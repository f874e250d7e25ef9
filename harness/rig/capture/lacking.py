"""What a model surely has not, of what makes a model meet a known defect."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from harness.rig.capture.capture import CapturedProgram
from harness.rig.engines.writes import declared_writes, writes_of

_PAIRED = (torch.ops.aten.view_as_complex, torch.ops.aten.polar)


def lacking(captured: CapturedProgram) -> Iterator[str]:
    """By the names of `MODELS` and `NEEDS` of `harness.register.defects`.

    Of a module that somebody split by hand nothing is sure.
    """
    exported, example = captured.exported, captured.example
    if exported is None:
        return
    forward = inspect.signature(captured.eager.forward).parameters.values()
    given = (*example.args, *example.kwargs.values())
    writes, values = _writes(exported), list(_values(exported))
    nodes = list(_nodes(exported))
    parts = list(filter(_writes_a_part, nodes))
    called = {*map(_op_name, nodes)}
    buffers = {**dict(captured.eager.named_buffers()), **dict(exported.named_buffers())}
    has = {
        "state": writes and any((buffers, exported.state_dict, exported.constants)),
        "only-writes": writes,
        "input-writes": _writes_to_an_input(exported),
        "slice-writes": bool(parts),
        "four-dimensional-writes": any(map(_in_four_dimensions, parts)),
        "keywords": bool(example.kwargs)
        or any(each.kind is each.VAR_POSITIONAL for each in forward),
        "sizes": captured.program.dynamic_shapes is not None,
        "data-sizes": any(free_unbacked_symbols(each) for each in values),
        "containers": not all(isinstance(each, torch.Tensor) for each in given),
        "no-inputs": not pytree.tree_leaves(given),
        "returns-none": not all(isinstance(each, torch.Tensor) for each in _returned(exported)),
        "complex": any(map(_is_complex, values)),
        "control-flow": any(
            isinstance(node.target, torch._ops.HigherOrderOperator) for node in nodes
        ),
        "global-partitioner": dict(captured.case.settings).get("use_fast_partitioner") is False,
        "recompiled": captured.program.after_compile is not None,
        "module-given": captured.case.module_given,
        "handmade-split": False,  # what is captured is split by torch's own splitter
        "complex-beside-real": any(map(_is_complex_beside_real, nodes)),
        "complex-of-reals": any(map(_makes_complex, nodes)),
        "complex-returned": any(map(_is_complex, _returned(exported))),
        "scatter-add": "scatter_add" in called,
        "scatter-reduce": "scatter_reduce" in called,
        "slice-scatter-by-default": any(
            _op_name(node) == "slice_scatter" and len(node.args) < 3 for node in nodes
        ),
        "log-softmax": bool(called & {"log_softmax", "cross_entropy_loss"}),
        "variance": bool(called & {"var", "std", "var_mean", "std_mean"}),
        "masked-attention": any(map(_masks_attention, nodes)),
        "sort-by-default": any(map(_sorts_by_the_last, nodes)),
        "instance-norm": "instance_norm" in called,
        "vmap": any("vmap" in str(node.target) for node in nodes),
        "cast-into-state": any(map(_takes_another_form, nodes)),
        "cloned-state": any(
            _op_name(node) == "clone" and _is_state(node.args[0], exported) for node in nodes
        ),
        "state-into-state": any(_is_state(each, exported) for each in _becomes_state(exported)),
        "strided-state": not all(each.is_contiguous() for each in buffers.values()),
        "torch-2.14": torch.__version__ >= "2.14",
        "torch-2.9": torch.__version__.startswith("2.9."),
    }
    yield from (name for name, present in has.items() if not present)


def _nodes(exported: ExportedProgram) -> Iterator[Node]:
    """The nodes of the graph, and of the graphs that it calls."""
    for module in exported.graph_module.modules():
        if isinstance(module, GraphModule):
            yield from module.graph.nodes


def _values(exported: ExportedProgram) -> Iterator[Any]:
    """What the nodes stand for where torch traced them."""
    for node in _nodes(exported):
        yield from pytree.tree_leaves(node.meta.get("val"))


def _is_complex(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_complex()


def _makes_complex(node: Node) -> bool:
    """Whether an op makes complex values of real ones alone, as `torch.fft.rfft` does.

    Those of `_PAIRED` are none of them: lowering rewrites them as pairs of reals.
    """
    if node.op != "call_function" or getattr(node.target, "overloadpacket", None) in _PAIRED:
        return False
    made = any(map(_is_complex, pytree.tree_leaves(node.meta.get("val"))))
    return made and not any(_is_complex(each.meta.get("val")) for each in node.all_input_nodes)


def _is_complex_beside_real(node: Node) -> bool:
    """Whether it is a sum, a difference or a product of complex values and of other ones."""
    if _op_name(node) not in ("add", "sub", "rsub", "mul"):
        return False
    sides = [each.meta.get("val") if isinstance(each, Node) else each for each in node.args[:2]]
    return any(map(_is_complex, sides)) and not all(map(_is_complex, sides))


def _op_name(node: Node) -> str:
    """The name of an op of torch's own, without the underscore of one in place; else nothing."""
    schema = getattr(node.target, "_schema", None)
    namespace, _, name = schema.name.partition("::") if schema is not None else ("", "", "")
    return name.removesuffix("_") if namespace == "aten" else ""


def _sorts_by_the_last(node: Node) -> bool:
    """Whether it is, or is lowered to, an `aten.sort` whose dimension is left out."""
    if _op_name(node) in ("quantile", "nanquantile"):
        return True
    return _op_name(node) in ("sort", "argsort") and len(node.args) < 2


def _writes(exported: ExportedProgram) -> bool:
    """Whether a tensor of the model or an input may be written, by the signature or in place."""
    told = declared_writes(exported.graph_signature)
    return bool(told or writes_of(exported.graph_module))


def _writes_to_an_input(exported: ExportedProgram) -> bool:
    """Whether a user's input may be written. A program's other inputs are weights and state."""
    signature = exported.graph_signature
    given = {f"its input {name}" for name in signature.user_inputs}
    written = {write.target for write in writes_of(exported.graph_module)}
    return bool(signature.user_inputs_to_mutate or given & written)


def _writes_a_part(node: Node) -> bool:
    """Whether it may write to a part of a tensor, in place or in a copy."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return False
    name = schema.name.partition("::")[2]
    written = node.args[0] if node.args else None
    return (
        name.endswith("_scatter")
        or name.startswith("index_copy")
        or (schema.is_mutable and isinstance(written, Node) and _is_view(written))
    )


def _in_four_dimensions(write: Node) -> bool:
    """Whether a write goes to a tensor of four dimensions, or to a view of one."""
    written = write.args[0] if write.args else None
    while isinstance(written, Node):
        value = written.meta.get("val")
        if isinstance(value, torch.Tensor) and value.dim() == 4:
            return True
        written = written.args[0] if _is_view(written) and written.args else None
    return False


def _takes_another_form(node: Node) -> bool:
    """Whether a tensor takes the values of one of another type or shape: copy_(tensor, values)."""
    if _op_name(node) != "copy":
        return False
    values = [each.meta.get("val") for each in node.all_input_nodes[:2]]
    # As texts, since a size that varies cannot be in a set.
    forms = {f"{each.dtype} {each.shape}" for each in values if isinstance(each, torch.Tensor)}
    return len(forms) > 1


def _masks_attention(node: Node) -> bool:
    """Whether it is an attention that is given a mask, its fourth argument."""
    if _op_name(node) != "scaled_dot_product_attention":
        return False
    masks = (*node.args[3:4], node.kwargs.get("attn_mask"))
    return any(mask is not None for mask in masks)


def _becomes_state(exported: ExportedProgram) -> Iterator[Any]:
    """What may become state as it is: the sources of copies, and a functional program's ends."""
    yield from (node.args[1] for node in _nodes(exported) if _op_name(node) == "copy")
    told = exported.graph_signature.buffers_to_mutate
    yield from (node for node in exported.graph.nodes if node.name in told)


def _is_state(value: Any, exported: ExportedProgram) -> bool:
    """Whether a value is a buffer, a parameter or a constant, or a view of one."""
    while isinstance(value, Node) and _is_view(value) and value.args:
        value = value.args[0]
    signature = exported.graph_signature
    return isinstance(value, Node) and (
        value.op == "get_attr"
        or value.name in signature.inputs_to_buffers
        or value.name in signature.inputs_to_parameters
        or value.name in signature.inputs_to_lifted_tensor_constants
    )


def _is_view(node: Node) -> bool:
    """Whether it returns a view; what writes in place returns the tensor that it was given."""
    schema = getattr(node.target, "_schema", None)
    aliases = [each.alias_info for each in schema.returns] if schema is not None else []
    return any(each is not None and not each.is_write for each in aliases)


def _returned(exported: ExportedProgram) -> list[Any]:
    """What the graph gives back: for a node what it stands for, and everything else itself."""
    leaves = pytree.tree_leaves(exported.graph.output_node().args[0])
    return [each.meta.get("val") if isinstance(each, Node) else each for each in leaves]
