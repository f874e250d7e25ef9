"""The corpus as the controller sees it, which cannot import it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch.fx import GraphModule

import corpus
from corpus import elsewhere
from corpus.case import (
    Case,
    Inputs,
    Program,
    all_cases,
    corpus_digest,
    find_case,
    is_from_elsewhere,
    sources_elsewhere,
)
from corpus.models_file import MODULE_GIVEN, is_module_of
from corpus.recorded.build import recording_of
from corpus.selection import REAL_ENGINES, only_when_full
from corpus.user_model import WrongModel
from harness.rig.capture.capture import capture
from harness.rig.cell.prepare import refusal
from harness.rig.questions import CannotAnswer
from harness.rig.questions.case_sources import case_digests
from harness.rig.questions.opened_files import OpenedFiles
from harness.rig.trying import CameToNothing, tried
from harness.wire.record_json import to_json
from harness.wire.records import CaseInfo
from harness.wire.routes import Lane
from harness.wire.vocabulary import Stage

#: A model that is not built and called in so many seconds is told as one that does not end.
BUILD_LIMIT_S: Final = 120.0


def cases(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every case as a record, then the corpus's digest, those of its cases, and a user's files.

    Args:
        request: ``corpus``, the places of cases that take the place of the project's own.
    """
    if request["corpus"]:
        torch.set_num_threads(1)  # a process whose pool of threads is warm cannot be forked
    opened = OpenedFiles()
    elsewhere.load(request["corpus"])
    known = all_cases()
    built: dict[Callable[[], Program], dict[str, Any]] = {}  # a model is built once for two cases
    for case in known:
        if is_from_elsewhere(case) and case.build not in built:
            built[case.build] = _built(case, opened)
        yield to_json(_info(case, built.get(case.build, {})))
    own = {} if request["corpus"] else case_digests(known, Path(corpus.__file__).parent)
    theirs = sources_elsewhere()
    files = sorted({*map(str, theirs), *opened.below(theirs)})
    yield {"corpus_digest": corpus_digest(), "case_digests": own, "files": files}


def _info(case: Case, built: Mapping[str, Any]) -> CaseInfo:
    """A case as the controller sees it.

    The project's own cases declare whether they have dynamic dimensions and state, since to build a
    model can take seconds; others need not, and are built.
    """
    return CaseInfo(
        name=case.name,
        family=case.family.value,
        origin=case.origin.value,
        catches=case.catches,
        fallback=case.fallback,
        wiring=case.wiring,
        requires=case.requires,
        capture=case.capture,
        cross=case.cross,
        lanes=tuple(map(Lane, case.lanes)),
        full=tuple(map(Lane, only_when_full(case))),
        dynamic=case.dynamic or bool(built.get("dynamic")),
        state=case.state or bool(built.get("state")),
        containers=bool(built.get("containers")),
        # Whoever brings cases and names a builder of real engines asks for both.
        real_engines=is_from_elsewhere(case) or case.name in REAL_ENGINES,
        declared_at=_declared_at(case) if is_from_elsewhere(case) else "",
        wrong=str(built.get("wrong", "")),
        module_of=case.name.removesuffix(MODULE_GIVEN) if is_module_of(case) else "",
    )


def _declared_at(case: Case) -> str:
    if case.declared_at:
        return case.declared_at
    code = case.build.__code__
    return f"{Path(code.co_filename).resolve()}:{code.co_firstlineno}"


def _writes_state(model: torch.nn.Module, example: Inputs) -> bool:
    """Whether a call writes to the model's own buffers, as it does to those of this process."""

    def written() -> list[tuple[int, int]]:
        return [(id(each), each._version) for each in model.buffers()]

    before, held = written(), [*model.buffers()]  # held, so that no id is given away
    if held:
        with torch.no_grad():
            model.eval()(*example.args, **example.kwargs)
    return written() != before


def _built(case: Case, opened: OpenedFiles) -> dict[str, Any]:
    """What its program is like, or what is wrong with it, found in a fork of this process.

    What it opens there is added to what was ``opened``.

    What raises something of its own says why when it is captured.
    """

    def build() -> dict[str, Any]:
        known: dict[str, Any] = {}
        try:
            program = case.build()
            given = program.inputs(torch.Generator(), None)
            known["dynamic"] = program.dynamic_shapes is not None
            known["containers"] = any(isinstance(each, list | tuple | dict) for each in given.args)
            known["state"] = program.model is not None and _writes_state(program.model, given)
        except WrongModel as error:
            return {"wrong": str(error)}
        except Exception:  # noqa: BLE001 - somebody's model, whatever it raises
            pass
        return known

    def build_and_tell() -> dict[str, Any]:
        return {**build(), "opened": opened.below(sources_elsewhere())}

    try:
        built = tried(build_and_tell, BUILD_LIMIT_S)
    except CameToNothing as error:
        return {
            "wrong": f"{case.name}: the process that builds the model and calls it once {error}; "
            "mend what it does there"
        }
    opened.add(built.pop("opened"))
    return built


def split_text(request: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a case's split module: its parent graph, then each child's.

    Args:
        request: ``corpus``, ``case``, ``capture``.

    Raises:
        CannotAnswer: the case cannot be captured or split.
    """
    elsewhere.load(request["corpus"])
    case = find_case(request["case"])
    stage = Stage.CAPTURE
    try:
        captured = capture(case, request["capture"])
        stage = Stage.SPLIT
        split = captured.split()
    except Exception as error:
        raise CannotAnswer(refusal(case, stage, error)) from error
    yield f"{case.name}: {case.catches}"
    yield from _recorded(case)
    yield from ("", "split module", *_lines(split))
    for name, child in split.named_children():
        if isinstance(child, GraphModule):
            yield from ("", name, *_lines(child))


def _recorded(case: Case) -> Iterator[str]:
    """For a recorded case: its source, and how the graph lane's own split differs."""
    recording = recording_of(case)
    if recording is None:
        return
    settings = ", ".join(f"{name}={value}" for name, value in recording.settings.items())
    yield f"recorded from torch_tensorrt {recording.release}, torch {recording.torch}: {settings}"
    yield f"beside the graph lane's own split of {recording.model}:"
    yield from (f"    {line}" for line in recording.difference or ("no difference",))


def _lines(module: GraphModule) -> list[str]:
    return [f"    {node.format_node()}" for node in module.graph.nodes if node.format_node()]
