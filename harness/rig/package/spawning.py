"""`torch_tensorrt.load` in a fresh process that is started for it, where nobody may fork.

    python -m harness.rig.package.spawning REQUEST        started by SpawningLoader, never by hand

The process imports the package as the one that saved did, which takes seconds, and loads one
archive. REQUEST is a JSON file:
{"setup": ..., "archive": FILE, "tampered": BOOL, "imports": [MODULE...]}.
"""

from __future__ import annotations

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

    Args:
        setup: how the package is opened, as `open_package` takes it.
    """

    def __init__(self, setup: Mapping[str, Any]) -> None:
        self._setup = dict(setup)

    def load(
        self,
        archive: Path,
        calls: Sequence[Inputs],
        *,
        tampered: bool = False,
        imports: Sequence[str] = (),
    ) -> Loaded:
        request = Request(archive, tampered, tuple(imports))
        request.put(calls)
        asked = archive.with_suffix(".request")
        asked.write_text(
            json.dumps(
                {
                    "setup": self._setup,
                    "archive": str(archive),
                    "tampered": tampered,
                    "imports": list(imports),
                }
            )
        )
        # What it prints goes where the worker's own prints go; the worker's orders are not for it.
        code = subprocess.run(
            [sys.executable, "-P", start.__file__, "harness.rig.package.spawning", str(asked)],
            stdin=subprocess.DEVNULL,
            check=False,
        ).returncode
        return request.answered() or Loaded(died(code), {})

    def close(self) -> None:
        """Nothing outlives an archive."""


def main(asked: Path) -> None:
    die_with_parent()
    said = json.loads(asked.read_text())
    request = Request(Path(said["archive"]), said["tampered"], tuple(said["imports"]))
    answer(open_package(said["setup"]), request)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
