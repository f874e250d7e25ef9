"""Mends of ops that lowering writes anew in other ops, which then compute something else."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_LOWERED = "torch_tensorrt/dynamo/lowering/_decompositions.py"
_OF_THE_INDEX = "src_shape = list(index.shape)"

LOG_SOFTMAX = Mend(
    defects=("log-of-an-unlikely-class",),
    idea="The largest logit is subtracted, and then the logarithm of the sum of exponentials, "
    "which no class makes 0: as PyTorch defines it, in float32, as there: a sum over as many "
    "classes as a language model has is beyond float16. It costs a maximum and a difference, and "
    "an engine no longer has a softmax there.",
    test="log_softmax of float32 logits 200 apart, of float16 logits 20 apart, of 100,000 "
    "classes with enable_autocast, and along the rows of x[mask] where no row is left.",
    patches=(
        Patch(
            file=_LOWERED,
            edits=(
                Edit(
                    "log_softmax_decomposition",
                    "return torch.log(...)",
                    """
                    half = x.dtype in (torch.float16, torch.bfloat16)
                    logits = x.to(torch.float) if half else x
                    result = logits.dtype if half_to_float else x.dtype
                    if _is_empty(logits):
                        return torch.empty_like(logits, dtype=result)
                    largest = torch.amax(_with_one_more(logits, dim), dim, keepdim=True)
                    shifted = logits - largest
                    total = torch.sum(torch.exp(shifted), dim, keepdim=True)
                    return (shifted - torch.log(total)).to(result)
                    """,
                ),
            ),
            added=(
                '''
    def _is_empty(tensor):
        """Whether a size is 0; one that varies or depends on data must not be asked here."""
        return any(isinstance(size, int) and size == 0 for size in tensor.shape)
    ''',
                '''
    def _with_one_more(logits, dim):
        """With one more class that is none, where there may be none, of which none is largest."""
        if logits.dim() == 0 or isinstance(logits.shape[dim], int):
            return logits
        amounts = [0] * (2 * logits.dim())
        amounts[2 * (logits.dim() - 1 - dim % logits.dim()) + 1] = 1
        return torch.constant_pad_nd(logits, amounts, float("-inf"))
    ''',
            ),
        ),
    ),
)

VARIANCE = Mend(
    defects=("variance-of-the-example",),
    idea="The number of samples stays the size that it is, where it had become a Python float. "
    "Fewer samples than the correction are no error, as in PyTorch: a variance of one number is "
    "nan. A number that varies is the sum of as many ones, as a tensor, since a number that leaves "
    "an engine is another defect. It costs that sum, and of a fixed size nothing.",
    test="x.var(1) and x.std(1) over a dynamic dimension, called with another size than the "
    "example's, in an engine and with its ops in torch_executed_ops; x.var(1) of one number.",
    patches=(
        Patch(
            file=_LOWERED,
            edits=(
                Edit("var_decomposition", "float(N - 1)", "_samples_but(N, 1, input_tensor, dims)"),
                Edit(
                    "var_decomposition",
                    "float(N - correction)",
                    "_samples_but(N, correction, input_tensor, dims)",
                ),
                Edit(
                    "var_decomposition",
                    "float(N) - correction",
                    "_samples_but(N, correction, input_tensor, dims)",
                ),
                Edit("var_decomposition", "if correction_term <= 0: ...", ""),
                Edit(
                    "var_decomposition",
                    "variance = variance_unnormalized / correction_term",
                    "$found\nvariance = variance.to(variance_unnormalized.dtype)",
                ),
            ),
            added=(
                '''
    def _samples_but(samples, correction, values, dims):
        """The number of samples less the correction; where a size varies, as a tensor."""
        if isinstance(samples, int):
            return max(float(samples - correction), 0.0)
        ones = torch.ones_like(values, dtype=torch.float)
        return torch.clamp(torch.sum(ones, dims) - correction, min=0)
    ''',
            ),
        ),
    ),
)

COMPLEX_VARIANCE = Mend(
    defects=("variance-of-complex",),
    idea="The squares are summed of both parts of a difference, which is the square of its "
    "distance. Real values are squared as before.",
    test="torch.var and torch.std of complex values, against eager.",
    patches=(
        Patch(
            file=_LOWERED,
            edits=(
                Edit(
                    "var_decomposition",
                    "squared_diff = diff * diff",
                    """
                    $found
                    if diff.is_complex():
                        squared_diff = torch.sum(torch.view_as_real(diff) ** 2, -1)
                    """,
                ),
            ),
        ),
    ),
)

TYPE_OF_THE_EMPTY = Mend(
    defects=("empty-strided-of-floats",),
    idea="The tensor has the type that the call names. It costs nothing.",
    test="torch.empty_strided(..., dtype=torch.int64), and numbers beyond 2 ** 24 copied into it.",
    patches=(
        Patch(
            file=_LOWERED,
            edits=(
                Edit(
                    "empty_strided_decomposition",
                    "torch.empty(...)",
                    'torch.empty(empty_size, dtype=kwargs.get("dtype"), device=to_torch_device('
                    "default_device()))",
                ),
            ),
        ),
    ),
)

SCATTERED = Mend(
    defects=("scatter-mean-truncated", "scatter-without-self"),
    idea="Means of floats are divided as such, and those of integers rounded down. Where what was "
    "there takes no part, the reduction's neutral number is put in its place first, and is not "
    "counted. It costs one scatter there, and nothing elsewhere.",
    test="scatter_reduce by each reduction, with and without include_self, of floats and integers.",
    patches=(
        Patch(
            file=_LOWERED,
            edits=(
                Edit(
                    "scatter_reduce_decomposition",
                    "if not include_self: ...",
                    """
                    if not include_self:
                        neutral = _neutral_number(reduce, input_tensor.dtype)
                        input_tensor = torch.scatter(input_tensor, dim, index, neutral)
                        scatter_loop_tensor = input_tensor
                    """,
                ),
                Edit(
                    "scatter_reduce_decomposition",
                    "torch.add(scatter_count_tensor, torch.ones_like(scatter_count_tensor))",
                    "$found if include_self else torch.clamp(scatter_count_tensor, min=1)",
                ),
                Edit(
                    "scatter_reduce_decomposition",
                    '"trunc"',
                    'None if input_tensor.is_floating_point() else "floor"',
                ),
            ),
            added=(
                '''
    def _neutral_number(reduce, dtype):
        """What changes nothing that it is reduced with."""
        limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
        infinity = float("inf") if dtype.is_floating_point else None
        if reduce == "amax":
            return limits.min if infinity is None else -infinity
        if reduce == "amin":
            return limits.max if infinity is None else infinity
        return 1 if reduce == "prod" else 0
    ''',
            ),
        ),
    ),
)

SHORTER_INDEX = Mend(
    defects=("scatter-by-a-shorter-index",),
    idea="The loop goes over the rows of the index, which may be fewer than those of what is "
    "added. It costs nothing.",
    test="scatter_add and scatter_reduce by an index of fewer rows than the values have.",
    uncovered="Tensors without a dimension, of which neither has rows.",
    patches=(
        Patch(
            file=_LOWERED,
            edits=tuple(
                Edit(f"{op}_decomposition", "src_shape = list(src_tensor.shape)", _OF_THE_INDEX)
                for op in ("scatter_add", "scatter_reduce")
            ),
        ),
    ),
)

ATTENTION = Mend(
    defects=("attention-to-nothing",),
    idea="Where a row of the mask forbids all, its attention is 0, as PyTorch defines it. It costs "
    "two comparisons and a choice for each attention that has a mask.",
    test="scaled_dot_product_attention with a mask of which a row is all False, and with one to no "
    "key at all, with decompose_attention=True.",
    patches=(
        Patch(
            file=_LOWERED,
            edits=(
                Edit(
                    "scaled_dot_product_attention_decomposition",
                    "attn_weight = torch.softmax(attn_weight, dim=-1)",
                    """
                    allowed = attn_weight
                    $found
                    if attn_mask is not None:
                        something = torch.any(allowed != float("-inf"), -1, keepdim=True)
                        attn_weight = attn_weight.masked_fill(~something, 0.0)
                    """,
                ),
            ),
        ),
    ),
)

STATISTICS = Mend(
    defects=("statistics-of-an-instance-norm",),
    idea="The decomposition updates the running mean and variance as PyTorch does: by the mean of "
    "each sample's own. It costs a mean and a variance where statistics are kept, and nothing "
    "elsewhere.",
    test="A model that calls instance_norm with buffers as its running mean and variance, and "
    "with use_input_stats: call it twice and look at the buffers, in memory and saved.",
    goes_with=("copy-back-in-memory",),
    patches=(
        Patch(
            file=_LOWERED,
            edits=(
                Edit(
                    "instance_norm_decomposition",
                    "return torch.nn.functional.group_norm(...)",
                    """
                    space = list(range(2, input.dim()))
                    kept = [] if running_mean is None else [(running_mean, input.mean(space))]
                    if running_var is not None:
                        kept.append((running_var, input.var(space)))
                    for statistic, of_each_sample in kept:
                        statistic.mul_(1 - momentum).add_(of_each_sample.mean(0) * momentum)
                    $found
                    """,
                ),
            ),
        ),
    ),
)

VMAP = Mend(
    defects=("vmap-beside-an-assertion",),
    idea="What the erased assertions leave unused is kept: run_decompositions, which follows, "
    "removes it and knows which calls have effects. It costs nothing.",
    test="torch.vmap beside a cast, .float() or .half().",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/lowering/passes/remove_assert_nodes.py",
            edits=(
                Edit(
                    "remove_assert_nodes",
                    "gm = clean_up_graph_after_modifications(gm)",
                    """
                    gm.graph.lint()
                    gm.recompile()
                    """,
                ),
            ),
        ),
    ),
)

WRITTEN_ANEW = (
    LOG_SOFTMAX,
    VARIANCE,
    COMPLEX_VARIANCE,
    TYPE_OF_THE_EMPTY,
    SCATTERED,
    SHORTER_INDEX,
    ATTENTION,
    STATISTICS,
    VMAP,
)
