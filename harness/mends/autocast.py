"""Mends of `enable_autocast`."""

from __future__ import annotations

from harness.mends.copied import COPIED_PROGRAM
from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_CAST = "rule_based_autocast"
_SET_VALUE = '''
    def _set_value(node, value):
        """What a node returns now, and what is taken out of that."""
        node.meta["val"] = value
        for reader in node.users:
            if reader.target == operator.getitem and isinstance(value, (list, tuple)):
                reader.meta["val"] = value[reader.args[1]]
    '''

FLOATS_ALONE = Mend(
    defects=(
        "autocast-casts-integers",
        "autocast-of-several-outputs",
        "autocast-of-a-named-type",
    ),
    idea="Floating tensors alone are cast, and the metadata of an op with several outputs is cast "
    "output by output. What an op returns that takes whole numbers is asked of torch, since it "
    "need not be of the type of the casts; and what it returns that names its type, or takes no "
    "tensor, is what it was. It costs nothing.",
    test="A comparison of whole numbers above 2048, an embedding, chunk, whole numbers that are "
    "divided before a Linear, x.to(torch.float32) and torch.zeros before one, each compiled with "
    "enable_autocast and float16.",
    uncovered="The branches of torch.cond, and ops that float16 has not, as quantile.",
    goes_with=("autocast-loses-writes",),
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/lowering/passes/rule_based_autocast.py",
            edits=(
                Edit(
                    _CAST, "val.dtype == dtype", "val.dtype == dtype or not val.is_floating_point()"
                ),
                *(
                    Edit(
                        _CAST,
                        f'node.meta["val"] = node.meta["val"].to(autocast_{which}_precision_type)',
                        f"_set_value(node, _value_when_cast("
                        f"node, autocast_{which}_precision_type))",
                    )
                    for which in ("low", "high")
                ),
            ),
            added=(
                '''
    def _value_when_cast(node, dtype):
        """What a node returns whose floating arguments are of this type now."""

        def cast(tensor):
            return tensor.to(dtype) if tensor.is_floating_point() else tensor

        given = [each.meta.get("val") for each in node.all_input_nodes]
        given = [each for each in given if isinstance(each, torch.Tensor)]
        named = any(isinstance(each, torch.dtype) for each in (*node.args, *node.kwargs.values()))
        if named or not given:  # as of x.to(float) or torch.ones, whatever its inputs are
            return node.meta["val"]
        if all(each.is_floating_point() for each in given):
            return torch.utils._pytree.tree_map_only(torch.Tensor, cast, node.meta["val"])
        args, kwargs = torch.fx.node.map_arg(
            (node.args, node.kwargs), lambda each: each.meta["val"]
        )
        return node.target(*args, **kwargs)
    ''',
                _SET_VALUE,
            ),
        ),
    ),
)

WRITES = Mend(
    defects=("autocast-loses-writes",),
    idea="An op that writes in place is left the tensor that it writes to, and so are the views "
    "that it writes through, where they had been given a cast of it; what is written is cast to "
    "that tensor's type. It costs nothing.",
    test="A running mean and a KV cache, compiled with enable_autocast: call each twice; a write "
    "through chunk(); and ReLU(inplace=True) in front of an op that is excluded.",
    goes_with=("autocast-casts-integers", "copy-back-in-memory"),
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/lowering/passes/rule_based_autocast.py",
            edits=(
                Edit(
                    _CAST,
                    "if node.target == torch.ops.higher_order.wrap_with_autocast or ...: ...",
                    """
                    $found
                    if _is_in_place(node):
                        node.args = _cast_all_tensor_args_to_dtype(
                            node, node.args, node.args[0].meta["val"].dtype
                        )
                        node.meta["val"] = node.args[0].meta["val"]
                        continue
                    if node in written_through:
                        _set_value(node, _as_what_it_views(node))
                        continue
                    """,
                ),
                Edit(
                    _CAST,
                    "low_precision_nodes, high_precision_nodes = ...",
                    "$found\nwritten_through = _views_written_through(gm.graph)",
                ),
            ),
            added=(
                '''
    def _is_in_place(node):
        return getattr(getattr(node.target, "_schema", None), "is_mutable", False)


    def _views_written_through(graph):
        """The views of other tensors that ops write to."""
        views = set()
        for node in filter(_is_in_place, graph.nodes):
            written = node.args[0]
            while _is_a_view(written) or written.target == operator.getitem:
                views.add(written)
                written = written.args[0]
        return views


    def _as_what_it_views(node):
        """What a view, or several, of a tensor are, which may have been cast since."""
        dtype = node.args[0].meta["val"].dtype
        return torch.utils._pytree.tree_map_only(
            torch.Tensor, lambda each: each.to(dtype), node.meta["val"]
        )


    def _is_a_view(node):
        schema = getattr(node.target, "_schema", None)
        return bool(schema and schema.returns and schema.returns[0].alias_info)
    ''',
                _SET_VALUE,
            ),
        ),
    ),
)

OWN_PROGRAM = Mend(
    defects=("autocast-rewrites-the-program", "calibration-advances-state"),
    idea="Casts are inserted into a copy of the program's graph, which shares its weights, and "
    "calibration runs a copy of its module. It costs a graph, and the state twice while it runs.",
    test="Compile one program with enable_autocast and then without, and call the program itself; "
    "calibrate a model with a counter, and look at the counter.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/lowering/passes/_aten_lowering_pass.py",
            edits=(
                Edit(
                    "pre_export_lowering",
                    "ep.module()",
                    "$found if settings.autocast_calibration_dataloader is None else "
                    "_copied($found)",
                ),
                Edit(
                    "pre_export_lowering",
                    "gm = ep.graph_module",
                    "ep = _with_its_own_graph(ep) if settings.enable_autocast else ep\n$found",
                ),
            ),
            added=(
                """
    def _copied(module):
        import copy

        return copy.deepcopy(module)
    """,
                COPIED_PROGRAM,
            ),
        ),
    ),
)

AUTOCAST = (FLOATS_ALONE, WRITES, OWN_PROGRAM)
