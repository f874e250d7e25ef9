"""Mends of the order in which a model is given its inputs when it is saved."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_AS_COMPILED = '''
def _as_compiled(module, args, kwargs):
    """The same inputs in the dictionaries that it was compiled with, their keys in that order."""
    import torch.utils._pytree as pytree

    info = getattr(module.graph._codegen, "pytree_info", None)
    if info is None:
        names = [node.target for node in module.graph.nodes if node.op == "placeholder"]
        names = names[len(args) :]
        in_order = {name: kwargs[name] for name in names if name in kwargs}
        return args, in_order if len(in_order) == len(kwargs) else kwargs
    leaves = _in_order_of(info.in_spec, (args, kwargs))
    return (args, kwargs) if leaves is None else pytree.tree_unflatten(leaves, info.in_spec)
'''
_IN_ORDER_OF = '''
def _in_order_of(spec, given):
    """Inputs as the leaves of a specification; None where more than dictionaries differ."""
    import collections

    import torch.utils._pytree as pytree

    if spec.is_leaf():
        return [given] if pytree.tree_is_leaf(given) else None
    dictionaries = (dict, collections.OrderedDict, collections.defaultdict)
    if spec.type in dictionaries and isinstance(given, collections.abc.Mapping):
        keys = spec.context[-1] if spec.type is collections.defaultdict else spec.context
        if set(keys) != set(given):
            return None
        values = [given[key] for key in keys]
    else:
        values, own = pytree.tree_flatten(given, is_leaf=lambda each: each is not given)
        theirs = (spec.type, spec.context, spec.num_children)
        if (own.type, own.context, len(values)) != theirs:
            return None
    leaves = []
    for child, value in zip(spec.children(), values):
        found = _in_order_of(child, value)
        if found is None:
            return None
        leaves += found
    return leaves
'''

KEYWORDS_IN_ORDER = Mend(
    defects=("torch-keywords-by-position", "ordered-dictionary-made-plain"),
    idea="save() hands torch.export the inputs as the module was compiled with them, dictionaries "
    "of the same kind with their keys in the same order, rebuilt by the module's own "
    "specification, or by the names of its inputs where it has none: torch.export gives a "
    "GraphModule its inputs by position. What does not fit the specification is handed on as it "
    "came. The mistake is torch's, but torch.export is right for its own modules, and save() "
    "knows the names.",
    test="compile with a then b, save with b then a; the keys of a dictionary in another order; an "
    "OrderedDict, given to both; a dictionary given to one and an OrderedDict, or a model's output "
    "of transformers, to the other.",
    uncovered="Who calls the exporter's own export() has to hand inputs over in that order.",
    in_part=("torch-keywords-by-position",),
    patches=(
        Patch(
            file="torch_tensorrt/_compile.py",
            edits=(
                Edit(
                    "save",
                    "if not file_path: ...",
                    """
                    $found
                    if module_type == _ModuleType.fx and output_format != "torchscript":
                        arg_tensors, kwarg_tensors = _as_compiled(
                            module, tuple(arg_tensors), kwarg_tensors or {}
                        )
                    """,
                ),
            ),
            added=(_AS_COMPILED, _IN_ORDER_OF),
        ),
    ),
)

HANDED_ON = Mend(
    defects=("keyword-ranges-dropped",),
    idea="torch_tensorrt.compile hands inputs by keyword on to dynamo.compile, beside those by "
    "position, and their ranges are looked up by name, where state that was lifted stands behind "
    "the positional ones. It costs nothing.",
    test="A program with a keyword of an open range, compiled by torch_tensorrt.compile with an "
    "Input of another range: call it with a size of that range; and one with a counter beside it.",
    uncovered="An Input by keyword that is wider than its program is refused, as one by position "
    "is.",
    patches=(
        Patch(
            file="torch_tensorrt/_compile.py",
            edits=(
                Edit(
                    "compile",
                    "dynamo_compile(exp_program, arg_inputs=torchtrt_arg_inputs, **kwargs)",
                    """
                    dynamo_compile(
                        exp_program,
                        arg_inputs=torchtrt_arg_inputs,
                        kwarg_inputs=torchtrt_kwarg_inputs,
                        **kwargs,
                    )
                    """,
                ),
            ),
        ),
        Patch(
            file="torch_tensorrt/dynamo/_compiler.py",
            edits=(
                Edit(
                    "_build_user_symbol_bounds",
                    "if isinstance(sample_kwarg_inputs, dict): ...",
                    """
                    if isinstance(sample_kwarg_inputs, dict):
                        positional = iter(sample_arg_inputs)
                        flat_inputs = [
                            sample_kwarg_inputs[name]
                            if name in sample_kwarg_inputs
                            else next(positional, None)
                            for name in user_input_names
                        ]
                    """,
                ),
            ),
        ),
    ),
)

KEYWORD_ORDER = (KEYWORDS_IN_ORDER, HANDED_ON)
