"""Runs a module of the rig, with any Python and from any folder: `python -P start.py MODULE ...`.

`harness` and `corpus` come from beside this file, whatever else has such a name: a user's folder
may well hold a `corpus/`. Nothing else comes from here. Where the harness is installed, other
packages lie beside it, such as a torch, which must not be found before that of the Python that runs
this.
"""

from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Run the module that the first argument names, as `python -m` does, with the others."""
    sys.path.insert(0, str(ROOT))
    for package in ("corpus", "harness"):  # modules in them are found through them from now on
        importlib.import_module(package)
    sys.path.pop(0)
    if (ROOT / "pyproject.toml").is_file():
        sys.path.append(str(ROOT))  # a checkout: processes that torch and Python start need it
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
