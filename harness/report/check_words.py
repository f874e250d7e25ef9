"""What a user is told of his own models, in words: the answer, the table, the causes, the split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.base.words import listed, plural, spans
from harness.gate.model_answer import ModelAnswer, Standing, calls_lost
from harness.report import style
from harness.report.call_words import call_words
from harness.report.check_causes import causes_told
from harness.run.checked import Checked
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
#: The call that is given the module itself.
MODULE: Final = 'torch_tensorrt.compile(model, ir="dynamo", ...)'
#: What is written for short in a call: `save(m, f)` alone raises, since it exports again.
GIVEN: Final = (
    "m is what compile() returns and f a file; save() is given the inputs as well, by arg_inputs= "
    "and kwarg_inputs=, unless it says without inputs"
)


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
        how = f"{'no' if asked == 1 else 'any'} call{by}{_of_the_module(checked, answer)}"
        return f"{name} {which} saves it right by {how}"
    packed = answer.packed_otherwise
    form = "" if best.standing is Standing.RIGHT else ", whose numbers alone are right"
    if packed:
        form = f", which returns the right numbers packed otherwise: {_lowered(packed.workaround)}"
    use = f"use torch_tensorrt {best.release} and {call_words(best.route, best.release)}{form}"
    use += _of_the_module(checked, answer)
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


def _of_the_module(checked: Checked, answer: ModelAnswer) -> str:
    """What is to be heeded where `compile` is given the module itself; empty if nothing is."""
    best, module = answer.best, checked.of_module(answer)
    if module is None:
        return ""
    if best is None:
        use = module.best
        return (
            f"; {MODULE} of {use.release} is saved right by {call_words(use.route, use.release)}"
            if use
            else ""
        )
    call = module.calls.get((best.release, best.route))
    if call is None or call.standing.numbers_right:
        return ""
    return f"; compile an exported program, since {MODULE} ends there as: {call.standing}"


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
        use += _of_the_module(checked, answer)
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
    yield from _cause_lines(checked, answer)
    yield ""
    yield from split_lines(checked, answer)
    if of_module := module_words(checked, answer):
        yield of_module
    if (module := checked.of_module(answer)) is not None and checked.modules is not None:
        yield from table_lines(module)
        yield from _cause_lines(checked.modules, module)
        yield ""
    yield f"not asked: {'; '.join(not_asked(checked, answer))}"


def _cause_lines(checked: Checked, answer: ModelAnswer) -> Iterator[str]:
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


def module_words(checked: Checked, answer: ModelAnswer) -> str:
    """What `compile` makes of the module itself; empty where nothing is known of it."""
    order = list(reversed(answer.releases))
    same, module = checked.same_program.get(answer.model, ()), checked.of_module(answer)
    if module is not None:
        return (
            f"{MODULE} exports the module by itself, and compiles another program in "
            f"{listed(spans(set(module.releases), order))}, where it fares as follows:"
        )
    if not same:
        return ""
    which = "" if len(same) == len(order) else f" in {listed(spans(set(same), order))}"
    return f"{MODULE} compiles the same program{which}, so all this holds for it too"


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
    if not checked.case_of(answer).dynamic:
        yield "other sizes than the example's (give --dynamic)"
    running = checked.torch.partition("+")[0]
    others = [
        f"{name} pins {pinned}" for name in answer.releases if (pinned := checked.pinned(name))
    ]
    if others:
        yield f"another torch than {running} ({', '.join(others)})"
    reasons = {call.reason for call in answer.calls.values() if call.reason}
    yield from sorted(reason for reason in reasons if not reason.startswith("compile"))
