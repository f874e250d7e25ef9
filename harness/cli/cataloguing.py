"""`releases` and `add-release`: the catalogue, and how a new release gets into it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from packaging.version import Version

from harness.base.errors import ExitCode, UsageError
from harness.base.files import replace_file
from harness.base.program import command_line
from harness.catalogue.entry import checked_version, entry_for
from harness.catalogue.releases import CATALOGUE_FILE, Release, load_catalogue
from harness.cli import options as option
from harness.cli.common import lanes, listed, tell, toolchain_for
from harness.wire.routes import Lane


def releases_command(
    action: Annotated[
        str, typer.Argument(help="Nothing, which lists; or `watch`, which judges new wheels.")
    ] = "",
    place: Annotated[
        str, typer.Argument(help="Of watch: a folder of nightly wheels, or an index's address.")
    ] = "",
    store: Annotated[
        Path, typer.Option("--store", help="Of watch: the folder of the nightlies' runs.")
    ] = option.RESULTS / "nightlies",
    cases: Annotated[str, typer.Option(help="Of watch: only these cases, with commas.")] = "",
    lane: Annotated[str, typer.Option(help="Of watch: graph, package, or both.")] = Lane.GRAPH,
    quick: option.Quick = False,
    budget: Annotated[
        float | None, typer.Option(min=1.0, help="Of watch: seconds for each wheel.")
    ] = None,
    jobs: option.Jobs = option.CPUS,
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
    as_json: option.Json = False,
) -> int:
    """List the releases that can be judged, and which share an inliner; or watch for nightlies."""
    if action == "watch":
        # Here: what lists releases needs none of what makes runs.
        from harness.cli.nightlies import watch
        from harness.cli.running import kept_options
        from harness.run.options import RunOptions

        options = RunOptions(
            cases=listed(cases), lanes=lanes(lane), quick=quick, budget_s=budget, jobs=jobs,
            kept=kept_options(False, "", None), command_line=command_line(),
        )  # fmt: skip
        return watch(place, store, options, toolchain_for(wheelhouse, offline))
    if action:
        raise UsageError(f"releases {action}: write `releases`, or `releases watch PLACE`")
    catalogue = load_catalogue()
    if as_json:
        for release in catalogue:
            print(json.dumps({"version": release.version, "inliner_id": release.inliner_id}))
        return ExitCode.GREEN
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
    return ExitCode.GREEN


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
