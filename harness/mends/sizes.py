"""Mends of amounts that are sizes: numbers in torch's graph, tensors in TensorRT's."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

PADDING = Mend(
    defects=("padding-by-a-size",),
    idea="A padding whose amounts are not all numbers is left as it is, as one with negative "
    "amounts is: the fused convolution takes numbers alone. It costs the fusion there.",
    test="A convolution behind a padding by x.shape[-1] % 2.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/lowering/passes/fuse_pad_into_convolution.py",
            edits=(
                Edit(
                    "fuse_pad_into_convolution",
                    "any(amount < 0 for amount in pad)",
                    "any(not isinstance(amount, int) or amount < 0 for amount in pad)",
                ),
            ),
        ),
    ),
)

REPEAT = Mend(
    defects=("repeat-by-a-size",),
    idea="The converter of tile takes its branch for sizes that are known when the engine runs "
    "where a repeat is a tensor, too, and not where a size of the input is alone.",
    test="token.repeat(x.shape[0], 1, 1) of a parameter.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/conversion/impl/slice/ops.py",
            edits=(
                Edit(
                    "tile",
                    "has_dynamic_shape_input = has_dynamic_shape(input.shape)",
                    """
                    has_dynamic_shape_input = has_dynamic_shape(input.shape) or any(
                        isinstance(each, TRTTensor) for each in dims
                    )
                    """,
                ),
            ),
        ),
    ),
)

SIZES = (PADDING, REPEAT)
