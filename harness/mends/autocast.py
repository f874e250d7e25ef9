"""Mends of `enable_autocast`."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_CAST = "rule_based_autocast"

FLOATS_ALONE = Mend(
    defects=("autocast-casts-integers", "autocast-of-several-outputs"),
    idea="Floating tensors alone are cast, and the metadata of an op with several outputs is cast "
    "output by output. It costs nothing.",
    test="A comparison of whole numbers above 2048, an embedding, and chunk, each compiled with "
    "enable_autocast and float16.",
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
                        f'node.meta["val"] = _cast_values(node.meta["val"], '
                        f"autocast_{which}_precision_type)",
                    )
                    for which in ("low", "high")
                ),
            ),
            added=(
                '''
    def _cast_values(values, dtype):
        """The floating tensors among one or several values, as tensors of another type."""

        def cast(tensor):
            return tensor.to(dtype) if tensor.is_floating_point() else tensor

        return torch.utils._pytree.tree_map_only(torch.Tensor, cast, values)
    ''',
            ),
        ),
    ),
)

AUTOCAST = (FLOATS_ALONE,)
