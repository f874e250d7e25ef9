"""Scripts that show a failure with torch and a wheel alone; the rig writes and tries each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.base.errors import SurroundingsError, Unavailable, UsageError
from harness.base.program import PROGRAM
from harness.catalogue.releases import Catalogue, Release
from harness.mends.all import MENDS, WRITTEN_FOR
from harness.report.model import ReportModel
from harness.report.pictures import NEVER_AGAIN, of_packages
from harness.report.sections.causes import CAUSES, LiveCause, Script
from harness.run.judged_run import JudgedRun
from harness.subjects.choosing import found_again
from harness.subjects.mended import diffs_of
from harness.subjects.packages import whole_package
from harness.toolchain import PackageSite, Toolchain
from harness.toolchain.rig_client import answers_of, graph_lane, package_lane
from harness.wire.record_json import to_json
from harness.wire.records import SubjectSpec, Verdict


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A failure to be shown. ``labels`` are pairs of oracle and label; none for any that fails.

    Of the package lane ``says`` are the findings that are meant, of several in one verdict, and
    ``shown`` is a verdict of the graph lane, which is to be shown without the lowering, or one of
    another environment, whose script is not ``tried`` here, and
    ``command`` what makes the script, if that is not `reproduce`. With a
    ``name``, a defect's, it is for upstream: a script of a user's calls alone, which says nothing
    of here, and the same as a test, which is expected to fail for this ``reason``.
    """

    case: str
    capture: str
    routes: tuple[str, ...]
    subject: SubjectSpec
    what: str = ""
    file: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    options: str = ""  # what the command needs beside, to find the case and the candidate
    says: tuple[str, ...] = ()
    shown: Verdict | None = None
    tried: bool = True
    command: str = ""
    name: str = ""
    reason: str = ""
    raises: tuple[str, ...] = ()  # by which the test fails over other engines, or later


def scripts_for(
    wanted: Sequence[Wanted],
    toolchain: Toolchain,
    corpus: Sequence[str] = (),
    seed: int = 0,
    heard: Callable[[], None] = lambda: None,
) -> list[Script]:
    """A script for each failure of the graph lane, or why there is none.

    Args:
        heard: called behind each.
    """
    subjects = {each.subject.subject: each.subject for each in wanted}.values()
    lane = graph_lane(toolchain.emulated_runtime(), subjects, corpus, seed)
    return _asked(toolchain, lane, wanted, heard)


def package_scripts_for(
    wanted: Sequence[Wanted],
    toolchain: Toolchain,
    package: Release | PackageSite,
    corpus: Sequence[str] = (),
    seed: int = 0,
    heard: Callable[[], None] = lambda: None,
) -> list[Script]:
    """A script for each failure of a release's or a candidate's package, or why there is none.

    Args:
        heard: called behind each.
    """
    site = toolchain.package_site(package) if isinstance(package, Release) else package
    lane = package_lane(site, corpus, seed)
    return _asked(toolchain, lane, wanted, heard)


def _asked(
    toolchain: Toolchain,
    lane: Mapping[str, Any],
    wanted: Sequence[Wanted],
    heard: Callable[[], None],
) -> list[Script]:
    asked = [_to_json(each) for each in wanted]
    scripts = []
    for each, data in zip(
        wanted, answers_of(toolchain.python, "scripts", **lane, wanted=asked), strict=True
    ):
        command = reproduce_command(each, data["route"] or each.routes[0])
        scripts.append(script_from_json(data, command))
        heard()
    return scripts


def script_from_json(data: Mapping[str, Any], command: str) -> Script:
    """A script as `harness.rig.questions.reproduce` gives it."""
    return Script(
        text=data["script"],
        label=data["label"],
        said=data["said"],
        why_not=data["why_not"],
        command=command,
        printed=data["printed"],
        test=data["test"],
        expected=data["expected"],
    )


def reproduce_command(wanted: Wanted, route: str) -> str:
    """The command that prints the script again."""
    capture = "" if wanted.capture == "nonstrict" else f" --capture {wanted.capture}"
    return (
        f"{PROGRAM} reproduce {wanted.case} --subject {wanted.subject.subject} "
        f"--route {route}{capture}{wanted.options}"
    )


def with_scripts(
    model: ReportModel,
    judged: JudgedRun,
    toolchain: Toolchain,
    catalogue: Catalogue,
    heard: Callable[[], None] = lambda: None,
) -> ReportModel:
    """The model with a script for every cause, or the reason why a cause has none.

    Args:
        heard: called behind each script that was tried.
    """
    packages = of_packages(model)
    of_package_lane = {cause.defect.id for causes in packages.values() for cause in causes}
    both = (*model[CAUSES].live, *model[CAUSES].gone)
    rest = [cause for cause in both if cause.defect.id not in of_package_lane]
    try:
        scripts = _of_graph_lane(rest, judged, toolchain, catalogue, heard)
    except (UsageError, SurroundingsError, Unavailable) as reason:
        return dataclasses.replace(model, no_scripts=str(reason))
    for release, causes in packages.items():
        scripts |= _of_package(causes, judged, toolchain, catalogue, release, heard)
    return dataclasses.replace(model, scripts=scripts, no_scripts="")


def with_diffs(model: ReportModel, toolchain: Toolchain) -> ReportModel:
    """The model with the diff of every mend, or the reason why it has none."""
    try:
        return dataclasses.replace(model, diffs=diffs_of(WRITTEN_FOR, MENDS, toolchain))
    except (UsageError, SurroundingsError, Unavailable) as reason:
        return dataclasses.replace(model, no_diffs=str(reason))


def _of_graph_lane(
    causes: Sequence[LiveCause],
    judged: JudgedRun,
    toolchain: Toolchain,
    catalogue: Catalogue,
    heard: Callable[[], None],
) -> dict[str, Script]:
    before = judged.provenance
    specs = {
        spec.subject: spec for spec in found_again(before, toolchain, catalogue, judged.candidates)
    }
    scripts, asked = {}, []
    for cause in causes:
        if cause.label.startswith(NEVER_AGAIN):
            scripts[cause.defect.id] = _without("it does not end by itself")
        elif specs[cause.subject].unavailable:
            scripts[cause.defect.id] = _without(f"the wheel of {cause.subject} is not at hand")
        else:
            asked.append(cause)
    if not asked:
        return scripts
    wanted = [
        _of_cause(
            cause,
            specs[cause.subject],
            judged.places.options(cause.subject),
        )
        for cause in asked
    ]
    made = scripts_for(wanted, toolchain, judged.case_places, before.seeds[0], heard)
    return scripts | {cause.defect.id: script for cause, script in zip(asked, made, strict=True)}


def _of_package(
    causes: Sequence[LiveCause],
    judged: JudgedRun,
    toolchain: Toolchain,
    catalogue: Catalogue,
    name: str,
    heard: Callable[[], None],
) -> dict[str, Script]:
    """The scripts of one subject's package; each says so where the package cannot be had."""
    before = judged.provenance
    found = found_again(before, toolchain, catalogue, judged.candidates)
    spec = next(spec for spec in found if spec.subject == name)
    wanted = [_of_cause(cause, spec, judged.places.options(name)) for cause in causes]
    try:
        _, site = whole_package(spec, toolchain, catalogue)
        corpus, seed = judged.case_places, before.seeds[0]
        made = package_scripts_for(wanted, toolchain, site, corpus, seed, heard)
    except (UsageError, SurroundingsError, Unavailable) as reason:
        return {cause.defect.id: _without(str(reason)) for cause in causes}
    return {cause.defect.id: script for cause, script in zip(causes, made, strict=True)}


def _without(why: str) -> Script:
    return Script("", "", "", why, "")


def _of_cause(cause: LiveCause, spec: SubjectSpec, options: str = "") -> Wanted:
    return Wanted(
        case=cause.cases[0],
        capture=cause.capture,
        routes=(cause.route,),
        subject=spec,
        what=cause.defect.why,
        file=f"{cause.defect.id}.py",
        labels=tuple((entry.oracle, entry.label) for entry in cause.entries),
        options=options,
    )


def _to_json(wanted: Wanted) -> dict[str, Any]:
    return {
        "case": wanted.case,
        "capture": wanted.capture,
        "routes": list(wanted.routes),
        "subject": wanted.subject.subject,
        "what": wanted.what,
        "file": wanted.file or f"{wanted.case}.py",
        "labels": [list(pair) for pair in wanted.labels],
        "command": "" if wanted.name else wanted.command or reproduce_command(wanted, "{route}"),
        "says": list(wanted.says),
        "shown": None if wanted.shown is None else to_json(wanted.shown),
        "tried": wanted.tried,
        "user_alone": bool(wanted.name),
        "name": wanted.name,
        "reason": wanted.reason,
        "raises": list(wanted.raises),
    }
