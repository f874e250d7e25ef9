"""Mends of calls that refuse what a model takes or returns."""

from __future__ import annotations

from harness.mends.copied import COPIED_PROGRAM
from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_COMPILER = "torch_tensorrt/dynamo/_compiler.py"
_SAVE = "torch_tensorrt/_compile.py"
_LEAVES = "(torch.Tensor, Input, bool, int, float, str, type(None))"

CONTAINERS = Mend(
    defects=("save-refuses-containers", "save-refuses-numbers"),
    idea="save() asks of the leaves of its positional inputs what it had asked of the inputs, and "
    "takes None, numbers and strings as torch.export does, by keyword too; the code behind it "
    "walks containers already, and leaves a named tuple what it is. It costs nothing.",
    test="A dictionary, a list, a named tuple, None and a number in arg_inputs, and a number and "
    "a flag in kwarg_inputs.",
    goes_with=("none-or-number-returned",),
    patches=(
        Patch(
            file=_SAVE,
            edits=(
                Edit(
                    "save",
                    "all(isinstance(input, (torch.Tensor, Input)) for input in arg_inputs)",
                    f"""
                    all(
                        isinstance(leaf, {_LEAVES})
                        for leaf in torch.utils._pytree.tree_leaves(list(arg_inputs))
                    )
                    """,
                ),
                Edit("save", "if kwarg_inputs and any(...): ...", ""),
                Edit(
                    "save",
                    "isinstance(obj, torch.Tensor)",
                    "isinstance(obj, (torch.Tensor, bool, int, float, str, type(None)))",
                ),
                Edit(
                    "save",
                    "type(obj)(extracted)",
                    'type(obj)(*extracted) if hasattr(obj, "_fields") else $found',
                ),
            ),
        ),
    ),
)

NO_NODE_RETURNED = Mend(
    defects=("no-output-refused",),
    idea="An output that is no node of the graph comes out of no engine, and is passed over where "
    "engines are told that they leave an output to the caller. It costs nothing.",
    test="A model that returns None, a number and a flag beside a tensor.",
    goes_with=("copy-back-in-memory",),
    patches=(
        Patch(
            file=_COMPILER,
            edits=(
                Edit(
                    "compile_module",
                    "target = output.target",
                    'target = getattr(output, "target", None)',
                ),
            ),
        ),
    ),
)

_ONE_A_TENSOR = '''
def _one_a_tensor(dynamic_shapes, args):
    """Shapes as the compiled module takes its inputs, where those of *args stand as one."""
    if not dynamic_shapes or not isinstance(dynamic_shapes, (dict, list, tuple)):
        return dynamic_shapes
    shapes = dynamic_shapes.values() if isinstance(dynamic_shapes, dict) else dynamic_shapes
    *named, last = shapes
    if (
        not isinstance(last, tuple)
        or len(named) + len(last) != len(args)
        or any(isinstance(each, (dict, list, tuple)) for each in args[len(named) :])
        or not all(each is None or isinstance(each, (dict, list, tuple)) for each in last)
    ):
        return dynamic_shapes
    return (*named, *last)
'''

_SPREAD = """
if arg_inputs is not None and not kwarg_inputs:
    dynamic_shapes = _one_a_tensor(dynamic_shapes, arg_inputs)
$found
"""

STAR = Mend(
    defects=("star-arguments-shapes",),
    idea="The compiled module names each tensor of *args, so the exporter spreads the shapes that "
    "torch.export took as one for all of them, where that makes as many as there are inputs and "
    "each of these is one tensor. All other shapes are handed on as they came, a ShapesCollection, "
    "which is no sequence, among them. It costs nothing.",
    test="A model that takes *args of a dynamic batch, one of them or several, and one with an "
    "argument before them: save with the dynamic_shapes that torch.export took, by both "
    "exporters. A tensor beside a tuple of one, and a tensor whose shape is a tuple of its sizes.",
    uncovered="**kwargs, and *args in front of keywords; and who gives such shapes to torch.export "
    "of a compiled module, in place of to save().",
    in_part=("star-arguments-shapes",),
    patches=(
        Patch(
            edits=(
                Edit(
                    "export",
                    "patched_module = transform(...)",
                    _SPREAD,
                ),
                Edit(
                    "create_trt_exp_program",
                    "combined_args = _combine_args(...)",
                    _SPREAD,
                ),
            ),
            added=(_ONE_A_TENSOR,),
        ),
    ),
)

EXPORTED = Mend(
    defects=("copy-back-of-a-program",),
    idea="save() reads the list of buffers off the graph of the program that it is given, where "
    "torch.export has left what compile wrote there, and declares their new values as it does "
    "those of a module that it exports itself. A program that has declared them says so on the "
    "same graph, and is left as it is. It costs a copy of the graph, without its weights, so that "
    "the caller's program stays as it is.",
    test="A running mean: compile, torch.export.export, save, load, and call it twice; and save "
    "the program twice.",
    uncovered="A program that is written by torch.export.save, which no code of the release sees.",
    patches=(
        Patch(
            file=_SAVE,
            edits=(
                Edit(
                    "save",
                    "module = _declare_aliased_kv_mutations_on_ep(module)",
                    """
                    _told = module.graph_module.meta
                    _state = None
                    if not _told.get("_copyback_mutations_declared"):
                        _state = _told.get("_copyback_mutation_buffers")
                    module = _declare_aliased_kv_mutations_on_ep(
                        _with_its_own_graph(module) if _state else module,
                        copyback_buffers=_state,
                    )
                    """,
                ),
            ),
            added=(COPIED_PROGRAM,),
        ),
    ),
)

CONSTANT_KEPT = Mend(
    defects=("constant-deleted",),
    idea="A folded constant that the split graph itself reads is left to it, where all were "
    "deleted. The global partitioner splits the graph in place, so that what PyTorch reads lies "
    "there; the fast one gives each piece its own. It costs a look over the nodes.",
    test="masked_fill by a mask of torch.ones().tril() in torch_executed_ops, compiled with "
    "use_fast_partitioner=False, called and saved.",
    patches=(
        Patch(
            file=_COMPILER,
            edits=(
                Edit(
                    "compile_module",
                    "for attr in dir(gm): ...",
                    """
                    read = {each.target for each in partitioned_module.graph.nodes}
                    for attr in dir(gm):
                        if attr.startswith("_frozen_param") and attr not in read:
                            delattr(gm, attr)
                    """,
                ),
            ),
        ),
    ),
)

BRANCHES = Mend(
    defects=("branches-beside-engines",),
    idea="The global partitioner takes no graph for a weight of an engine, and a child that is no "
    "engine is left to PyTorch whichever partitioner was asked: by the global one these are the "
    "branches and bodies of higher-order ops. It costs a look into a dictionary for each get_attr.",
    test="A model with torch.cond, compiled with use_fast_partitioner=False: compare with eager.",
    patches=(
        Patch(
            file=_COMPILER,
            edits=(
                Edit(
                    "compile_module",
                    "settings.use_fast_partitioner and '_run_on_acc' not in name",
                    "'_run_on_acc' not in name",
                ),
            ),
        ),
        Patch(
            file="torch_tensorrt/dynamo/partitioning/_global_partitioner.py",
            edits=(
                Edit(
                    "TorchTensorRTOperatorSupport.is_node_supported",
                    "node in CONVERTERS or node.op == 'get_attr'",
                    "node in CONVERTERS "
                    "or (node.op == 'get_attr' and node.target not in submodules)",
                ),
            ),
        ),
    ),
)

SAVING = (CONTAINERS, NO_NODE_RETURNED, STAR, EXPORTED, BRANCHES, CONSTANT_KEPT)
