"""The ways to get `check` wrong in the first minute: one sentence each, and exit code 2."""

import json
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch

from tests.commands import harness

RANKER = """
import torch

class Ranker(torch.nn.Module):
    def __init__(self, items):
        super().__init__()
        self.head = torch.nn.Linear(8, items)

    def forward(self, x):
        return torch.topk(torch.relu(self.head(x)), 3)

def make():
    return Ranker(20)

def example():
    return (torch.randn(4, 8),)

def wrong_inputs():
    return (torch.randn(4, 9),)

class OnGpu(Ranker):
    def __init__(self):
        super().__init__(20)

    def forward(self, x):
        return super().forward(x.cuda())

class Otherwise(torch.nn.Module):
    def forward(self, x):
        made = torch.relu(x) + 1
        return made * 2 if torch.compiler.is_exporting() else made

def make_stored():
    return torch.load("weights.pt")

def make_sized(items):
    return Ranker(items)
"""
#: What a file does when it is imported, and what is told of it.
IMPORTS = {
    "a colon is missing": ("def f()\n", "cannot be imported: SyntaxError: expected ':' ("),
    "it exits": ("import sys; sys.exit(3)", "cannot be imported: SystemExit: 3; mend that"),
    "it ends the process": ("import os; os._exit(0)", "imports it ended: exited with code 0; mend"),
    "it is killed": (
        "import os; print('now', flush=True); os.kill(os.getpid(), 11)",
        "imports it ended: killed by SIGSEGV; mend what it does there",
    ),
    "it imports what is not there": ("import no_such_package", "--with no_such_package"),
    "it defines no model": ("import torch", "defines no class of torch.nn.Module; write FILE.py:"),
}


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    file = tmp_path_factory.mktemp("first-minute") / "ranker.py"
    file.write_text(RANKER)
    return file


def refusal(*arguments: str | Path) -> str:
    """The one line in which `check` refuses what it is given; nothing is left of it."""
    with TemporaryDirectory() as folder:
        done = harness("check", *arguments, "--out", Path(folder, "out"))
        assert not any(Path(folder).iterdir())
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    (line,) = [each for each in (done.stdout + done.stderr).splitlines() if "error:" in each]
    return line


def test_an_op_that_is_not_in_the_graph_is_told_with_those_that_are(ranker):
    line = refusal(f"{ranker}:make", "--fallback", "tokp")
    assert "error: make: the graph has no op tokp" in line
    assert "aten.topk.default" in line
    assert "perhaps topk for tokp" in line


def test_inputs_that_the_model_does_not_take_are_told_with_what_it_takes(ranker):
    line = refusal(f"{ranker}:make", "--inputs", f"{ranker}:wrong_inputs")
    assert "error: make: the model itself does not take these inputs" in line
    assert "user_model.py" not in line, "it is no line of the user's"
    assert "4x9" in line or "[4, 9]" in line
    assert "mat1 and mat2 shapes cannot be multiplied (4x9 and 8x20)" in line
    assert "let inputs return a tuple of arguments" in line


def test_a_class_that_needs_arguments_is_told_with_the_function_to_write(ranker):
    line = refusal(f"{ranker}:Ranker")
    assert "Ranker takes arguments (items)" in line
    assert "`def make(): return Ranker(items=...)`" in line
    line = refusal(f"{ranker}:make_sized")
    assert line.endswith(f"`def make(): return make_sized(items=...)`, and name {ranker}:make")


def test_a_model_that_computes_something_else_while_it_is_exported_is_no_failure_of_a_release(
    ranker,
):
    line = refusal(f"{ranker}:Otherwise", "--releases", "2.14.0")
    assert (
        "error: Otherwise: what torch.export.export makes of the model computes something" in line
    )
    assert "numbers differ: call 0: output 0: first wrong value" in line
    assert "mend what the model does otherwise while it is exported" in line


@pytest.mark.parametrize(("text", "told"), IMPORTS.values(), ids=IMPORTS)
def test_a_file_that_cannot_be_imported_is_told_with_what_happens(text, told, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(text)
    line = refusal(file)
    assert line.startswith("error: mine: ")
    assert told in line


def test_a_model_or_inputs_on_a_gpu_are_told_that_everything_runs_on_the_cpu(ranker):
    line = refusal(f"{ranker}:OnGpu")
    assert line.endswith("everything runs on the CPU here, so leave .cuda() and device='cuda' out")


def test_a_file_that_a_model_does_not_find_is_told_with_how_to_name_it(ranker):
    line = refusal(f"{ranker}:make_stored")
    assert line.endswith('where its own file lies, as Path(__file__).with_name("weights.pt")')


def test_a_dimension_that_an_input_has_not_is_told_with_those_that_it_has(ranker):
    line = refusal(f"{ranker}:make", "--dynamic", "x:2=2:64")
    assert line.endswith("x has 2 dimensions, [4, 8]; count them from 0, as in x:0")


def test_a_size_that_the_model_fixes_is_told_as_a_size_that_is_stated(ranker):
    line = refusal(f"{ranker}:make", "--dynamic", "x:1=2:64")
    assert "make: the sizes that are stated to vary are not those that the model takes; " in line
    assert "specialized it to be a constant (8)" in line
    assert "change it so that torch.export.export takes it" not in line


def test_a_folder_is_told_to_be_one(ranker):
    told = f"error: {ranker.parent}: {ranker.parent} is a folder; name a model as FILE.py:CLASS"
    assert told in refusal(ranker.parent)


def test_a_number_that_an_option_does_not_take_is_told_with_the_option(ranker):
    line = refusal(f"{ranker}:make", "--timeout", "0")
    assert line == (
        "error: Invalid value for '--timeout': Input should be greater than or equal to 1"
    )


def test_an_op_that_only_torch_s_own_lowering_makes_is_told_with_what_the_release_keeps(ranker):
    line = refusal(f"{ranker}:make", "--fallback", "topk", "--fallback", "addmm")
    assert "no op of the lowered graph is aten.addmm.default; " in line
    assert "the release keeps aten.linear.default: name that instead" in line


def test_an_archive_of_another_torch_is_told_with_both_torches(tmp_path):
    class Twice(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    saved, newer = tmp_path / "saved.pt2", tmp_path / "newer.pt2"
    torch.export.save(torch.export.export(Twice(), (torch.ones(2),)), saved)
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(newer, "w") as new:
        for each in old.infolist():
            data = old.read(each)
            if each.filename.endswith("models/model.json"):
                model = json.loads(data)
                model["schema_version"]["major"] += 1
                data = json.dumps({**model, "torch_version": "9.1.0"}).encode()
            new.writestr(each, data)
    line = refusal(newer)
    assert f"torch {torch.__version__} cannot read {newer}" in line
    assert "which torch 9.1.0 wrote" in line
    assert "export and save it with this torch, or name the model's class instead" in line
