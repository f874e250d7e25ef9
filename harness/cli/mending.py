"""`mend`: a release's own files with mends in them, and the diff for a pull request."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode, UsageError
from harness.base.files import replace_file
from harness.base.program import PROGRAM
from harness.base.zips import opened_zip
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.common import listed, tell, toolchain_for
from harness.mends.all import WRITTEN_FOR, mends_of
from harness.mends.mend import Read, difference, mended
from harness.subjects.choosing import choose_subjects
from harness.toolchain import Toolchain
from harness.toolchain.checkout import SOURCES, made_wheel


def mend_command(
    release: Annotated[str, typer.Option(help="Whose files.")] = WRITTEN_FOR,
    checkout: Annotated[
        Path | None, typer.Option(help="A Torch-TensorRT working tree, in place of a release.")
    ] = None,
    only: Annotated[str, typer.Option(help="Mends of these defects alone, by id.")] = "",
    out: Annotated[Path, typer.Option(help="Where the mended files and the diff go.")] = (
        option.RESULTS / "mended"
    ),
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
) -> int:
    """Mend a release's Python: small changes, one for each defect, as files and as one diff.

    Exit code 2 says that a mend does not fit a file, and where. Nothing is written then.
    """
    mends = mends_of(listed(only))
    if checkout is None:
        read = _files_of(release, toolchain_for(wheelhouse, offline))[0]
        judge = f"run --mended {release} --lane graph,package" + (f" --only {only}" if only else "")
    else:
        read = _files_in(checkout)
        judge = f"run --checkout {checkout} # when `git apply` has taken the diff there"
    files = mended(read, mends)
    for name, text in files.items():
        place = out / name
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_file(place, text.encode())
    diff = out / "mends.diff"
    replace_file(diff, difference(read, files).encode())
    for mend in mends:
        tell(f"{', '.join(mend.defects)}: {mend.idea}")
    tell(f"mended files ({len(files)}): {out}")
    tell(f"diff for the pull request, against {checkout or release}: {diff}")
    tell(f"judge it: {PROGRAM} {judge}")
    return ExitCode.GREEN


def mended_wheel(release: str, only: str, toolchain: Toolchain) -> Path:
    """The wheel of a release with mends in it, which is a candidate as any wheel is.

    Raises:
        UsageError: no such release, no such mend, or one that does not fit, and where.
    """
    read, wheel = _files_of(release, toolchain)
    files = {name: text.encode() for name, text in mended(read, mends_of(listed(only))).items()}
    return made_wheel(toolchain.cache, wheel, files, whole=False)


def _files_of(release: str, toolchain: Toolchain) -> tuple[Read, Path]:
    (spec, *_) = choose_subjects(toolchain, load_catalogue(), releases=release, built_in=False)
    if spec.wheel_path is None:
        raise UsageError(f"--release {release}: {spec.unavailable}")
    path = Path(spec.wheel_path)

    def read(name: str) -> str | None:
        with opened_zip(path) as wheel:
            return wheel.read(name).decode() if name in wheel.namelist() else None

    return read, path


def _files_in(checkout: Path) -> Read:
    if not (checkout / SOURCES).is_dir():
        raise UsageError(f"--checkout {checkout}: it has no {SOURCES}")

    def read(name: str) -> str | None:
        place = checkout / "py" / name
        return place.read_text() if place.is_file() else None

    return read
