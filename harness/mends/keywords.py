"""Mends of the order in which a model is given its inputs when it is saved."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import EXPORTER, Mend, Patch

_SAVE = "torch_tensorrt/_compile.py"
_AS_COMPILED = '''
def _as_compiled(module, args, kwargs):
    """The same inputs, with keywords and dictionaries in the order in which it was compiled."""
    import torch.fx._pytree as fx_pytree
    import torch.utils._pytree as pytree

    kwargs = kwargs or {}
    info = getattr(module.graph._codegen, "pytree_info", None)
    if info is None:
        names = [node.target for node in module.graph.nodes if node.op == "placeholder"]
        names = names[len(args) :]
        in_order = {name: kwargs[name] for name in names if name in kwargs}
        return args, in_order if len(in_order) == len(kwargs) else kwargs
    spec = info.in_spec
    given = pytree.tree_structure((args, kwargs))
    if given.num_leaves != spec.num_leaves or set(kwargs) != set(spec.child(1).context):
        return args, kwargs
    return pytree.tree_unflatten(fx_pytree.tree_flatten_spec((args, kwargs), spec), spec)
'''

KEYWORDS_IN_ORDER = Mend(
    defects=("torch-keywords-by-position",),
    idea="save() hands torch.export the inputs in the order in which the module was compiled, "
    "flattened and rebuilt by the module's own specification, or by the names of its inputs "
    "where it has none: torch.export gives a GraphModule its inputs by position. What does not "
    "fit the specification is handed on as it came. The mistake is torch's, but torch.export "
    "is right for its own modules, and save() knows the names.",
    test="compile with a then b, save with b then a; the keys of a dictionary in another order.",
    patches=(
        Patch(
            file=_SAVE,
            edits=(
                Edit(
                    "save",
                    "exp_program = torch.export.export(...)",
                    """
                    args_in_order, kwargs_in_order = _as_compiled(
                        module, tuple(arg_tensors), kwarg_tensors
                    )
                    exp_program = torch.export.export(
                        module,
                        args=args_in_order,
                        kwargs=kwargs_in_order,
                        dynamic_shapes=dynamic_shapes,
                        strict=False,
                    )
                    """,
                ),
            ),
            added=(_AS_COMPILED,),
        ),
        Patch(
            file=EXPORTER,
            edits=(
                Edit(
                    "export",
                    "return torch.export.export(...)",
                    """
                    args, kwargs = _as_compiled(gm, args, kwarg_inputs)
                    return torch.export.export(
                        patched_module, args=args, kwargs=kwargs, dynamic_shapes=dynamic_shapes
                    )
                    """,
                ),
            ),
            added=(_AS_COMPILED,),
        ),
    ),
)

KEYWORD_ORDER = (KEYWORDS_IN_ORDER,)
