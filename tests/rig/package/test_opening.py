"""The package of a process: the one that is installed is taken as it is, and no other release."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.toolchain.environment import PROJECT_ROOT

OPEN = """\
import sys
sys.path[:0] = sys.argv[1:2]
from harness.rig.package.opening import open_package
package = open_package({"site": None, "release": "9.1.0"})
print(package.__file__)
"""


@pytest.mark.parametrize("version", ["9.1.0+cu130", "9.2.0"])
def test_the_installed_package_is_opened_only_if_it_is_the_release(
    tmp_path: Path, version: str
) -> None:
    (tmp_path / "torch_tensorrt.py").write_text(f"__version__ = {version!r}\n")
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(tmp_path)],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if version.startswith("9.1.0"):
        assert done.stdout.split() == [str(tmp_path / "torch_tensorrt.py")]
    else:
        assert done.stderr.endswith("torch_tensorrt 9.2.0 is installed here, not 9.1.0\n")
