"""Mends of `enable_autocast`."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_CAST = "rule_based_autocast"

FLOATS_ALONE = Mend(
    defects=("autocast-casts-integers", "autocast-of-several-outputs"),
    idea="Floating tensors alone are cast, and the metadata of an op with several outputs is cast "
    "output by output. What an op returns that takes whole numbers is asked of torch, since it "
    "need not be of the type of the casts. It costs nothing.",
    test="A comparison of whole numbers above 2048, an embedding, chunk, and whole numbers that "
    "are divided before a Linear, each compiled with enable_autocast and float16.",
    uncovered="An LSTM, of whose matmuls one operand is cast and the other is not.",
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
                        f'node.meta["val"] = _value_when_cast(node, '
                        f"autocast_{which}_precision_type)",
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
        if all(each.is_floating_point() for each in given if isinstance(each, torch.Tensor)):
            return torch.utils._pytree.tree_map_only(torch.Tensor, cast, node.meta["val"])
        args, kwargs = torch.fx.node.map_arg(
            (node.args, node.kwargs), lambda each: each.meta["val"]
        )
        return node.target(*args, **kwargs)
    ''',
            ),
        ),
    ),
)

WRITES = Mend(
    defects=("autocast-loses-writes",),
    idea="An op that writes in place is left the tensor that it writes to, and so are the views "
    "that it writes through, where they had been given a cast of it; what is written is cast to "
    "that tensor's type. It costs nothing.",
    test="A running mean and a KV cache, compiled with enable_autocast: call each twice.",
    goes_with=("autocast-casts-integers",),
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
                        continue
                    if node in written_through:
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
            while _is_a_view(written):
                views.add(written)
                written = written.args[0]
        return views


    def _is_a_view(node):
        schema = getattr(node.target, "_schema", None)
        return bool(schema and schema.returns and schema.returns[0].alias_info)
    ''',
            ),
        ),
    ),
)

AUTOCAST = (FLOATS_ALONE, WRITES)
