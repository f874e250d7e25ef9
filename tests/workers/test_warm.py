"""A worker is a fork of one process with torch, and is and ends as a process of its own would."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import torch

from harness.rig.start import READY
from harness.toolchain.environment import PROJECT_ROOT, rig_command
from harness.workers.process import WARM_RIG, variables
from harness.workers.warm import SAID, warm_rig
from tests.commands import python

LANE = rig_command(sys.executable, "harness.rig.workers.lane")
SEED = 3


def ask(question: str, root: Path = PROJECT_ROOT, **environment: str):
    asked = {"case": "no_such_case", "capture": "nonstrict", "corpus": []}
    return subprocess.run(
        [sys.executable, "-P", root / "harness/rig/start.py", "harness.rig.questions"],
        input=json.dumps({"question": question, **asked}),
        env={**variables(SEED), **environment},
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def begun(*imports: str):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(WARM_RIG)
        with warm_rig(sys.executable, SEED, imports):
            wait_for(lambda: Path(os.environ[WARM_RIG] + READY).exists())
            yield


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until, what_it_said()
        time.sleep(0.05)


def what_it_said() -> str:
    """What the server printed: why it had no fork for one who asked."""
    return Path(os.environ[WARM_RIG]).with_name(SAID).read_text()


@pytest.fixture(scope="module")
def own_server():
    """A server of these tests alone."""
    with begun():
        yield


@pytest.fixture
def killed_server():
    """A server that a test may kill."""
    with begun():
        yield


def cpu_s(ended) -> float:
    """How much processor time the processes took that this one waited for since ``ended``."""
    now = os.times()
    return now.children_user + now.children_system - ended


def waited() -> float:
    return cpu_s(0.0)


@pytest.fixture(scope="module")
def started_cpu_s():
    """What a question costs where torch is imported for it."""
    before = waited()
    assert ask("probe", **{WARM_RIG: "/nowhere"}).returncode == 0
    return cpu_s(before)


def test_a_fork_answers_and_refuses_as_a_process_that_was_started(own_server):
    forked, started = (ask("probe", **more) for more in ({}, {"TORCH_OF": "another kind"}))
    assert json.loads(forked.stdout) == json.loads(started.stdout)
    refused = ask("split_text")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.endswith("no case is named no_such_case\n")


def test_who_asks_does_not_import_torch_himself(own_server, started_cpu_s):
    before = waited()
    assert ask("probe").returncode == 0
    assert cpu_s(before) < started_cpu_s / 4, what_it_said()


@pytest.mark.parametrize("variable", ["PYTHONHASHSEED", "ATEN_CPU_CAPABILITY", "OMP_NUM_THREADS"])
def test_what_decides_otherwise_is_no_fork(own_server, started_cpu_s, variable):
    before = waited()
    told = ask("probe", **{variable: "default" if variable.startswith("ATEN") else "2"})
    assert told.returncode == 0
    assert cpu_s(before) > started_cpu_s / 2
    assert f"these variables are others here: [('{variable}'" in what_it_said()


def test_a_server_with_a_second_thread_has_no_fork(tmp_path, monkeypatch, started_cpu_s):
    (tmp_path / "begins_a_thread.py").write_text(
        "from threading import Thread\nimport time\n"
        "Thread(target=time.sleep, args=[600], daemon=True).start()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with begun("begins_a_thread"):
        before = waited()
        assert ask("probe").returncode == 0
        assert cpu_s(before) > started_cpu_s / 2
        assert "no fork for harness.rig.questions: 2 threads" in what_it_said()


def copy_of_sources(folder: Path) -> Path:
    for name in ("harness", "corpus"):
        shutil.copytree(PROJECT_ROOT / name, folder / name)
    return folder


def test_sources_that_were_written_to_since_are_imported_anew(tmp_path, started_cpu_s):
    copied = copy_of_sources(tmp_path)
    program = (
        "import os, sys, subprocess, json, time\n"
        "from harness.workers.warm import warm_rig\n"
        "from harness.workers.process import variables\n"
        "from harness.toolchain.environment import rig_command, PROJECT_ROOT\n"
        "def cost():\n"
        "    before = os.times()\n"
        "    subprocess.run(rig_command(sys.executable, 'harness.rig.questions'), check=True,\n"
        '        input=b\'{"question": "probe"}\', env=variables(0), stdout=subprocess.DEVNULL)\n'
        "    after = os.times()\n"
        "    return after.children_user + after.children_system - before.children_user\n"
        "with warm_rig(sys.executable):\n"
        "    before = cost()\n"
        "    while not os.path.exists(os.environ['INLINER_REGRESS_WARM_RIG'] + '.ready'):\n"
        "        time.sleep(0.05)\n"
        "    first = cost()\n"
        "    (PROJECT_ROOT / 'corpus/case.py').touch()\n"
        "    print(json.dumps([before, first, cost()]))\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != WARM_RIG}
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(copied)!r})\n{program}"],
        env=environment, cwd=copied, capture_output=True, text=True, check=True,
    )  # fmt: skip
    before, first, second = json.loads(done.stdout)
    assert before > started_cpu_s / 2  # a question does not wait for a server that imports torch
    assert first < started_cpu_s / 4
    assert second > started_cpu_s / 2


def test_another_checkout_is_asked_itself(own_server, tmp_path, started_cpu_s):
    before = waited()
    assert ask("probe", copy_of_sources(tmp_path)).returncode == 0
    assert cpu_s(before) > started_cpu_s / 2
    assert f"it is of {sys.executable} and {tmp_path}" in what_it_said()


def test_where_the_server_has_died_workers_start_by_themselves(killed_server):
    assert ask("probe").returncode == 0
    servers = [
        child
        for child in psutil.Process().children()
        if "harness.rig.workers.warm" in " ".join(child.cmdline())
    ]
    max(servers, key=psutil.Process.create_time).kill()  # the youngest is this test's
    assert ask("probe").returncode == 0


def test_the_server_has_imported_and_has_run_nothing():
    told = python(
        "-c",
        "import sys; sys.path.insert(0, '.')\n"
        "import importlib\n"
        "from harness.workers.warm import _IMPORTS, PACKAGES\n"
        "import torch\n"
        "ran = []\n"
        "for name in ('load', 'save', 'export'):\n"
        "    setattr(torch.export, name, lambda *a, _name=name, **k: ran.append(_name))\n"
        "[importlib.import_module(name) for name in (*_IMPORTS, *PACKAGES)]\n"
        "print(ran, [name for name in sys.modules if name.startswith('corpus.families')])",
    )
    assert told.stdout == "[] []\n", told.stderr


@contextmanager
def ready_worker(library: Path) -> Iterator[subprocess.Popen]:
    """A worker of the graph lane that has no job yet: a process that waits for its fork."""
    setup = {"lane": "graph", "library": str(library), "subjects": [], "corpus": [], "seed": SEED}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
    own = variables(SEED)
    with subprocess.Popen(LANE, **pipes, env=own, start_new_session=True) as process:
        process.stdin.write(json.dumps(setup).encode() + b"\n")
        said = [json.loads(process.stdout.readline())["event"] for _ in range(2)]
        assert said == ["stage", "ready"]
        command = Path(f"/proc/{process.pid}/maps").read_text()
        assert "libtorch" not in command, f"it was started, and imported torch: {what_it_said()}"
        yield process


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_process_ends_by_the_signal_that_its_fork_died_of(own_server, library, by):
    with ready_worker(library) as process:
        (fork,) = [
            each
            for each in psutil.Process().children(recursive=True)
            if each.pid == os.getsid(each.pid)
            and "warm" in " ".join(each.parent().cmdline())
            and each.ppid() != os.getpid()
        ]
        fork.send_signal(by)
        assert process.wait(60.0) == -by


def test_a_fork_is_killed_with_its_process_and_fails_as_it(own_server, library):
    torch.export.export(torch.nn.ReLU(), (torch.ones(1),))  # which sets variables of torch's
    with ready_worker(library) as process:
        os.killpg(process.pid, signal.SIGKILL)
        assert select.select([process.stdout], [], [], 60.0)[0], "somebody could still write"
        assert process.stdout.read() == b""
    failed = subprocess.run(LANE, input=b"", capture_output=True, env=variables(SEED), check=False)
    assert failed.returncode == 1
    assert b"JSONDecodeError" in failed.stderr


def test_nothing_is_left_when_whoever_began_a_server_is_killed():
    environment = {name: value for name, value in os.environ.items() if name != WARM_RIG}
    begun = subprocess.Popen(
        [sys.executable, "-c", "import sys, time\nfrom harness.workers.warm import warm_rig\n"
         "with warm_rig(sys.executable):\n    print('here', flush=True)\n    time.sleep(600)"],
        env=environment, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with begun:
        assert begun.stdout.readline() == "here\n"
        children = Path(f"/proc/{begun.pid}/task/{begun.pid}/children").read_text().split()
        begun.kill()
    until = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in children):
        assert time.monotonic() < until
        time.sleep(0.1)
