"""What a function of the inputs, and the sizes that are stated to vary, make of the calls."""

import copy
import re

import pytest
import torch
import torch.utils._pytree as pytree

from corpus.case import Case, Family, Origin
from corpus.user_model import ModelEntry, UserModel, WrongModel
from harness.rig.capture.capture import capture, over_bound_inputs

SOURCE = """
import dataclasses
import threading

import numpy
import torch
from torch.export import Dim

class Two(torch.nn.Module):
    def forward(self, x, y):
        return torch.relu(x).sum() + torch.relu(y + 1) * 2

class Doubled(torch.nn.Module):
    def forward(self, x, y):
        return torch.relu(torch.cat([x, x])) + y

class Several(torch.nn.Module):
    def forward(self, *xs, **more):
        return torch.relu(xs[0]) + xs[1] + more.get("z", 0)

class OfFour(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2 if x.shape[0] == 4 else torch.relu(x)

class Looked(torch.nn.Module):
    def forward(self, rows, at):
        return torch.relu(rows[at])

class Wrapped(torch.nn.Module):
    def forward(self, batch):
        return torch.relu(batch.a)

class Computed(torch.nn.Module):
    # The buffer is the result of a computation with gradients, as a cache of HuggingFace may be.

    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(8, 8)
        self.register_buffer("cache", torch.zeros(4, 8) * torch.ones(8, requires_grad=True))

    def forward(self, x):
        self.cache.index_copy_(0, torch.tensor([1]), self.head(x))
        return torch.relu(self.cache) + 1

class Locked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

    def forward(self, x):
        return torch.relu(x) + 1

@dataclasses.dataclass
class Batch:
    a: torch.Tensor

def as_large(size=5):
    return torch.randn(size, 8), torch.randn(4, size)

def with_columns(size=20):
    return torch.randn(3, 8), torch.randn(4, size)

def four_times(size=5):
    return torch.randn(size, 8), torch.randn(4, 4 * size)

def constant():
    return torch.ones(5, 8), torch.ones(4, 20)

def twice(size=5):
    return torch.randn(size, 8), torch.randn(2 * size, 8)

def at_most_eight(size=5):
    assert size <= 8
    return torch.randn(size, 8), torch.randn(4, 20)

def looked(size=5):
    return torch.randn(size, 8), torch.arange(size)

def of_a_constant_size(size=5):
    return torch.randn(5, 8), torch.randn(4, 20)

def without_default(size):
    return torch.randn(size, 8), torch.randn(4, size)

def pair():
    return torch.randn(4, 8), torch.randn(4, 8)

def with_keyword():
    return (torch.randn(4, 8), torch.randn(4, 8)), {"z": torch.randn(4, 8)}

def single():
    return torch.randn(4, 8)

def one_row():
    return torch.randn(1, 8)

def generated():
    yield torch.randn(4, 8)

def array():
    return {"x": numpy.ones((4, 8))}

def object_of_tensors():
    return Batch(torch.ones(4, 8))

def two_lines():
    raise ValueError("no rows\\nat all")

def fit():
    return {"x": {0: Dim("a", min=2, max=8)}, "y": {1: Dim("b", min=2, max=64)}}

def doubled():
    n = Dim("n", min=2, max=8)
    return {"x": {0: n}, "y": {0: 2 * n}}

def endless():
    return {"x": {0: Dim("a", min=2)}, "y": {1: Dim("b", min=16)}}

def found_by_torch():
    return {"x": {0: Dim.AUTO}, "y": {0: Dim.AUTO}}

def found_of_one():
    return {"x": {0: Dim.AUTO}}

def of_each_of_several():
    rows = Dim("rows", min=2, max=8)
    return {"xs": ({0: rows}, {0: rows})}

def fixed():
    return {"x": {0: Dim.STATIC}}

def counted_from_the_end():
    return {"x": {-2: Dim("rows", min=2, max=8)}}

def of_a_text():
    return {"x": {0: "batch"}}

def of_one_name():
    return {"x": {0: Dim("a", min=2, max=8)}, "y": {1: Dim("a", min=2, max=64)}}

def of_x_alone():
    return {"x": {0: Dim("a", min=2, max=8)}}

def of_three():
    return ({0: Dim("a", min=2, max=8)}, None, None)

def of_one_dimension():
    return {"x": (Dim("a", min=2, max=8),), "y": None}

def of_nine():
    return {"x": {0: 9}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mine")
    (folder / "mine.py").write_text(SOURCE)
    return folder


@pytest.fixture
def calls(folder):
    """The sizes of every tensor in each call that is tried, and in the one that is too large."""

    def calls_of(model, inputs, *dynamic):
        captured = capture(case_of(folder, model, inputs, *dynamic), "nonstrict")
        return [shapes(call) for call in captured.calls], shapes(over_bound_inputs(captured))

    return calls_of


@pytest.fixture
def refusal(folder):
    """What is told of a mistake."""

    def told(model, inputs, *dynamic):
        with pytest.raises(WrongModel) as raised:
            case_of(folder, model, inputs, *dynamic).build()
        (line,) = str(raised.value).splitlines()
        return line

    return told


def case_of(folder, model, inputs, *dynamic):
    texts = [f"mine.py:{each}" if each.isidentifier() else each for each in dynamic]
    entry = ModelEntry("mine", f"mine.py:{model}", f"mine.py:{inputs}", dynamic=tuple(texts))
    build = UserModel(entry, folder, {}).program
    return Case("mine", Family.FOUND, Origin.EXPORTED, "a user's own model", build)


def shapes(inputs):
    if inputs is None:
        return None
    leaves = pytree.tree_leaves((inputs.args, dict(inputs.kwargs)))
    return [tuple(leaf.shape) for leaf in leaves if isinstance(leaf, torch.Tensor)]


ROWS_AND_COLUMNS = ("x:0=2:8", "y:1=16:64")


def test_of_two_sizes_that_vary_a_function_is_asked_for_the_first_that_it_makes(calls):
    tried, over = calls("Two", "four_times", *ROWS_AND_COLUMNS)
    assert tried == [[(5, 8), (4, 20)], [(2, 8), (4, 16)], [(8, 8), (4, 64)]]
    assert over == [(9, 8), (4, 65)]
    tried, over = calls("Two", "with_columns", *ROWS_AND_COLUMNS)
    assert tried == [[(3, 8), (4, 20)], [(2, 8), (4, 16)], [(8, 8), (4, 64)]]
    assert over == [(9, 8), (4, 65)]


@pytest.mark.parametrize("inputs", ["as_large", "four_times"])
def test_every_dimension_of_its_own_dim_stays_within_its_own_range(calls, inputs):
    tried, _ = calls("Two", inputs, "fit")
    assert all(2 <= x[0] <= 8 and 2 <= y[1] <= 64 for x, y in tried)
    assert tried[-1] == [(8, 8), (4, 64)]


def test_a_size_that_is_twice_another_follows_it(calls):
    expected = [[(5, 8), (10, 8)], [(2, 8), (4, 8)], [(8, 8), (16, 8)]]
    assert calls("Doubled", "twice", "doubled") == (expected, [(9, 8), (18, 8)])


def test_the_default_of_a_function_is_the_size_of_the_example(calls):
    tried, _ = calls("Looked", "looked", "rows:0,at:0=2:64")
    assert tried[0] == [(5, 8), (5,)]


def test_what_a_function_returns_fits_the_size_that_it_was_asked_for(folder):
    case = case_of(folder, "Looked", "looked", "rows:0,at:0=2:64")
    rows, at = case.build().inputs(torch.Generator(), 64).args
    assert torch.equal(at, torch.arange(64)), "as the function makes it, and not repeated"
    assert len(rows) == 64


def test_a_function_is_not_asked_for_a_size_above_the_largest(calls):
    _, over = calls("Two", "at_most_eight", "x:0=2:8")
    assert over == [(9, 8), (4, 20)]


def test_a_function_that_makes_no_size_as_it_is_asked_is_told_where_and_what_to_write(refusal):
    told = refusal("Two", "of_a_constant_size", *ROWS_AND_COLUMNS)
    assert told == (
        "mine: for size=2 mine.py:of_a_constant_size returns size 5 in x:0, where 2 is asked (2:8 "
        "is stated); make that dimension as large as size asks, or let the function take no size: "
        "then its inputs are resized within what is stated"
    )


def test_a_size_without_a_default_is_told_to_need_one(refusal):
    told = refusal("Two", "without_default", *ROWS_AND_COLUMNS)
    assert told.endswith(
        "takes size without a default; give it that of the example, as in "
        "`def without_default(size=4)`"
    )


def test_sizes_without_an_upper_bound_vary_each_on_its_own(calls):
    tried, over = calls("Two", "constant", "endless")
    assert tried == [[(5, 8), (4, 20)], [(2, 8), (4, 16)], [(10, 8), (4, 40)]]
    assert over is None


def test_a_size_in_an_archive_that_is_twice_another_follows_it(folder):
    rows = torch.export.Dim("rows", min=2, max=8)

    class Doubled(torch.nn.Module):
        def forward(self, x, y):
            return torch.cat([x, x]) + y

    exported = torch.export.export(
        Doubled(), (torch.ones(4, 8), torch.ones(8, 8)), dynamic_shapes=({0: rows}, {0: 2 * rows})
    )
    torch.export.save(exported, folder / "doubled.pt2")
    archive = UserModel(ModelEntry("mine", "doubled.pt2", dynamic=("x:0=2:6",)), folder, {})
    case = Case("mine", Family.FOUND, Origin.EXPORTED, "an archive", archive.archived)
    tried = [shapes(call) for call in capture(case, "nonstrict").calls]
    assert tried == [[(size, 8), (2 * size, 8)] for size in (4, 2, 6)]
    follows = UserModel(ModelEntry("mine", "doubled.pt2", dynamic=("y:0=2:6",)), folder, {})
    with pytest.raises(WrongModel, match="y:0 follows from another size in the archive; state"):
        follows.archived()


def test_what_torch_finds_to_vary_is_what_is_tried(calls):
    tried, _ = calls("Doubled", "twice", "found_by_torch")
    assert tried == [[(5, 8), (10, 8)], [(2, 8), (4, 8)], [(10, 8), (20, 8)]]
    tried, _ = calls("OfFour", "single", "found_of_one")
    assert tried == [[(4, 8)]] * 3, "torch takes the size of the example for the only one"


@pytest.mark.parametrize("dynamic", ["xs.0:0,xs.1:0=2:8", "of_each_of_several"])
def test_each_of_several_arguments_has_a_name(calls, dynamic):
    tried, _ = calls("Several", "pair", dynamic)
    assert tried == [[(size, 8)] * 2 for size in (4, 2, 8)]


def test_a_static_dimension_does_not_vary(calls):
    assert calls("OfFour", "single", "fixed") == ([[(4, 8)]] * 3, None)


def test_a_dimension_may_be_counted_from_the_end(folder):
    program = case_of(folder, "OfFour", "single", "counted_from_the_end").build()
    assert shapes(program.inputs(torch.Generator(), 8)) == [(8, 8)]


def test_an_object_of_tensors_is_a_matter_of_torch_export(folder):
    case = case_of(folder, "Wrapped", "object_of_tensors")
    with pytest.raises(ValueError, match=r"use torch\.export\.register_dataclass"):
        capture(case, "nonstrict")


def test_a_buffer_that_was_computed_with_gradients_is_taken_as_torch_export_takes_it(folder):
    captured = capture(case_of(folder, "Computed", "one_row"), "nonstrict")
    lowered = captured.exported.run_decompositions()
    assert [*lowered.graph_signature.buffers_to_mutate.values()] == ["cache"]
    assert copy.deepcopy(captured.eager).cache.is_leaf


@pytest.mark.parametrize(
    ("model", "inputs", "dynamic", "told"),
    [
        ("Locked", "single", (), "copy.deepcopy does not take the model, which says: TypeError"),
        ("Two", "as_large", ROWS_AND_COLUMNS, "the example has size 5 in y:1, where 16:64 is stat"),
        ("Two", "as_large", ("endless",), "has size 5 in y:1, where 16 or more is stated"),
        ("OfFour", "one_row", ("x:0=1:8",), "takes that for one that never varies; give an exam"),
        ("Several", "with_keyword", ("xs.0:0=2:8",), "given z by **more, of which"),
        ("OfFour", "generated", (), "of which nothing can be taken twice; let it return a tuple"),
        ("OfFour", "array", (), "returns a numpy.ndarray, which torch.export.export does not take"),
        ("OfFour", "two_lines", (), "raises ValueError: no rows; mend it, and let it return"),
        ("OfFour", "single", ("x:0,x:1=2:8",), "as one size, and the example has 4 and 8 there"),
        ("OfFour", "single", ("of_a_text",), "'batch' is stated of x:0; return what torch.export"),
        ("OfFour", "single", ("of_nine",), "x:0 is stated to be 9, and the example has 4 there"),
        ("Two", "constant", ("of_one_name",), 'x:0 and y:1 have a Dim("a") each, with other rang'),
        ("Two", "constant", ("of_x_alone",), 'nothing of the input y; write "y": None where it'),
        ("Two", "constant", ("of_three",), "has 3 entries, and the model is given 2 inputs (x, y)"),
        ("Two", "constant", ("of_one_dimension",), "1 sizes are stated of x, which has 2 dimens"),
    ],
)
def test_a_mistake_of_inputs_or_sizes_is_one_line(refusal, model, inputs, dynamic, told):
    assert re.search(re.escape(told), refusal(model, inputs, *dynamic))
