"""Work in a second process: done when the body is left, and no failure of it is lost."""

import os
import signal
import time

import pytest

from harness.base.errors import SurroundingsError
from harness.base.fork import forked


def test_what_a_fork_writes_is_there_when_the_body_is_left(tmp_path):
    held = object()  # which could not be handed to another process
    with forked(lambda: (tmp_path / "made").write_text(f"{os.getpid()} {id(held)}")):
        body = os.getpid()
    made = (tmp_path / "made").read_text().split()
    assert int(made[0]) != body
    assert int(made[1]) == id(held)


def test_one_after_another_each_does_its_own_work(tmp_path):
    for name in ("one", "two"):
        with forked((tmp_path / name).touch):
            pass
    assert {path.name for path in tmp_path.iterdir()} == {"one", "two"}


def test_several_run_beside_each_other_each_in_a_process_that_ends(tmp_path):
    def wait_for_the_other(mine: str, other: str) -> None:
        (tmp_path / mine).touch()
        ends = time.monotonic() + 30
        while not (tmp_path / other).exists():
            assert time.monotonic() < ends
            time.sleep(0.01)

    with forked(lambda: wait_for_the_other("a", "b"), lambda: wait_for_the_other("b", "a")):
        pass


def test_what_the_work_raises_is_raised_here():
    def fail() -> None:
        raise SurroundingsError("the disk is full")

    with pytest.raises(SurroundingsError, match="the disk is full"), forked(fail):
        pass


def test_a_failure_of_the_body_is_not_hidden_by_the_work(tmp_path):
    with pytest.raises(ValueError, match="planted"), forked((tmp_path / "made").touch):
        raise ValueError("planted")
    assert (tmp_path / "made").exists()


def test_a_killed_process_is_the_surroundings_fault():
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(SurroundingsError, match="was killed"), forked(die):
        pass
