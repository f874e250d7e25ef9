"""A mend of complex values that are made of real ones."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch


def _marked(which: str) -> Edit:
    """What the pattern rewriter puts in the place of a product or quotient is a pair of reals, too.

    It is the last of the nodes that it adds.
    """
    return Edit(
        "ComplexGraphRewriter._rewrite_mul_div_tensor",
        f"torch.fx.subgraph_rewriter.replace_pattern_with_filters(self.gm, original_{which}, "
        f"replacement, match_filters=[match_complex_{which}], ignore_literals=True)",
        'for replaced in $found:\n    replaced.replacements[-1].meta["is_complex_layout"] = True',
    )


OF_REALS = Mend(
    defects=("complex-of-reals",),
    idea="An op without a rule whose own result is complex gets its view_as_real whatever its "
    "inputs are. Up to now it got one only where an input was a pair of reals, which no input "
    "of torch.fft.rfft or torch.complex is. And a product with complex weights is marked as the "
    "pair of reals that it is, so that torch.fft.irfft gets a complex tensor. It costs nothing "
    "elsewhere.",
    test="torch.fft.rfft(x).abs(), torch.complex(a, b).abs() and "
    "torch.fft.irfft(torch.fft.rfft(x) * weights), against eager.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/lowering/passes/complex_graph_rewrite.py",
            edits=(
                Edit(
                    "ComplexGraphRewriter.rewrite_subgraph_nodes",
                    'any_complexified and node.meta.get("is_complex_layout", False)',
                    'node.meta.get("is_complex_layout", False)',
                ),
                _marked("mul"),
                _marked("div"),
            ),
        ),
    ),
)

COMPLEX_VALUES = (OF_REALS,)
