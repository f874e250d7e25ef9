"""A release's splits, written down; a request as JSON is on stdin.

The answer on stdout is a JSON object a line, a recording's name and text, or why there is none.
One process, one release. The release's own partitioners are wrapped, so that what goes in and what
comes out is seen as it is, before any engine is built.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule

from corpus.case import find_case
from corpus.recorded.difference import ENGINE, difference, steps
from corpus.recorded.recording import GraphData, Recording, SplitData, to_text
from corpus.recorded.to_record import TO_RECORD, ToRecord
from corpus.recorded.values import CannotRecord
from harness.rig.capture.capture import capture
from harness.rig.channel import private_channel
from harness.rig.package.compiling import compile_like_a_user
from harness.rig.package.opening import open_package
from harness.rig.questions.recording import GraphRecorder, calling_convention, own_split

PARTITIONERS = ("fast_partition", "global_partition")


class UnknownRecording(ValueError):
    """No recording of that name is wanted."""


@dataclass
class Seen:
    """What the partitioner was given, what it made, and how that is called."""

    recorder: GraphRecorder = field(default_factory=GraphRecorder)
    handed: GraphData | None = None
    split: SplitData | None = None
    convention: tuple[tuple[str, ...], str, str] | None = None


@contextmanager
def partitioners_wrapped(
    package: types.ModuleType, wrapped: Callable[[Any], Any]
) -> Iterator[None]:
    """Put what ``wrapped`` makes of each partitioner of the package in its place, for a while."""
    partitioning = package.dynamo.partitioning
    real = {name: getattr(partitioning, name) for name in PARTITIONERS}
    for name, partition in real.items():
        setattr(partitioning, name, wrapped(partition))
    try:
        yield
    finally:
        for name, partition in real.items():
            setattr(partitioning, name, partition)


@contextmanager
def partitioning_seen(package: types.ModuleType) -> Iterator[Seen]:
    """Look on while the package splits a module."""
    seen = Seen()

    def looking_on(partition: Any) -> Any:
        def told(module: GraphModule, *args: Any, **kwargs: Any) -> Any:
            seen.handed = seen.recorder.graph(module)
            split, support = partition(module, *args, **kwargs)
            seen.split = seen.recorder.split(split)
            seen.convention = calling_convention(split)
            return split, support

        return told

    with partitioners_wrapped(package, looking_on):
        yield seen


def record(package: types.ModuleType, release: str, wanted: ToRecord) -> Recording:
    """One model as the package lowers and splits it.

    Raises:
        CannotRecord: it is not split into engines and fallbacks, or there are no words for it.
        Exception: it cannot be captured, or the package does not compile it.
    """
    case = wanted.case
    captured = capture(case, "nonstrict")
    with partitioning_seen(package) as seen:
        compile_like_a_user(package, captured)
    if seen.handed is None or seen.split is None or seen.convention is None:
        raise CannotRecord("the package compiles it without splitting it")
    kinds = {kind for kind, _ in steps(seen.split)}
    if ENGINE not in kinds or len(kinds) < 2:
        raise CannotRecord(f"the package makes {' and '.join(kinds) or 'nothing'} of it alone")
    argument_names, in_spec, out_spec = seen.convention
    settings = {
        "torch_executed_ops": list(case.fallback),
        "min_block_size": case.min_block_size,
        **dict(case.settings),
    }
    own = own_split(find_case(wanted.model), settings["min_block_size"])
    return Recording(
        name=wanted.name,
        model=wanted.model,
        product=case.name,
        catches=case.catches,
        wiring=case.wiring,
        release=release,
        torch=torch.__version__.partition("+")[0],
        settings=settings,
        difference=tuple(difference(own, seen.split)),
        tensors=seen.recorder.tensors,
        handed=seen.handed,
        split=seen.split,
        argument_names=argument_names,
        in_spec=in_spec,
        out_spec=out_spec,
    )


def recordings(request: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Each wanted recording's ``name`` with its ``text``, or with ``refused``, the reason.

    Args:
        request: ``site``, ``release``, ``builder``, and ``names``: those wanted, none for all.

    Raises:
        UnknownRecording: a name is in no list.
    """
    release, known = request["release"], {wanted.name: wanted for wanted in TO_RECORD}
    unknown = sorted(set(request["names"]) - set(known))
    if unknown:
        raise UnknownRecording(
            f"no recording is named {', '.join(unknown)}; corpus/recorded/to_record.py has: "
            f"{', '.join(known)}"
        )
    package = open_package(request)
    for wanted in [known[name] for name in request["names"]] or TO_RECORD:
        try:
            yield {"name": wanted.name, "text": to_text(record(package, release, wanted))}
        except Exception as error:  # noqa: BLE001 - whatever the package raises is the reason
            told = f"{type(error).__name__}: {error}".splitlines()[0]
            yield {"name": wanted.name, "refused": told}


def main() -> int:
    request = json.loads(sys.stdin.read())
    answer = private_channel()  # what the package prints when it is imported is no part of it
    try:
        for recording in recordings(request):
            print(json.dumps(recording), file=answer)
    except UnknownRecording as error:
        print(error, file=sys.stderr)
        return 2
    answer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
