"""Mends of complex values: inside of a model, taken and returned."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_COMPILER = "torch_tensorrt/dynamo/_compiler.py"
_ADAPTERS = "_insert_complex_io_adapters"
#: What a node of a graph that has been split returns.
VALUE_BEHIND = '''
    def _value_behind(gm, node):
        """What a node returns; a piece's output and the call of a fallback have no value yet."""
        if "val" in node.meta:
            return node.meta["val"]
        if node.op == "get_attr":
            constant = getattr(gm, node.target)
            values = [each.meta.get("val") for each in gm.graph.nodes]
            mode = torch._guards.detect_fake_mode(values)
            return constant if mode is None else mode.from_tensor(constant)
        if node.op == "call_module":
            nodes = gm.get_submodule(node.target).graph.nodes
            returned = next(each for each in nodes if each.op == "output").args[0]
            return torch.fx.node.map_arg(returned, lambda each: each.meta["val"])
        return _value_behind(gm, node.args[0])[node.args[1]]
    '''


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

BESIDE_ANOTHER = Mend(
    defects=("complex-output-beside-another",),
    idea="Whether an output is a pair of reals out of a piece is asked of the piece's call, and "
    "not of the node that the output reads: where a piece has several outputs that is a getitem. "
    "It costs nothing.",
    test="A model that returns a complex tensor and a real one: dtype and shape, in memory and "
    "by every save.",
    patches=(
        Patch(
            file=_COMPILER,
            edits=(
                Edit(
                    _ADAPTERS,
                    'src.op == "call_module" and ("_run_on_acc" in str(src.target) '
                    'or "_run_on_gpu" in str(src.target))',
                    "_comes_out_of_a_piece(src)",
                ),
            ),
            added=(
                '''
    def _comes_out_of_a_piece(value):
        """Whether a value is an output of a piece, be it the only one or one of several."""
        while value.op == "call_function" and value.target.__name__ == "getitem":
            value = value.args[0]
        target = str(value.target)
        return value.op == "call_module" and ("_run_on_acc" in target or "_run_on_gpu" in target)
    ''',
            ),
        ),
    ),
)

ADAPTERS = Mend(
    defects=("complex-adapter-without-metadata",),
    idea="Where compile() puts view_as_real and view_as_complex at the model's border, their "
    "values are recorded, and the input's own is the complex tensor that the caller gives. It "
    "costs nothing at run time.",
    test="A model with a complex input and a complex output: save(retrace=False), load, and "
    "compare with eager.",
    patches=(
        Patch(
            file=_COMPILER,
            edits=(
                Edit(
                    _ADAPTERS,
                    "output_node.args = (tuple(outputs),)",
                    "$found\n_record_values_of_adapters(partitioned_module, complex_input_dtypes)",
                ),
            ),
            added=(
                '''
    def _record_values_of_adapters(gm, complex_dtypes):
        """Give what stands at the border of complex values the metadata of what it returns."""
        suffix = "_unpacked_complex"
        adapters = (
            torch.ops.aten.view_as_real.default,
            torch.ops.aten.view_as_complex.default,
            torch.ops.aten.to.dtype,
        )
        for node in gm.graph.nodes:
            if node.op == "placeholder" and node.name.endswith(suffix):
                pair = node.meta["val"]
                dtype_ = complex_dtypes[node.name[: -len(suffix)]]
                node.meta["val"] = pair.new_empty(pair.shape[:-1], dtype=dtype_)
            elif node.target in adapters and "val" not in node.meta:
                value = _value_behind(gm, node.args[0])
                if isinstance(value, (list, tuple)):
                    (value,) = value  # the only output of an engine
                node.meta["val"] = node.target(value, *node.args[1:])
    ''',
                VALUE_BEHIND,
            ),
        ),
    ),
)

A_NODE_RETURNED = Mend(
    defects=("complex-inside-returns-a-node",),
    idea="compile() has the graph return a tuple, and gives it the model's own specification of "
    "what it returns, wherever the graph returns a bare node, and not only where it has "
    "complex inputs or outputs. It costs nothing.",
    test="torch.complex(a, b).abs() with torch 2.14: save(retrace=False), load, and compare.",
    patches=(
        Patch(
            file=_COMPILER,
            edits=(
                Edit(
                    _ADAPTERS,
                    "not complex_input_names and not complex_output_indices",
                    "$found and isinstance("
                    "list(partitioned_module.graph.nodes)[-1].args[0], (list, tuple))",
                ),
            ),
        ),
    ),
)

#: Under this key a marked write's name lies in its node's `custom`, which a retrace keeps.
_WRITES = "torch_tensorrt_write"

REBUILT = Mend(
    defects=("complex-decomposition-renames",),
    idea="The graph that PyTorch's decompose_complex_in_graph makes gets back the names of its "
    "inputs, the marks of the writes that no engine may do in place, and the notes of the module: "
    "by these all that follows finds state again. It costs one copy of that graph.",
    test="A KV cache beside rotary positions by complex numbers, with torch 2.14: compile, two "
    "calls, against eager.",
    goes_with=(
        "copy-back-in-memory",
        "tuple-for-a-tensor",
        "complex-output-beside-another",
        "complex-adapter-without-metadata",
    ),
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/lowering/passes/complex_decomposition_adapter.py",
            edits=(
                Edit(
                    "complex_decomposition_adapter",
                    "flat_args = _fake_flat_args(gm)",
                    f"""
                    $found
                    for node in gm.graph.nodes:
                        if node.meta.get("_trt_no_kv_alias"):
                            kept = node.meta.get("custom") or {{}}
                            node.meta["custom"] = {{**kept, "{_WRITES}": node.name}}
                    """,
                ),
                Edit(
                    "complex_decomposition_adapter",
                    "gm = decomposed_gm",
                    "gm = _named_as_before(gm, decomposed_gm)",
                ),
            ),
            added=(
                f'''
    def _named_as_before(old, new):
        """The new graph with the inputs' names, the marked writes and the notes of the old one."""
        inputs = iter([node for node in old.graph.nodes if node.op == "placeholder"])
        written_by = {{node.name: node.target for node in old.graph.nodes}}
        graph, made = torch.fx.Graph(), {{}}
        for node in new.graph.nodes:
            if node.op == "placeholder":
                before = next(inputs)
                copy = graph.create_node("placeholder", before.target, name=before.name)
                copy.meta = {{**before.meta, **node.meta}}
            else:
                copy = graph.node_copy(node, made.__getitem__)
            write = (node.meta.get("custom") or {{}}).get("{_WRITES}")
            if write and node.target == written_by[write]:
                copy._rename(write)
                copy.meta["_trt_no_kv_alias"] = True
            made[node] = copy
        named = torch.fx.GraphModule(new, graph)
        named.meta.update(old.meta)
        return named
    ''',
            ),
        ),
    ),
)

COMPLEX_VALUES = (OF_REALS, BESIDE_ANOTHER, ADAPTERS, A_NODE_RETURNED, REBUILT)
