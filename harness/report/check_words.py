"""What a user is told of his own models, in words: the answer, the table, the causes, the split."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.base.program import PROGRAM
from harness.base.words import listed, plural, spans
from harness.catalogue.releases import SAVE_RETRACES_SINCE
from harness.gate.model_answer import PACKED, CallAnswer, Cause, ModelAnswer, Standing, calls_lost
from harness.register.defects import Defect
from harness.register.facts import parsed_version
from harness.report import style
from harness.run.check import Checked
from harness.wire.builders import SEGMENT
from harness.wire.routes import Route

TONES: Final[Mapping[Standing, str]] = {
    Standing.RIGHT: "ok",
    Standing.OTHER_FORM: "interface",
    Standing.ANNOUNCED: "warned",
    Standing.ERROR: "error",
    Standing.SILENT: "silent",
    Standing.NOT_ASKED: "unsupported",
}
SIGNS: Final[Mapping[Standing, str]] = {each: style.SIGNS[tone] for each, tone in TONES.items()}
_NO_ENGINE: Final = (
    "no engine is built, so nothing is accelerated (a smaller min_block_size may change that);"
)
_NO_GPU: Final = "a GPU: engines are emulated on a CPU, bit for bit as PyTorch computes them"
_REAL: Final = "really builds the engines, which are emulated on a CPU where they run"
#: What is written for short in a call: `save(m, f)` alone raises, since it exports again.
GIVEN: Final = (
    "m is what compile() returns and f a file; save() is given the inputs as well, by arg_inputs= "
    "and kwarg_inputs=, unless it says without inputs"
)
_MOST_SAID: Final = 160
_UPGRADE: Final = re.compile(r"Upgrade to (\d+(?:\.\d+)*)")
_STATE: Final = re.compile(r"changed (\[.*\]), should be (\[.*\])")
_QUOTED: Final = re.compile(r"'[^']*'")
_TUPLE_OF_ONE: Final = re.compile(r"TreeSpec\((\w+), None, \[\*\]\), should be \*")
_CALL: Final = re.compile(r"^call (\d+): ")


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
        shows: where the program of the first differs, and by how much.
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
    shows: str = ""


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
    packed = answer.packed_otherwise
    form = "" if best.standing is Standing.RIGHT else ", whose numbers alone are right"
    if packed:
        form = f", which returns the right numbers packed otherwise: {_lowered(packed.workaround)}"
    use = f"use torch_tensorrt {best.release} and {call_words(best.route, best.release)}{form}"
    if best.release == newest:
        return f"{name} {use}"
    return f"{name} {newest} saves it right by no call; {use}"


def torch_words(checked: Checked, answer: ModelAnswer) -> str:
    """What the release to use needs of torch, where it was asked with another one."""
    best = answer.best
    pinned = checked.pinned(best.release) if best else ""
    return (
        f"torch_tensorrt {best.release} pins torch {pinned}; it was asked here with torch "
        f"{checked.torch.partition('+')[0]}"
        if best and pinned
        else ""
    )


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _refusals(answer: ModelAnswer) -> str:
    """By whom every save is refused, where that is torch itself."""
    titles = [
        cause.refusal.title for call in answer.failing for cause in call.causes if cause.refusal
    ]
    return f": {' and '.join(dict.fromkeys(titles))}"


def _name(checked: Checked, answer: ModelAnswer) -> str:
    """The model, and before all else whether the newest release leaves it whole in PyTorch."""
    _, split = checked.split_of(answer)
    engines = split.get("engines")
    return f"{answer.model}: {_NO_ENGINE}" if engines == 0 else f"{answer.model}:"


def first_line(checked: Checked, answer: ModelAnswer, first: str, last: str) -> str:
    """What is said first of a model: what an upgrade changes, if that was asked, or the answer."""
    return upgrade_line(checked, answer, first, last) if first else headline(checked, answer)


def upgrade_answer(answers: Sequence[ModelAnswer], first: str, last: str) -> str:
    """Whether an upgrade changes anything for some models, in one sentence."""
    asked = [each for each in answers if not each.could_not_be_asked]
    lost = [each.model for each in asked if calls_lost(each, first, last)]
    won = [each.model for each in asked if calls_lost(each, last, first)]
    models = plural(len(asked), "model")
    if changed := {*lost, *won}:
        loses, gains = (f"{plural(len(of), 'model')} ({listed(of)})" for of in (lost, won))
        parts = (
            [f"{loses} lose{'s' if len(lost) == 1 else ''} calls that were right"] if lost else []
        )
        parts += [f"{gains} gain{'s' if len(won) == 1 else ''} some"] if won else []
        told = f"changes something for {len(changed)} of {models}: {' and '.join(parts)}"
    else:
        told = f"changes nothing for {models}"
    left = [each.model for each in answers if each.could_not_be_asked]
    return f"{first} to {last} {told}" + (f"; not asked: {listed(left)}" if left else "")


def upgrade_line(checked: Checked, answer: ModelAnswer, first: str, last: str) -> str:
    """What an upgrade changes for one model."""
    if answer.could_not_be_asked:
        return headline(checked, answer)
    lost, won = calls_lost(answer, first, last), calls_lost(answer, last, first)
    parts = []
    if lost:
        told = ", ".join(
            f"{call_words(call.route, first, last)} ({call.standing})" for call in lost
        )
        parts.append(f"loses {told}")
    if won:
        parts.append(f"gains {', '.join(call_words(call.route, first, last) for call in won)}")
    best = answer.best
    if best is None:
        use = "no call is right in either"
    else:
        use = f"use {call_words(best.route, best.release)}"
        use += f" in {best.release}" if best.release != last else ""
    changes = "; ".join(parts) or "nothing changes"
    return f"{_name(checked, answer)} {first} to {last}: {changes}; {use}"


def answer_lines(
    checked: Checked, answer: ModelAnswer, first: str = "", last: str = ""
) -> Iterator[str]:
    """All that the terminal says of one model; of an upgrade from ``first`` to ``last``, if any."""
    yield first_line(checked, answer, first, last)
    if pins := torch_words(checked, answer):
        yield pins
    yield ""
    yield from table_lines(answer)
    yield GIVEN
    for told in causes_told(checked, answer):
        yield ""
        yield f"{told.calls}: {told.standing}, {told.like}"
        if not told.title:
            yield f"  {told.says}"
        if told.shows:
            yield f"  differs: {told.shows}"
        if told.instead:
            yield f"  instead: {told.instead}"
        yield f"  {told.command}"
    yield ""
    yield from split_lines(checked, answer)
    yield f"not asked: {'; '.join(not_asked(checked, answer))}"


def table_lines(answer: ModelAnswer) -> Iterator[str]:
    """A line a call, a column a release, the newest first."""
    calls = {route: call_words(route, *answer.releases) for route in answer.routes}
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


def call_words(route: Route, *releases: str) -> str:
    """What a user of these releases writes: m is the compiled module and f the file."""
    call = stated(route, *releases)
    return call if ", f" in call else call.replace("save(", "save(m, f, ")


def stated(route: Route, *releases: str) -> str:
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
        elsewhere = dict.fromkeys(
            said
            for each, why in found
            for defect in why.defects
            if (said := checked.own_torch.get((defect.id, each.release), ""))
        )
        title += f"; {' and '.join(elsewhere)}" if elsewhere else ""
        like = f"as the known defect: {title}" if title else "as no known defect"
        routes = {each.route for each, _ in found}
        instead = " Or: ".join(
            dict.fromkeys(_advice(answer, defect, routes, call.release) for defect in cause.defects)
        )
        if cause.refusal is not None:
            title, instead = cause.refusal.title, cause.refusal.instead
            like = f"as {title}"
        says = _shortened(cause.says)
        words = ["explain" if title else "reduce", answer.model, "--subject", call.release]
        # That a program is packed otherwise than eager is seen of the compiled module alone.
        seen_by = Route.COMPILE if cause.says == PACKED else call.route
        words += ["--route", seen_by, "--run", str(checked.run_of(call.release).folder.path)]
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
                ""
                if call.standing is Standing.ERROR
                else _shortened(difference_words(cause.shows, cause.says)),
            )
        )
    return sorted(told, key=lambda each: -list(Standing).index(each.standing))


def _advice(answer: ModelAnswer, defect: Defect, routes: Collection[Route], release: str) -> str:
    """What to do instead; it is said where that is a release or call which fails the model, too."""
    workaround, calls = defect.workaround, answer.calls.values()
    avoiding = _all_failing(
        each for each in calls if each.release == release and defect.is_avoided_by(each.route)
    )
    if avoiding:
        names = listed(dict.fromkeys(each.route.row.call for each in avoiding))
        return f"{workaround} But for this model that fails in {release}, too: {names}."
    named = _UPGRADE.match(workaround)
    since = parsed_version(named[1]) if named else None
    newer = _all_failing(
        each
        for each in calls
        if since is not None
        and each.route in routes
        and (version := parsed_version(each.release)) is not None
        and version >= since
    )
    if not newer:
        return workaround
    names = listed(spans({each.release for each in newer}, list(reversed(answer.releases))))
    return f"{workaround} That mends this one, and the call fails in {names} all the same."


def _all_failing(calls: Iterable[CallAnswer]) -> list[CallAnswer]:
    """The calls that were asked, or none of them if the numbers of one are right."""
    asked = [each for each in calls if each.standing is not Standing.NOT_ASKED]
    return [] if any(each.standing.numbers_right for each in asked) else asked


def difference_words(shows: str, of: str = "") -> str:
    """What the evidence of a cell says, for who has not read how it is written.

    Args:
        of: the finding that it is the evidence of, which says what a bare number counts.
    """
    if shows[:1].isdigit():
        return f"{of}: {shows}"
    if state := _STATE.fullmatch(shows):
        did, should = (len(_QUOTED.findall(each)) for each in state.groups())
        return f"of the model's own tensors {should} should have changed, and {did or 'none'} did"
    told = _TUPLE_OF_ONE.sub(r"a \1 of one tensor, should be the tensor itself", shows)
    return _CALL.sub(lambda found: f"call {int(found[1]) + 1}: ", told)


def _shortened(said: str) -> str:
    return said if len(said) < _MOST_SAID else f"{said[:_MOST_SAID]} ..."


def _with_saves(answer: ModelAnswer, route: Route, releases: Sequence[str]) -> dict[str, list[str]]:
    """A call, with the saves that write down what `compile` made wrong, and its releases."""
    told: dict[str, list[str]] = {}
    for release in releases:
        call = call_words(route, *releases)
        if route is Route.COMPILE:
            saves = [each for each in answer.routes if (release, each) in answer.calls][1:]
            same = [each for each in saves if _shares_the_end(answer, release, each)]
            named = (
                ["every save"] if same == saves else [call_words(each, *releases) for each in same]
            )
            call += f", and so {', '.join(named)}," if same else ""
        told.setdefault(call, []).append(release)
    return told


def _shares_the_end(answer: ModelAnswer, release: str, save: Route) -> bool:
    """Whether a save ends as `compile` does, whatever else it may end by."""
    compiled, saved = answer.calls[release, Route.COMPILE], answer.calls[release, save]
    return saved.standing is compiled.standing and (saved.since_compile or not saved.causes)


def split_lines(checked: Checked, answer: ModelAnswer) -> Iterator[str]:
    """How the release to use splits the model, else the newest, and why ops stay in PyTorch."""
    if answer.wrong:
        return
    release, split = checked.split_of(answer)
    if "refused" in split:
        yield f"split by {release}: not compiled: {split['refused']}"
        return
    engines = plural(int(split["engines"]), "engine")
    by_reason: dict[str, list[str]] = {}
    for each in split["fallbacks"]:
        times = f" ({each['count']})" if each["count"] > 1 else ""
        by_reason.setdefault(each["why"], []).append(f"{each['op']}{times}")
    stays = "; ".join(f"{why}: {', '.join(ops)}" for why, ops in by_reason.items())
    yield f"split by {release}: {engines}; in PyTorch {stays or 'nothing'}"
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
    running = checked.torch.partition("+")[0]
    others = [
        f"{name} pins {pinned}" for name in answer.releases if (pinned := checked.pinned(name))
    ]
    if others:
        yield f"another torch than {running} ({', '.join(others)})"
    reasons = {call.reason for call in answer.calls.values() if call.reason}
    yield from sorted(reason for reason in reasons if not reason.startswith("compile"))
