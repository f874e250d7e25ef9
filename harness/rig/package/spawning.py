"""`torch_tensorrt.load` in a fresh process that is started for it, where nobody may fork.

    python -m harness.rig.package.spawning SETUP          started by SpawningLoader, never by hand

The process imports the package as the one that saved did, which takes seconds, and then loads the
one archive that it is told of on stdin, as a line of JSON:
{"archive": FILE, "tampered": BOOL, "imports": [MODULE...], "path": [FOLDER...]}.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corpus.case import Inputs
from harness.rig import start
from harness.rig.channel import die_with_parent
from harness.rig.package.loading import Loaded, Request, answer, died
from harness.rig.package.opening import open_package


class SpawningLoader:
    """A `Loader` that starts a new Python for every archive.

    Each load starts the process for the following load, which imports the package meanwhile. One
    that ended before it was asked, as for want of memory, says nothing of the archive: another one
    is asked.

    Args:
        setup: how the package is opened, as `open_package` takes it.
    """

    def __init__(self, setup: Mapping[str, Any]) -> None:
        self._setup = json.dumps(dict(setup))
        self._next = self._started()

    def load(
        self,
        archive: Path,
        calls: Sequence[Inputs],
        *,
        tampered: bool = False,
        imports: Sequence[str] = (),
        files: Sequence[str] = (),
    ) -> Loaded:
        request = Request.put(archive, calls, tampered, imports, files)
        asked = json.dumps(dataclasses.asdict(request), default=str)
        for _ in range(2):
            process, self._next = self._next, self._started()
            process.communicate(asked)
            if _taken(archive).exists():
                break
        else:
            raise RuntimeError(f"no process begins to load: exit code {process.returncode}")
        _taken(archive).unlink()
        return request.answered() or Loaded(died(process.returncode), {})

    def close(self) -> None:
        """End the process that nobody took."""
        self._next.kill()
        self._next.communicate()

    def _started(self) -> subprocess.Popen[str]:
        # What it prints goes where the worker's own prints go; the worker's orders are not for it.
        return subprocess.Popen(
            [sys.executable, "-P", start.__file__, "harness.rig.package.spawning", self._setup],
            stdin=subprocess.PIPE,
            text=True,
        )


def _taken(archive: Path) -> Path:
    """The file that says that a process has begun to load the archive."""
    return archive.with_suffix(".taken")


def main(setup: Mapping[str, Any]) -> None:
    die_with_parent()
    package = open_package(setup)
    line = sys.stdin.readline()
    if line:  # nothing is there where the worker has ended
        said = json.loads(line)
        archive = Path(said["archive"])
        _taken(archive).touch()
        answer(package, Request(**{**said, "archive": archive}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
