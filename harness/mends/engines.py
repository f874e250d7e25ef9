"""Mends of how an engine is inlined (`inline_trt_modules`)."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_INLINE = "inline_trt_modules"


def getitems_by_argument(function: str) -> Edit:
    """Each getitem of an engine gets the value that it reads, and not that of its place."""
    return Edit(
        function,
        "for idx, getitem_node in ...: ...",
        """
            for getitem_node in getitem_nodes:
                if getitem_node.target is operator.getitem:
                    getitem_node.meta["val"] = trt_node.meta["val"][getitem_node.args[1]]
            """,
    )


ONE_OUTPUT = Mend(
    defects=("rows-for-outputs", "one-output-list"),
    idea="An engine's values are a list. Where the partitioner gives the call a bare "
    "tensor it is the only output, and not one output for each of its rows; and the "
    "getitem of an only output has that output for its value, and not the list.",
    test="chunk under the global partitioner; the metadata of a saved relu's getitem.",
    patches=(
        Patch(
            edits=(
                Edit(
                    _INLINE,
                    "num_outputs = ...",
                    "num_outputs = len(_engine_values(trt_module_node))",
                ),
                Edit(
                    _INLINE,
                    'trt_node.meta["val"] = trt_module_node.meta["val"]',
                    'trt_node.meta["val"] = _engine_values(trt_module_node)',
                ),
                Edit(
                    _INLINE,
                    'getitem_output.meta["val"] = trt_node.meta["val"]',
                    'getitem_output.meta["val"] = trt_node.meta["val"][0]',
                ),
            ),
            added=(
                '''
    def _engine_values(call):
        """What an engine's call returns, as a list with an entry for each output."""
        value = call.meta["val"]
        return value if isinstance(value, (list, tuple)) else [value]
    ''',
            ),
        ),
    ),
)

GETITEMS = Mend(
    defects=("getitems-by-reader",),
    idea="A getitem says by its own argument which output it reads; its place among the "
    "readers says nothing. Readers that are no getitems are left as they are.",
    test="An engine whose outputs are read twice, out of order, or in part.",
    uncovered="`replace_execute_engine_no_op_node`, which counts in the same way on the way "
    "back from cross compiling; the mend of cross-unread-output has it.",
    patches=(Patch(edits=(getitems_by_argument(_INLINE),)),),
)

CALLS = Mend(
    defects=("engine-looked-up-by-child",),
    idea="The loop goes over calls, whose target names the engine, and no longer over "
    "children, whose call it had to guess by name. An engine that is called twice is "
    "inlined twice.",
    test="An engine that the graph calls twice, and one whose call has another name.",
    patches=(
        Patch(
            edits=(
                Edit(_INLINE, "(name, _)", "name, engine_call"),
                Edit(
                    _INLINE,
                    "gm.named_children()",
                    """
                    [
                        (node.target, node) for node in gm.graph.nodes if node.op == "call_module"
                    ]
                    """,
                ),
                Edit(
                    _INLINE,
                    "[node for node in gm.graph.nodes if node.name == name]",
                    "[engine_call]",
                ),
            )
        ),
    ),
)

NO_INPUTS = Mend(
    defects=("engine-without-inputs",),
    idea="The assertion that an engine's call has arguments goes: an engine of constants has none.",
    test="An engine that takes no inputs.",
    patches=(Patch(edits=(Edit(_INLINE, "assert trt_module_node.args", ""),)),),
)

NAME_TAKEN = Mend(
    defects=("engine-name-taken",),
    idea="The name that an engine gets in the parent is one that is free, or that this engine has.",
    test="A module that has an attribute _run_on_acc_0_engine.",
    patches=(
        Patch(
            edits=(
                Edit(
                    _INLINE,
                    "engine_name = ...",
                    """
            $found
            while getattr(gm, engine_name, trt_module.engine) is not trt_module.engine:
                engine_name += "_"
            """,
                ),
            )
        ),
    ),
)

NUMBERS = Mend(
    defects=("size-into-engine",),
    idea="A size or a number among an engine's arguments becomes a tensor of no dimensions "
    "before the call, on the device of the engine's outputs, as the compiled module's "
    "forward does it in memory.",
    test="A size that goes into an engine: save(retrace=False), load, run at another size.",
    goes_with=("copy-back-as-output",),
    patches=(
        Patch(
            edits=(
                Edit(
                    _INLINE,
                    "(trt_module_node.args, engine_node)",
                    "(_tensors_alone(gm, trt_module_node), engine_node)",
                ),
                Edit(
                    _INLINE,
                    "(trt_module_node.args, *engine_info)",
                    "(_tensors_alone(gm, trt_module_node), *engine_info)",
                ),
            ),
            added=(
                '''
    def _value_of(gm, argument):
        """What metadata say of an argument; nothing of an engine's output, which is a tensor."""
        if not isinstance(argument, torch.fx.Node):
            return argument
        source, places = argument, []
        while source.target is operator.getitem:
            source, place = source.args
            places.insert(0, place)
        if "_run_on_acc" in str(source.target) or "execute_engine" in str(source.target):
            return None
        if source.op != "call_module" or "val" in argument.meta:
            return argument.meta.get("val")
        value = next(
            node.args[0]
            for node in gm.get_submodule(source.target).graph.nodes
            if node.op == "output"
        )
        for place in places:
            several = value.meta.get("val") if isinstance(value, torch.fx.Node) else value
            value = None if several is None else several[place]
        return value.meta.get("val") if isinstance(value, torch.fx.Node) else value


    def _tensors_alone(gm, call):
        """The arguments of an engine's call, with a tensor for each size or number."""
        import contextlib

        results = pytree.tree_leaves(call.meta["val"])
        result = next((each for each in results if isinstance(each, torch.Tensor)), None)
        if result is None:  # an engine of sizes alone, of which nothing tells the device
            return call.args
        tensors = []
        for argument in call.args:
            value = _value_of(gm, argument)
            if isinstance(value, (bool, torch.SymBool)):
                dtype = torch.bool
            elif isinstance(value, (int, torch.SymInt)):
                dtype = torch.int64
            elif isinstance(value, (float, torch.SymFloat)):
                dtype = torch.get_default_dtype()
            else:
                tensors.append(argument)
                continue
            form = {"dtype": dtype, "device": result.device}
            to_tensor = torch.ops.aten.scalar_tensor.default
            node = gm.graph.call_function(to_tensor, (argument,), form)
            with getattr(result, "fake_mode", contextlib.nullcontext()):
                node.meta["val"] = to_tensor(value, **form)
            tensors.append(node)
        return tuple(tensors)
    ''',
            ),
        ),
    ),
)

ENGINES = (ONE_OUTPUT, GETITEMS, CALLS, NO_INPUTS, NAME_TAKEN, NUMBERS)
