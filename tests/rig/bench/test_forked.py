"""When a process may be forked, and what becomes of a child that fails."""

import threading

import pytest
import torch

from harness.rig.bench.forked import UnfitToFork, refuse_if_unfit
from tests.commands import python

CHILDREN = """
import os
from harness.rig.bench.forked import Child, ChildFailed

def serve(message):
    if message["do"] == "raise":
        raise LookupError("no such thing\\nand a graph")
    if message["do"] == "die":
        os._exit(7)
    return {"pid": os.getpid(), "said": message["do"]}

one, other = Child.fork(serve), Child.fork(serve)
answers = [child.ask({"do": "hello"}) for child in (one, other, one)]
assert answers[0] == answers[2] and answers[0]["pid"] != answers[1]["pid"] != os.getpid()
told = (("raise", "LookupError: no such thing"), ("die", "a forked worker ended with 7"))
for asked, said in told:
    try:
        other.ask({"do": asked})
    except ChildFailed as error:
        assert said in str(error), error
        assert said == error.said[: len(said)] and "graph" not in error.said, error.said
    else:
        raise SystemExit("a child that failed was taken for one that answered")
one.end()
other.end()
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print("all ended")
"""


def test_children_answer_fail_and_end_each_for_itself():
    # As a bench starts it: numpy's thread pool would be warm at once.
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = python("-c", CHILDREN, **one_thread)
    assert done.stdout == "all ended\n", done.stderr


def test_a_process_that_uses_cuda_is_never_forked(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    with pytest.raises(UnfitToFork, match="CUDA is in use"):
        refuse_if_unfit()


def test_a_process_with_threads_is_not_forked():
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        with pytest.raises(UnfitToFork, match="threads"):
            refuse_if_unfit()
    finally:
        end.set()
        thread.join()
