"""Mends of complex values that are written as pairs of reals: sums, products, rolls, results."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_REWRITE = "torch_tensorrt/dynamo/lowering/passes/complex_graph_rewrite.py"
_ADAPTERS = "_insert_complex_io_adapters"
_JOINED = "tensors = _as_pairs(self, node, *node.args[0])"
_MIXED = "if _is_mixed(self, node):\n    return _in_parts(self, node)\n$found"

BESIDE_REALS = Mend(
    defects=("real-beside-complex",),
    idea="A sum, a difference or a product of which one side at most is pairs of reals is written "
    "part by part: a real side has no imaginary part, and a complex number has both. A quotient "
    "by a complex number is the product with its inverse. Two pairs are added and multiplied as "
    "before. What is divided by a pair, concatenated or stacked with one, or chosen beside one, is "
    "made a pair first. It costs a concatenation for each such op.",
    test="1 - z, z + b, z * 1j, z / 2j and b / z of complex z and real b, x + 1j * y of real x and "
    "y, a complex buffer times a real tensor, and cat, stack and where of z and b, against eager.",
    goes_with=("complex-adapter-without-metadata",),
    patches=(
        Patch(
            file=_REWRITE,
            edits=(
                Edit("ComplexGraphRewriter._rewrite_mul_div_tensor", "arg0_is_node = ...", _MIXED),
                Edit(
                    "ComplexGraphRewriter._rewrite_add_sub_tensor_scalar",
                    "if len(node.args) < 2 or isinstance(node.args[1], torch.fx.Node): ...",
                    _MIXED,
                ),
                Edit(
                    "ComplexGraphRewriter._rewrite_pow_tensor_tensor",
                    "z1_inp, z2_inp = node.args[0], node.args[1]",
                    "z1_inp, z2_inp = _as_pairs(self, node, *node.args[:2])",
                ),
                Edit("ComplexGraphRewriter._rewrite_cat", "tensors = node.args[0]", _JOINED),
                Edit("ComplexGraphRewriter._rewrite_stack", "tensors = node.args[0]", _JOINED),
                Edit(
                    "ComplexGraphRewriter._rewrite_where",
                    "mask_node, true_node, other_node = node.args",
                    """
                    $found
                    true_node, other_node = _as_pairs(self, node, true_node, other_node)
                    """,
                ),
            ),
            added=(
                '''
    def _is_mixed(rewriter, node):
        """Whether not both sides are pairs of reals, and it is no pair that a number scales."""
        sides = node.args[:2]
        pairs = [isinstance(x, Node) and rewriter._is_complex_layout_node(x) for x in sides]
        number = isinstance(sides[1], complex)
        if isinstance(node.kwargs.get("alpha"), complex):
            return False
        if node.target is torch.ops.aten.div.Tensor and pairs == [False, True]:
            node.args = (*_as_pairs(rewriter, node, sides[0]), sides[1])
        if node.target is torch.ops.aten.div.Tensor or pairs.count(True) != 1:
            return number
        other = sides[pairs.index(False)]
        scales = node.target is torch.ops.aten.mul.Tensor and isinstance(other, (int, float))
        return not scales


    def _as_pairs(rewriter, node, *values):
        """What an op on pairs reads: of a real tensor, it and zeros."""
        pairs = []
        for value in values:
            if isinstance(value, Node) and not rewriter._is_complex_layout_node(value):
                with SubgraphBuilder(rewriter.gm.graph, node.prev) as b:
                    zeros = b(torch.ops.aten.zeros_like.default, value)
                    value = rewriter._inline_cat_re_im(b, value, zeros)
            pairs.append(value)
        return pairs


    def _in_parts(rewriter, node):
        """Write it part by part: of a value and a complex number, or of pairs and other values."""
        aten = torch.ops.aten
        pairs = [
            isinstance(x, Node) and rewriter._is_complex_layout_node(x) for x in node.args[:2]
        ]
        first = not pairs[1]
        value, other = node.args[:2] if first else node.args[1::-1]
        other = 1 / other if node.target is aten.div.Tensor else other
        real, imaginary = other, 0
        if isinstance(other, complex):
            real, imaginary = other.real, other.imag
        with SubgraphBuilder(rewriter.gm.graph, node) as b:
            if any(pairs):
                re, im = rewriter._inline_select_re_im(b, value)
            else:
                re, im = value, b(aten.zeros_like.default, value)
            if node.target in (aten.mul.Tensor, aten.div.Tensor):
                out_re, out_im = b(aten.mul.Tensor, re, real), b(aten.mul.Tensor, im, real)
                if imaginary:
                    out_re = b(aten.sub.Tensor, out_re, b(aten.mul.Tensor, im, imaginary))
                    out_im = b(aten.add.Tensor, out_im, b(aten.mul.Tensor, re, imaginary))
            else:
                scale = node.kwargs.get("alpha", 1)
                scale = -scale if node.target is aten.sub.Tensor else scale
                if not first and scale != 1:
                    re, im = b(aten.mul.Tensor, re, scale), b(aten.mul.Tensor, im, scale)
                elif first and scale != 1:
                    imaginary *= scale
                    is_tensor = isinstance(real, Node)
                    real = b(aten.mul.Tensor, real, scale) if is_tensor else real * scale
                out_re = b(aten.add.Tensor, re, real)
                out_im = b(aten.add.Tensor, im, imaginary) if imaginary else im
                if isinstance(real, Node):  # it may have more dimensions than the pairs
                    zeros = b(aten.zeros_like.default, out_re)
                    out_im = b(aten.add.Tensor, zeros, out_im)
            out = rewriter._inline_cat_re_im(b, out_re, out_im)
        node.replace_all_uses_with(out)
        out.meta["is_complex_layout"] = True
        rewriter.gm.graph.erase_node(node)
        return True
    ''',
            ),
        ),
    ),
)

PRODUCT = Mend(
    defects=("complex-product",),
    idea="A product over a dimension is left to PyTorch, on complex values, as every op is that "
    "has no rule. It costs the engine that the product would have been part of.",
    test="z.prod(1) and z.prod(-1) of complex z, against eager.",
    patches=(
        Patch(
            file=_REWRITE,
            edits=(
                Edit("ComplexGraphRewriter._rewrite_prod_dim", "if dim >= 0: ...", ""),
                Edit("ComplexGraphRewriter._rewrite_prod_dim", "new_dim = dim - 1", ""),
                Edit(
                    "ComplexGraphRewriter._rewrite_prod_dim",
                    "out = b(torch.ops.aten.prod.dim_int, inp, new_dim, keepdim, *extra)",
                    """
                    whole = b(torch.ops.aten.view_as_complex.default, inp)
                    product = b(torch.ops.aten.prod.dim_int, whole, dim, keepdim, *extra)
                    out = b(torch.ops.aten.view_as_real.default, product)
                    """,
                ),
            ),
        ),
    ),
)

ROLL = Mend(
    defects=("complex-roll",),
    idea="Without dimensions numbers are rolled one behind the other; of pairs of reals each "
    "shift is twice as far. It costs nothing.",
    test="torch.roll(z, 1) of complex z of two dimensions, against eager.",
    patches=(
        Patch(
            file=_REWRITE,
            edits=(
                Edit(
                    "ComplexGraphRewriter._rewrite_roll",
                    "if new_dims == dims: ...",
                    """
                    if not dims:
                        shifts = [2 * shift for shift in shifts]
                    elif new_dims == dims:
                        return False
                    """,
                ),
            ),
        ),
    ),
)

NO_PIECE = Mend(
    defects=("complex-without-an-engine", "complex-input-handed-back"),
    idea="A pair of reals is made complex again at the model's border where no piece returns it, "
    "too: where the model has no pieces, and where it hands back an input. It costs nothing.",
    test="A model of two ops that returns complex values, by the default min_block_size; one that "
    "returns its complex input beside another result.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/_compiler.py",
            edits=(
                Edit(
                    "compile_module",
                    "return gm",
                    "_insert_complex_io_adapters(gm, gm, settings)\n$found",
                ),
                Edit(
                    _ADAPTERS,
                    "if not isinstance(src, torch.fx.Node): ...",
                    """
                    $found
                    if _is_a_pair_of_no_piece(src, gm, idx):
                        with partitioned_module.graph.inserting_before(output_node):
                            outputs[idx] = partitioned_module.graph.call_function(
                                torch.ops.aten.view_as_complex.default, args=(src,)
                            )
                        graph_modified = True
                        continue
                    """,
                ),
            ),
            added=(
                '''
    def _is_a_pair_of_no_piece(value, lowered, at):
        """Whether an output that was complex is a pair of reals now, and comes out of no piece."""
        import operator

        if value.target is torch.ops.aten.view_as_real.default:
            return True
        made = value.args[0] if value.target is operator.getitem else value
        if made.op == "call_module":
            return False
        returned = list(lowered.graph.nodes)[-1].args[0]
        returned = returned[at] if isinstance(returned, (list, tuple)) else returned
        there = returned.meta.get("val")
        return isinstance(there, torch.Tensor) and not there.is_complex()
    ''',
            ),
        ),
    ),
)

COMPLEX_ARITHMETIC = (BESIDE_REALS, PRODUCT, ROLL, NO_PIECE)
