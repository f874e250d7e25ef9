"""A run of a user's own cases, as he starts it: its exit code, and what it tells him."""

import json
import os
from pathlib import Path

import pytest

from tests.commands import harness

CASES = """
import errno, os
import torch
from corpus.case import Family, Program, case
from corpus.inputs import floats

RELU = ["aten.relu.default"]

class Alone(torch.nn.Module):  # no engine, nothing to inline wrongly
    def forward(self, x):
        return torch.relu(x)

class Earlier(torch.nn.Module):  # as the corpus's `named_like_an_earlier_getitem`
    def forward(self, x):
        y = torch.relu(x + 1) - torch.relu(x * 2)
        return torch.relu(torch.cat([y, y * 3], dim=-1).chunk(2, dim=-1)[0]) + 5

class Halves(torch.nn.Module):
    def forward(self, x):
        a, b = (x * 2).chunk(2, -1)
        return torch.relu(b) - torch.relu(a)

class Branch(torch.nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x - 1

class Writes(torch.nn.Module):
    def forward(self, x):
        return x.add_(1) * 2

@case(Family.FOUND, catches="nothing", fallback=RELU)
def our_alone():
    return Program(floats((2, 8)), model=Alone())

@case(Family.FOUND, catches="a wrong wire", fallback=RELU)
def our_earlier():
    return Program(floats((2, 8)), model=Earlier())

@case(Family.FOUND, catches="halves that change places", fallback=RELU)
def our_halves():
    return Program(floats((2, 8)), model=Halves())

@case(Family.FOUND, catches="a branch on data")
def our_branch():
    return Program(floats((2, 8)), model=Branch())

@case(Family.FOUND, catches="nothing: the machine is to blame")
def our_full_disk():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "weights.pt")

@case(Family.FOUND, catches="a write to the caller's input")
def our_write():
    return Program(floats((2, 8)), model=Writes())
"""


def line_of(text: str) -> int:
    return 1 + CASES.splitlines().index(text)


class Told:
    """What a run of one case ended with and said, and the folder that it left."""

    def __init__(self, code: int, printed: str, out: Path) -> None:
        self.code, self.printed, self.folder = code, printed, out / "latest"

    def __str__(self) -> str:
        return self.printed

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    file = tmp_path_factory.mktemp("ours") / "our_cases.py"
    file.write_text(CASES)
    return file


@pytest.fixture(scope="module")
def told(place, library):
    """A run of cases of the user's own through two releases, by name; each is made once."""
    known: dict[tuple[str, ...], Told] = {}

    def run(case: str, *more: str, **environment: str) -> Told:
        if (case, *more) not in known:
            out = place.parent / f"out-{len(known)}"
            asked = ["run", "--corpus", place, "-k", case, "--lane", "graph", "--jobs", "1"]
            asked += ["--routes", "legacy"]
            done = harness(*asked, "--out", out, *more, **environment)
            known[(case, *more)] = Told(done.returncode, done.stdout + done.stderr, out)
        return known[(case, *more)]

    return run


ONE_OUTPUT = '"In memory, an engine\'s only output is a list in the metadata"'
RELEASES = ("--releases", "2.13.0,2.14.0")
GREEN = ("our_alone or our_halves", *RELEASES, "--routes", "legacy,export")
MISTAKES = "our_branch or our_write"


def test_cases_that_no_release_gets_wrong_are_green_and_asked_of_releases_and_torch_alone(told):
    run = told(*GREEN)
    assert run.code == 0, run
    assert "gate: green" in run.printed
    judged = {subject["subject"] for subject in json.loads(run.read("run.json"))["subjects"]}
    assert judged == {"2.13.0", "2.14.0", "torch"}, "the project's own inliners were asked"


def test_a_silent_failure_is_red_and_told_as_the_known_defect_that_it_is(told):
    run = told("our_earlier", *RELEASES)
    assert run.code == 1, run
    assert "gate: red" in run.printed
    assert '  our_earlier in 2.13.0: ✗ save(retrace=False) ("A PyTorch fallback' in run.printed
    first, calls, gate, exit_code = run.printed.splitlines()[:4]
    assert first == "Use Torch-TensorRT 2.14.0 and save(retrace=False): right for your case"
    assert calls == "Every call of 2.14.0 that was asked is right"
    assert gate == "gate: red: 1 of your 1 case fails somewhere"
    assert exit_code == (
        "  the gate, and so the exit code 1, asks for every call of every release; the first line "
        "names one call that is right"
    )
    assert f"cosmetic, and so no failure: {ONE_OUTPUT} in 2 cells" in run.printed
    junit = run.read("junit.xml")
    assert '<testsuite name="defects"' in junit
    assert 'name="wired-by-name: ' in junit
    # 2.14.0 wires by position: what is left of it there is cosmetic.
    assert "our_earlier in 2.14.0" not in run.printed
    assert "wired-by-name" in run.read("report.html")


def test_a_cosmetic_failure_alone_is_told_in_every_form_and_not_red(told, place):
    run = told(*GREEN)
    assert f"cosmetic, and so no failure: {ONE_OUTPUT} in 2 cells" in run.printed
    assert "✓ all right" in run.printed
    page = run.read("report.md")
    assert "2 notes that the gate does not count" in page
    explain = "`python -m harness explain our_halves --subject 2.14.0 --route legacy"
    assert f"{explain} --run {os.path.relpath(run.folder.resolve())}`" in page
    assert f"{explain}`" not in page, "a command that does not find the case"
    assert "cosmetic failure: wrong-metadata@export" in run.read("junit.xml")


@pytest.mark.parametrize(
    ("case", "said", "instead"),
    [
        (
            "our_branch",
            "at capture: GuardOnDataDependentSymNode: Could not guard on data-dependent",
            "mend what it raises, so that torch.export.export takes the model",
        ),
        (
            "our_write",
            "at compile: UnsupportedSegment: _run_on_acc_0: add_ (aten.add_.Tensor) writes to its",
            "name that op in `fallback`, which leaves it in PyTorch",
        ),
    ],
)
def test_a_mistake_of_the_users_is_exit_code_2_and_one_message_with_its_line(
    told, place, case, said, instead
):
    run = told(MISTAKES, *RELEASES)
    assert run.code == 2, run
    assert "Traceback" not in run.printed
    assert "gate:" not in run.printed
    (error,) = [line for line in run.printed.splitlines() if case in line]
    declared = line_of(f"def {case}():") - 1  # by its decorator
    assert error.startswith(f"error: {place}:{declared}: {case} cannot be asked, {said}")
    assert f"; instead, {instead}" in error
    if case == "our_branch":
        raised = line_of("        return x + 1 if x.sum() > 0 else x - 1")
        assert f"(our_cases.py, line {raised}, in forward)" in error


def test_a_run_of_a_mistake_is_wrong_use_whenever_it_is_read(told):
    run = told(MISTAKES, *RELEASES)
    again = harness("summary", run.folder)
    assert again.returncode == 2, again.stdout + again.stderr
    assert "our_branch cannot be asked, at capture" in again.stderr


def test_a_full_disk_while_a_case_is_captured_is_no_mistake_of_the_users(told):
    run = told("our_full_disk", "--releases", "2.14.0")
    assert run.code == 4, run
    assert "No space left on device" in run.printed
    assert "cannot be asked" not in run.printed


def test_a_run_says_where_its_cases_are_and_takes_no_reach_from_the_projects_lock(told, place):
    run = told(*GREEN)
    assert json.loads(run.read("run.json"))["corpus"] == [str(place)]
    assert "| legacy" in run.read("standing.md")
    assert "| product |" not in run.read("standing.md")
