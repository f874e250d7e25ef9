"""What a user is told of his own models: lines for the terminal, a page, and a JSON file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.base.files import replace_file, written_to
from harness.base.program import PROGRAM
from harness.base.words import plural, spans
from harness.catalogue.releases import SAVE_RETRACES_SINCE
from harness.gate.model_answer import CallAnswer, Cause, ModelAnswer, Standing, calls_lost
from harness.register.facts import parsed_version
from harness.report import style
from harness.report.draw.drawing import Box, Picture, Wire
from harness.report.pages.rendering import render
from harness.run.check import Checked
from harness.runs.gpu_evidence import GpuEvidence, write_evidence
from harness.wire.builders import SEGMENT
from harness.wire.routes import Route
from harness.wire.vocabulary import SubjectKind

TONES: Final[Mapping[Standing, str]] = {
    Standing.RIGHT: "ok",
    Standing.OTHER_FORM: "interface",
    Standing.ANNOUNCED: "warned",
    Standing.ERROR: "error",
    Standing.SILENT: "silent",
    Standing.NOT_ASKED: "unsupported",
}
#: Those of the report, but for an error, which a user has to tell from a warning.
SIGNS: Final[Mapping[Standing, str]] = {
    **{each: style.SIGNS[tone] for each, tone in TONES.items()},
    Standing.ERROR: "E",
}
SCHEMA: Final = 1
_NO_ENGINE: Final = (
    "no engine is built, so nothing is accelerated (a smaller min_block_size may change that);"
)
_NO_GPU: Final = "a GPU: engines are emulated on a CPU, bit for bit as PyTorch computes them"
_REAL: Final = "really builds the engines, which are emulated on a CPU where they run"
_MOST_SAID: Final = 160


@dataclass(frozen=True)
class Told:
    """Some calls that fail for one cause, ready to be shown.

    Attributes:
        release, route: of the first of them.
        calls: such as ``save(), save(retrace=False) in 2.12.0 to 2.14.0``.
        title: of the known defect, or of those that it may be, or by whom it is refused; empty
            where nothing is known.
        like: the same in a sentence behind the standing.
        instead: what a user does instead.
    """

    release: str
    route: Route
    calls: str
    standing: Standing
    title: str
    like: str
    says: str
    instead: str
    command: str


def headline(checked: Checked, answer: ModelAnswer) -> str:
    """The answer in one sentence."""
    best = answer.best
    if answer.wrong:
        return answer.wrong  # which begins with its name
    name, newest = _name(checked, answer), answer.releases[0]
    if answer.could_not_be_asked:
        reason = next((call.reason for call in answer.calls.values() if call.reason), "no verdict")
        return f"{name} {newest} could not be asked: {reason}"
    if best is None:
        asked = len(answer.releases)
        which = newest if asked == 1 else f"none of the {asked} releases asked"
        by = _refusals(answer) if answer.refused_by_torch else ""
        return f"{name} {which} saves it right by {'no' if asked == 1 else 'any'} call{by}"
    form = (
        ""
        if best.standing is Standing.RIGHT
        else ", which returns the right numbers in another form"
    )
    use = f"use torch_tensorrt {best.release} and {_call(best.route, best.release)}{form}"
    if best.release == newest:
        return f"{name} {use}"
    return f"{name} {newest} saves it right by no call; {use}"


def _refusals(answer: ModelAnswer) -> str:
    """By whom every save is refused, where that is torch itself."""
    titles = [
        cause.refusal.title for call in answer.failing for cause in call.causes if cause.refusal
    ]
    return f": {' and '.join(dict.fromkeys(titles))}"


def _name(checked: Checked, answer: ModelAnswer) -> str:
    """The model, and before all else whether the newest release leaves it whole in PyTorch."""
    engines = checked.splits.get(answer.model, {}).get("engines")
    return f"{answer.model}: {_NO_ENGINE}" if engines == 0 else f"{answer.model}:"


def first_line(checked: Checked, answer: ModelAnswer, first: str, last: str) -> str:
    """What is said first of a model: what an upgrade changes, if that was asked, or the answer."""
    return upgrade_line(checked, answer, first, last) if first else headline(checked, answer)


def upgrade_line(checked: Checked, answer: ModelAnswer, first: str, last: str) -> str:
    """What an upgrade changes for one model."""
    if answer.could_not_be_asked:
        return headline(checked, answer)
    lost, won = calls_lost(answer, first, last), calls_lost(answer, last, first)
    parts = []
    if lost:
        told = ", ".join(f"{_call(call.route, first, last)} ({call.standing})" for call in lost)
        parts.append(f"loses {told}")
    if won:
        parts.append(f"gains {', '.join(_call(call.route, first, last) for call in won)}")
    best = answer.best
    if best is None:
        use = "no call is right in either"
    else:
        use = f"use {_call(best.route, best.release)}"
        use += f" in {best.release}" if best.release != last else ""
    changes = "; ".join(parts) or "nothing changes"
    return f"{_name(checked, answer)} {first} to {last}: {changes}; {use}"


def answer_lines(checked: Checked, answer: ModelAnswer) -> Iterator[str]:
    """All that the terminal says of one model."""
    yield headline(checked, answer)
    yield ""
    yield from table_lines(answer)
    for told in causes_told(checked, answer):
        yield ""
        yield f"{told.calls}: {told.standing}, {told.like}"
        if not told.title:
            yield f"  {told.says}"
        if told.instead:
            yield f"  instead: {told.instead}"
        yield f"  {told.command}"
    yield ""
    yield from split_lines(checked, answer)
    yield f"not asked: {'; '.join(not_asked(checked, answer))}"


def table_lines(answer: ModelAnswer) -> Iterator[str]:
    """A line a call, a column a release, the newest first."""
    calls = {route: _call(route, *answer.releases) for route in answer.routes}
    width = max(map(len, calls.values()))
    yield " " * width + "  " + "  ".join(f"{name:^7}" for name in answer.releases)
    for route in answer.routes:
        signs = (f"{_sign(answer, name, route):^7}" for name in answer.releases)
        yield f"{calls[route]:{width}}  {'  '.join(signs)}".rstrip()
    used = {call.standing for call in answer.calls.values()}
    yield "  ".join(f"{SIGNS[each]} {each}" for each in Standing if each in used)


def _sign(answer: ModelAnswer, release: str, route: Route) -> str:
    call = answer.calls.get((release, route))
    return "" if call is None else SIGNS[call.standing]


def _call(route: Route, *releases: str) -> str:
    """What a user of these releases writes: m is the compiled module and f the file."""
    call = _stated(route, *releases)
    return call if call.startswith("save(m, f") else call.replace("save(", "save(m, f, ")


def _stated(route: Route, *releases: str) -> str:
    """A call by its name; where `save` alone would inline, with the word that has it export."""
    versions = [parsed_version(release) for release in releases]
    if route is Route.RETRACE and any(each and each < SAVE_RETRACES_SINCE for each in versions):
        return "save(m, f, retrace=True)"
    return route.row.call


def causes_told(checked: Checked, answer: ModelAnswer) -> list[Told]:
    """What fails, the worst first: a row a cause, with the calls and releases that have it."""
    order = list(reversed(answer.releases))
    grouped: dict[tuple[str, ...], list[tuple[CallAnswer, Cause]]] = {}
    for call in answer.failing:
        for cause in call.causes:
            ids = tuple(defect.id for defect in cause.defects)
            grouped.setdefault((call.standing, *(ids or (cause.says,))), []).append((call, cause))
    told = []
    for found in grouped.values():
        (call, cause), of = found[0], dict[tuple[str, ...], list[str]]()
        for route in dict.fromkeys(each.route for each, _ in found):
            names = [each.release for each, _ in found if each.route is route]
            for told_as, with_saves in _with_saves(answer, route, names).items():
                of.setdefault(tuple(spans(with_saves, order)), []).append(told_as)
        calls = "; ".join(
            f"{', '.join(failing)} in {', '.join(names)}" for names, failing in of.items()
        )
        title = " or ".join(f"{defect.title} ({defect.id})" for defect in cause.defects)
        like = f"as the known defect: {title}" if title else "as no known defect"
        instead = " Or: ".join(dict.fromkeys(defect.workaround for defect in cause.defects))
        if cause.refusal is not None:
            title, instead = cause.refusal.title, cause.refusal.instead
            like = f"as {title}"
        says = cause.says if len(cause.says) < _MOST_SAID else f"{cause.says[:_MOST_SAID]} ..."
        words = ["explain" if title else "reduce", answer.model, "--subject", call.release]
        words += ["--route", call.route, "--corpus", checked.place]
        words += [] if checked.builder == SEGMENT else ["--builder", checked.builder]
        told.append(
            Told(
                call.release,
                call.route,
                calls,
                call.standing,
                title,
                like,
                says,
                instead,
                f"{PROGRAM} {shlex.join(words)}",
            )
        )
    return sorted(told, key=lambda each: -list(Standing).index(each.standing))


def _with_saves(answer: ModelAnswer, route: Route, releases: Sequence[str]) -> dict[str, list[str]]:
    """A call, with the saves that write down what `compile` made wrong, and its releases."""
    told: dict[str, list[str]] = {}
    for release in releases:
        call = _call(route, *releases)
        if route is Route.COMPILE:
            saves = [each for each in answer.routes if (release, each) in answer.calls][1:]
            same = [each for each in saves if _shares_the_end(answer, release, each)]
            named = ["every save"] if same == saves else [_call(each, *releases) for each in same]
            call += f", and so {', '.join(named)}," if same else ""
        told.setdefault(call, []).append(release)
    return told


def _shares_the_end(answer: ModelAnswer, release: str, save: Route) -> bool:
    """Whether a save ends as `compile` does, and for no cause of its own."""
    compiled, saved = answer.calls[release, Route.COMPILE], answer.calls[release, save]
    return not saved.causes and saved.standing is compiled.standing


def split_lines(checked: Checked, answer: ModelAnswer) -> Iterator[str]:
    """How the newest release splits the model, and why ops stay in PyTorch."""
    split = checked.splits.get(answer.model, {})
    newest = answer.releases[0]
    if answer.wrong:
        return
    if "refused" in split:
        yield f"split by {newest}: not compiled: {split['refused']}"
        return
    engines = plural(int(split["engines"]), "engine")
    by_reason: dict[str, list[str]] = {}
    for each in split["fallbacks"]:
        times = f" ({each['count']})" if each["count"] > 1 else ""
        by_reason.setdefault(each["why"], []).append(f"{each['op']}{times}")
    stays = "; ".join(f"{why}: {', '.join(ops)}" for why, ops in by_reason.items())
    yield f"split by {newest}: {engines}; in PyTorch {stays or 'nothing'}"
    if split["crossing"]:
        yield f"sizes that go from one piece into another: {'; '.join(split['crossing'])}"


def not_asked(checked: Checked, answer: ModelAnswer) -> Iterator[str]:
    """What the answer does not speak of."""
    if answer.wrong:
        return
    if checked.installed is None:
        yield _NO_GPU if checked.builder == SEGMENT else f"a GPU: {checked.builder} {_REAL}"
    case = next(case for run in checked.runs for case in run.cases if case.name == answer.model)
    if not case.dynamic:
        yield "other sizes than the example's (give --dynamic)"
    specs = {spec.subject: spec for run in checked.runs for spec in run.subjects}
    running = checked.torch.partition("+")[0]
    others = [
        f"{name} pins {spec.torch_pinned}"
        for name, spec in specs.items()
        if spec.kind is SubjectKind.RELEASE and spec.torch_pinned and name in answer.releases
        if not running.startswith(spec.torch_pinned.lstrip("=~<>").partition("+")[0])
    ]
    if others:
        yield f"another torch than {running} ({', '.join(others)})"
    reasons = {call.reason for call in answer.calls.values() if call.reason}
    yield from sorted(reason for reason in reasons if not reason.startswith("compile"))


def write_check(checked: Checked, first: str, last: str) -> Path:
    """Write ``check.html`` and ``check.json`` into the first run's folder; returns the page."""
    folder = checked.runs[0].folder.path
    page = folder / "check.html"
    with written_to(page):
        replace_file(page, check_html(checked, first, last).encode())
        data = json.dumps(check_json(checked), indent=1, ensure_ascii=False)
        replace_file(folder / "check.json", f"{data}\n".encode())
    if checked.installed is not None:
        for answer in checked.answers:
            write_evidence(folder / evidence_name(checked, answer), evidence_of(checked, answer))
    return page


def evidence_name(checked: Checked, answer: ModelAnswer) -> str:
    """``evidence.json``, or with the model's place in the file where there are several."""
    number = checked.answers.index(answer)
    return f"evidence-{number}.json" if len(checked.answers) > 1 else "evidence.json"


def evidence_of(checked: Checked, answer: ModelAnswer) -> GpuEvidence:
    """What a check on a GPU showed, without the model and its name."""
    assert checked.installed is not None
    provenance = checked.runs[0].provenance
    seen: dict[str, list[str]] = {}
    for call in answer.failing:
        for cause in call.causes:
            if len(cause.defects) == 1:
                seen.setdefault(cause.defects[0].id, []).append(call.route.row.call)
    return GpuEvidence(
        release=checked.installed.release,
        torch=checked.torch,
        tensorrt=checked.installed.tensorrt,
        gpu=checked.installed.device.name,
        driver=next((gpu.driver for gpu in provenance.gpus), "unknown"),
        day=provenance.started_at[:10],
        structure=str(checked.splits.get(answer.model, {}).get("structure", "")),
        calls={call.route.row.call: call.standing.value for call in answer.calls.values()},
        defects=seen,
    )


def check_html(checked: Checked, first: str = "", last: str = "") -> str:
    """The page: the answer, the table, the causes, and the split, of each model."""
    models = [
        {
            "answer": answer,
            "headline": first_line(checked, answer, first, last),
            "tone": "green" if answer.newest_is_safe else "red",
            "causes": causes_told(checked, answer),
            "split": list(split_lines(checked, answer)),
            "picture": _picture(checked.splits.get(answer.model, {})),
            "not_asked": list(not_asked(checked, answer)),
        }
        for answer in checked.answers
    ]
    used = [each for each in Standing if any(_has(answer, each) for answer in checked.answers)]
    return render(
        "check.html",
        models=models,
        sign=SIGNS.__getitem__,
        tone=TONES.__getitem__,
        call=_call,
        legend=used,
        torch=checked.torch,
        ran_on="" if checked.installed is None else checked.installed.device.name,
    )


def _has(answer: ModelAnswer, standing: Standing) -> bool:
    return any(call.standing is standing for call in answer.calls.values())


def _picture(split: Mapping[str, Any]) -> Picture | None:
    if "boxes" not in split:
        return None
    return Picture(
        tuple(Box(**box) for box in split["boxes"]),
        tuple(Wire(**wire) for wire in split["wires"]),
        (),
        (),
        "",
        "",
    )


def check_json(checked: Checked) -> dict[str, Any]:
    """The same as data: every call with its standing, and the defects that it may be."""
    return {
        "schema": SCHEMA,
        "torch": checked.torch,
        "runs": [run.folder.run_id for run in checked.runs],
        "models": [_model_json(checked, answer) for answer in checked.answers],
    }


def _model_json(checked: Checked, answer: ModelAnswer) -> dict[str, Any]:
    best = answer.best
    split = checked.splits.get(answer.model, {})
    if answer.wrong:
        return {"model": answer.model, "wrong": answer.wrong, "use": None, "calls": []}
    return {
        "model": answer.model,
        "use": None if best is None else _release_and_call(best),
        "calls": [_call_json(call) for call in answer.calls.values()],
        "split": {key: split[key] for key in ("engines", "fallbacks", "crossing") if key in split},
        "not_asked": list(not_asked(checked, answer)),
    }


def _release_and_call(call: CallAnswer) -> dict[str, str]:
    return {"release": call.release, "call": _stated(call.route, call.release)}


def _call_json(call: CallAnswer) -> dict[str, Any]:
    return {
        **_release_and_call(call),
        "route": call.route.value,
        "standing": call.standing.value,
        "causes": [
            {"defects": [each.id for each in cause.defects], "says": cause.says}
            for cause in call.causes
        ],
    }
