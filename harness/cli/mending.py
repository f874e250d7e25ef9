"""`mend`: a release's own files with mends in them, and the diff for a pull request."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode, UsageError
from harness.base.files import replace_file
from harness.base.program import PROGRAM
from harness.catalogue.releases import EXPORTER_MODULE, load_catalogue
from harness.cli import options as option
from harness.cli.common import listed, release_file, tell, toolchain_for
from harness.mends.all import WRITTEN_FOR, mends_of
from harness.mends.mend import difference, mended
from harness.subjects.choosing import choose_subjects
from harness.toolchain import Toolchain


def mend_command(
    release: Annotated[str, typer.Option(help="Whose files.")] = WRITTEN_FOR,
    checkout: Annotated[
        Path | None, typer.Option(help="A Torch-TensorRT working tree, in place of a release.")
    ] = None,
    only: Annotated[str, typer.Option(help="Mends of these defects alone, by id.")] = "",
    out: Annotated[Path, typer.Option(help="Where the mended file and the diff go.")] = (
        option.RESULTS / "mended"
    ),
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
) -> int:
    """Mend a release's exporter: small changes, one for each defect, as a file and as a diff.

    Exit code 2 says that a mend does not fit the file, and where. Nothing is written then.
    """
    mends = mends_of(listed(only))
    if checkout is None:
        source = _exporter_of(release, toolchain_for(wheelhouse, offline))
    else:
        place = checkout / "py" / EXPORTER_MODULE
        if not place.is_file():
            raise UsageError(f"--checkout {checkout}: it has no py/{EXPORTER_MODULE}")
        source = place.read_text()
    result = mended(source, mends)
    file = out / EXPORTER_MODULE
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, result.encode())
    diff = out / "mends.diff"
    replace_file(diff, difference(f"py/{EXPORTER_MODULE}", source, result).encode())
    for mend in mends:
        tell(f"{', '.join(mend.defects)}: {mend.idea}")
    tell(f"mended file: {file}")
    tell(f"diff for the pull request, against {checkout or release}: {diff}")
    tell(f"judge it: {PROGRAM} run --exporter {file} --lane graph,package")
    return ExitCode.GREEN


def mended_exporter(release: str, only: str, toolchain: Toolchain, out: Path) -> Path:
    """The file of a release with its mends in it, which is a candidate as any file is.

    Raises:
        UsageError: no such release, no such mend, or one that does not fit, and where.
    """
    source = _exporter_of(release, toolchain)
    file = out / "mended" / f"{release}-mended.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, mended(source, mends_of(listed(only))).encode())
    return file


def _exporter_of(release: str, toolchain: Toolchain) -> str:
    (spec, *_) = choose_subjects(toolchain, load_catalogue(), releases=release, built_in=False)
    return release_file(spec, EXPORTER_MODULE)
