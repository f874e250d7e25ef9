"""The process that workers are forked from, which has imported torch, and has run nothing.

    python -m harness.rig.workers.warm NUMBER SETUP      started by harness.workers.warm

NUMBER is the descriptor of a listening socket, on which `harness.rig.start` asks for forks. SETUP
is a JSON object: ``imports`` (modules), ``cases`` (whether those of the corpus are imported, too)
and ``decides`` (how the names begin of the variables that decide what is computed).

What cannot be a fork is told so, and starts by itself: another Python or another checkout,
variables that decide and are others here, sources that were written to since this one began, or a
second thread here, whose locks would be held in the fork for ever. Why is told on stderr.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from harness.rig.isolation import isolate_if_asked
from harness.rig.start import READY, ROOT

_SOURCES: Final = ("corpus", "harness/rig", "harness/wire")


class _Server:
    """Forks for whoever asks, until stdin ends."""

    def __init__(self, listening: socket.socket, setup: Mapping[str, Any]) -> None:
        self._listening = listening
        self._decides = tuple(setup["decides"])
        self._own = self._deciding(os.environ)
        self._since_ns = time.time_ns()
        for module in setup["imports"]:
            importlib.import_module(module)
        if setup["cases"]:
            importlib.import_module("corpus.case").all_cases()
        gc.collect()
        gc.freeze()  # or each fork copies the pages that its collections mark
        open(listening.getsockname() + READY, "x").close()

    def serve(self) -> None:
        while True:
            watched: list[Any] = [0, self._listening]
            readable, _, _ = select.select(watched, [], [])
            if 0 in readable:
                return
            asking, _ = self._listening.accept()
            threads = len(os.listdir("/proc/self/task"))  # a fork has one, whatever is here
            if os.fork() == 0:
                self._listening.close()
                try:
                    self._watch(asking, threads)
                except BaseException:  # noqa: BLE001 - who asks starts by himself; this is why
                    traceback.print_exc()
                finally:
                    os._exit(0)
            asking.close()
            with contextlib.suppress(ChildProcessError):  # there is none that has not ended
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass

    def _watch(self, asking: socket.socket, threads: int) -> None:
        """Fork for one who asks; kill the fork if he is gone, and tell him how it ended."""
        _, given, _, _ = socket.recv_fds(asking, 1, 3)
        asked = json.loads(asking.makefile().readline())
        if why := self._why_none(asked, threads):
            print(f"no fork for {' '.join(asked['words'])}: {why}", file=sys.stderr, flush=True)
            asking.sendall(b"start\n")
            return
        worker = os.fork()
        if worker == 0:
            _begin_anew(given, asked)
            become(asked["words"][0], asked["words"][1:])
        for number, file in enumerate(given):
            os.close(file)
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        asking.sendall(b"taken\n")
        either: list[Any] = [asking, os.pidfd_open(worker)]
        select.select(either, [], [])
        gone, status = os.waitpid(worker, os.WNOHANG)
        if not gone:
            os.killpg(worker, signal.SIGKILL)
            _, status = os.waitpid(worker, 0)
        asking.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())

    def _why_none(self, asked: Mapping[str, Any], threads: int) -> str:
        """Why who asks cannot have a fork of a process with so many threads; empty where he can."""
        if threads > 1:
            return f"{threads} threads"
        if (asked["python"], asked["root"]) != (sys.executable, str(ROOT)):
            return f"it is of {asked['python']} and {asked['root']}"
        seed = {"PYTHONHASHSEED": os.environ["PYTHONHASHSEED"]}  # who names none takes any
        decides = (seed | self._deciding(asked["variables"])).items()
        # Torch sets some itself when it is imported, or exports: here, and maybe where it is asked.
        if others := (self._own.items() - decides) | (decides - self._deciding(os.environ).items()):
            return f"these variables are others here: {sorted(others)}"
        return ", ".join(f"{path} was written to" for path in self._written())

    def _deciding(self, variables: Mapping[str, str]) -> dict[str, str]:
        return {name: variables[name] for name in variables if name.startswith(self._decides)}

    def _written(self) -> list[Path]:
        """What somebody has written to of ours since this process began."""
        files = (path for name in _SOURCES for path in (ROOT / name).rglob("*.[pj]*[yn]"))
        return [file for file in files if file.stat().st_mtime_ns >= self._since_ns]


def _begin_anew(given: Sequence[int], asked: Mapping[str, Any]) -> None:
    """In a fork: have the descriptors, the folder and the variables of whoever asked."""
    os.setsid()
    for number, file in enumerate(given):
        os.dup2(file, number)
    os.closerange(3, max(given) + 1)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["variables"])
    tempfile.tempdir = None
    isolate_if_asked()


def become(module: str, arguments: Sequence[str]) -> NoReturn:
    """Run a module as `python -m` does, and end as it ends. For a fork alone."""
    code: object = 1
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:  # noqa: BLE001 - nothing of the parent may run on in the fork
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    _Server(socket.socket(fileno=int(sys.argv[1])), json.loads(sys.argv[2])).serve()
