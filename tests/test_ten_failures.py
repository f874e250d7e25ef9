"""The ten scripts of docs/ten-failures: a user's calls of 2.14.0, run without a GPU."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.register.expected import read_expectations

PROJECT = Path(__file__).resolve().parents[1]
FOLDER = PROJECT / "docs" / "ten-failures"
SCRIPTS = sorted(FOLDER.glob("[01]*.py"))

#: What each script's failure goes away with: another model, or the call that works.
MENDED = {
    "data-dependent-size": [("rows = count.item()", "rows = 3")],
    "save-refuses-containers": [("file, arg_inputs=(batch,)", "file, inputs=[batch]")],
    "specialised": [
        ("+ x.shape[0]", "+ 1"),
        ("arg_inputs=[four])", "arg_inputs=[four], dynamic_shapes=shapes)"),
    ],
    "size-comes-out-as-a-tensor": [
        (".narrow(0, 0, half) + half", ".narrow(0, 0, half) + 1"),
        ("executed_ops={", 'executed_ops={"torch.ops.aten.sym_size.int", "_operator.floordiv", '),
    ],
    "size-into-engine": [("+ x.shape[0]", "+ 1")],
    "tuple-for-a-tensor": [
        ("self.keys.index_copy_(2, position, torch.relu(x))", "x = torch.relu(x) + position")
    ],
    "cache-read-twice": [("torch.matmul(torch.relu(scores), self.keys)", "torch.relu(scores) + 1")],
    "star-arguments-shapes": [("dynamic_shapes=shapes, use_", "dynamic_shapes=shapes[0], use_")],
    "copy-back-as-output": [("False, use_legacy_exporter=False)", "False)")],
    "rows-for-outputs": [("use_fast_partitioner=False", "use_fast_partitioner=True")],
}


def defect_of(script: Path) -> str:
    return script.stem.partition("_")[2]


def run(script: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "run.py"), str(script)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_there_are_ten_and_each_shows_another_known_defect():
    register = read_expectations(undecided=True).register
    assert len(SCRIPTS) == 10
    assert {defect_of(script) for script in SCRIPTS} == MENDED.keys()
    assert MENDED.keys() <= {defect.id for defect in register.defects}


@pytest.mark.parametrize("script", SCRIPTS, ids=defect_of)
def test_a_script_uses_nothing_of_the_harness(script):
    imported: set[str] = set()
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert imported - sys.stdlib_module_names == {"torch", "torch_tensorrt"}


@pytest.mark.parametrize("script", SCRIPTS, ids=defect_of)
def test_a_script_names_its_defect_and_the_line_that_readme_and_register_have(script):
    said = " ".join((ast.get_docstring(ast.parse(script.read_text())) or "").split())
    rows = (FOLDER / "README.md").read_text().splitlines()
    (row,) = [each for each in rows if f"]({script.name})" in each]
    (line,) = re.findall(r"`([\w/]+\.py:\d+)`", row)
    assert said.endswith(f"id is {defect_of(script)}.")
    assert f"torch_tensorrt/{line}" in said
    register = read_expectations(undecided=True).register
    (defect,) = [each for each in register.defects if each.id == defect_of(script)]
    assert any(f"({line})" in where for where in defect.where)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=defect_of)
def test_a_script_shows_its_failure_in_the_released_package(script):
    shown = run(script)
    assert shown.returncode == 1, shown.stdout + shown.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=defect_of)
def test_a_script_ends_with_0_where_its_failure_is_mended(script, tmp_path):
    text = script.read_text()
    for old, new in MENDED[defect_of(script)]:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    mended = tmp_path / script.name
    mended.write_text(text)
    shown = run(mended)
    assert shown.returncode == 0, shown.stdout + shown.stderr[-3000:]


@pytest.mark.slow
def test_a_script_that_comes_to_grief_is_not_taken_for_its_failure(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("import torch_tensorrt\nraise KeyError('something else')\n")
    assert run(broken).returncode == 125
