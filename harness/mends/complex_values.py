"""A mend of complex values that are made of real ones."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

OF_REALS = Mend(
    defects=("complex-of-reals",),
    idea="An op without a rule whose own result is complex gets its view_as_real whatever its "
    "inputs are. Up to now it got one only where an input was a pair of reals, which no input "
    "of torch.fft.rfft or torch.complex is. It costs nothing elsewhere.",
    test="torch.fft.rfft(x).abs() and torch.complex(a, b).abs(), against eager.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/lowering/passes/complex_graph_rewrite.py",
            edits=(
                Edit(
                    "ComplexGraphRewriter.rewrite_subgraph_nodes",
                    'any_complexified and node.meta.get("is_complex_layout", False)',
                    'node.meta.get("is_complex_layout", False)',
                ),
            ),
        ),
    ),
)

COMPLEX_VALUES = (OF_REALS,)
