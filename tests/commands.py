"""The command line and Python as programs of their own, run to their end."""

import functools
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

# Here, so that forks of this process have them: they are the first seconds of a command.
import harness.cli.running
import harness.report.run_report
from harness.base.process import Ended
from harness.catalogue.releases import load_catalogue
from harness.register.expected import read_expectations
from harness.rig.workers.warm import become
from harness.run.judged_run import Expected, faults_in
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import read_corpus

Completed = subprocess.CompletedProcess


def python(*arguments: str | Path, cwd: Path = PROJECT_ROOT, **environment: str) -> Completed[str]:
    """What `python ARGUMENTS` ended with and printed, with these variables in its environment."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def harness(*arguments: str | Path, cwd: Path = PROJECT_ROOT, **environment: str) -> Completed[str]:
    """What `python -m harness ARGUMENTS` ended with and printed.

    It runs in a fork of this process, which has imported already what takes a command's first
    seconds, and knows what each run is judged by.
    """
    know_what_is_expected()
    return in_a_fork("harness", arguments, cwd, environment)


@functools.cache
def know_what_is_expected() -> None:
    """Hold register, table and corpus against each other once, for all runs of this process."""
    corpus = read_corpus(sys.executable, cache=PROJECT_ROOT / ".cache")
    faults_in(Expected(read_expectations(), corpus, load_catalogue()))


def answered_in_a_fork(
    command: Sequence[str], *, folder: Path, stdin: str
) -> Iterator[str | Ended]:
    """What `harness.base.process.lines_of` gives for a question to the rig, in a fork as well."""
    python, _flag, _start, module, *arguments = command
    assert python == sys.executable, "a fork has the Python of the tests"
    done = in_a_fork(module, arguments, folder, {}, stdin)
    yield from done.stdout.splitlines(keepends=True)
    yield Ended(done.returncode, "", done.stderr)


def in_a_fork(
    module: str,
    arguments: Sequence[str | Path],
    cwd: Path,
    environment: Mapping[str, str],
    stdin: str = "",
) -> Completed[str]:
    """Run a module as `python -m` does, in a fork of this process."""
    torch = sys.modules.get("torch")
    assert torch is None or torch.get_num_threads() == 1, "the fork would wait for torch's threads"
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        child = os.fork()
        if child == 0:
            for own, file in enumerate((given, out, err)):
                os.dup2(file.fileno(), own)
            os.chdir(cwd)
            os.environ.update(environment)
            become(module, [*map(str, arguments)])
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return Completed([module, *arguments], code, out.read().decode(), err.read().decode())
