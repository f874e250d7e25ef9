"""Mends of the order in which a model is given its inputs when it is saved."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_AS_COMPILED = '''
def _as_compiled(module, args, kwargs):
    """The same inputs, with keywords and dictionaries in the order in which it was compiled."""
    import torch.fx._pytree as fx_pytree
    import torch.utils._pytree as pytree

    info = getattr(module.graph._codegen, "pytree_info", None)
    if info is None:
        names = [node.target for node in module.graph.nodes if node.op == "placeholder"]
        names = names[len(args) :]
        in_order = {name: kwargs[name] for name in names if name in kwargs}
        return args, in_order if len(in_order) == len(kwargs) else kwargs
    spec = info.in_spec
    given = pytree.tree_structure((args, kwargs))
    if not _alike(given, spec):
        return args, kwargs
    return pytree.tree_unflatten(fx_pytree.tree_flatten_spec((args, kwargs), spec), spec)
'''
_ALIKE = '''
def _alike(one, other):
    """Whether two structures differ in the order of dictionaries' keys at most."""
    if one.type is not other.type or one.num_children != other.num_children:
        return False
    ours, others = one.children(), other.children()
    if one.type is dict:
        if set(one.context) != set(other.context):
            return False
        others = [others[other.context.index(key)] for key in one.context]
    return all(map(_alike, ours, others))
'''

KEYWORDS_IN_ORDER = Mend(
    defects=("torch-keywords-by-position",),
    idea="save() hands torch.export the inputs in the order in which the module was compiled, "
    "flattened and rebuilt by the module's own specification, or by the names of its inputs "
    "where it has none: torch.export gives a GraphModule its inputs by position. What does not "
    "fit the specification is handed on as it came. The mistake is torch's, but torch.export "
    "is right for its own modules, and save() knows the names.",
    test="compile with a then b, save with b then a; the keys of a dictionary in another order; an "
    "OrderedDict.",
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
            added=(_AS_COMPILED, _ALIKE),
        ),
    ),
)

KEYWORD_ORDER = (KEYWORDS_IN_ORDER,)
