"""Mends of how the exported program is declared (`create_trt_exp_program`, `lift`)."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_CREATE = "create_trt_exp_program"

CONSTANTS = Mend(
    defects=("none-or-number-returned", "not-a-tensor-as-input"),
    idea="The signature declares a tensor as a tensor, a size as a size, and None or a "
    "number as the constant that it is, for inputs and for outputs, as torch.export "
    "does.",
    test="A model that takes and returns None and a number beside a tensor.",
    goes_with=("effect-deleted",),
    patches=(
        Patch(
            edits=(
                Edit(
                    _CREATE,
                    "user_output_nodes = ...",
                    """
                    user_output_nodes = [
                        each for each in output_nodes if not _writes_buffer(each)
                    ]
                    """,
                ),
                Edit(
                    _CREATE,
                    "input_specs = ...",
                    """
            input_specs = [
                InputSpec(InputKind.USER_INPUT, _argument_for(node), None) for node in input_nodes
            ]
            """,
                ),
                Edit(
                    _CREATE,
                    "output_specs = ...",
                    """
            output_specs = [
                OutputSpec(
                    OutputKind.BUFFER_MUTATION,
                    _argument_for(each),
                    each.meta["_kv_mutation_target"],
                )
                if _writes_buffer(each)
                else OutputSpec(OutputKind.USER_OUTPUT, _argument_for(each), None)
                for each in output_nodes
            ]
            """,
                ),
                Edit(
                    "lift",
                    'node.op == "placeholder" and node.name in graph_signature.user_inputs',
                    'node.op == "placeholder"',
                ),
            ),
            added=(
                '''
    def _writes_buffer(value):
        return isinstance(value, torch.fx.Node) and "_kv_mutation_target" in value.meta


    def _argument_for(value):
        """How the signature declares an input or output of the graph."""
        from torch.export.graph_signature import ConstantArgument, SymIntArgument

        if not isinstance(value, torch.fx.Node):
            return ConstantArgument(name="", value=value)
        example = value.meta.get("val")
        if isinstance(example, torch.SymInt):
            return SymIntArgument(name=value.name)
        if value.op == "placeholder" and not isinstance(example, torch.Tensor):
            return ConstantArgument(name=value.name, value=example)
        return TensorArgument(name=value.name)
    ''',
            ),
        ),
    ),
)

INNER_SYMBOLS = Mend(
    defects=("data-dependent-size",),
    idea="The program is given a range for every symbol of its values, and not for those "
    "of its inputs alone; a symbol that has one keeps it.",
    test="nonzero in a fallback: save(retrace=False), load in a fresh process. A float by "
    ".item(): what was loaded is decomposed.",
    patches=(
        Patch(
            edits=(
                Edit(
                    _CREATE,
                    "gm, trt_graph_signature, state_dict, constants = lift(...)",
                    "_add_ranges_of_inner_symbols(gm, fake_mode, range_constraints)\n$found",
                ),
            ),
            added=(
                '''
    def _add_ranges_of_inner_symbols(gm, fake_mode, range_constraints):
        """Give each symbol in the graph's values that has no range its own one."""
        if fake_mode is None or fake_mode.shape_env is None:
            return
        known = fake_mode.shape_env.var_to_range
        if known.keys() <= range_constraints.keys():
            return
        for node in gm.graph.nodes:
            for value in pytree.tree_leaves(node.meta.get("val")):
                sizes = value.shape if isinstance(value, torch.Tensor) else (value,)
                for size in sizes:
                    if isinstance(size, (torch.SymInt, torch.SymFloat)):
                        for symbol in size.node.expr.free_symbols:
                            if symbol in known:
                                range_constraints.setdefault(symbol, known[symbol])
    ''',
            ),
        ),
    ),
)

NOTHING_TO_DETECT = Mend(
    defects=("no-inputs",),
    idea="A model without inputs has no placeholder: there the fake mode is sought in the values "
    "of all nodes, and where there is none at all a new one serves. Placeholders for its weights "
    "go before the first node that computes.",
    test="A model without inputs.",
    patches=(
        Patch(
            edits=(
                Edit(
                    "lift",
                    "fake_mode = ...",
                    """
            $found
            if fake_mode is None:
                values = [node.meta.get("val") for node in gm.graph.nodes]
                modes = [value.fake_mode for value in values if hasattr(value, "fake_mode")]
                modes.append(torch._subclasses.fake_tensor.FakeTensorMode())
                fake_mode = modes[0]
            """,
                ),
                Edit(
                    "lift",
                    "non_user_input_idx = 0",
                    """
            if first_user_input is None:
                first_user_input = next(
                    node for node in gm.graph.nodes if node.op not in ("placeholder", "get_attr")
                )
            $found
            """,
                ),
            )
        ),
    ),
)

INPUTS_FIRST = Mend(
    defects=("weight-before-an-input",),
    idea="The graph's inputs are put before its other nodes, in their order, before torch's "
    "make_constraints sees it, since that takes a node's number for an input's.",
    test="A model with a weight and a dynamic input, all of it in PyTorch: save with "
    "dynamic_shapes and use_legacy_exporter=True.",
    patches=(
        Patch(
            edits=(
                Edit(
                    _CREATE,
                    "range_constraints = make_constraints(...)",
                    "_put_inputs_first(gm)\n$found",
                ),
            ),
            added=(
                """
        def _put_inputs_first(gm):
            inputs = [node for node in gm.graph.nodes if node.op == "placeholder"]
            first_other = next(node for node in gm.graph.nodes if node.op != "placeholder")
            for node in inputs:
                first_other.prepend(node)
        """,
            ),
        ),
    ),
)

PROGRAM = (CONSTANTS, INNER_SYMBOLS, NOTHING_TO_DETECT, INPUTS_FIRST)
