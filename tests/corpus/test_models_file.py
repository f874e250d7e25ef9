"""A models file names a user's own models, which every command then takes as cases."""

import functools
import sys

import pytest
import torch

from corpus.case import Case, Family, Origin
from corpus.user_model import ModelEntry, UserModel, WrongModel
from harness.base.errors import UsageError
from harness.rig.capture import capture as capturing
from harness.rig.capture.capture import capture
from harness.toolchain.rig_client import ask_rig, read_corpus, split_text

RANKER = """
import torch

class Ranker(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(8, 20)

    def forward(self, x, mask=None):
        y = self.head(x)
        values, places = torch.topk(y if mask is None else y * mask, 5)
        return torch.softmax(values, -1), places

class NeedsSize(torch.nn.Module):
    def __init__(self, size, depth=2):
        super().__init__()

class Folds(torch.nn.Module):
    def forward(self, x):
        return x.reshape(4, 2, 4) * 2

class Says(torch.nn.Module):
    def forward(self, x):
        return "a text"

class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(x.sum())

class Keeps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x):
        first, self.last = self.last is None, x * 2
        return torch.relu(self.last) + 1 if first else x

def make():
    return Ranker().eval()

def example():
    return (torch.randn(4, 8),)

def by_keyword():
    return {"x": torch.randn(4, 8), "mask": torch.ones(4, 20)}

def pair():
    return (torch.randn(4, 8),), {"mask": torch.ones(4, 20)}

def any_size(size=None):
    return torch.randn(size or 4, 8)

def of_four_rows(columns=8, size=4):
    return torch.randn(size, columns)

def wrong_shape():
    return (torch.randn(4, 9),)

def raises():
    raise KeyError("batch")

def nothing():
    by_keyword()

def of_a_size(rows):
    return torch.randn(rows, 8)

def on_a_gpu():
    raise AssertionError("Torch not compiled with CUDA enabled")

def batch():
    return {"features": torch.randn(4, 8)}

def other_input():
    return {"y": {0: torch.export.Dim("batch")}}

def no_such_dimension():
    return {"x": {7: torch.export.Dim("batch")}}

def shapes():
    return {"x": {0: torch.export.Dim("batch", min=2, max=9)}}
"""


@pytest.fixture
def file(tmp_path, forked_questions):
    (tmp_path / "ranker.py").write_text(RANKER)

    def write(table):
        path = tmp_path / "models.toml"
        path.write_text(table)
        return str(path)

    return write


def split(place, case="ranker"):
    return split_text(sys.executable, case, "nonstrict", [place])


NAMED = '[ranker]\nmodel = "ranker.py:Ranker"\n'


def test_a_model_is_a_case_its_module_another_and_its_file_counts_in_the_digest(file, tmp_path):
    place = file(NAMED + 'fallback = ["aten.topk.default"]\nsettings = { min_block_size = 1 }\n')
    corpus = read_corpus(sys.executable, [place])
    case, module = corpus.cases
    assert (case.name, case.lanes) == ("ranker", ("graph", "package"))
    assert (module.module_of, module.lanes, module.full) == ("ranker", ("package",), ("package",))
    assert case.declared_at == f"{place}:1"
    assert case.real_engines, "where a builder that makes them is asked for"
    assert "_run_on_gpu_1" in split(place)
    (tmp_path / "ranker.py").write_text(RANKER.replace("20)", "20, bias=False)"))
    assert read_corpus(sys.executable, [place]).digest != corpus.digest


def test_without_a_block_size_the_product_s_own_decides(file):
    assert "_run_on_acc" in split(file(NAMED))  # five nodes, as the product asks for
    assert "_run_on_acc" not in split(file(NAMED + "settings = { min_block_size = 6 }\n"))


def test_a_tensor_that_forward_keeps_is_no_tensor_of_export_afterwards(file, tmp_path):
    file("")
    keeps = UserModel(ModelEntry("keeps", "ranker.py:Keeps"), tmp_path, {}).program
    case = Case("keeps", Family.FOUND, Origin.EXPORTED, "a tensor that is kept", keeps)
    captured = capture(case, "nonstrict")
    assert captured.eager.last is None
    assert "relu" in str(captured.exported.graph)


@pytest.mark.parametrize(
    "inputs",
    [
        "ranker.py:example",
        "ranker.py:by_keyword",
        "ranker.py:pair",
        "ranker.py:any_size",
        "ranker.py:of_four_rows",
    ],
)
def test_inputs_are_arguments_keywords_both_or_one_tensor(file, inputs):
    assert "topk" in split(file(f'{NAMED}inputs = "{inputs}"\n'))


@pytest.mark.parametrize(
    "dynamic", ['["x:0=2:9"]', '["ranker.py:shapes"]', '["x:0=2:9", "x:1=8:9"]']
)
def test_sizes_vary_as_a_text_says_or_a_function_returns(file, dynamic):
    table = f"{NAMED}dynamic = {dynamic}\n".replace("Ranker", "make")
    if "x:1" in dynamic:  # the layer fixes that size, as torch says in its own words
        with pytest.raises(UsageError, match="Constraints violated"):
            split(file(table))
    else:
        assert read_corpus(sys.executable, [file(table)]).cases[0].dynamic
        assert "topk" in split(file(table))


def test_an_archive_brings_its_program_its_example_and_its_sizes(file, tmp_path):
    class Doubled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x, y):
            self.calls.add_(1)
            return torch.relu(x + y * 2) - self.calls

    batch = torch.export.Dim("batch", min=2, max=64)
    example = (torch.randn(4, 8), torch.randn(4, 8))
    exported = torch.export.export(Doubled(), example, dynamic_shapes=({0: batch}, {0: batch}))
    torch.export.save(exported, tmp_path / "doubled.pt2")
    table = '[doubled]\nmodel = "doubled.pt2"\nfallback = ["aten.relu.default"]\n'
    for dynamic in ("", 'dynamic = ["batch=2:16"]\n', 'dynamic = ["x:0=3:20"]\n'):
        place = file(table + dynamic)
        assert read_corpus(sys.executable, [place]).cases[0].dynamic
        assert "relu" in split(place, "doubled")
    with pytest.raises(UsageError, match="the archive takes 2 to 64"):
        split(file(table + 'dynamic = ["batch=1:16"]\n'), "doubled")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (NAMED.replace("Ranker", "Rankr"), "ranker.py has no Rankr; it has Ranker, NeedsSize, "),
        (
            NAMED.replace("Ranker", "NeedsSize"),
            r"NeedsSize takes arguments \(size\); write a function without arguments",
        ),
        (
            NAMED.replace(":Ranker", ""),
            "ranker.py has several models; write which one: ranker.py:Ranker",
        ),
        (NAMED.replace("ranker.py", "other.py"), "there is no file .*other.py"),
        (
            NAMED + 'inputs = "ranker.py:wrong_shape"\n',
            "does not take these inputs .*forward takes",
        ),
        (NAMED + 'dynamic = ["y:0=2:9"]\n', "the inputs are x"),
        (
            NAMED.replace(":Ranker", ":Folds") + 'dynamic = ["x:0=2:9"]\n',
            r"Constraints violated \(x_0\)! .* specialized it to be a constant \(4\)",
        ),
        (NAMED.replace(":Ranker", ":Says"), "returns no tensor, but the str 'a text', and writes"),
        (NAMED + 'dynamic = ["x:7=2:9"]\n', r"x has 2 dimensions, \[4, 8\]"),
        (NAMED + 'dynamic = ["x:0=5:9"]\n', "has size 4 in x:0, where 5:9 is stated"),
        (NAMED + 'dynamic = ["x:0=2:9", "x:0=2:8"]\n', "x:0 is stated twice"),
        (NAMED + 'dynamic = ["x:0"]\n', "write INPUT:DIMENSION=LOW:HIGH"),
        (NAMED + 'dynamic = ["ranker.py"]\n', "write FILE.py:FUNCTION"),
        (NAMED + 'dynamic = ["ranker.py:raises"]\n', r"raises\(\) raises KeyError"),
        (NAMED + 'dynamic = ["ranker.py:make"]\n', "gives a Ranker; let it return"),
        (NAMED + 'dynamic = ["ranker.py:example"]\n', "a Tensor is no dynamic_shapes of x"),
        (NAMED + 'dynamic = ["ranker.py:other_input"]\n', "given no input y; the inputs are x"),
        (NAMED + 'dynamic = ["ranker.py:no_such_dimension"]\n', "x has no dimension 7"),
        (NAMED + 'inputs = "ranker.py:raises"\n', "function of the inputs raises KeyError"),
        (NAMED + 'inputs = "ranker.py:nothing"\n', "ranker.py:nothing returns None; let it return"),
        (NAMED + 'inputs = "ranker.py:of_a_size"\n', r"of_a_size takes arguments \(rows\); name a"),
        (NAMED + 'inputs = "ranker.py:on_a_gpu"\n', r"runs on the CPU here, so leave .cuda\(\)"),
        (
            NAMED + 'inputs = "ranker.py:batch"\n',
            "is itself the one argument, return it",
        ),
        (NAMED + "dynamic = [3]\n", r'has to be a list of texts, such as \["x:0=2:64"\]'),
        (NAMED + 'fallback = ["topk,relu"]\n', "no op topk,relu; .*; name one op at a time"),
        (NAMED + 'inputs = "example"\n', "write FILE.py:FUNCTION"),
        (NAMED + 'settings = { min_block_size = "3" }\n', "has to be a whole number"),
        (NAMED.replace("ranker.py", "rankr.py"), "rankr.py; there is ranker.py"),
        ('[ranker]\nmodel = "notes.pt2:Ranker"\n', "write notes.pt2 without :Ranker"),
        (NAMED + 'dynamic = ["x=2"]\n', "write INPUT:DIMENSION=LOW:HIGH"),
        (NAMED + 'dynamic = ["x:0=2:90000000"]\n', "state a smaller range"),
        (NAMED + "fallbacks = []\n", "has no key fallbacks; there are model, inputs, fallback"),
        ('[ranker]\nmodel = "notes.pt2"\n', "cannot read .*notes.pt2, which is no archive"),
        ("", "names no model"),
    ],
)
def test_a_mistake_is_one_sentence_that_says_what_to_write(file, tmp_path, table, told):
    (tmp_path / "notes.pt2").write_text("no archive")
    with pytest.raises(UsageError, match=told):
        split(file(table))


def test_a_model_that_only_writes_returns_no_tensor_and_is_right(file):
    split(file(NAMED.replace(":Ranker", ":Counts")))


def test_what_is_not_installed_is_named_with_the_options_that_bring_it(file, tmp_path):
    (tmp_path / "ranker.py").write_text("import nowhere_installed\n")
    with pytest.raises(UsageError, match="give --python of an environment that has it, or --with"):
        split(file(NAMED))


def test_dimensions_of_their_own_ranges_are_tried_within_them(file, tmp_path):
    place = file('[sized]\nmodel = "sized.py:Sized"\ndynamic = ["x:0=1:3", "x:1=8:40"]\n')
    (tmp_path / "sized.py").write_text(
        "import torch\n"
        "class Sized(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        assert x.shape[0] <= 4 and 8 <= x.shape[1] <= 41\n"
        "        return torch.relu(x + 1)\n"
        "def example():\n"
        "    return (torch.randn(2, 16),)\n"
    )
    assert "relu" in split(place, "sized")
    assert ask_rig(sys.executable, "cases", corpus=[place])[0]["dynamic"]


SIZES = """
import torch

class Sums(torch.nn.Module):
    def forward(self, nodes, edges):
        return torch.relu(nodes[edges[0]] - nodes[edges[1]])

def graph(size=7):
    return torch.randn(size, 4), torch.randint(0, size, (2, 18))

class Frames(torch.nn.Module):
    def forward(self, wave, lengths):
        return torch.relu(wave) * lengths[:, None]

def waves(size=20):
    return torch.randn(3, 16 * size), torch.ones(3)

def multiples():
    hops = torch.export.Dim("hops", min=7, max=100)
    rows = torch.export.Dim("rows", min=2, max=8)
    return {"wave": {0: rows, 1: 16 * hops}, "lengths": {0: rows}}
"""


@pytest.mark.parametrize(
    ("model", "inputs", "dynamic", "ranges"),
    [
        ("Sums", "graph", ("nodes:0=2:40", "edges:1=2:60"), ((2, 40), None)),
        ("Frames", "waves", ("sizes.py:multiples",), ((2, 8), (7 * 16, 100 * 16))),
    ],
)
def test_sizes_of_a_user_s_own_are_tried_apart_as_its_model_takes_them(
    tmp_path, monkeypatch, model, inputs, dynamic, ranges
):
    monkeypatch.setattr(capturing, "is_from_elsewhere", lambda _: True)
    (tmp_path / "sizes.py").write_text(SIZES)
    entry = ModelEntry("sized", f"sizes.py:{model}", f"sizes.py:{inputs}", (), dynamic)
    build = UserModel(entry, tmp_path, {}).program
    captured = capture(Case("sized", Family.FOUND, Origin.EXPORTED, "sizes", build), "nonstrict")
    for call in captured.calls:
        captured.eager(*call.args)
        for size, tried in zip(call.args[0].shape, ranges, strict=True):
            assert tried is None or tried[0] <= size <= tried[1]
    assert len({call.args[0].shape for call in captured.calls}) == 3


@pytest.fixture
def archived(tmp_path):
    """An archive of two dynamic sizes, one of which has no upper bound."""
    dims = {0: torch.export.Dim("batch", min=2, max=32), 1: torch.export.Dim("length", min=4)}
    given = {"dense": torch.randn(4, 8)}

    class Nested(torch.nn.Module):
        def forward(self, batch):
            return torch.relu(batch["dense"])

    shapes = {"batch": {"dense": dims}}
    exported = torch.export.export(Nested(), (given,), dynamic_shapes=shapes)
    torch.export.save(exported, tmp_path / "nested.pt2")

    def program(*dynamic):
        entry = ModelEntry("nested", "nested.pt2", dynamic=dynamic)
        return UserModel(entry, tmp_path, {}).archived()

    return program


def test_save_is_given_the_shapes_with_which_an_archive_was_exported(archived):
    dims = archived("batch.dense:0=2:8").dynamic_shapes["batch"]["dense"]
    assert [(dims[0].min, dims[0].max), dims[1].min] == [(2, 32), 4]


def test_a_program_may_take_sizes_that_are_not_tried(archived):
    program = archived("batch.dense:0=2:8")
    assert program.bounds == (2, 16)
    assert set(program.stated_ranges) == {(2, 32), (4, None)}
    assert program.unbounded


def test_no_call_has_a_size_that_an_archive_is_not_asked_for(archived):
    build = functools.partial(archived, "batch.dense:0=2:8", "batch.dense:1=6:20")
    case = Case("nested", Family.FOUND, Origin.EXPORTED, "an archive's sizes", build)
    tried = [call.args[0]["dense"].shape for call in capture(case, "nonstrict").calls]
    assert all(2 <= rows <= 8 and 6 <= columns <= 20 for rows, columns in tried), tried


def test_the_sizes_of_an_archive_are_told_as_they_are_written(archived):
    with pytest.raises(WrongModel, match="of batch_dense:0, batch_dense:1"):
        archived("length=2:8")
