"""A process that has imported torch and each package it is asked about, and answers questions.

    python tests/rig/answering.py

Each line of stdin is `{"setup": SETUP or null, "function": "MODULE:NAME", "arguments": [...]}`,
where `SETUP` is what `open_package` takes; each line of stdout is `{"answer": ...}` or
`{"error": TYPE AND MESSAGE, "traceback": ...}`.

The package of a setup is imported once, in a child that forks again for every question, so that a
question finds a package in which nothing was compiled, loaded or planted before.
"""

import importlib
import json
import logging
import os
import signal
import sys
import traceback
import warnings
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness.rig.package.opening import open_package
from harness.workers.warm import PACKAGES

LIMIT_S = 400


def in_a_child(function: str, *arguments: Any) -> dict[str, Any]:
    """What a function, `MODULE:NAME`, returned or raised in a forked process."""
    ours, theirs = Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT_S)
        try:
            module, name = function.split(":")
            work = getattr(importlib.import_module(module), name)
            theirs.send({"answer": work(*arguments)})
        except BaseException as error:  # noqa: BLE001 - the test that asked tells it
            told = f"{type(error).__name__}: {error}"
            theirs.send({"error": told, "traceback": traceback.format_exc()})
        os._exit(0)
    theirs.close()
    try:
        answer: dict[str, Any] = ours.recv()
    except EOFError:
        answer = {"error": "the process died", "traceback": ""}
    ours.close()
    os.waitpid(child, 0)
    return answer


def answer_each(package: ModuleType | None, questions: Connection) -> None:
    """Answer questions of one package until nobody asks any more."""
    before = () if package is None else (package,)
    while True:
        try:
            function, arguments = questions.recv()
        except EOFError:
            return
        questions.send(in_a_child(function, *before, *arguments))


def opened(setup: dict[str, Any] | None, others: list[Connection]) -> Connection:
    """The connection to a new process that has imported a package, or torch alone."""
    ours, theirs = Pipe()
    if os.fork() == 0:
        ours.close()
        for other in others:  # or they would not see that this program ended
            other.close()
        try:
            answer_each(None if setup is None else open_package(setup), theirs)
        except BaseException:  # noqa: BLE001 - whoever asks gets an error, and this is why
            traceback.print_exc()
        os._exit(0)
    theirs.close()
    return ours


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # packages print; stdout has the answers alone
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    for module in ("harness.rig.reproduce.warm", *PACKAGES):
        importlib.import_module(module)
    processes: dict[str, Connection] = {}
    for line in sys.stdin:
        question = json.loads(line)
        setup = question["setup"]
        key = json.dumps(setup)
        if key not in processes:
            processes[key] = opened(setup, list(processes.values()))
        processes[key].send((question["function"], question["arguments"]))
        try:
            answer = processes[key].recv()
        except EOFError:
            del processes[key]
            answer = {"error": f"no package could be opened: {setup}", "traceback": ""}
        answers.write(json.dumps(answer) + "\n")
    for process in processes.values():
        process.close()
    for _ in processes:
        os.wait()


if __name__ == "__main__":
    main()
