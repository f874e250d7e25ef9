"""Every command that a run prints can be pasted into the shell that printed it."""

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from harness.base.program import PROGRAM
from harness.toolchain.environment import PROJECT_ROOT
from tests.commands import python

CASES = """
import torch
from corpus.case import Family, Program, case
from corpus.inputs import floats

class Earlier(torch.nn.Module):  # as the corpus's `named_like_an_earlier_getitem`
    def forward(self, x):
        y = torch.relu(x + 1) - torch.relu(x * 2)
        return torch.relu(torch.cat([y, y * 3], dim=-1).chunk(2, dim=-1)[0]) + 5

@case(Family.FOUND, catches="a wrong wire", fallback=["relu"])
def our_earlier():
    return Program(floats((2, 8)), model=Earlier())
"""
RANKER = """
import torch

class Ranker(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x * 2) + 1

def example():
    return torch.randn(4, 8)
"""
EXPORTER = "torch_tensorrt/dynamo/_exporter.py"
WIRE = "copied_placeholder.replace_all_uses_with(submodule_inputs[idx])"
CROSSED = WIRE.replace("[idx]", "[-1 - idx]")
FEW = ("-k", "inputs_read_in_reverse", "--routes", "legacy", "--jobs", "1")


class Shell:
    """A folder that is not the checkout, and what a shell there has in its environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.has = {
            "PYTHONPATH": str(PROJECT_ROOT),
            "INLINER_REGRESS_CACHE": str(PROJECT_ROOT / ".cache"),
        }

    def harness(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return python("-m", "harness", *words, cwd=self.folder, **self.has)

    def paste(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env={**os.environ, **self.has},
            capture_output=True,
            text=True,
            check=False,
        )

    def answers(self, line: str) -> str:
        done = self.paste(line)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr


@pytest.fixture
def shell(tmp_path, library):
    return Shell(tmp_path)


def test_a_model_is_checked_from_its_own_folder_which_holds_the_cache_as_well(tmp_path):
    """As where nothing says otherwise: `.cache` and `results` lie below the current folder."""
    cache = tmp_path / ".cache"
    cache.mkdir()
    wheels = PROJECT_ROOT / ".cache" / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    (cache / "wheels").symlink_to(wheels)
    (tmp_path / "ranker.py").write_text(RANKER)
    shell = Shell(tmp_path)
    shell.has = {"PYTHONPATH": str(PROJECT_ROOT)}
    done = shell.harness("check", "ranker.py", "--releases", "2.14.0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((cache / "packages").iterdir())
    assert "use torch_tensorrt 2.14.0 and save(m, f)" in done.stdout


def commands_in(printed: str) -> list[str]:
    lines = [line.strip() for line in printed.splitlines()]
    return [line for line in lines if line.startswith(PROGRAM)]


def crossed_exporter(wheel: str, path: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        source = archive.read(EXPORTER).decode()
    assert source.count(WIRE) == 1
    path.write_text(source.replace(WIRE, CROSSED))
    return path


def crossed_wheel(wheel: str, folder: Path) -> Path:
    made = folder / Path(wheel).name
    with zipfile.ZipFile(wheel) as archive, zipfile.ZipFile(made, "w") as changed:
        for name in archive.namelist():
            content = archive.read(name)
            if name == EXPORTER:
                content = content.replace(WIRE.encode(), CROSSED.encode())
            changed.writestr(name, content)
    return made


def test_the_commands_of_a_users_own_cases_answer_in_both_lanes(shell):
    (shell.folder / "our cases.py").write_text(CASES)
    asked = ("--corpus", "our cases.py", "--seed", "3", "--jobs", "1", "--out", "runs")
    chosen = ("--releases", "2.13.0", "--routes", "legacy,no-retrace,compile")
    done = shell.harness("run", *asked, *chosen)
    assert done.returncode == 1, done.stdout + done.stderr
    (command,) = commands_in(done.stdout)
    run = (shell.folder / "runs" / "latest").resolve()
    assert command.endswith(f"--run runs/{run.name} --seed 3")
    told = shell.answers(command)
    assert "should read" in told
    assert "has changed since" not in told
    without_route = re.sub(r" --route \S+", "", command)
    both = shell.answers(without_route)
    assert "2.13.0, route no-retrace: " in both
    assert "2.13.0, route legacy: " in both
    script = shell.answers(command.replace("explain", "reproduce"))
    assert "torch_tensorrt.dynamo.compile" in script
    by_run = f"{PROGRAM} explain our_earlier --subject 2.13.0 --lane graph --run runs/latest"
    assert "2.13.0, route legacy: " in shell.answers(by_run)
    said = shell.harness("summary", run).stdout
    file = shell.folder / "our cases.py"
    file.unlink()
    since = f"{file} has changed since; this is as it was in run {run.name}\n"
    assert shell.answers(command) == f"{told}{since}"
    assert script in shell.answers(command.replace("explain", "reproduce"))
    done = shell.harness("summary", run)
    assert (done.stdout, done.stderr.count(since)) == (said, 1)
    done = shell.harness("report", run)
    assert (done.returncode, done.stderr.count(since)) == (0, 1), done.stderr


def test_the_command_of_a_checked_model_answers_with_the_file_that_was_checked(shell):
    (shell.folder / "helper.py").write_text("FACTOR = 2\n")
    file = shell.folder / "ranker.py"
    counts = RANKER.replace("(x * 2)", "(x * FACTOR).mul_(self.calls.add_(1))")
    has_calls = "import torch\nfrom helper import FACTOR\n"
    buffer = (
        "    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('calls', torch.zeros(()))\n\n    def forward"
    )
    file.write_text(counts.replace("import torch\n", has_calls).replace("    def forward", buffer))
    done = shell.harness("check", "ranker.py:Ranker", "--releases", "2.13.0", "--no-reduce")
    assert done.returncode == 1, done.stdout + done.stderr
    run = (shell.folder / "results" / "latest").resolve()
    command = commands_in(done.stdout)[0]
    assert command.endswith(f"--run {run}")
    told = shell.answers(command)
    assert "known defect buffers-folded, by compile: " in told
    (shell.folder / "helper.py").write_text("FACTOR = nothing\n")
    file.write_text(RANKER)
    again = shell.answers(command)
    assert again.startswith(told)
    assert again.count(f"has changed since; this is as it was in run {run.name}") == 1


def test_the_commands_of_a_candidate_answer_after_the_next_run_and_the_next_edit(
    shell, release_specs
):
    wheel = str(release_specs["2.14.0"].wheel_path)
    file = crossed_exporter(wheel, shell.folder / "_exporter.py")
    done = shell.harness("run", "--exporter", file, *FEW)
    assert done.returncode == 1, done.stdout + done.stderr
    command = commands_in(done.stdout)[0]
    told = shell.answers(command)
    assert "should read" in told
    assert "has changed since" not in told
    with zipfile.ZipFile(wheel) as archive:
        file.write_bytes(archive.read(EXPORTER) + b"\n# mended\n")
    assert shell.harness("run", "--exporter", file, *FEW).returncode == 0
    again = shell.answers(command)
    run = (shell.folder / "results" / "latest").resolve().parent
    (first, _) = sorted(path.name for path in run.iterdir() if not path.is_symlink())
    assert f"{file} has changed since; this is as it was in run {first}" in again
    assert again.startswith(told), "it is explained as before"
    file.unlink()
    script = shell.answers(command.replace("explain", "reproduce"))
    assert "_exporter.py" in script
    assert command.split("harness explain")[1].strip() in script, "the command finds it again"


def test_the_commands_of_a_wheel_answer_after_the_wheel_is_gone(shell, release_specs):
    file = crossed_wheel(str(release_specs["2.14.0"].wheel_path), shell.folder)
    done = shell.harness("run", "--wheel", file, *FEW, "--out", "runs")
    assert done.returncode == 1, done.stdout + done.stderr
    command = commands_in(done.stdout)[0]
    direct = shell.answers(
        f"{PROGRAM} explain inputs_read_in_reverse --wheel {file} --route legacy"
    )
    assert "should read" in direct
    file.unlink()
    assert "should read" in shell.answers(command)
    shutil.rmtree(shell.folder / "runs" / "latest" / "candidates")
    gone = shell.paste(command)
    assert gone.returncode == 2
    assert f"{file} is gone, and run " in gone.stderr
