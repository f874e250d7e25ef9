"""Mends of what notices that a compiled module's model was changed."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

ALL_OUTPUTS = Mend(
    defects=("mutable-first-output-compared",),
    idea="All outputs of a tuple or a list are compared, where the loop ended with the first. It "
    "costs these comparisons, when something of the model was changed.",
    test="A MutableTorchTensorRTModule of a model with two outputs, of which the second reads a "
    "weight: change it, and call the module.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/utils.py",
            edits=(
                Edit(
                    "check_output_equal",
                    "for a, b in zip(output1, output2): ...",
                    "return all(map(check_output_equal, output1, output2))",
                ),
            ),
        ),
    ),
)

REFITTING = (ALL_OUTPUTS,)
