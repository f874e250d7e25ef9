"""Mends of `torch.compile(backend="torch_tensorrt")`."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_BACKEND = "torch_tensorrt/dynamo/backend/backends.py"
_FOLDING = "torch_tensorrt/dynamo/lowering/passes/fold_get_attr_item_calls.py"

WRITES = Mend(
    defects=("backend-forgets-writes",),
    idea="A graph that writes to what it is given, and torch gives it its buffers, too, goes the "
    "way of graphs with higher-order ops: through aot_autograd, which makes it functional, and "
    "copies what was written into buffers and inputs behind each call. Whether it writes is seen "
    "by running it once over fake tensors. That costs a pass over the graph when it is compiled, "
    "and what writes a copy a call.",
    test="A running mean, a KV cache and a model that writes to its input, each given to "
    'torch.compile(backend="torch_tensorrt") and called twice.',
    goes_with=("backend-takes-copies-away", "cache-read-twice"),
    patches=(
        Patch(
            file=_BACKEND,
            edits=(
                Edit(
                    "aot_torch_tensorrt_aten_backend",
                    "_graph_has_higher_order_ops(gm)",
                    "$found or _writes_to_what_it_is_given(gm, sample_inputs)",
                ),
            ),
            added=(
                '''
    def _writes_to_what_it_is_given(gm, inputs):
        """Whether a graph writes to one of its inputs, among which its buffers are."""
        from torch._dispatch.python import enable_python_dispatcher
        from torch._subclasses.fake_tensor import DataDependentOutputException

        fake_mode = detect_fake_mode(inputs)
        if fake_mode is None:
            return False
        fold_get_attr_item_calls(gm, inputs)
        with unittest.mock.patch.object(fake_mode, "allow_non_fake_inputs", True):
            with fake_mode, enable_python_dispatcher(), torch.no_grad():
                given = [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]
                tensors = [x for x in given if isinstance(x, torch.Tensor)]
                before = [x._version for x in tensors]
                try:
                    gm(*given)
                except DataDependentOutputException:
                    return False  # it asks for a number of an input, and no engine is made
        return before != [x._version for x in tensors]
    ''',
            ),
        ),
    ),
)

COPIES = Mend(
    defects=("backend-takes-copies-away",),
    idea="To find the tensor of which .item() is asked, clone, contiguous and detach are looked "
    "through, and left where they are: a copy matters to who writes to it, or to what it was made "
    "of. It costs nothing.",
    test="y = h.clone(); y += 1 beside a reader of h, and x.transpose(1, 2).contiguous().view(...),"
    ' each given to torch.compile(backend="torch_tensorrt").',
    patches=(
        Patch(
            file=_FOLDING,
            edits=(
                Edit("fold_get_attr_item_calls", "_remove_identity_ops(gm)", ""),
                Edit(
                    "fold_get_attr_item_calls", "src = node.args[0]", "src = _copied(node.args[0])"
                ),
            ),
            added=(
                '''
    def _copied(node):
        """The node that a node is a copy of, or of a copy of it, and so on."""
        while isinstance(node, torch.fx.Node) and node.args and (
            node.target in _IDENTITY_METHODS or node.target in _IDENTITY_FUNCTIONS
        ):
            node = node.args[0]
        return node
    ''',
            ),
        ),
    ),
)

NUMBERS = Mend(
    defects=("backend-keeps-the-first-number",),
    idea="A number is made a constant if it is that of a parameter or a buffer, and not if it is "
    "that of an input. What torch then cannot make an engine of, PyTorch runs. It costs nothing.",
    test="A model that multiplies by a float that it is given, called with four of them.",
    patches=(
        Patch(
            file=_FOLDING,
            edits=(
                Edit(
                    "_get_actual_tensor",
                    'if origin.op == "placeholder": ...',
                    """
                    if origin.op == "placeholder" and _is_given_anew(origin):
                        return None
                    $found
                    """,
                ),
            ),
            added=(
                '''
    def _is_given_anew(node):
        """Whether a placeholder is an input of the caller's, and not the module's own tensor."""
        source = getattr(node.meta.get("grapharg"), "source", None)
        kind = getattr(source, "guard_source", None)
        kind = kind() if callable(kind) else kind
        own = kind and (kind.is_specialized_nn_module() or kind.is_unspecialized_nn_module())
        return not own
    ''',
            ),
        ),
    ),
)

BACKEND = (WRITES, COPIES, NUMBERS)
