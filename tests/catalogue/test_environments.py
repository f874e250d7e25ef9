"""A matched environment's name, its releases, and what it takes on the disk."""

import os

import pytest

from harness.base.errors import UsageError
from harness.catalogue.environments import installed_bytes, matched_name, pins_torch, releases_in
from harness.catalogue.releases import load_catalogue

CATALOGUE = load_catalogue()


def test_a_matched_environment_is_named_by_its_torch_whatever_the_build():
    assert matched_name("2.14.0+cu130") == matched_name("2.14.0") == "torch-2.14.0"


@pytest.mark.parametrize(
    ("running", "fits"), [("2.12.0", True), ("2.12.1+cpu", True), ("2.13.0", False)]
)
def test_a_release_takes_any_patch_release_of_the_torch_that_it_pins(running, fits):
    assert pins_torch("2.12.0", running) is fits


def test_every_release_may_run_in_the_pinned_environment():
    assert releases_in("pinned", "", "", CATALOGUE) == ""
    assert releases_in("pinned", ">=2.13", "", CATALOGUE) == ">=2.13"


def test_a_matched_environment_has_the_releases_that_pin_its_torch():
    assert releases_in("matched", "", "2.12.0+cu130", CATALOGUE) == "2.12.0,2.12.1"
    assert releases_in("matched", "2.12.1", "2.12.0", CATALOGUE) == "2.12.1"


@pytest.mark.parametrize(
    ("environment", "asked", "running", "message"),
    [
        ("matched", "2.13.0,2.14.0", "2.13.0", "torch 2.13.0 is installed here.*2.14.0 pins 2.14"),
        ("matched", "", "1.13.0", "torch 1.13.0 is installed here, but 2.3.0 pins 2.3.0"),
        ("elsewhere", "", "2.13.0", "'elsewhere': pinned or matched"),
    ],
)
def test_an_environment_that_fits_no_release_is_refused(environment, asked, running, message):
    with pytest.raises(UsageError, match=message):
        releases_in(environment, asked, running, CATALOGUE)


def test_a_file_with_two_names_takes_its_place_once(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.so").write_bytes(b"x" * 10**6)
    once = installed_bytes(tmp_path)
    assert once >= 10**6
    os.link(tmp_path / "lib" / "a.so", tmp_path / "b.so")
    (tmp_path / "link.so").symlink_to("b.so")
    assert installed_bytes(tmp_path) < once + 10**5
