"""Runs a module of the rig, with any Python and from any folder: `python -P start.py MODULE ...`.

`harness` and `corpus` come from beside this file, whatever else has such a name: a user's folder
may well hold a `corpus/`. Nothing else comes from here. Where the harness is installed, other
packages lie beside it, such as a torch, which must not be found before that of the Python that runs
this.

Where a server is named that has imported torch already (`harness.rig.workers.warm`), a worker is a
fork of that server. This process then hands over its descriptors, folder and variables, waits for
the fork, and ends as that ended. What cannot be such a fork is run here, and so is a question while
the server still imports torch: the two do it at once, and the question is answered earlier.
"""

from __future__ import annotations

import importlib
import os
import runpy
import sys
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parents[2]
#: The variable that names the server's socket.
ADDRESS: Final = "INLINER_REGRESS_WARM_RIG"
#: Ends the name of a file beside the socket, which is there once the server has imported torch.
READY: Final = ".ready"
#: What may be a fork. Who is to load in a process of its own (`package.spawning`) is none of them.
FORKED: Final = (
    "questions", "bench.zygote", "bench.station",
    "workers.lane", "workers.crossing", "workers.mutants", "workers.reducing",
)  # fmt: skip


def main() -> None:
    """Run the module that the first argument names, as `python -m` does, with the others."""
    asked = sys.argv[1].removeprefix("harness.rig.")
    server = os.environ.get(ADDRESS, "")
    if server and asked in FORKED and (asked != "questions" or os.path.exists(server + READY)):
        _be_a_fork()
    sys.path.insert(0, str(ROOT))
    for package in ("corpus", "harness"):  # modules in them are found through them from now on
        importlib.import_module(package)
    sys.path.pop(0)
    if (ROOT / "pyproject.toml").is_file():
        sys.path.append(str(ROOT))  # a checkout: processes that torch and Python start need it
    from harness.rig.isolation import isolate_if_asked  # found through the path of a moment ago

    isolate_if_asked()
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _be_a_fork() -> None:
    """End as the server's fork ends that runs the module; return if the server has none for it."""
    import ctypes
    import json
    import signal
    import socket

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: die with whoever asked
    asked = {
        "python": sys.executable,
        "root": str(ROOT),
        "words": sys.argv[1:],
        "folder": os.getcwd(),
        "variables": dict(os.environ),
    }
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(os.environ[ADDRESS])
            socket.send_fds(server, [b"\n"], [0, 1, 2])
            server.sendall(json.dumps(asked).encode() + b"\n")
            answers = server.makefile()
            if answers.readline() != "taken\n":
                return
        except OSError:  # the server has ended, or never began
            return
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nowhere, number)  # whoever reads is to see the end when the fork ends
        code = int(answers.readline() or 1)
        if code < 0:
            if -code not in (signal.SIGKILL, signal.SIGSTOP):  # of which none can be handled
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        os._exit(code)


if __name__ == "__main__":
    main()
