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
    in_part=("output-size-without-symbol",),
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
        uncovered="require_full_compilation of such a model raises: no engine holds all of it.",
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

OUTSIDE = Mend(
    defects=("size-comes-out-as-a-tensor", "quotient-out-of-an-engine"),
    idea="Behind the partitioning, a size that an engine returns, or a quotient of sizes, is "
    "computed in the calling graph instead, of the sizes of what the engine is called with, and "
    "the engine returns it no more; "
    "another engine that reads it is given a tensor of it, as before. It costs some operations on "
    "numbers in Python at each call, and saves an output of the engine and the wait for it.",
    test="A model that returns x[: x.shape[0] // 2] of a dynamic batch, whose slice is in "
    "torch_executed_ops: compiled, saved by each call, and called with another batch.",
    uncovered="A size that depends on data, such as that of nonzero, and modules that were split "
    "by the partitioner alone: the mend stands behind compile's call of it.",
    goes_with=("rows-for-outputs",),
    in_part=("size-comes-out-as-a-tensor",),
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/_compiler.py",
            edits=(
                Edit(
                    "compile_module",
                    "dryrun_tracker.unsupported_ops = supported_ops.unsupported_operators",
                    "_compute_sizes_outside(partitioned_module, settings)\n\n$found",
                ),
            ),
            added=(
                '''
    def _compute_sizes_outside(gm, settings):
        """Compute in the calling graph what engines return as sizes, and others need as numbers."""
        changed = False
        for call in list(gm.graph.nodes):
            if not _is_engine(call):
                continue
            engine = gm.get_submodule(call.target)
            output = next(node for node in engine.graph.nodes if node.op == "output")
            several = isinstance(output.args[0], (tuple, list))
            returned = list(output.args[0]) if several else [output.args[0]]
            asked = {
                place: node.meta["val"]
                for place, node in enumerate(returned)
                if isinstance(node, torch.fx.Node)
                and isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat))
            }
            sizes, wholes = _sizes_by_symbol(engine, call) if asked else ({}, {})
            numbers = {}
            for place, value in asked.items():
                expr = value.node.expr.xreplace(wholes)
                if set() < expr.free_symbols <= sizes.keys() and _can_be_written(expr):
                    numbers[place] = _number_outside(gm, call, expr, sizes)
            if not numbers:
                continue
            changed = True
            kept = [place for place in range(len(returned)) if place not in numbers]
            reads = {user: user.args[1] for user in call.users} if several else {call: 0}
            for read, place in reads.items():
                if place in numbers:
                    _read_outside(gm, read, numbers[place], settings)
                elif len(kept) == 1:
                    read.replace_all_uses_with(call)
                else:
                    read.args = (call, kept.index(place))
                if read is not call and not read.users:
                    gm.graph.erase_node(read)
            if not kept:
                gm.graph.erase_node(call)
                gm.delete_submodule(call.target)
                continue
            left = tuple(returned[place] for place in kept)
            output.args = (left if len(left) > 1 else left[0],)
            if "val" in call.meta:  # by the global partitioner
                call.meta["val"] = [node.meta["val"] for node in left]
            engine.graph.eliminate_dead_code()
            engine.recompile()
        if changed:
            gm.recompile()
    ''',
                """
    def _is_engine(node):
        return node.op == "call_module" and "_run_on_acc" in str(node.target)
    """,
                '''
    def _sizes_by_symbol(engine, call):
        """Where the symbols of sizes are in what an engine is called with.

        Argument, dimension (None for an argument that is a number itself), the size, and what it
        is of the symbol: a times the symbol and b more. A size of another form has a symbol of
        its own, which stands for the whole of it.
        """
        import sympy

        found, wholes = {}, {}
        placeholders = [node for node in engine.graph.nodes if node.op == "placeholder"]
        for placeholder, argument in zip(placeholders, call.args):
            value = placeholder.meta.get("val")
            sizes = enumerate(value.shape) if isinstance(value, torch.Tensor) else [(None, value)]
            for dim, size in sizes:
                if not isinstance(size, (torch.SymInt, torch.SymFloat)):
                    continue
                expr = size.node.expr
                symbol = min(expr.free_symbols, key=str, default=None)
                a = expr.coeff(symbol) if symbol is not None else 0
                b = expr - a * symbol if a != 0 else expr
                if a != 0 and a.is_Integer and b.is_Integer:
                    known = (argument, dim, size, int(a), int(b))
                    if a == 1 and b == 0:
                        found[symbol] = known
                    found.setdefault(symbol, known)
                elif symbol is not None and expr not in wholes:
                    wholes[expr] = sympy.Dummy(integer=isinstance(size, torch.SymInt), real=True)
                    found[wholes[expr]] = (argument, dim, size, 1, 0)
        return found, wholes
    ''',
                '''
    def _can_be_written(expr):
        """Whether `_number_outside` has an operator for each part of an expression."""
        import sympy

        operators = (
            "Add Mul Pow PowByNatural FloorDiv CleanDiv Mod PythonMod Min Max IntTrueDiv "
            "FloatTrueDiv ToFloat TruncToInt FloorToInt CeilToInt RoundToInt"
        )
        parts = [each for each in sympy.preorder_traversal(expr) if not each.is_Atom]
        return all(type(each).__name__ in operators.split() for each in parts)
    ''',
                '''
    def _number_outside(gm, call, expr, sizes):
        """A node before the call that computes a size of what the call is given."""
        import math

        from torch.utils._sympy.interp import sympy_interp
        from torch.utils._sympy.reference import PythonReferenceAnalysis

        tracer = torch.fx.proxy.GraphAppendingTracer(gm.graph)

        def written(function):
            def write(number, dtype):
                return tracer.create_proxy("call_function", function, (number,), {})

            return staticmethod(write)

        class Written(PythonReferenceAnalysis):
            """Its functions of the standard library take no proxy."""

            int_truediv = staticmethod(PythonReferenceAnalysis.truediv)
            trunc_to_int = written(math.trunc)
            floor_to_int = written(math.floor)
            ceil_to_int = written(math.ceil)
            round_to_int = written(round)

        before = call.prev
        with gm.graph.inserting_before(call):
            known = {}
            for symbol in expr.free_symbols:
                node, dim, size, a, b = sizes[symbol]
                if dim is not None:
                    sym_size = torch.ops.aten.sym_size.int
                    node = gm.graph.call_function(sym_size, (node, dim))
                node.meta.setdefault("val", size)
                proxy = torch.fx.Proxy(node, tracer)
                proxy = proxy - b if b else proxy
                known[symbol] = proxy // a if a != 1 else proxy
            made = sympy_interp(Written, known, expr)
        node = before.next
        while node is not call:
            if "val" not in node.meta:
                values = torch.fx.node.map_arg(node.args, lambda each: each.meta["val"])
                node.meta["val"] = node.target(*values)
            node = node.next
        return made.node
    ''',
                """
    def _type_of(number):
        return torch.int64 if isinstance(number, torch.SymInt) else torch.float32
    """,
                '''
    def _read_outside(gm, read, number, settings):
        """Give who reads an engine's size the number itself, and another engine a tensor of it."""
        for user in list(read.users):
            given = number
            if _is_engine(user):
                device = to_torch_device(settings.device)
                with gm.graph.inserting_before(user):
                    given = gm.graph.call_function(
                        torch.ops.aten.scalar_tensor.default,
                        (number,),
                        {"dtype": _type_of(number.meta["val"]), "device": device},
                    )
                nodes = gm.get_submodule(user.target).graph.nodes
                with torch._guards.detect_fake_mode([node.meta.get("val") for node in nodes]):
                    given.meta["val"] = given.target(number.meta["val"], **given.kwargs)
            user.replace_input_with(read, given)
    ''',
            ),
        ),
    ),
)

SIZES = (PADDING, REPEAT, UNBOUND, ADDED, REDUCED, OUTSIDE)
