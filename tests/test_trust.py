"""Code that no catalogue has a hash of gets no network, and no file of a result is code."""

import ast
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.errors import ExitCode, UsageError
from harness.catalogue.releases import EXPORTER_MODULE
from harness.runs.run_folder import RunFolder
from harness.toolchain.environment import PROJECT_ROOT, rig_command
from harness.toolchain.unpacking import text_in
from harness.workers import process
from harness.workers.process import isolation_lacking
from tests.cli.test_bench import invoke

#: What unpickles, and what was written by the same run or for this machine's cache alone.
UNPICKLES = {
    "harness/rig/engines/builder.py",  # an engine's segment, of the program that is being run
    "harness/rig/engines/contract.py",  # and what that engine promised
    "harness/rig/package/engine_cache.py",  # the cache's own engines
    "harness/rig/package/loading.py",  # what a process of this worker answered
    "harness/rig/workers/crossing.py",  # beside a program that is loaded, and so run, as well
}
#: Calls home when it is loaded, and says what came of it.
CALL = """
import socket as _socket
try:
    _socket.create_connection(("127.0.0.1", {port}), timeout=2).close()
    _told = "reached"
except OSError as _error:
    _told = f"{{type(_error).__name__}}"
with open({told!r}, "a") as _stream:
    _stream.write(_told + "\\n")
"""


@pytest.fixture
def caller(tmp_path, release_specs):
    """An exporter file that calls a port which is listened to, and where it tells of it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        told = tmp_path / "told"
        file = tmp_path / "_exporter.py"
        source = text_in(Path(release_specs["2.14.0"].wheel_path), EXPORTER_MODULE)
        call = CALL.format(port=server.getsockname()[1], told=str(told))
        future, _, rest = source.partition("import ")
        file.write_text(f"{future}{call}\nimport {rest}")
        yield file, told


def judged(file: Path, out: Path) -> str:
    code, told = invoke(
        "run", "--exporter", str(file), "-k", "relu_once", "--jobs", "1", "--out", str(out),
        "--lane", "graph",
    )  # fmt: skip
    assert code == ExitCode.GREEN, told
    return told


@pytest.mark.skipif(bool(isolation_lacking()), reason="namespaces are not allowed here")
def test_a_candidates_code_reaches_no_port_and_that_is_told(caller, tmp_path):
    file, told = caller
    printed = judged(file, tmp_path / "runs")
    assert "the processes that run this have no network" in printed
    seen = told.read_text().split()
    assert seen
    assert "reached" not in seen


def test_where_the_system_does_not_allow_it_that_is_told_and_the_run_goes_on(
    caller, tmp_path, monkeypatch
):
    file, told = caller
    lacking = lambda: "unshare: Operation not permitted"  # noqa: E731
    monkeypatch.setattr(process, "isolation_lacking", lacking)
    monkeypatch.setattr("harness.run.run.isolation_lacking", lacking)
    printed = judged(file, tmp_path / "runs")
    assert "cannot be cut off from the network here (unshare: Operation not permitted)" in printed
    assert "reached" in told.read_text()  # so the other test can fail


def test_a_process_that_was_to_have_no_network_and_cannot_be_cut_off_does_not_run():
    program = rig_command(sys.executable, "harness.rig.isolation")
    threads = (
        "import runpy, sys, threading, time\n"
        "threading.Thread(target=time.sleep, args=(5,), daemon=True).start()\n"
        f"sys.argv = {program[2:]!r}\n"
        f"runpy.run_path({program[2]!r}, run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", threads],
        env={**os.environ, process.ISOLATED: "yes"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode
    assert "unshare" in done.stderr


def test_nothing_that_a_run_leaves_is_unpickled():
    found = set()
    for path in sorted((PROJECT_ROOT / "harness").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and _unpickles(node):
                found.add(str(path.relative_to(PROJECT_ROOT)))
    assert found == UNPICKLES
    assert all(name.startswith("harness/rig/") for name in found)  # no controller does


def _unpickles(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    name = ast.unparse(call.func)
    if name in ("torch.load", "pd.read_pickle", "np.load"):
        return "weights_only=True" not in ast.unparse(call)
    return name in ("pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.loads")


def test_a_run_of_somebody_else_whose_cases_lie_in_its_own_folder_is_not_read(tmp_path):
    run = tmp_path / "20260101T000000Z-abcdef"
    run.mkdir()
    evil = run / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    published = max((PROJECT_ROOT / "results" / "published").glob("*-all-releases"))
    content = json.loads((published / "run.json").read_text())
    for place in (str(evil), f"{evil}:cases"):
        (run / "run.json").write_text(json.dumps({**content, "corpus": [place]}))
        with pytest.raises(UsageError, match="whose code is not run"):
            RunFolder.open(run).provenance()
        with pytest.raises(UsageError, match="whose code is not run"):
            invoke("summary", str(run))
    assert not (tmp_path / "ran").exists()
