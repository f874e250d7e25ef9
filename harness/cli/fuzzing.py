"""`fuzz`: programs that nobody wrote, drawn and judged until time is up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode, SurroundingsError, UsageError
from harness.base.files import replace_file
from harness.campaigns.campaign import BLUEPRINTS, MODELS, Campaign
from harness.campaigns.differential import ways_of
from harness.campaigns.fuzz_report import points_of, signed_by, write_finds, write_page
from harness.campaigns.judge import Judge
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.clusters import graph_setup, package_setup, workers_on
from harness.cli.common import lanes, listed, tell, toolchain_for
from harness.cli.interrupted import same_command_goes_on
from harness.mends.all import MENDS
from harness.register.defects import Register
from harness.register.expected import read_expectations
from harness.register.facts import NONSTRICT
from harness.report.draw.fuzz_plot import fuzz_figure
from harness.report.draw.plots import png
from harness.subjects.choosing import choose_subjects
from harness.subjects.mended import mended_subject
from harness.subjects.packages import Sites, with_packages
from harness.subjects.specs import TORCH_SUBJECT, torch_subject
from harness.toolchain import Toolchain
from harness.wire.records import CellKey, SubjectSpec
from harness.wire.routes import Lane
from harness.workers.process import Setup


def fuzz_command(
    minutes: Annotated[float, typer.Option(min=0.0, help="How long to draw.")] = 10.0,
    releases: option.Releases = "",
    mended: option.Mended = "",
    lane: Annotated[str, typer.Option(help="graph, package, or both.")] = Lane.GRAPH,
    without: Annotated[
        str, typer.Option(help="Ids of known defects to forget; are they found again?")
    ] = "",
    seed: Annotated[int, typer.Option(help="Another seed draws other programs.")] = 0,
    on: option.On = "",
    out: Annotated[
        Path, typer.Option(help="The campaign's folder; one that has a journal is gone on with.")
    ] = option.RESULTS / "fuzz",
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
) -> int:
    """Draw split programs, judge them, and shrink what no known defect explains.

    The folder has a journal, and Hypothesis's examples. Exit code 1 says that something new failed.
    What the mends of a mended release are of is known no more.
    """
    if mended and releases:
        raise UsageError("--mended is judged by itself; leave out --releases")
    toolchain, catalogue = toolchain_for(wheelhouse, offline), load_catalogue()
    asked = lanes(lane)
    subjects = (
        (mended_subject(mended, MENDS, toolchain), torch_subject())
        if mended
        else choose_subjects(
            toolchain, catalogue, releases=releases or catalogue.newest.version, built_in=False
        )
    )
    sites: Sites = {}
    if Lane.PACKAGE in asked:
        subjects, sites = with_packages(subjects, toolchain, catalogue)
    setups, cells = _setups(toolchain, subjects, sites, asked, out)
    mended_ones = [name for mend in MENDS if mended for name in mend.defects]
    expected = read_expectations()
    known, forgotten = parted(expected.register, listed(without), mended_ones)
    with same_command_goes_on(), workers_on(on, toolchain) as (launcher, count):
        if on and count < len(setups):
            raise UsageError(f"--on {on}: it has {count} processors, and {len(setups)} are needed")
        judge = Judge(setups, launcher=launcher)
        campaign = Campaign(judge, cells, known, out, seed, tell, ways=ways_of(expected.table))
        try:
            campaign.run(minutes * 60)
        finally:
            judge.close()
    tell(campaign.progress)
    for find in campaign.finds.values():
        tell(f"  {find.text}")
        for defect in signed_by(find, forgotten):
            tell(f"    found again: {defect}")
    for difference in campaign.differs:
        tell(f"  {difference}")
    write_finds(campaign.finds.values(), out / "found")
    replace_file(out / "fuzz.png", png(fuzz_figure(points_of(out))))
    tell(f"page: {write_page(campaign, out)}")
    if campaign.broken:
        raise SurroundingsError(
            f"the harness itself failed in {len(campaign.broken)} cells; the tracebacks are in "
            f"{out / 'journal.jsonl'}"
        )
    return ExitCode.RED if campaign.finds else ExitCode.GREEN


def parted(
    register: Register, without: Sequence[str], mended: Sequence[str]
) -> tuple[Register, Register]:
    """What a campaign knows, and what it is to forget: its user's choice, and what is mended."""
    for name in without:
        if name not in register.by_id:
            raise UsageError(f"--without {name}: the register has no such defect; see `defects`")
    gone = {*without, *mended}
    return (
        Register(tuple(each for each in register.defects if each.id not in gone)),
        Register(tuple(each for each in register.defects if each.id in gone)),
    )


def _setups(
    toolchain: Toolchain,
    subjects: Sequence[SubjectSpec],
    sites: Sites,
    asked: Sequence[str],
    out: Path,
) -> tuple[dict[tuple[Lane, str], Setup], dict[str, tuple[CellKey, ...]]]:
    """The workers of the lanes, and the cells that each kind of program is judged by.

    Models go through both lanes, blueprints through the graph lane alone.
    """
    setups: dict[tuple[Lane, str], Setup] = {}
    graph = [
        (spec.subject, route)
        for spec in subjects
        for route in spec.routes
        if Lane.GRAPH in asked and spec.subject != TORCH_SUBJECT and not route.row.crosses
    ]
    if graph:
        setups[Lane.GRAPH, ""] = graph_setup(subjects, toolchain, out / "logs")
    packages: list[CellKey] = []
    for spec in subjects:
        for package in spec.packages:
            setup = package_setup(spec, package, sites, toolchain, out / "logs")
            setups[Lane.PACKAGE, spec.subject] = setup
            packages += [
                CellKey(MODELS.case, NONSTRICT, spec.subject, route, Lane.PACKAGE, package.builder)
                for route in package.routes
            ]
    cells: dict[str, tuple[CellKey, ...]] = {}
    if packages:
        beside = [CellKey(MODELS.case, NONSTRICT, *each) for each in graph]
        cells[MODELS.name] = (*packages, *beside)
    if graph:
        static = (each for each in graph if not each[1].row.dynamic)
        cells[BLUEPRINTS.name] = tuple(
            CellKey(BLUEPRINTS.case, NONSTRICT, *each) for each in static
        )
    if not cells:
        raise UsageError("--releases: none of these has a whole package; it begins with 2.7.0")
    return setups, cells
