"""The command line and Python as programs of their own, run to their end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from harness.toolchain.environment import PROJECT_ROOT


def python(
    *arguments: str | Path, cwd: Path = PROJECT_ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """What `python ARGUMENTS` ended with and printed, with these variables in its environment."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def harness(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `python -m harness ARGUMENTS` ended with and printed."""
    return python("-m", "harness", *arguments, **environment)
