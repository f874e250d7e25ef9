"""Options and arguments that several commands take."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

RESULTS = Path("results")
Wheelhouse = Annotated[
    Path | None,
    typer.Option(help="A folder of wheels, in place of the registry."),
]
Offline = Annotated[bool, typer.Option(help="Ask no registry; what is cached is used.")]
Out = Annotated[Path, typer.Option("--out", help="Where run folders are.")]
RunName = Annotated[str, typer.Argument(help="A run's folder or id, or `latest`.")]
Exporter = Annotated[
    Path | None, typer.Option(help="An _exporter.py to judge, with a release's wheel around it.")
]
Checkout = Annotated[
    Path | None, typer.Option(help="A working tree of Torch-TensorRT to judge, all its Python.")
]
Base = Annotated[
    str,
    typer.Option(help="The revision that --checkout is held against; its merge base with main."),
]
Like = Annotated[
    str, typer.Option(help="The release around a candidate; the newest, or nearest, by default.")
]
Mended = Annotated[
    str, typer.Option(help="A release with the mends of its files in it; 2.14.0 has some.")
]
Only = Annotated[str, typer.Option(help="With --mended: of these defects alone, by id.")]
CorpusPlaces = Annotated[
    list[str] | None,
    typer.Option(
        "--corpus",
        help="Cases of your own in place of the project's: a file, a folder, an entry point.",
    ),
]
Python = Annotated[
    str,
    typer.Option(help="The Python of an environment with torch and what your model imports."),
]
With = Annotated[
    list[str] | None,
    typer.Option("--with", help="A package that your model imports; often."),
]
CaseName = Annotated[str, typer.Argument(help="A case's name, or a defect's id.")]
Families = Annotated[list[str] | None, typer.Option(help="Only these families.")]
Releases = Annotated[
    str, typer.Option(help='Versions with commas, or one specifier such as ">=2.11,<2.14".')
]
Expression = Annotated[str, typer.Option("-k", help="Only cases that match, as pytest's -k.")]
Quick = Annotated[bool, typer.Option("--quick", help="Only the cells that find most.")]
Wheel = Annotated[
    Path | None, typer.Option(help="A wheel of no release to judge, such as a nightly.")
]
OfRun = Annotated[
    str,
    typer.Option(
        "--run", help="The run that has candidate and cases: a folder, an id, or `latest`."
    ),
]
On = Annotated[
    str,
    typer.Option(
        "--on",
        help="Where workers run: ray, a cluster of this machine that ends with the command; or "
        "ray://ADDRESS, one that is there (ray://auto finds it).",
    ),
]
Jobs = Annotated[int, typer.Option(min=1, help="Worker processes.")]
WorkerCount = Annotated[
    int | None, typer.Option("--jobs", min=1, help="Worker processes; by default one a processor.")
]
Timeout = Annotated[float, typer.Option(min=1.0, help="Seconds for one cell.")]
Seed = Annotated[int, typer.Option(help="Another set of weights and inputs.")]
OneBuilder = Annotated[
    str,
    typer.Option("--builder", help="segment, or tensorrt-rtx, which really builds the engines."),
]
BothLanes = Annotated[str, typer.Option("--lane", help="graph, package, or both with a comma.")]
LaneOfCase = Annotated[
    str,
    typer.Option("--lane", help="graph or package; that of the route, or else the case's first."),
]
RunSeed = Annotated[int, typer.Option(help="As in the run.")]
NewOut = Annotated[Path, typer.Option("--out", help="Where to make the run folder.")]
Subject = Annotated[str, typer.Option(help="A release, name-matching, positional, torch.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
AllowMismatch = Annotated[
    bool, typer.Option("--allow-mismatch", help="Take what is unlike too; it is told.")
]
CPUS = os.cpu_count() or 1
Capture = Annotated[str, typer.Option(help="nonstrict, strict or functional.")]
ExpectationsFolder = Annotated[
    Path,
    typer.Option("--expectations", help="A folder with expected/*.csv, and maybe defects.toml."),
]
Rerun = Annotated[bool, typer.Option("--rerun", help="Ask all anew; take no kept verdict.")]
Audit = Annotated[
    str, typer.Option(help="Of the kept verdicts, how many are asked again; such as 2%.")
]
KeptOfOthers = Annotated[
    Path | None,
    typer.Option("--kept", help="A folder of verdicts that another machine kept; it is only read."),
]
