"""What a model surely has not decides which known defects a failure of it may be."""

import pytest
import torch

from corpus.case import Case, Family, Inputs, Origin, Program
from harness.register.defects import MODELS, NEEDS
from harness.rig.capture.capture import capture
from harness.rig.capture.lacking import lacking


class Model(torch.nn.Module):
    """Does what a function does, which may write to a buffer."""

    def __init__(self, does, buffer=None):
        super().__init__()
        self.does = does
        self.register_buffer("kept", torch.ones(2, 3) if buffer is None else buffer)

    def forward(self, x):
        return self.does(self, x)


def branched(model, x):
    return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


def write(tensor, *args):
    tensor[args[:-1]] = args[-1]
    return tensor + 1


def has(does, given, buffer=None):
    """All that may matter and that the model does not surely lack."""
    program = Program(lambda generator, size: Inputs((given,)), model=Model(does, buffer))
    case = Case("mine", Family.ARCHITECTURES, Origin.EXPORTED, "", lambda: program)
    lacks = [*lacking(capture(case, "nonstrict"))]
    assert {*lacks} <= {*MODELS, *NEEDS}
    return {*TOLD} - {*lacks}


TOLD = [
    *("state", "only-writes", "input-writes", "keywords", "sizes", "data-sizes", "containers"),
    *("no-inputs", "returns-none", "complex", "control-flow", "global-partitioner", "recompiled"),
    *("slice-writes", "strided-state", "torch-2.9", "complex-of-reals", "complex-returned"),
    *("four-dimensional-writes", "scatter-add", "scatter-reduce", "slice-scatter-by-default"),
    *("log-softmax", "variance", "masked-attention", "instance-norm", "vmap"),
    *("cast-into-state", "cloned-state", "state-into-state", "complex-beside-real"),
]
X, IMAGE = torch.ones(2, 3), torch.ones(1, 2, 2, 3)
ROWS = torch.zeros(2, 3, dtype=torch.int64)
WRITES = {"state", "only-writes"}
INPUT = {*WRITES, "input-writes"}
SCATTERED = {"slice-writes"}


@pytest.mark.parametrize(
    ("does", "given", "found"),
    [
        (lambda model, x: torch.relu(x) + model.kept, X, set()),
        (lambda model, x: model.kept.add_(x) * 2, X, WRITES),
        # One write after another to all of a tensor is no write to a part of it.
        (lambda model, x: model.kept.mul_(0.5).add_(x) * 2, X, WRITES),
        (lambda model, x: x.add_(1) * 2, X, INPUT),
        (lambda model, x: model.kept.copy_(x.half()) * 2, X, {*WRITES, "cast-into-state"}),
        (lambda model, x: model.kept.copy_(x[0]) * 2, X, {*WRITES, "cast-into-state"}),
        (lambda model, x: (model.kept.clone(), model.kept.copy_(x)), X, {*WRITES, "cloned-state"}),
        (lambda model, x: x.copy_(model.kept.view(2, 3)) * 2, X, {*INPUT, "state-into-state"}),
        (lambda model, x: torch.vmap(torch.relu)(x), X, {"vmap"}),
        (lambda model, x: torch.nn.functional.instance_norm(x[None]), X, {"instance-norm"}),
        (lambda model, x: write(model.kept, torch.tensor([1]), x[:1]), X, WRITES),
        (lambda model, x: write(model.kept, slice(1, 2), x[:1]), X, {*WRITES, "slice-writes"}),
        (lambda model, x: torch.slice_scatter(x, x[:1], 0, 0, 1), X, {"slice-writes"}),
        # What a model makes itself, it may write to: nobody keeps it.
        (lambda model, x: x.clone().add_(1), X, set()),
        (lambda model, x: write(x.clone(), slice(1, 2), x[:1]), X, {"slice-writes"}),
        (lambda model, x: write((x * 2).view(3, 2), slice(1, 2), x[:1, :2]), X, {"slice-writes"}),
        (
            lambda model, x: write(x.view(3, 2), slice(1, 2), x[:1, :2]),
            X,
            {*INPUT, "slice-writes"},
        ),
        (
            lambda model, x: torch.slice_scatter(x, x[:, :, :1], 2, 1, 2),
            IMAGE,
            {"slice-writes", "four-dimensional-writes"},
        ),
        (
            lambda model, x: write(x.clone()[0, 0], slice(0, 1), x[0, 0, 1:]),
            IMAGE,
            {"slice-writes", "four-dimensional-writes"},
        ),
        (lambda model, x: x[torch.nonzero(x[:, 0])[:, 0]], X, {"data-sizes"}),
        (lambda model, x: x * x.sum().item(), X, {"data-sizes"}),
        (lambda model, x: x["a"] + 1, {"a": X}, {"containers"}),
        (lambda model, x: (x + 1, None), X, {"returns-none"}),
        (lambda model, x: torch.view_as_complex(torch.stack([x, x], -1)).abs(), X, {"complex"}),
        (lambda model, x: torch.fft.rfft(x).abs(), X, {"complex", "complex-of-reals"}),
        (
            lambda model, x: (1 - torch.view_as_complex(torch.stack([x, x], -1))).abs(),
            X,
            {"complex", "complex-beside-real"},
        ),
        (
            lambda model, x: torch.complex(x, x) * 2,
            X,
            {"complex", "complex-beside-real", "complex-of-reals", "complex-returned"},
        ),
        (branched, X, {"control-flow"}),
        (lambda model, x: x.scatter_add(0, ROWS, x), X, {"scatter-add"}),
        (lambda model, x: (x * 2).scatter_add_(0, ROWS, x), X, {"scatter-add"}),
        (lambda model, x: x.scatter_reduce(0, ROWS, x, "amax"), X, {"scatter-reduce"}),
        (
            lambda model, x: torch.slice_scatter(x, x, 0),
            X,
            SCATTERED | {"slice-scatter-by-default"},
        ),
        (lambda model, x: torch.slice_scatter(x, x, 0, 0), X, SCATTERED),
        (lambda model, x: x.index_add(0, ROWS[:, 0], x), X, set()),
        (lambda model, x: torch.log_softmax(x, -1), X, {"log-softmax"}),
        (lambda model, x: torch.nn.functional.cross_entropy(x, ROWS[:, 0]), X, {"log-softmax"}),
        (lambda model, x: torch.softmax(x, -1), X, set()),
        (lambda model, x: x.std(1), X, {"variance"}),
        (lambda model, x: torch.var_mean(x, 1)[0], X, {"variance"}),
        (
            lambda model, x: torch.nn.functional.scaled_dot_product_attention(x, x, x),
            IMAGE,
            set(),
        ),
        (
            lambda model, x: torch.nn.functional.scaled_dot_product_attention(x, x, x, x[..., :2]),
            IMAGE,
            {"masked-attention"},
        ),
    ],
)
def test_a_model_lacks_all_but_what_it_does(does, given, found):
    assert has(does, given) == found


def test_a_copy_of_a_tensor_whose_size_varies_takes_no_other_form():
    class Copies(torch.nn.Module):
        def forward(self, x):
            return torch.zeros_like(x).copy_(x) * 2

    rows = torch.export.Dim("rows", min=2, max=9)
    program = Program(
        lambda generator, size: Inputs((torch.ones(size or 3, 4),)),
        model=Copies(),
        dynamic_shapes={"x": {0: rows}},
        bounds=(2, 9),
    )
    case = Case("mine", Family.ARCHITECTURES, Origin.EXPORTED, "", lambda: program)
    lacks = {*lacking(capture(case, "nonstrict"))}
    assert "cast-into-state" in lacks
    assert "sizes" not in lacks


def test_a_buffer_whose_memory_is_ordered_otherwise_is_strided_state():
    assert has(lambda model, x: x + model.kept, X, torch.ones(3, 2).T) == {"strided-state"}


def test_a_model_that_torch_splits_is_no_split_by_hand():
    program = Program(lambda generator, size: Inputs((X,)), model=Model(branched))
    case = Case("mine", Family.ARCHITECTURES, Origin.EXPORTED, "", lambda: program)
    assert "handmade-split" in lacking(capture(case, "nonstrict"))


def test_a_model_that_holds_no_tensor_has_no_state_though_it_writes_to_its_input():
    class Writing(torch.nn.Module):
        def forward(self, x):
            return x.add_(1) * 2

    program = Program(lambda generator, size: Inputs((X.clone(),)), model=Writing())
    case = Case("mine", Family.CACHES, Origin.EXPORTED, "", lambda: program)
    lacks = {*lacking(capture(case, "nonstrict"))}
    assert "state" in lacks
    assert "input-writes" not in lacks
