"""Mends of writes to parts of a tensor (`x[:, 1:] = y`), and of what an engine may overwrite."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_WITH_KNOWN = """
from torch.fx.experimental.symbolic_shapes import statically_known_true

$found
"""

_CONVERTERS = "torch_tensorrt/dynamo/conversion/aten_ops_converters.py"
_CONVERSION = "torch_tensorrt/dynamo/conversion/_conversion.py"
_DECOMPOSITIONS = "torch_tensorrt/dynamo/lowering/_decompositions.py"
_INDEX_PUT = "torch_tensorrt/dynamo/conversion/impl/select.py"
_LIFTING = "torch_tensorrt/dynamo/lowering/_buffer_lifting.py"
_SLICE_SCATTER = "torch_tensorrt/dynamo/conversion/impl/slice_scatter.py"

INPUT_KEPT = Mend(
    defects=("input-taken-for-a-cache", "cache-written-twice"),
    idea="An engine may write in place where lifting dropped the copy back in favour of that "
    "write, and nowhere else. Lifting marks the write; before an engine is converted, every "
    "other slice_scatter and index_copy gets the mark that forbids the layer for KV caches, "
    "which the converters already read. No lowering pass stands between that mark and them. "
    "The first of two writes to a buffer gets it too: the last one alone says what becomes of "
    "the buffer. A model that hands a cache in and out without writing to it pays for one copy.",
    test="slice_scatter and index_copy of an input, of a clone of it, of one input twice, and of "
    "a value that is read later: the caller's tensor is as it was, and the numbers are right. "
    "A buffer that is written twice in a call.",
    uncovered="A caller's own cache that the model overwrites in place is right, and copied "
    "back: the engine no longer writes to it. The engine cache's key does not hold the mark.",
    goes_with=("copy-back-in-memory",),
    patches=(
        Patch(
            file=_LIFTING,
            edits=(
                Edit(
                    "lift_mutated_buffers",
                    "predicted_kv_bindings.add(replacement.name)",
                    '$found\nnew_value.meta["_trt_kv_write"] = True',
                ),
            ),
        ),
        Patch(
            file=_CONVERSION,
            edits=(
                Edit(
                    "interpret_module_to_result",
                    "symbolic_shape_expressions = extract_symbolic_shape_expressions(module)",
                    "_keep_inputs_as_they_are(module)\n$found",
                ),
            ),
            added=(
                '''
    def _keep_inputs_as_they_are(module):
        """Forbid writes in place, but for those that lifting has dropped a copy for."""
        writes = (torch.ops.aten.slice_scatter.default, torch.ops.aten.index_copy.default)
        for node in module.graph.nodes:
            if node.target in writes and not node.meta.get("_trt_kv_write"):
                node.meta["_trt_no_kv_alias"] = True
    ''',
            ),
        ),
    ),
)

STEP = Mend(
    defects=("step-of-a-cache-write",),
    idea="A write with a step is none for the layer for KV caches, which takes the first "
    "position alone. Both who predicts the layer and who adds it ask for a step of 1; else "
    "the write is a scatter, which has the step, and is copied back. That costs a copy of the "
    "cache, of a write that was wrong.",
    test="Every second row of a buffer, and of an input, is written: compare with eager.",
    goes_with=("copy-back-in-memory", "tuple-for-a-tensor"),
    patches=(
        Patch(
            file=_LIFTING,
            edits=(
                Edit(
                    "_kv_write_will_alias",
                    "status is not KVWriteStatus.OK",
                    "$found or _step != 1",
                ),
            ),
        ),
        Patch(
            file=_SLICE_SCATTER,
            edits=(
                Edit(
                    "slice_scatter",
                    "kv_forbidden = ...",
                    "$found\nkv_forbidden = kv_forbidden or step != 1",
                ),
            ),
        ),
    ),
)

OPEN_END = Mend(
    defects=("slice-without-an-end",),
    idea="A slice's bounds are clamped to the dimension, as torch does, where both who predicts "
    "and who converts resolve them: the end of an open slice is 2**63 - 1. It costs nothing.",
    test="x[:, 1:] = y, and a bound behind the end or before the beginning.",
    uncovered="An open end of a dimension of dynamic size, of which TensorRT says -1.",
    patches=(
        Patch(
            file=_SLICE_SCATTER,
            edits=(
                Edit(
                    "resolve_slice_scatter_write",
                    "if step is None: ...",
                    """
                    $found
                    if isinstance(dim_size, int) and dim_size >= 0:
                        start, end = (
                            min(max(bound, 0), dim_size) if isinstance(bound, int) else bound
                            for bound in (start, end)
                        )
                    """,
                ),
            ),
        ),
    ),
)

INTEGERS = Mend(
    defects=("cache-layer-of-integers",),
    idea="The layer for KV caches is asked for float32, float16 and bfloat16 alone, which is all "
    "that it takes: in the prediction, in the validator of index_copy, and where the layer is "
    "added. Other types are scattered. It costs nothing.",
    test="Integers and booleans written to rows of a 4-D input, and of a 4-D buffer.",
    patches=(
        Patch(
            file=_LIFTING,
            edits=(
                Edit(
                    "_kv_write_will_alias",
                    "cache_input is None",
                    """
                    $found or cache_input.meta["val"].dtype not in (
                        torch.float32, torch.float16, torch.bfloat16
                    )
                    """,
                ),
            ),
        ),
        Patch(
            file=_CONVERTERS,
            edits=(
                Edit(
                    "_index_copy_kv_eligible",
                    "input_shape = tuple(input_val.shape)",
                    """
                    if input_val.dtype not in (torch.float32, torch.float16, torch.bfloat16):
                        return False
                    $found
                    """,
                ),
            ),
        ),
        Patch(
            file=_SLICE_SCATTER,
            edits=(
                Edit(
                    "try_emit_kv_cache_update",
                    "if not eligible: ...",
                    """
                    if cache.dtype not in (trt.float32, trt.float16, trt.bfloat16):
                        return None
                    $found
                    """,
                ),
            ),
        ),
    ),
)

LAST_INDEX = Mend(
    defects=("last-index-written",),
    idea="A negative index is counted from the front before the slice from it to the next is "
    "made: of -1 the next is 0. It costs nothing.",
    uncovered="An index that depends on data, of which nobody knows whether it is negative.",
    test="x[:, -1] = y.",
    patches=(
        Patch(
            file=_DECOMPOSITIONS,
            edits=(
                Edit(
                    "select_scatter_decomposition",
                    "src_tensor = torch.unsqueeze(src_tensor, dim)",
                    """
                    $found
                    if isinstance(index, int) and index < 0:
                        index += input_tensor.shape[dim]
                    """,
                ),
            ),
        ),
    ),
)

NUMBER = Mend(
    defects=("number-into-a-slice",),
    idea="What is copied over a tensor is expanded to that tensor's shape, as aten.copy is "
    "defined. A source that has the shape is handed on as before.",
    test="x[:, 2:4] = 0, and a row copied over all rows, of fixed and of dynamic sizes.",
    patches=(
        Patch(
            file=_CONVERTERS,
            edits=(
                Edit(
                    "aten_ops_copy",
                    "dest, src = args[0], args[1]",
                    "$found\nsrc = _in_the_shape_of(ctx, target, name, dest, src)",
                ),
            ),
            added=(
                '''
    def _in_the_shape_of(ctx, target, name, dest, src):
        """The source of a copy, expanded to the shape of what it is copied over."""
        own = (1,) * (len(dest.shape) - len(src.shape)) + tuple(src.shape)
        if own == tuple(src.shape) and all(a == b for a, b in zip(own, dest.shape)):
            return src
        shape = []
        for axis, (has, wanted) in enumerate(zip(own, dest.shape)):
            if wanted < 0 and has == 1:  # its size is known when the engine runs
                wanted = impl.shape.shape(
                    ctx, target, SourceIR.ATEN, f"{name}_size_{axis}", dest, axis
                )
            elif wanted < 0:
                wanted = has
            shape.append(wanted)
        return impl.slice.expand(
            ctx, target, SourceIR.ATEN, f"{name}_expand", src, tuple(shape)
        )
    ''',
            ),
        ),
    ),
)

INDEXED = Mend(
    defects=("index-behind-the-first-dimension",),
    idea="Values of fewer dimensions than the tensor are given leading ones before they are "
    "lined up, as torch broadcasts them; then the converter's own branch for one index moves "
    "the indexed dimension to the front. It costs a reshape.",
    test="x[:, :, positions] = rows, with a leading 1 and without it; x[:, positions] = row.",
    uncovered="Several indices, and an index of more than one dimension.",
    patches=(
        Patch(
            file=_INDEX_PUT,
            edits=(
                Edit(
                    "index_put_converter",
                    "values_shape = list(values.shape)",
                    """
                    if K == 1 and all(len(idx.shape) == 1 for _, idx in _non_none_idx):
                        for missing in range(rank - len(values.shape)):
                            values = impl.unsqueeze.unsqueeze(
                                ctx, target, source_ir, f"{name}_leading_{missing}", values, 0
                            )
                    $found
                    """,
                ),
            ),
        ),
    ),
)

DIMENSION = Mend(
    defects=("slice-scatter-without-dimension",),
    idea="The pass reads the dimension of a slice_scatter where it is written, and else takes the "
    "op's own default, 0, as the converter does. It costs nothing.",
    test="torch.slice_scatter(x, y) and torch.slice_scatter(x, y, 0), which export writes alike.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/lowering/passes/decompose_dynamic_slice_scatter.py",
            edits=(
                Edit(
                    "decompose_dynamic_slice_scatter",
                    "dim = args[2]",
                    "dim = args[2] if len(args) > 2 else 0",
                ),
            ),
        ),
    ),
)

FROM_THE_END = Mend(
    defects=("written-from-the-end",),
    idea="Where a write may begin at a negative place, the size is added to the places by a "
    "remainder. It costs that one op there, and nothing where the beginning is not negative.",
    test="x[:, -n:] = y with a dynamic size n: call it, save it and load it.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/lowering/passes/decompose_dynamic_slice_scatter.py",
            edits=(
                Edit(
                    "decompose_dynamic_slice_scatter",
                    "indices_node = ...",
                    """
                    $found
                    begin = start.meta.get("val") if isinstance(start, torch.fx.Node) else start
                    if not statically_known_true(begin >= 0):
                        size = input_val.shape[dim]
                        if not isinstance(size, int):
                            size = gm.graph.call_function(
                                torch.ops.aten.sym_size.int, (input_node, dim)
                            )
                        indices_node = gm.graph.call_function(
                            torch.ops.aten.remainder.Scalar, (indices_node, size)
                        )
                    """,
                ),
                Edit(
                    "decompose_dynamic_slice_scatter",
                    "changed = False",
                    _WITH_KNOWN,
                ),
            ),
        ),
    ),
)

LAST_ROWS = Mend(
    defects=("more-than-all-of-the-last", "cut-off-maybe-none"),
    idea="A beginning or an end that lies before the first element is the first element, as in "
    "Python, and of an n that is not positive -n is counted from the front. It costs a comparison "
    "of two sizes where it is not known that one is the smaller, and some where n may be 0; the "
    "slice's size follows from n then, and is none of its own any more.",
    test="x[:, -n:] and x[:, :-n] with an n that depends on data, called with n beyond the size, "
    "and with 0.",
    goes_with=("size-comes-out-as-a-tensor",),
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/lowering/passes/normalize_negative_slice_stop.py",
            edits=(
                Edit(
                    "normalize_negative_slice_stop",
                    "normalized_bound = b(operator.sub, dim_size, positive_offset)",
                    """
                    $found
                    count, sliced = (
                        each.meta.get("val") for each in (positive_offset, input_node)
                    )
                    known = count is not None and sliced is not None
                    if not (known and statically_known_true(count <= sliced.shape[dim])):
                        normalized_bound = b(torch.sym_max, normalized_bound, 0)
                    if count is None or not statically_known_true(count > 0):
                        from_the_front = b(torch.sym_max, b(operator.neg, positive_offset), 0)
                        behind = b(torch.sym_min, b(torch.sym_max, positive_offset, 0), 1)
                        normalized_bound = b(operator.mul, normalized_bound, behind)
                        normalized_bound = b(operator.add, normalized_bound, from_the_front)
                        node.meta.pop("unbacked_bindings", None)  # its size is one of these now
                    """,
                ),
                Edit(
                    "normalize_negative_slice_stop",
                    "modified = False",
                    _WITH_KNOWN,
                ),
            ),
        ),
    ),
)

WRITES = (
    INPUT_KEPT, STEP, OPEN_END, INTEGERS, LAST_INDEX, NUMBER, INDEXED, DIMENSION, FROM_THE_END,
    LAST_ROWS,
)  # fmt: skip
