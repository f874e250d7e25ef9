"""What a run showed: `summary`, `report`."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from typing import Annotated, Any

import typer
from rich.table import Table

from harness.base.errors import ExitCode
from harness.base.garbage import no_collections
from harness.base.words import plural, spans
from harness.catalogue.releases import load_catalogue, ordered_subjects
from harness.cli import options as option
from harness.cli.common import out, say_error, tell, tells_scripts, toolchain_for
from harness.gate.findings import exit_code, mistakes
from harness.run.defect_lines import screen_of
from harness.run.judged_run import JudgedRun, reopen, summary_of
from harness.runs.costs import read_costs
from harness.runs.run_folder import read_summary


def summary_command(
    run_name: option.RunName = "latest",
    as_json: Annotated[bool, typer.Option("--json", help="summary.json as it is.")] = False,
    out_dir: option.Out = option.RESULTS,
) -> int:
    """Tell a run in defects and cells; the exit code is its gate's."""
    judged = reopen(run_name, out_dir, toolchain_for(), load_catalogue())
    if as_json:
        print(
            json.dumps(
                read_summary(judged.folder.path) or summary_by_todays_expectations(judged), indent=2
            )
        )
    else:
        _print_summary(judged)
    return int(exit_code(judged.report, judged.places))


def tell_gate(judged: JudgedRun) -> ExitCode:
    """Print the first screen; mistakes of a user's own cases take the place of the gate."""
    code = exit_code(judged.report, judged.places)
    if code is ExitCode.USAGE:
        for line in mistakes(judged.report, judged.places):
            say_error(line)
    for line in screen_of(judged):
        tell(line)
    return code


@no_collections()
def report_command(
    run_name: option.RunName = "latest",
    pictures: Annotated[
        bool, typer.Option(help="Draw the worst causes; runs a cell of each again.")
    ] = True,
    scripts: Annotated[
        bool, typer.Option(help="Write a script for every cause, and try it: some minutes.")
    ] = True,
    wheelhouse: option.Wheelhouse = None,
    out_dir: option.Out = option.RESULTS,
) -> None:
    """Write a run's report anew, judged by today's expectations."""
    # Here: a summary need not wait until what draws pages is imported.
    from harness.report.model import ReportModel
    from harness.report.pictures import with_pictures
    from harness.report.reproduction import with_diffs, with_scripts
    from harness.report.run_report import write_run_report
    from harness.report.sections.causes import CAUSES

    catalogue = load_catalogue()
    judged = reopen(run_name, out_dir, toolchain_for(), catalogue)

    def with_evidence(model: ReportModel) -> ReportModel:
        # What is not at hand is not fetched for a picture or a script.
        kept = judged.kept
        python = sys.executable if kept is None else kept.interpreter
        toolchain = toolchain_for(wheelhouse, offline=True, python=python)
        if pictures:
            model = with_pictures(model, judged, toolchain, catalogue)
        if scripts:
            causes = model[CAUSES]
            heard = tells_scripts(plural(len(causes.live) + len(causes.gone), "cause"))
            model = with_scripts(model, judged, toolchain, catalogue, heard)
            model = with_diffs(model, toolchain)
        return model

    for path in write_run_report(judged, summary_with_stored_times(judged), with_evidence):
        out.print(path, soft_wrap=True)


def summary_with_stored_times(judged: JudgedRun) -> dict[str, Any]:
    """The summary by today's expectations, with the times and the memory of the run itself."""
    stored = read_summary(judged.folder.path)
    summary = summary_by_todays_expectations(judged)
    if stored is not None:
        summary["seconds"] = stored["seconds"]
        summary |= {"kept": stored["kept"]} if "kept" in stored else {}
        summary["memory"] = stored.get("memory", summary["memory"])
    return summary


def summary_by_todays_expectations(judged: JudgedRun) -> dict[str, Any]:
    spent = read_costs(judged.folder.path)
    return summary_of(judged, judged.folder.state(), wall_s=None, spent=spent)


def _print_summary(judged: JudgedRun) -> None:
    """Print the first screen, the defects, the worst first, and the cells by subject and route."""
    tell_gate(judged)
    summary = summary_by_todays_expectations(judged)
    order = [spec.subject for spec in ordered_subjects(judged.subjects)]
    for each in summary["defects"]:
        harm, where = (
            each["harm"] or "harm not known",
            ", ".join(spans(each["releases"], order)),
        )
        tell(f"{each['id']}: {each['title']}")
        tell(f"    {harm}, {each['reach']}, {plural(each['cells'], 'cell')}; shown by {where}")
    cells = Table("subject", "route", "cells", "ok", "defects", box=None, pad_edge=False)
    shown: dict[tuple[str, str], set[str]] = defaultdict(set)
    for fact in judged.shown:
        if fact.defect:
            shown[fact.key.subject, fact.key.route].add(fact.defect)
    for row in summary["inliners"]:
        subject, route = row["subject"], row["route"]
        note = " (hypothetical)" if row["hypothetical"] else ""
        known = "-" if row["hypothetical"] else str(len(shown[subject, route]))
        cells.add_row(subject, f"{route}{note}", str(row["cells"]), str(row["ok"]), known)
    out.print(cells)
