"""A working tree with one wire broken, judged as a user judges it: real wheel, real workers."""

import zipfile
from pathlib import Path

import pytest

from harness.base.errors import ExitCode
from harness.catalogue.releases import EXPORTER_MODULE
from harness.run.lines_run import read_lines_run
from harness.run.order import quick_cells, read_order
from harness.runs.run_folder import RunFolder
from tests.cli.test_bench import invoke
from tests.toolchain.test_checkout import git

RIGHT = "copied_placeholder.replace_all_uses_with(submodule_inputs[idx])"
WRONG = "copied_placeholder.replace_all_uses_with(submodule_inputs[-1 - idx])"


@pytest.fixture(scope="module")
def root(tmp_path_factory, release_specs):
    return tree_as_released(tmp_path_factory.mktemp("tree"), release_specs["2.14.0"])


def tree_as_released(root, spec):
    """The Python of a release as a repository of its own."""
    with zipfile.ZipFile(str(spec.wheel_path)) as wheel:
        names = [name for name in wheel.namelist() if name.endswith(".py")]
        wheel.extractall(root / "py", [name for name in names if "_version" not in name])
    (root / "version.txt").write_text(f"{spec.subject}a0")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "as released")
    return root


def asked(root: Path, out: Path, case: str) -> tuple[int, str, RunFolder]:
    code, told = invoke(
        "run", "--checkout", str(root), "-k", case, "--lane", "graph", "--jobs", "1",
        "--out", str(out),
    )  # fmt: skip
    return code, told, RunFolder.open("latest", out)


def test_an_unchanged_tree_is_all_as_its_base_and_runs_nothing_of_its_own(root, tmp_path):
    code, told, run = asked(root, tmp_path, "relu_once")
    assert code == ExitCode.GREEN, told
    (line,) = [each for each in told.splitlines() if each.startswith("checkout:")][-1:]
    assert ": all as base:" in line
    assert "what only a package has, such as _version.py, is of 2.14.0" in told
    own = [each for each in run.records().values() if each.key.subject.startswith("checkout:")]
    assert own
    assert not any(each.measured_as.startswith("checkout:") for each in own)


def test_a_broken_wire_is_held_against_the_base_and_its_command_explains_it(root, tmp_path):
    exporter = root / "py" / EXPORTER_MODULE
    right = exporter.read_text()
    assert right.count(RIGHT) == 1
    exporter.write_text(right.replace(RIGHT, WRONG))
    try:
        code, told, run = asked(root, tmp_path, "inputs_read_in_reverse and not recorded")
    finally:
        exporter.write_text(right)
    assert code == ExitCode.RED, told
    assert "worse than base:" in told
    candidate = next(s for s in run.provenance().subjects if s.subject.startswith("checkout:"))
    code, shown = invoke(
        "explain", "inputs_read_in_reverse", "--subject", candidate.subject, "--route", "legacy",
        "--run", str(run.path),
    )  # fmt: skip
    assert code == ExitCode.GREEN, shown
    assert "numbers differ" in shown


def test_a_quick_run_asks_what_runs_the_change_and_tells_what_nothing_runs(root, tmp_path):
    quick = quick_cells(read_order())
    # A file with a line that one case alone runs, which is no quick one.
    file, line, cell = next(
        (file, line, cells[0])
        for file, lines in read_lines_run().by_file.items()
        for line, cells in lines.items()
        if len(cells) == 1 and cells[0] not in quick and "passes" in file
    )
    converter = root / "py" / "torch_tensorrt" / "dynamo/conversion/impl/activation/ops.py"
    changed = root / "py" / "torch_tensorrt" / file
    before = {path: path.read_text() for path in (changed, converter)}
    lines = before[changed].splitlines(keepends=True)
    lines[line - 1] = lines[line - 1].rstrip() + "  # noqa\n"
    changed.write_text("".join(lines))
    converter.write_text(before[converter].replace("operation_type", "operation"))
    try:
        code, told = invoke(
            "run", "--checkout", str(root), "--quick", "--cases", cell.case, "--lane", "package",
            "--out", str(tmp_path),
        )  # fmt: skip
    finally:
        for path, text in before.items():
            path.write_text(text)
    assert code == ExitCode.GREEN, told
    assert "no case runs dynamo/conversion/impl/activation/ops.py:" in told
    asked = {each.key.route for each in RunFolder.open("latest", tmp_path).plan()}
    assert cell.route in asked
