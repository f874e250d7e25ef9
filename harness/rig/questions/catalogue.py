"""What the controller asks of the corpus, which it cannot import.

`python -m harness.rig.questions.catalogue`:

cases           every case as a record, a JSON object a line, then the corpus's digest
show CASE       the split module of a case as text

Each with --corpus PLACE, once or more, for cases from elsewhere.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from torch.fx import GraphModule

from corpus import elsewhere
from corpus.case import (
    Case,
    UnknownCase,
    all_cases,
    corpus_digest,
    find_case,
    is_from_elsewhere,
)
from corpus.recorded.build import recording_of
from corpus.selection import QUICK, REAL_ENGINES, only_when_full
from harness.rig.capture.capture import capture
from harness.rig.cell.prepare import NotPrepared
from harness.rig.cell.refusal import refusal
from harness.wire.record_json import to_json
from harness.wire.records import CaseInfo
from harness.wire.vocabulary import Lane, Stage


def describe(case: Case) -> CaseInfo:
    """A case as the controller sees it.

    The project's own cases declare whether they have dynamic dimensions, since to build a model can
    take seconds; others need not, and are built.
    """
    return CaseInfo(
        name=case.name,
        family=case.family.value,
        origin=case.origin.value,
        catches=case.catches,
        fallback=case.fallback,
        wiring=case.wiring,
        quick=case.name in QUICK,
        requires=case.requires,
        capture=case.capture,
        cross=case.cross,
        lanes=tuple(map(Lane, case.lanes)),
        full=tuple(map(Lane, only_when_full(case))),
        dynamic=case.dynamic or (is_from_elsewhere(case) and _is_dynamic(case)),
        real_engines=case.name in REAL_ENGINES,
        declared_at=_declared_at(case) if is_from_elsewhere(case) else "",
    )


def _declared_at(case: Case) -> str:
    code = case.build.__code__
    return f"{Path(code.co_filename).resolve()}:{code.co_firstlineno}"


def _is_dynamic(case: Case) -> bool:
    """Whether it has dynamic dimensions. What does not build says why when it is captured."""
    try:
        return case.build().dynamic_shapes is not None
    except Exception:  # noqa: BLE001 - somebody's model, whatever it raises
        return False


def split_text(name: str, mode: str) -> str:
    """The parent graph of a case's split module, and each child's, as text.

    Raises:
        UnknownCase: there is no such case.
        NotPrepared: it cannot be captured or split.
    """
    case = find_case(name)
    stage = Stage.CAPTURE
    try:
        captured = capture(case, mode)
        stage = Stage.SPLIT
        split = captured.split()
    except Exception as error:
        raise NotPrepared(error, stage) from error
    parts = [f"{case.name}: {case.catches}", *_recorded(case), "", "split module", *_lines(split)]
    for child_name, child in split.named_children():
        if isinstance(child, GraphModule):
            parts += ["", child_name, *_lines(child)]
    return "\n".join(parts)


def _recorded(case: Case) -> Iterator[str]:
    """Of a case that is a recording, what of, and how the graph lane's own split differs."""
    recording = recording_of(case)
    if recording is None:
        return
    asked = ", ".join(f"{name}={value}" for name, value in recording.settings.items())
    yield f"recorded from torch_tensorrt {recording.release}, torch {recording.torch}: {asked}"
    yield f"beside the graph lane's own split of {recording.model}:"
    yield from (f"    {line}" for line in recording.difference or ("no difference",))


def _lines(module: GraphModule) -> list[str]:
    return [f"    {node.format_node()}" for node in module.graph.nodes if node.format_node()]


def main(arguments: Sequence[str]) -> int:
    """Answer one question on stdout; 2 for what is unknown, or a case that cannot be split."""
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(prog="harness.rig.questions.catalogue")
    parser.add_argument("--corpus", action="append", default=[])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("cases")
    show = commands.add_parser("show")
    show.add_argument("case")
    show.add_argument("--capture", default="nonstrict")
    chosen = parser.parse_args(arguments)
    try:
        elsewhere.load(chosen.corpus)
    except elsewhere.NoCorpus as error:
        print(error, file=sys.stderr)
        return 2
    if chosen.command == "cases":
        for case in all_cases():
            print(json.dumps(to_json(describe(case))))
        print(json.dumps({"corpus_digest": corpus_digest()}))
        return 0
    try:
        print(split_text(chosen.case, chosen.capture))
    except UnknownCase:
        print(f"no case is named {chosen.case}", file=sys.stderr)
        return 2
    except NotPrepared as reason:
        print(refusal(find_case(chosen.case), reason.stage, reason.cause), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
