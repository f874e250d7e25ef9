"""Mends of models in float64, which TensorRT does not have."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

TRUNCATED = Mend(
    defects=("double-cast-without-metadata", "truncated-double-metadata"),
    idea="Where casts are put around an engine, their values are recorded, and those of the "
    "engine's call become the float32 that it returns; what its meta kernel states does, too. "
    "It costs nothing at run time.",
    test="A float64 model compiled with truncate_double: save(retrace=False), load, and compare "
    "types and numbers.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/conversion/truncate_double.py",
            edits=(
                Edit(
                    "_repair_64bit_input",
                    "gm.graph.eliminate_dead_code()",
                    "_record_types_around(gm, module_node)\n$found",
                ),
            ),
            added=(
                '''
    def _record_types_around(gm, call):
        """Record what an engine's call and the casts around it return."""

        def is_double(value):
            return isinstance(value, torch.Tensor) and value.dtype == torch.float64

        def narrowed(value):
            return value.to(torch.float32) if is_double(value) else value

        def value_of(node):
            if "val" in node.meta:
                return node.meta["val"]
            if node.op == "call_module":
                output = gm.get_submodule(node.target).graph.output_node().args[0]
                return output.meta["val"] if isinstance(output, torch.fx.Node) else [
                    each.meta["val"] for each in output
                ]
            return value_of(node.args[0])[node.args[1]]

        returned = call.meta["val"]
        call.meta["val"] = (
            [narrowed(each) for each in returned]
            if isinstance(returned, (list, tuple))
            else narrowed(returned)
        )
        for node in gm.graph.nodes:
            if call in node.args and "val" in node.meta and node.op == "call_function":
                node.meta["val"] = narrowed(node.meta["val"])
            if node.target is torch.ops.aten._to_copy.default and "val" not in node.meta:
                value = value_of(node.args[0])
                if isinstance(value, (list, tuple)):
                    (value,) = value  # the only output of an engine
                node.meta["val"] = value.to(**node.kwargs)
    ''',
            ),
        ),
        Patch(
            file="torch_tensorrt/dynamo/conversion/_symbolic_shape_capture.py",
            edits=(
                Edit(
                    "extract_symbolic_shape_expressions",
                    "out_val.dtype",
                    "torch.float32 if out_val.dtype == torch.float64 else out_val.dtype",
                ),
            ),
        ),
    ),
)

NOT_TRUNCATED = Mend(
    defects=("double-refused-by-its-engine",),
    idea="Without truncate_double, an op that takes or returns float64, be it as one of several "
    "values, stays in PyTorch, as one "
    "of complex values does, where both partitioners ask for these. What returns float64 could "
    "not be called before; the cost is a split where one is computed inside of an engine.",
    test="A float64 model compiled with the default settings: call it, and compare with eager.",
    uncovered="require_full_compilation of such a model raises, since no engine holds all of it.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/partitioning/_global_partitioner.py",
            edits=(
                Edit(
                    "TorchTensorRTOperatorSupport._has_complex_dtype",
                    "_dtype(node) in COMPLEX_DTYPES",
                    "_returns_what_no_engine_takes(node)",
                ),
                Edit(
                    "TorchTensorRTOperatorSupport._has_complex_dtype",
                    "_dtype(arg) in COMPLEX_DTYPES",
                    "_returns_what_no_engine_takes(arg)",
                ),
            ),
            added=(
                '''
    def _returns_what_no_engine_takes(node):
        """Whether a value of it, or one of several, is of a type that engines do not have here."""
        settings = CONVERTERS.compilation_settings
        truncated = settings is not None and settings.truncate_double
        types = (*COMPLEX_DTYPES,) if truncated else (*COMPLEX_DTYPES, torch.float64)
        values = node.meta.get("val")
        values = values if isinstance(values, (list, tuple)) else [values]
        return any(getattr(each, "dtype", None) in types for each in values)
    ''',
            ),
        ),
    ),
)

DOUBLES = (TRUNCATED, NOT_TRUNCATED)
