"""Zips of others: what leads out of a folder, and what nobody has room for, is refused."""

import stat
import zipfile
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.base.zips import MOST_BYTES, MOST_FILES, opened_zip, unsafe
from harness.catalogue.wheel_text import WheelText
from harness.toolchain.unpacking import unpack_release


def entry(name: str, size: int = 1, packed: int = 1, mode: int = 0) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)
    made.orig_filename = name
    made.file_size, made.compress_size, made.external_attr = size, packed, mode << 16
    return made


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([entry("torch_tensorrt/../../evil.py")], "leads out of it"),
        ([entry("../evil.py")], "leads out of it"),
        ([entry("/etc/passwd")], "is no path inside"),
        ([entry("a\\..\\b")], "is no path inside"),
        ([entry("a\0b")], "is no path inside"),
        ([entry("a", mode=stat.S_IFLNK | 0o777)], "is a link"),
        ([entry("a")] * (MOST_FILES + 1), "files"),
        ([entry("a", MOST_BYTES + 1, MOST_BYTES)], "become"),
        ([entry("a", 10**9, 10**6)], "1,000,001 bytes become 1,000,000,001"),
    ],
)
def test_what_no_wheel_is_is_named(entries, why):
    assert why in unsafe([entry("good.py"), *entries])


def test_a_wheel_as_they_are_is_none_of_these():
    small = [entry("torch_tensorrt/_compile.py", 10**5, 10), entry("a..b/c", mode=0o100644)]
    assert unsafe(small) == ""
    assert unsafe([entry("lib.so", 4 * 10**9, 10**9)]) == ""


def test_every_wheel_at_hand_passes(release_specs):
    for spec in release_specs.values():
        with opened_zip(Path(spec.wheel_path)) as archive:
            assert archive.namelist()


def test_a_wheel_that_leads_out_is_refused_before_a_file_of_it_is_written(tmp_path):
    wheel = tmp_path / "torch_tensorrt-2.14.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("torch_tensorrt/__init__.py", "")
        made.writestr("torch_tensorrt/../../evil.py", "")
    with pytest.raises(UsageError, match="leads out of it"):
        WheelText(wheel)
    with pytest.raises(Exception, match="leads out of it"):
        unpack_release(wheel, tmp_path / "site", rtx=False)
    assert [path.name for path in tmp_path.rglob("*")] == [wheel.name]


def test_a_bomb_is_refused_by_what_it_says_of_itself(tmp_path):
    wheel = tmp_path / "bomb.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("torch_tensorrt/a.py", b"\0" * 200_000_000)
    assert wheel.stat().st_size < 1_000_000
    with pytest.raises(UsageError, match="become 200,000,000"):
        WheelText(wheel)
