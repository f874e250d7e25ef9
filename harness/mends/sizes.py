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

UNBOUND = Mend(
    defects=("output-size-without-symbol",),
    idea="In the meta kernel of an engine, a size of an output that depends on data becomes a new "
    "such size, as it does in the kernels of torch's own ops. It costs nothing at run time.",
    test="nonzero in an engine: save(m, f), and by use_legacy_exporter=False.",
    uncovered="A size that a number of the call determines, or a derived dimension, 2*n, that "
    "save(m, f) makes static: without dynamic_shapes these raise as before.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/runtime/meta_ops/register_meta_ops.py",
            edits=(
                Edit(
                    "_apply_symbolic_shape_expressions",
                    "for idx, (inp_tensor, inp_info) in ...: ...",
                    "$found\n_make_sizes_of_data(output_info, symbol_to_symint)",
                ),
            ),
            added=(
                '''
    def _make_sizes_of_data(output_info, symints):
        """Make a new size for each size of an output that depends on data, and on no input's."""
        from torch.utils._sympy.symbol import SymT, symbol_is_type

        for info in output_info:
            for expr in info["shape_exprs"]:
                known = isinstance(expr, int) or expr in symints
                if not known and expr.is_Symbol and symbol_is_type(expr, SymT.UNBACKED_INT):
                    symints[expr] = torch.library.get_ctx().new_dynamic_size()
    ''',
            ),
        ),
    ),
)

_LOWERED = "torch_tensorrt/dynamo/lowering/_decompositions.py"


def _left_as_it_is(defect: str, decomposition: str, test: str) -> Mend:
    return Mend(
        defects=(defect,),
        idea="Where the number of rows is no number, the decomposition declines, as one of "
        "torch's own does, and the op is left in PyTorch. It costs an engine there.",
        test=test,
        patches=(
            Patch(
                file=_LOWERED,
                edits=(
                    Edit(
                        decomposition,
                        "src_dim = src_shape[dim]",
                        "$found\nif not isinstance(src_dim, int):\n    return NotImplemented",
                    ),
                ),
            ),
        ),
    )


ADDED = _left_as_it_is(
    "scatter-add-of-a-size",
    "scatter_add_decomposition",
    "scatter_add of a dynamic number of rows, called with another number than the example's.",
)

REDUCED = _left_as_it_is(
    "scatter-reduce-of-a-size",
    "scatter_reduce_decomposition",
    "scatter_reduce of a dynamic number of rows, called with another number than the example's.",
)

USUAL = Mend(
    defects=("usual-size-beyond-the-largest",),
    idea="The usual size is the mean of the smallest and the largest one, as the message beside "
    "it says. It costs nothing.",
    test="A model of which an engine gets 16 to 20 rows that a mask selects: its profile's "
    "sizes are 16, 18 and 20.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/partitioning/common.py",
            edits=(
                Edit(
                    "construct_dynamic_input",
                    'int(unwrapped_min_max_opt["min"] + unwrapped_min_max_opt["max"] / 2)',
                    '(unwrapped_min_max_opt["min"] + unwrapped_min_max_opt["max"]) // 2',
                ),
            ),
        ),
    ),
)

SIZES = (PADDING, REPEAT, UNBOUND, ADDED, REDUCED, USUAL)
