"""A user's own cases go through whole packages as well as through the inliners alone."""

import json
import re
import shutil

import pytest

from harness.register.defects import read_register
from tests.check.users import MODELS
from tests.commands import harness

CASES = """
import torch
from corpus.case import Family, Program, case
from corpus.inputs import floats

class Top(torch.nn.Module):
    def forward(self, x):
        best, at = torch.topk(x * 2, 3)
        return best + 1, at

class Writes(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x).add_(1) * 2

class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)
    def forward(self, x):
        return self.norm(x * 2) + 1

@case(Family.FOUND, catches="a tuple that falls back", fallback=["topk"])
def our_topk():
    return Program(floats((2, 8)), model=Top())

@case(Family.FOUND, catches="an engine that writes to what it is given", fallback=["relu"])
def our_write():
    return Program(floats((2, 8)), model=Writes())

@case(Family.FOUND, catches="an op that is not there", fallback=["aten.gelu"])
def our_slip():
    return Program(floats((2, 8)), model=Norm())

@case(Family.FOUND, catches="an op by its exported name", fallback=["layer_norm"])
def our_exported_name():
    return Program(floats((2, 8)), model=Norm())

@case(Family.FOUND, catches="an op by its lowered name", fallback=["native_layer_norm"])
def our_lowered_name():
    return Program(floats((2, 8)), model=Norm())
"""


BESIDE = """
import dataclasses
import torch

@dataclasses.dataclass
class Pair:
    one: torch.Tensor
    two: torch.Tensor

torch.export.register_dataclass(Pair, serialized_type_name="our_types.Pair")
"""

OF_A_MODULE = """
import torch
from our_types import Pair
from corpus.case import Family, Program, case
from corpus.inputs import floats

class Pairs(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x * 2)
        return Pair(y + 1, y)

@case(Family.FOUND, catches="a type of ours", fallback=["relu"], imports=["our_types"])
def our_pair():
    return Program(floats((2, 8)), model=Pairs())
"""

NOT_LATER = """
import pathlib
made = pathlib.Path(__file__).with_suffix(".made")
if made.exists():
    raise RuntimeError("not after forward() was called")
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    file = tmp_path_factory.mktemp("ours") / "our_cases.py"
    file.write_text(CASES)
    return file


def run(place, cases, *more):
    routes = ("--routes", "legacy,no-retrace,compile")
    asked = ("run", "--corpus", place, "-k", cases, "--releases", "2.14.0", *routes, *more)
    return harness(*asked, "--out", place.parent / "out", "--jobs", "1")


def test_a_users_case_is_asked_of_whole_packages_too_and_told_by_releases(place, toolchain):
    done = run(place, "our_topk or our_lowered_name or our_write")
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.splitlines()
    assert (
        told[0]
        == "Use Torch-TensorRT 2.14.0 and save(retrace=False): right for all 3 of your cases"
    )
    assert told[2] == "gate: green: no unknown failure"
    begin = next(number for number, line in enumerate(told) if line.split() == ["2.14.0"])
    assert [line.split() for line in told[begin + 1 : begin + 5]] == [
        ["our_topk", "✓"],
        ["our_write", "✓"],
        ["our_lowered_name", "✓"],
        ["✓", "all", "right"],
    ]
    (cells,) = [line for line in told if line.startswith("cells: ")]
    assert "package lane planned 6, ok 6" in cells
    (alone,) = [line for line in told if line.startswith("our_write cannot")]
    assert "packages were asked: at compile: UnsupportedSegment" in alone


def test_a_type_of_a_module_beside_the_cases_is_known_where_the_program_is_loaded(
    tmp_path, toolchain
):
    file = tmp_path / "pairs.py"
    file.write_text(OF_A_MODULE)
    (tmp_path / "our_types.py").write_text(BESIDE)
    done = run(file, "our_pair")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "right for your case" in done.stdout.splitlines()[0]


def test_a_module_that_cannot_be_imported_where_the_program_is_loaded_is_no_failure_of_the_release(
    tmp_path, toolchain
):
    file = tmp_path / "pairs.py"
    forward = "        our_types.made.touch()\n        y ="
    cases = OF_A_MODULE.replace("        y =", forward).replace(
        "import torch", "import our_types, torch"
    )
    file.write_text(cases)
    (tmp_path / "our_types.py").write_text(BESIDE + NOT_LATER)
    done = run(file, "our_pair", "--lane", "package")
    assert done.returncode == 3, done.stdout + done.stderr
    why = "cannot: RuntimeError: not after forward() was called"
    assert f"a new process, which is to load the program, {why}" in done.stdout


@pytest.mark.parametrize(
    ("case", "says"),
    [
        (
            "our_slip",
            "cannot be asked, at capture: NoSuchOp: our_slip: the graph has no op aten.gelu; it "
            "has aten.add.Tensor, aten.layer_norm.default, aten.mul.Tensor; lowering makes "
            "aten.native_layer_norm.default of them",
        ),
        (
            "our_exported_name",
            "falls back to nothing: no op of the lowered graph is aten.layer_norm.default; "
            "lowering made _operator.getitem, aten.native_layer_norm.default of the program",
        ),
    ],
)
def test_a_fallback_that_no_package_takes_is_wrong_use_in_one_line(place, toolchain, case, says):
    done = run(place, case)
    assert done.returncode == 2, done.stdout + done.stderr
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert error.startswith(f"error: {place}:")
    assert f": {case} {says}" in error
    assert "gate:" not in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        "explain our_slip --subject 2.14.0",
        "reproduce our_slip --subject 2.14.0",
        "reduce our_slip --subject 2.14.0",
        "bench --cases our_slip",
        "bench --cases our_slip --lane package",
    ],
)
def test_whatever_is_asked_of_a_case_that_names_no_op_of_its_graph_is_one_sentence_and_exit_code_2(
    place, toolchain, tmp_path, words
):
    more = ("--out", tmp_path / "out") if words.startswith("bench") else ()
    done = harness(*words.split(), "--corpus", place, *more)
    assert done.returncode == 2, done.stdout + done.stderr
    says = "error: our_slip: the graph has no op aten.gelu; it has aten.add.Tensor, aten.layer_norm"
    (told,) = [line for line in done.stderr.splitlines() if "the graph has no op" in line]
    assert told.startswith(says)
    assert "not measured" not in done.stdout


def named_in(told: str) -> set[str]:
    """The known defects of the lines that say what is wrong, those that look alike as one."""
    for each in read_register().defects:
        told = told.replace(f'"{each.title}"', each.id)
    wrong = re.findall(r"^  speech in .* \((.+)\)$", told, re.MULTILINE)
    return {name for each in wrong for name in each.split(", ")}


def test_a_run_and_all_that_reads_it_name_the_defects_that_check_names(toolchain, tmp_path):
    file = tmp_path / "models.toml"
    shutil.copy(MODELS.with_name("speech.py"), tmp_path)
    file.write_text(
        '[speech]\nmodel = "speech.py:Encoder"\nfallback = ["aten.where.self"]\n'
        'dynamic = "speech.py:dynamic_shapes"\n'
    )
    asked = ("--releases", "2.14.0", "--jobs", "1", "--out", tmp_path / "out")
    checked = harness("check", file, "--no-reduce", *asked)
    assert checked.returncode == 0, checked.stderr
    (model,) = json.loads((tmp_path / "out/latest/check.json").read_text())["models"]
    causes = [" or ".join(c["defects"]) for call in model["calls"] for c in call["causes"]]
    assert "size-comes-out-as-a-tensor" in causes
    done = harness("run", "--corpus", file, *asked)
    run = (tmp_path / "out" / "latest").resolve()
    summary = ("summary", run, "--out", tmp_path / "out")
    assert named_in(done.stdout) == named_in(harness(*summary).stdout) == {*causes}
    words = ("explain", "speech", "--route", "no-retrace", "--subject", "2.14.0", "--run", run)
    told = [each for each in harness(*words).stdout.splitlines() if each.startswith("known defect")]
    assert [each.partition(",")[0] for each in told] == ["known defect size-comes-out-as-a-tensor"]
    (run / "lacking.jsonl").unlink()  # of a run of before nobody knows what the model lacks
    assert "rows-for-outputs or size-comes-out-as-a-tensor" in named_in(harness(*summary).stdout)
