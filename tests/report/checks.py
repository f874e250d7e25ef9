"""A check of a models file, as the command makes it."""

from pathlib import Path

from rich.console import Console

from harness.catalogue.releases import Catalogue
from harness.run.check import check
from harness.run.checked import Checked
from harness.run.options import RunOptions
from harness.run.progress import progress_for
from harness.toolchain import Toolchain


def checked_in(
    folder: Path, tables: str, release: str, toolchain: Toolchain, catalogue: Catalogue
) -> Checked:
    """What comes out for the models of these tables, whose Python lies in the folder."""
    place = folder / "models.toml"
    place.write_text(tables)
    options = RunOptions(out=folder / "results")
    progress = progress_for(Console(quiet=True))
    return check(place, [release], options, toolchain, catalogue, lambda _: progress, go_back=False)
