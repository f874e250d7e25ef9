"""Runs a script of this folder with the released package on a machine without a GPU.

    python docs/ten-failures/run.py docs/ten-failures/01_data-dependent-size.py

The package is the release's own Python out of its wheel; CUDA is stood in for, and engines are
emulated. Nothing else of the harness takes part, and the scripts name nothing of it: where there
is a GPU and `pip install torch-tensorrt==2.14.0`, they run without this file. Another release is
named behind the script, and behind that a folder of its files that were changed, as `mend` writes
them, or `tensorrt-rtx`, which then builds the engines. A folder of tests, as `defects
--export-tests` writes it, is given to pytest, and the exit code is pytest's.

Exit code 1: the failure is there. 0: it is not. 125: the script itself came to grief.
"""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness.catalogue.releases import load_catalogue
from harness.cli.common import toolchain_for
from harness.rig.package.opening import open_package
from harness.subjects.choosing import choose_subjects
from harness.subjects.packages import whole_package
from harness.toolchain.checkout import made_wheel
from harness.wire.builders import SEGMENT, BuilderKind

RELEASE = "2.14.0"
CANNOT_BE_TOLD = 125


def main(script: str, release: str = RELEASE, changed: str = "") -> int:
    """Run a script or tests as if the release were installed here, and give the exit code."""
    toolchain, catalogue = toolchain_for(), load_catalogue()
    builder = BuilderKind.RTX if changed == BuilderKind.RTX else SEGMENT
    changed = "" if builder == changed else changed
    (subject, *_) = choose_subjects(toolchain, catalogue, releases=release, built_in=False)
    if changed:
        files = {
            path.relative_to(changed).as_posix(): path.read_bytes()
            for path in Path(changed).rglob("*.py")
        }
        wheel = made_wheel(toolchain.cache, Path(subject.wheel_path or ""), files, whole=False)
        subjects = choose_subjects(
            toolchain, catalogue, releases=release, wheel=wheel, like=release, built_in=False
        )
        subject = next(each for each in subjects if each.kind.brought)
    _, site = whole_package(subject, toolchain, catalogue, builder)
    open_package({"site": str(site.folder), "release": site.release, "builder": site.builder})
    if Path(script).is_dir():
        import pytest  # Here: a script needs no pytest.

        return pytest.main([script, "--rootdir", script, "-rA", "-p", "no:cacheprovider"])
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else CANNOT_BE_TOLD
    except Exception:  # noqa: BLE001 - whatever it is, it is not the failure that the script shows
        # Python's own exit code for this is 1, which would say that the failure is there.
        traceback.print_exc()
        return CANNOT_BE_TOLD
    return CANNOT_BE_TOLD  # a script ends by saying what it saw


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
