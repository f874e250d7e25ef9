"""`releases` and `add-release`: the catalogue, and how a new release gets into it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from packaging.version import Version

from harness.base.errors import UsageError
from harness.base.files import replace_file
from harness.catalogue.entry import checked_version, entry_for
from harness.catalogue.releases import CATALOGUE_FILE, Release, load_catalogue
from harness.cli import options as option
from harness.cli.common import tell, toolchain_for


def releases_command(
    as_json: option.Json = False,
) -> None:
    """List the releases that can be judged, and which of them share an inliner."""
    catalogue = load_catalogue()
    if as_json:
        for release in catalogue:
            print(json.dumps({"version": release.version, "inliner_id": release.inliner_id}))
        return
    rows: list[tuple[str, ...]] = [
        ("release", "inliner", "torch", "TensorRT", "RTX", "CUDA", "ABI", "a user reaches", "save")
    ]
    rows += [_release_row(release) for release in catalogue]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        tell("  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip())
    for group in catalogue.groups():
        if len(group) > 1:
            names = ", ".join(release.version for release in group)
            tell(f"one inliner: {names}")


def add_release_command(
    version: Annotated[str, typer.Argument(help="The new release.")],
    wheel: Annotated[
        Path | None, typer.Option(help="Its wheel, as released; else pip fetches it.")
    ] = None,
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
    file: Annotated[
        Path, typer.Option("--catalogue", help="The catalogue to add to.")
    ] = CATALOGUE_FILE,
) -> None:
    """Add a new release to the catalogue, read from its wheel."""
    wanted = checked_version(version)
    if wanted in {Version(known) for known in load_catalogue(file).versions}:
        raise UsageError(f"{version} is in the catalogue already: {file}")
    toolchain = toolchain_for(wheelhouse, offline)
    path = wheel or toolchain.released_wheel(version)
    entry = entry_for(version, path)
    if wheel is not None:
        toolchain.keep_wheel(wheel)
    replace_file(file, (file.read_text(encoding="utf-8") + "\n" + entry).encode())
    load_catalogue(file)  # it reads back, or says what is wrong
    tell(entry.rstrip())
    tell(f"added to {file} from {path}; look it over, and commit it")


def _release_row(release: Release) -> tuple[str, ...]:
    pins = release.pins
    return (
        release.version,
        release.inliner_id[:12],
        pins.torch,
        pins.tensorrt,
        pins.tensorrt_rtx or "-",
        pins.cuda,
        release.abi,
        ", ".join(release.reachable),
        "retraces" if release.save_retraces else "inlines",
    )
