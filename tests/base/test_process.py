"""Other programs, run to their end: how each of them can end, seen on real ones."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.base.process import CannotStart, TookTooLong, how_it_ended, kill_group, lines_of, run


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_command_that_ends_tells_its_code_its_output_and_its_last_words():
    ended = run(python("import sys; print(input()); sys.exit('why\\nthat is why')"), stdin="tea")
    assert (ended.code, ended.printed, ended.last_words) == (1, "tea\n", "that is why")


def test_lines_come_as_they_are_printed_and_then_how_it_ended(tmp_path):
    code = "import sys, time; print(input(), flush=True); time.sleep(60)"
    began = time.monotonic()
    lines = lines_of(python(code), folder=tmp_path, stdin="tea\n")
    assert next(lines) == "tea\n"
    lines.close()  # who does not read on ends it
    assert time.monotonic() - began < 30
    *_, ended = lines_of(python("import sys; sys.exit('why')"), folder=tmp_path, stdin="")
    assert (ended.code, ended.last_words) == (1, "why")
    with pytest.raises(CannotStart, match=r"^/no/such: cannot be run"):
        next(lines_of(["/no/such"], folder=tmp_path, stdin=""))


def test_output_that_is_no_text_is_read_all_the_same():
    assert run(python("import os; os.write(1, b'a\\xff')")).printed == "a�"


def test_a_command_that_is_not_there_is_told_with_what_to_do():
    with pytest.raises(CannotStart, match=r"^/no/such: cannot be run \(No such.*\)") as caught:
        run(["/no/such"], if_missing="name another")
    assert caught.value.advice == "name another"


def test_a_command_that_takes_too_long_is_killed_and_told_with_what_to_do():
    began = time.monotonic()
    with pytest.raises(TookTooLong, match=r": did not end in 1 s; wait$"):
        run(python("import time; time.sleep(60)"), timeout_s=1, if_late="wait")
    assert time.monotonic() - began < 30


def test_a_log_takes_the_complaint(tmp_path):
    with (tmp_path / "log").open("wb") as log:
        assert run(python("raise SystemExit('no')"), log=log).complaint == ""
    assert (tmp_path / "log").read_text() == "no\n"


def test_a_killed_group_takes_what_it_started_with_it():
    code = (
        "import subprocess; child = subprocess.Popen(['sleep', '60']); "
        "print(child.pid, flush=True); child.wait()"
    )
    parent = subprocess.Popen(python(code), stdout=subprocess.PIPE, start_new_session=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    kill_group(parent.pid)
    assert how_it_ended(parent.wait(10)) == "killed by SIGKILL"
    parent.stdout.close()
    for _ in range(100):
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().split()[2] == "Z":
            break
        time.sleep(0.05)
    else:
        os.kill(child, 9)
        pytest.fail("the child lives on")
    kill_group(parent.pid)


@pytest.mark.parametrize(
    ("code", "words"),
    [(3, "exited with code 3"), (-11, "killed by SIGSEGV"), (-99, "killed by signal 99")],
)
def test_an_end_is_told_in_words(code, words):
    assert how_it_ended(code) == words
