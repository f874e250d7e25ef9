"""A release with mends in it: its files, its wheel, and the diff of one mend."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.zips import opened_zip
from harness.catalogue.releases import load_catalogue
from harness.mends.mend import Mend, Read, difference, mended
from harness.subjects.choosing import choose_subjects
from harness.toolchain import Toolchain
from harness.toolchain.checkout import made_wheel
from harness.wire.records import SubjectSpec
from harness.wire.vocabulary import SubjectKind


def mended_wheel(release: str, mends: Iterable[Mend], toolchain: Toolchain) -> Path:
    """The wheel of a release with mends in it, which is a candidate as any wheel is.

    It says of itself that it is version ``2.14.0+mended``.

    Raises UsageError for no such release, and for a mend that does not fit, and says where.
    """
    read, wheel = files_of(release, toolchain)
    files = {name: text.encode() for name, text in mended(read, mends).items()}
    metadata, text = _metadata(wheel)
    files[metadata] = re.sub(rb"(?m)^Version: [\w.]+", rb"\g<0>+mended", text, count=1)
    return made_wheel(toolchain.cache, wheel, files, whole=False)


def mended_subject(release: str, mends: Iterable[Mend], toolchain: Toolchain) -> SubjectSpec:
    """A release with mends in it, by itself. Raises as `mended_wheel`."""
    wheel = mended_wheel(release, mends, toolchain)
    chosen = choose_subjects(toolchain, load_catalogue(), wheel=wheel, like=release)
    return next(spec for spec in chosen if spec.kind is SubjectKind.FILE)


def diffs_of(release: str, mends: Iterable[Mend], toolchain: Toolchain) -> dict[str, str]:
    """What each mend alone changes in a release, as a unified diff, by the mend's name.

    Raises UsageError and Unavailable where the release's wheel is not at hand.
    """
    read, _ = files_of(release, toolchain)
    return {mend.name: difference(read, mended(read, [mend])) for mend in mends}


def _metadata(wheel: Path) -> tuple[str, bytes]:
    """The path in a wheel of what it says of itself, and that."""
    with opened_zip(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return path, archive.read(path)


def files_of(release: str, toolchain: Toolchain) -> tuple[Read, Path]:
    """The reader of a release's files, and its wheel. Raises UsageError where it has none."""
    (spec, *_) = choose_subjects(toolchain, load_catalogue(), releases=release, built_in=False)
    if spec.wheel_path is None:
        raise UsageError(f"--release {release}: {spec.unavailable}")
    path = Path(spec.wheel_path)

    @functools.cache  # several mends are of one file
    def read(name: str) -> str | None:
        with opened_zip(path) as wheel:
            return wheel.read(name).decode() if name in wheel.namelist() else None

    return read, path
