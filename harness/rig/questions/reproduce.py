"""Scripts that show failures, each tried before it is given out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from corpus.case import Case, Mistake, find_case
from harness.rig.capture.capture import CannotAsk, CapturedProgram, capture
from harness.rig.cell.prepare import NotPrepared
from harness.rig.clock import StageClock
from harness.rig.lanes import GraphLane, Lane, PackageLane, lane_of
from harness.rig.package.compiling import settings_of
from harness.rig.questions import CannotAnswer
from harness.rig.reproduce.code import Unwritable
from harness.rig.reproduce.failures import failures_of
from harness.rig.reproduce.script import Shown, package_script, script
from harness.rig.reproduce.split_calls import split_calls
from harness.rig.reproduce.trial import Trials, Tried, shows_here
from harness.rig.reproduce.user_calls import refuse_changed_module, user_calls
from harness.rig.reproduce.user_script import docstring_of, user_script, user_test
from harness.wire.builders import Builder
from harness.wire.oracles import Harm, Oracle
from harness.wire.record_json import verdict_from_json
from harness.wire.records import CellRecord, Verdict
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage

Write = Callable[[CapturedProgram, Route, Verdict], Iterator["Written"]]
"""The scripts of a captured case, a route and a verdict: what a reader likes best comes first."""
Shows = Callable[[str], Tried]
"""Whether a script shows its failure, and what it prints."""
_WITHOUT_LOWERING: Final = (
    "compile() lowers this model to another one, which does not show the failure. The script calls "
    "what stands behind the lowering: the partitioner, the conversion and save()."
)
_CROSSED: Final = (
    "save_cross_compiled_exported_program(), which takes what cross_compile_for_windows() made, "
    "makes the two calls below on it. They need no TensorRT library for Windows, and raise for any "
    "compiled module."
)
_BY_HAND: Final = (
    "No model that compile() splits today was seen to come to this. The script puts a split module "
    "together by hand and calls what compile() and save() do with one."
)


class Written(NamedTuple):
    """A script, and the same as a test where it was asked for."""

    script: str
    test: str = ""
    expected: str = ""  # what a user expects instead, in a sentence


def scripts(request: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """For each wanted failure its script, or why there is none.

    Args:
        request: the setup of a lane, and ``wanted``: a list of ``case``, ``capture``, ``routes``
            (the first that fails is shown), ``subject`` (its name), ``labels`` (pairs of oracle and
            label of which one is to be shown; empty for any), ``what``, ``file`` and ``command``
            (as of `Shown`); of the package lane also ``says`` (of a verdict of several findings
            those that are meant), ``user_alone`` (whether only a script of a user's calls will do),
            ``shown`` (a verdict that was seen elsewhere, as of `_of_verdict`), ``tried`` (whether
            that script is given out only if it was seen to show it here),
            ``name``, ``reason`` and ``raises`` (of a test; empty where none is wanted).

    Yields:
        ``script``, ``route``, ``label``, ``said`` (the line by which it answered when it was
        tried), ``printed`` (that and what came after it), ``test``,
        ``expected`` (in a sentence), ``why_not``.

    Raises:
        CannotAnswer: a user's case is wrong itself, whatever is asked of it.
    """
    trials = Trials()
    with lane_of(request) as lane:
        for wanted in request["wanted"]:
            case = find_case(wanted["case"])
            if isinstance(lane, PackageLane) and wanted.get("shown"):
                yield _of_verdict(lane, case, wanted)
            elif isinstance(lane, PackageLane):
                write = _writer_of_package(case, wanted, request["builder"])
                yield _script(lane, case, wanted, write, shows_here)
            else:
                yield _script(lane, case, wanted, *_of_inliner(lane, case, wanted, trials))


def _of_inliner(
    lane: GraphLane, case: Case, wanted: Mapping[str, Any], trials: Trials
) -> tuple[Write, Shows]:
    """What writes and tries a script of the inliner alone."""
    spec = lane.subjects[wanted["subject"]]
    assert spec.wheel_path is not None
    files = [spec.wheel_path, *([spec.exporter_path] if spec.exporter_path else [])]
    own_wheel = spec.kind.brought and not spec.exporter_path

    def write(captured: CapturedProgram, route: Route, verdict: Verdict) -> Iterator[Written]:
        shown = _shown(
            case,
            wanted,
            route,
            release=spec.release or spec.subject,
            wheel=Path(spec.wheel_path or "").name if own_wheel else "",
            exporter=Path(spec.exporter_path or "").name,
        )
        if not verdict.oracle.row.script_check:
            return
        yield Written(script(shown, verdict, captured.split(), captured))

    return write, lambda text: trials.shows(text, files)


def _writer_of_package(case: Case, wanted: Mapping[str, Any], builder: str) -> Write:
    """What writes scripts of a user's calls of the whole package."""

    def write(captured: CapturedProgram, route: Route, verdict: Verdict) -> Iterator[Written]:
        shown = _shown(case, wanted, route, release=wanted["subject"], builder=builder)
        yield from _of_user(captured, route, verdict, shown, wanted)
        alone = wanted.get("user_alone") or case.module_given or not route.by_compile
        if not alone and verdict.oracle.row.script_check:
            yield Written(_with_checks(captured, route, verdict, shown))

    return write


def _of_user(
    captured: CapturedProgram,
    route: Route,
    verdict: Verdict,
    shown: Shown,
    wanted: Mapping[str, Any],
    *,
    lowered: bool = True,
) -> Iterator[Written]:
    """Short scripts of a user's calls, one for each way in which a user may meet the failure."""
    failures = [*failures_of(verdict, route, wanted.get("says", ()))]
    if not failures:
        return
    if captured.exported is None:
        calls = split_calls(captured, route)
    else:
        calls = user_calls(captured, route, wanted["capture"], lowered=lowered)
    for failure in failures:
        docstring = docstring_of(shown.paragraphs(verdict))
        test = ""
        if wanted.get("name"):
            said = docstring_of(wanted["what"].split("\n\n"))
            name, reason = wanted["name"], wanted["reason"]
            builds = Builder(shown.builder).real
            also = wanted["raises"]
            test = user_test(calls, failure, said, name, reason, builds=builds, also=also)
        yield Written(user_script(calls, failure, docstring), test, failure.expected)


def _with_checks(captured: CapturedProgram, route: Route, verdict: Verdict, shown: Shown) -> str:
    """A script that looks into the exported program, for what no call of a user tells."""
    refuse_changed_module(captured)
    saving = None
    if not route.row.in_memory:
        saving = captured.keywords_of_save(route)
        if captured.shapes_given(route) is not None:
            saving["dynamic_shapes"] = True
    return package_script(shown, verdict, captured, settings_of(captured), saving)


def _shown(case: Case, wanted: Mapping[str, Any], route: Route, **of_subject: str) -> Shown:
    """What a script says of itself."""
    return Shown(
        what=wanted["what"] or case.catches,
        case=case.name,
        subject=wanted["subject"],
        route=route,
        file=wanted["file"],
        command=str(wanted["command"]).replace("{route}", route),
        **of_subject,
    )


def _script(
    lane: Lane,
    case: Case,
    wanted: Mapping[str, Any],
    write: Write,
    shows: Shows,
) -> dict[str, str]:
    """The first script that is seen to show its failure, of all that fails by the wanted routes."""
    mode, not_compiled = wanted["capture"], None
    try:
        prepared = lane.prepare(case, mode, StageClock())
        captured = prepared.captured
    except NotPrepared as reason:
        if isinstance(reason.cause, Mistake):
            raise CannotAnswer(str(reason.cause)) from reason
        if reason.stage is Stage.CAPTURE or not lane.compiles:
            subject = "package" if lane.compiles else "inliner"
            return _none(f"the case ends before any {subject}: {reason}")
        if isinstance(reason.cause, CannotAsk):
            return _none(str(reason.cause))
        captured, not_compiled = capture(case, mode, lane.seed), reason
    refusals: list[str] = []
    without_script: list[str] = []
    for route in map(Route, wanted["routes"]):
        key = lane.key(case.name, mode, wanted["subject"], route)
        if not_compiled is None:
            record = lane.run_cell(prepared, key, StageClock())
        else:
            record = lane.run_unprepared(case, mode, key, not_compiled, StageClock())
        for verdict in _failures(record, wanted["labels"]):
            tried = len(refusals)
            try:
                found = _first(write(captured, route, verdict), shows, route, verdict, refusals)
            except Unwritable as reason:
                return _none(f"the model cannot be written down in short: {reason}")
            if found is not None:
                return found
            if len(refusals) == tried:
                without_script.append(verdict.label)
    if refusals:
        # Upstream does not know our labels.
        said = _without_labels(refusals) if wanted.get("user_alone") else refusals
        return _none(f"a script alone does not show it: {'; '.join(said)}")
    if without_script:
        return _none(f"no script asks for {', '.join(without_script)}")
    return _none("it does not fail so today")


def _of_verdict(lane: PackageLane, case: Case, wanted: Mapping[str, Any]) -> dict[str, str]:
    """The script of a failure that was seen elsewhere than in this package.

    Of the graph lane it calls what stands in the package behind `compile`'s lowering, which changes
    the model; a split that was put together by hand comes to that, too.
    """
    verdict, refusals = verdict_from_json(wanted["shown"]), list[str]()
    try:
        captured = capture(case, wanted["capture"], lane.seed)
        for route in map(Route, wanted["routes"]):
            what = "\n\n".join([wanted["what"], *_why(captured, route, wanted)])
            said = {**wanted, "what": what}
            shown = _shown(case, said, route, release=wanted["subject"])
            tried = wanted["tried"]
            scripts = _of_user(captured, route, verdict, shown, said, lowered=not tried)
            shows = shows_here if tried else _not_tried
            found = _first(scripts, shows, route, verdict, refusals)
            if found is not None:
                return found
    except Unwritable as reason:
        return _none(f"the split that shows it cannot be written in short: {reason}")
    ends = "; ".join(_without_labels(refusals))
    return _none(
        f"only the exporter by itself shows it; convert_module() and save() do not ({ends})"
    )


def _without_labels(refusals: Sequence[str]) -> list[str]:
    return [*dict.fromkeys(each.partition(": ")[2] for each in refusals)]


def _why(captured: CapturedProgram, route: Route, wanted: Mapping[str, Any]) -> Iterator[str]:
    """Why a script calls what no user does, if it does."""
    if wanted["tried"]:
        by_hand = captured.exported is None
        yield _CROSSED if route.row.crosses else _BY_HAND if by_hand else _WITHOUT_LOWERING


def _not_tried(_: str) -> Tried:
    return Tried(there=True, said="")


def _first(
    scripts: Iterable[Written],
    shows: Shows,
    route: Route,
    verdict: Verdict,
    refusals: list[str],
) -> dict[str, str] | None:
    """The first script that is seen to show a verdict; what the others say goes to ``refusals``."""
    for written in scripts:
        there, said, printed = shows(written.script)
        if there:
            return {
                **written._asdict(),
                "route": route,
                "label": verdict.label,
                "said": said,
                "printed": printed,
                "why_not": "",
            }
        refusals.append(f"{verdict.label}: {said}")
    return None


def _none(why_not: str) -> dict[str, str]:
    """The answer where there is no script."""
    names = ("route", "label", "said", "printed")
    return {**Written("")._asdict(), **dict.fromkeys(names, ""), "why_not": why_not}


def _failures(record: CellRecord, labels: Sequence[Sequence[str]]) -> list[Verdict]:
    """What fails in a cell and can be shown, what shows best first."""
    wanted = [tuple(pair) for pair in labels]
    failures = [
        verdict
        for verdict in record.failures
        if not wanted or (verdict.oracle, verdict.label) in wanted
    ]

    def place(verdict: Verdict) -> tuple[bool, int]:
        unseen = verdict.oracle is Oracle.METADATA and verdict.harm is Harm.COSMETIC
        return unseen, verdict.oracle.row.script_place

    return sorted(failures, key=place)
