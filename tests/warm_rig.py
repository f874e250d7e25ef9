"""Processes of the rig that need not import torch: each is a fork of one that has.

This file takes the place of `harness/rig/start.py` wherever a test's own process starts a worker or
asks a question. As a program it hands its descriptors, folder and variables to a server that
`serving` has started for all processes of a session, waits for the fork that runs the module, and
ends as that ended. What cannot be a fork of the server, such as another Python or another module,
is started as always.
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

ADDRESS = "INLINER_REGRESS_WARM_RIG"  # the server's socket
START = Path(__file__).resolve().parents[1] / "harness" / "rig" / "start.py"
FORKED = (
    "harness.rig.questions", "harness.rig.bench.zygote", "harness.rig.bench.station",
    "harness.rig.workers.lane", "harness.rig.workers.crossing", "harness.rig.workers.reducing",
)  # fmt: skip
HASH_SEED = {"PYTHONHASHSEED": "0"}  # that of workers; who asks a question does not care
#: Torch with what an export imports the first time, the lanes, and what every release imports.
IMPORTED = (
    "harness.rig.reproduce.warm", "harness.rig.lanes", "harness.rig.questions.coverage",
    "torch._inductor.lowering", "torch._dynamo.testing", "functorch.experimental", "rich.progress",
)  # fmt: skip
PR_SET_PDEATHSIG = 1


@contextlib.contextmanager
def serving() -> Iterator[None]:
    """A server as long as the body runs, for this process and those that it starts meanwhile."""
    import subprocess
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        os.environ[ADDRESS] = f"{folder}/rig"
        listening.bind(os.environ[ADDRESS])
        listening.listen(64)
        server = subprocess.Popen(
            [sys.executable, "-P", START, "tests.warm_rig", str(listening.fileno())],
            stdin=subprocess.PIPE,  # it ends when nobody holds the other end any more
            pass_fds=[listening.fileno()],
            env=os.environ | HASH_SEED,
            start_new_session=True,
        )
        try:
            yield
        finally:
            del os.environ[ADDRESS]
            server.communicate()


def main() -> None:
    """Be the module that the arguments name."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    asked = {
        "python": sys.executable,
        "words": sys.argv[1:],
        "folder": os.getcwd(),
        "variables": dict(os.environ),
    }
    with socket.socket(socket.AF_UNIX) as server:
        if sys.argv[1] in FORKED and server.connect_ex(os.environ[ADDRESS]) == 0:
            socket.send_fds(server, [b"\n"], [0, 1, 2])
            server.sendall(json.dumps(asked).encode() + b"\n")
            answers = server.makefile()
            if answers.readline() == "taken\n":
                nowhere = os.open(os.devnull, os.O_RDWR)
                for number in range(3):
                    os.dup2(nowhere, number)
                _end_as(int(answers.readline() or 1))
    os.execv(sys.executable, [sys.executable, "-P", str(START), *sys.argv[1:]])


def _end_as(code: int) -> None:
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def serve(listening: socket.socket) -> None:
    """Fork for whoever asks, until stdin ends. Torch is imported when the first one asks."""
    import gc
    import importlib
    import select

    from harness.toolchain.deciding import deciding_variables

    own, warm = deciding_variables(os.environ), False
    while True:
        readable, _, _ = select.select([0, listening], [], [])
        if 0 in readable:
            return _wait_for_ended()
        asking, _ = listening.accept()
        if not warm:
            for module in IMPORTED:
                importlib.import_module(module)
            gc.collect()
            gc.freeze()
            warm = True
        if os.fork() == 0:
            listening.close()
            try:
                _watch(asking, own)
            finally:
                os._exit(0)
        asking.close()
        _wait_for_ended()


def _wait_for_ended() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _watch(asking: socket.socket, own: dict[str, str]) -> None:
    """Fork for one who asks; kill the fork if he is gone, and tell him how it ended."""
    import select
    import tempfile

    from harness.toolchain.deciding import deciding_variables
    from tests.commands import become

    _, given, _, _ = socket.recv_fds(asking, 1, 3)
    asked = json.loads(asking.makefile().readline())
    decides = (HASH_SEED | deciding_variables(asked["variables"])).items()
    # Torch sets some itself when it exports, as it did here and may have done where this is asked.
    alike = own.items() <= decides <= deciding_variables(os.environ).items()
    if asked["python"] != sys.executable or not alike:
        asking.sendall(b"start\n")
        return
    module, *words = asked["words"]
    worker = os.fork()
    if worker == 0:
        os.setsid()
        for number, file in enumerate(given):
            os.dup2(file, number)
        os.closerange(3, max(given) + 1)
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["variables"])
        tempfile.tempdir = None
        become(module, words)
    for number, file in enumerate(given):
        os.close(file)
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    asking.sendall(b"taken\n")
    select.select([asking, os.pidfd_open(worker)], [], [])
    gone, status = os.waitpid(worker, os.WNOHANG)
    if not gone:
        os.killpg(worker, signal.SIGKILL)
        _, status = os.waitpid(worker, 0)
    asking.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    if sys.argv[1].isdigit():
        serve(socket.socket(fileno=int(sys.argv[1])))
    else:
        main()
