"""Motifs of what fallbacks hold and write to."""

from __future__ import annotations

from corpus.blueprints.blueprint import AttributeKind, StepKind, value
from corpus.drawn.draft import Draft, item, tuple_of
from corpus.drawn.motifs import BLEND, MIXED, Apply, calm_engine, constant, motif


def _held(path: str, kind: AttributeKind) -> Apply:
    def apply(draft: Draft) -> None:
        tensor = draft.tensor(path.format(len(draft.steps)), kind)
        weighed = ("mul", ("to_float", 1), 0) if kind in _NARROW else ("mul", 0, 1)
        draft.goes_on(draft.fallback([draft.current], ("soften", weighed), attributes=(tensor,)))

    return apply


_NARROW = {AttributeKind.HALF, AttributeKind.INTEGER}
for _value, _path, _kind in (
    ("attribute/parameter", "weight_{}", AttributeKind.PARAMETER),
    ("attribute/buffer", "buffer_{}", AttributeKind.BUFFER),
    ("attribute/non-persistent", "passing_{}", AttributeKind.NON_PERSISTENT),
    ("attribute/plain", "plain_{}", AttributeKind.PLAIN),
    ("attribute/integer", "whole_{}", AttributeKind.INTEGER),
    ("attribute/half", "half_{}", AttributeKind.HALF),
    ("attribute/frozen", "frozen_{}", AttributeKind.FROZEN),
    ("attribute name/plain", "name_{}", AttributeKind.PARAMETER),
    ("attribute name/dotted", "layer_{}.weight", AttributeKind.PARAMETER),
    ("attribute name/upper-case", "W_{}", AttributeKind.PARAMETER),
):
    motif(_value, fallbacks=True)(_held(_path, _kind))


def _two_holders(first: str, second: str, one_tensor: bool) -> Apply:
    def apply(draft: Draft) -> None:
        number = len(draft.steps)
        one = draft.tensor(first.format(number), AttributeKind.PARAMETER)
        seed = one.seed if one_tensor else 0
        other = draft.tensor(second.format(number), AttributeKind.PARAMETER, seed=seed)
        for tensor in (one, other):
            draft.goes_on(
                draft.fallback([draft.current], ("soften", ("mul", 0, 1)), attributes=(tensor,))
            )

    return apply


motif("attribute sharing/two-fallbacks", fallbacks=True)(
    _two_holders("shared_{}", "shared_{}", True)
)
motif("attribute sharing/tied", fallbacks=True)(_two_holders("up_{}", "down_{}", True))
motif("attribute sharing/other-values", fallbacks=True, fatal=True)(
    _two_holders("same_{}", "same_{}", False)
)
motif("attribute sharing/underscores", fallbacks=True)(
    _two_holders("part_{}.weight", "part_{}_weight", False)
)


def _higher_order(op: str) -> Apply:
    return lambda draft: draft.goes_on(draft.fallback([draft.current], ("soften", (op, MIXED))))


for _name in ("cond", "while_loop", "map"):
    motif(f"submodule/{_name.replace('_', '-')}", fallbacks=True, fatal=True)(_higher_order(_name))


@motif("submodule/compiled-before", engines=True, fallbacks=True, fatal=True)
def _compiled_before(draft: Draft) -> None:
    children = sum(step.kind in {StepKind.ENGINE, StepKind.FALLBACK} for step in draft.steps)
    held = draft.add(constant(draft, f"_run_on_acc_{children}_engine"))
    calm_engine(draft)
    draft.goes_on(draft.fallback([draft.current, held], ("soften", ("mul", 0, 1))))


def _writing(buffers: int, returned: bool) -> Apply:
    def apply(draft: Draft) -> None:
        for _ in range(buffers):
            tensor = draft.tensor(f"state_{len(draft.steps)}", AttributeKind.BUFFER)
            written = ("write", 1, ("times", ("column", 0), 0.1))
            made = draft.fallback(
                [draft.current], tuple_of(written, ("relu", 0)), attributes=(tensor,)
            )
            draft.goes_on(draft.fallback([item(made, 1), item(made, 0)], BLEND))
            if returned:
                draft.extra.append(value(made.at, 0))

    return apply


motif("state/one-buffer", "state/in-place", fallbacks=True, fatal=True)(_writing(1, False))
motif("state/several-buffers", "state/in-place", fallbacks=True, fatal=True)(_writing(2, False))
motif("state/returned", "state/in-place", fallbacks=True, fatal=True)(_writing(1, True))


@motif("state/aliasing", fallbacks=True)
def _aliasing(draft: Draft) -> None:
    made = draft.fallback([draft.current], tuple_of(("flip", 0), ("relu", 0)))
    draft.goes_on(
        draft.fallback([item(made, 0), item(made, 1)], ("add", ("times", ("drop", 0), 0.4), 1))
    )


@motif("sizes/data-dependent", fallbacks=True, fatal=True)
def _data_dependent(draft: Draft) -> None:
    draft.goes_on(draft.fallback([draft.current], ("soften", ("add", 0, ("count", 0)))))
