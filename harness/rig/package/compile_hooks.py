"""What is looked at inside of a release's `compile`: how long its parts take, and its fallbacks.

Both wrap `compile_module`, which a release calls with the lowered graph (dynamo/_compiler.py of
2.6.0 to 2.14.0), for the time of one call.

A release compares the names of fallbacks with the lowered graph: an op that lowering took apart or
renamed falls back by the name that lowering gave it, and its exported name is ignored without a
word. A packet, such as `aten.relu`, is no op of any graph.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

from torch.fx import Graph

from harness.rig.capture.capture import CannotAsk
from harness.rig.capture.fallbacks import ops_of
from harness.rig.package import engine_cache
from harness.wire.vocabulary import FALLS_BACK_TO_NOTHING, Stage

COMPILER: Final = "torch_tensorrt.dynamo._compiler"


class ExportedOtherwise(CannotAsk):
    """What `torch.export` makes of a user's model computes something else than the model does."""


class NothingFallsBack(CannotAsk):
    """An op that a case sends to PyTorch is in its program, and not in what is partitioned."""


@contextmanager
def _called_with_lowered(look: Callable[[Any], None]) -> Iterator[None]:
    """Call ``look`` with the lowered module, before it is partitioned."""
    compiler: Any = importlib.import_module(COMPILER)
    compile_module = compiler.compile_module

    def look_and_compile(lowered: Any, *args: Any, **kwargs: Any) -> Any:
        look(lowered)
        return compile_module(lowered, *args, **kwargs)

    compiler.compile_module = look_and_compile
    try:
        yield
    finally:
        compiler.compile_module = compile_module


@contextmanager
def timed_parts() -> Iterator[dict[Stage, float]]:
    """Seconds of lowering, conversion and build, of the one `compile` inside; as far as it got.

    The rest of its time is the partitioner's, and that of the modules around engines. Conversion
    and build are known of a builder that really builds. For an engine that was kept from an earlier
    run they are what they took then, which is more than the whole call takes now.
    """
    seconds: dict[Stage, float] = {}
    before = len(engine_cache.builds)
    began = time.perf_counter()

    def stop_lowering(_: Any) -> None:
        seconds[Stage.LOWERING] = time.perf_counter() - began

    try:
        with _called_with_lowered(stop_lowering):
            yield seconds
    finally:
        built = engine_cache.builds[before:]
        if built:
            seconds[Stage.CONVERSION] = sum(each.conversion_s for each in built)
            seconds[Stage.BUILD] = sum(each.build_s for each in built)


@contextmanager
def fallbacks_required(
    case: str, fallback: Collection[str], exported: Graph, unnamed: Collection[str] = ()
) -> Iterator[None]:
    """See that every fallback is in what the one `compile` inside partitions.

    Args:
        unnamed: exported ops of which torch's own lowering makes what a user named.

    Raises:
        NothingFallsBack: out of `compile`, before anything is partitioned.
    """
    before = ops_of(exported)

    def require(lowered: Any) -> None:
        reason = lost(fallback, before, ops_of(lowered.graph), unnamed)
        if reason:
            raise NothingFallsBack(f"{case}: {reason}")

    with _called_with_lowered(require):
        yield


def lost(
    fallback: Collection[str],
    exported: Collection[str],
    lowered: Collection[str],
    unnamed: Collection[str] = (),
) -> str:
    """Which fallbacks lowering has made something else of, and what; empty if none.

    Torch's own lowering makes `aten.addmm` of an `aten.linear` that every release keeps.

    A case may name an op twice, as it is exported and as it is lowered: then none is lost. An op
    that lowering folds into a constant or deletes is not lost either: that is the release's answer.
    """
    known = {op.rpartition(".")[0] for op in (*exported, *lowered)}
    nowhere = [name for name in fallback if name.rpartition(".")[0] not in known]
    if unnamed and nowhere:
        kept = ", ".join(sorted({*unnamed} & {*lowered}))
        other = f"the release keeps {kept}: name that instead" if kept else "name another one"
        return (
            f"{FALLS_BACK_TO_NOTHING}: no op of the lowered graph is {', '.join(nowhere)}; "
            f"{other} (it has {', '.join(sorted(lowered))})"
        )
    gone = [name for name in fallback if _has(exported, name) and name not in lowered]
    instead = [name for name in fallback if not _has(exported, name) and name in lowered]
    if not gone or instead:
        return ""
    made = sorted(each for each in lowered if _is_one_of(each, gone)) or sorted(
        set(lowered) - set(exported)
    )
    if not made:
        return ""
    others = ", ".join(sorted(set(lowered) - set(made)))
    return (
        f"{FALLS_BACK_TO_NOTHING}: no op of the lowered graph is {', '.join(gone)}; lowering made "
        f"{', '.join(made)} of the program: name what of it falls back instead"
        + (f" (it has {others}, too)" if others else "")
    )


def _has(ops: Collection[str], name: str) -> bool:
    """Whether a graph has an op of that name, or of that packet."""
    return name in ops or any(_is_one_of(op, [name]) for op in ops)


def _is_one_of(op: str, packets: Collection[str]) -> bool:
    return op.rpartition(".")[0] in packets
