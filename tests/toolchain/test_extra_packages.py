"""Packages beside torch, by a real pip: nothing is fetched, since none of these exist."""

import sys

import pytest

from harness.base.errors import Unavailable
from harness.toolchain import Toolchain
from harness.toolchain.extra_packages import python_with


def test_what_cannot_be_installed_offline_is_told_to_be_so_because_of_it(tmp_path):
    toolchain = Toolchain(cache=tmp_path, python=sys.executable, offline=True)
    with pytest.raises(Unavailable) as told:
        python_with(toolchain, "", ["no-such-package==1"])
    assert "--with no-such-package==1: ERROR: No matching distribution" in str(told.value)
    assert "leave out --offline, by which no index of packages was asked" in str(told.value)
    assert not list((tmp_path / "with").glob("*/bin")), "a half-made environment is left"
