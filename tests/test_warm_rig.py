"""What a test starts of the rig is a fork that ends as a process of its own would."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import torch

from tests import warm_rig
from tests.commands import PROJECT_ROOT

COMMAND = [sys.executable, "-P", warm_rig.__file__, "harness.rig.questions"]


def ask(question: str, **environment: str) -> subprocess.CompletedProcess[str]:
    asked = {"case": "no_such_case", "capture": "nonstrict", "corpus": []}
    return subprocess.run(
        COMMAND,
        input=json.dumps({"question": question, **asked}),
        env={**os.environ, **environment},
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_fork_answers_as_a_process_that_was_started_does_and_so_it_refuses():
    forked, started = (ask("probe", **more) for more in ({}, {"TORCH_OF": "another kind"}))
    assert json.loads(forked.stdout) == json.loads(started.stdout)
    refused = ask("split_text")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.endswith("no case is named no_such_case\n")


def test_a_fork_is_killed_with_its_process_and_fails_as_it(library):
    torch.export.export(torch.nn.ReLU(), (torch.ones(1),))  # which sets variables of torch's
    variables = {**os.environ, "PYTHONHASHSEED": "0"}
    lane = [*COMMAND[:-1], "harness.rig.workers.lane"]
    setup = {"lane": "graph", "library": str(library), "subjects": [], "corpus": [], "seed": 0}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
    with subprocess.Popen(lane, **pipes, env=variables, start_new_session=True) as process:
        process.stdin.write(json.dumps(setup).encode() + b"\n")
        said = [json.loads(process.stdout.readline())["event"] for _ in range(2)]
        assert said == ["stage", "ready"]
        command = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")
        assert warm_rig.__file__ in command, "it was started, and imported torch"
        os.killpg(process.pid, signal.SIGKILL)
        assert select.select([process.stdout], [], [], 60.0)[0], "somebody could still write"
        assert process.stdout.read() == b""
    failed = subprocess.run(lane, input=b"", capture_output=True, env=variables, check=False)
    assert failed.returncode == 1
    assert b"JSONDecodeError" in failed.stderr
