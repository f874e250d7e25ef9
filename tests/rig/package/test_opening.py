"""The package of a process: the one that is installed is taken as it is, and no other release."""

import sys
from pathlib import Path

import pytest

from harness.rig.package.opening import open_package
from tests.rig.conftest import QuestionFailed


def opened(folder: str) -> str | None:
    """The file of the package that is opened as 9.1.0 where a folder has the installed one."""
    sys.path.insert(0, folder)
    return open_package({"site": None, "release": "9.1.0"}).__file__


def installed(folder: Path, version: str) -> Path:
    package = folder / "torch_tensorrt.py"
    package.write_text(f"__version__ = {version!r}\n")
    return package


def test_the_installed_package_is_opened_if_it_is_the_release(ask_torch, tmp_path):
    package = installed(tmp_path, "9.1.0+cu130")
    assert ask_torch(opened, str(tmp_path)) == str(package)


def test_an_installed_package_of_another_release_is_refused(ask_torch, tmp_path):
    installed(tmp_path, "9.2.0")
    with pytest.raises(QuestionFailed, match=r"torch_tensorrt 9.2.0 is installed here, not 9.1.0$"):
        ask_torch(opened, str(tmp_path))
