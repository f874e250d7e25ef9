"""Reduces a case to a minimal one that fails alike: `python -m harness.rig.questions.reduce`.

A request as JSON comes on stdin, the reduced blueprint as one line of JSON goes to stdout, and what
became smaller to stderr. The search is greedy: it takes the first of the candidates of
`corpus.drawn.shrink` that fails with the same oracle, symptom and message, until none does.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from corpus import elsewhere
from corpus.blueprints.blueprint import Blueprint, to_json
from corpus.blueprints.cases import blueprint_of, case_of
from corpus.case import find_case
from corpus.drawn.shrink import size, smaller
from harness.rig.cell.pipeline import ended_before_routes, run_cell
from harness.rig.cell.prepare import NotPrepared, prepare
from harness.rig.clock import StageClock
from harness.rig.engines.emulated import load_runtime
from harness.rig.inliners.loader import load_inliner
from harness.rig.inliners.protocol import Inliner
from harness.wire.record_json import subject_from_json
from harness.wire.records import CellKey, CellRecord, Verdict
from harness.wire.vocabulary import Route

USAGE = 2


class NothingToReduce(Exception):
    """The case is no blueprint, or does not fail: what, and what to do."""


@dataclass(frozen=True)
class Failure:
    """What has to stay as it is while a blueprint shrinks."""

    oracle: str
    symptom: str
    message: str

    @classmethod
    def of(cls, verdict: Verdict) -> Failure:
        return cls(verdict.oracle.value, str(verdict.symptom), verdict.message)


def reduced(blueprint: Blueprint, still_fails: Callable[[Blueprint], bool]) -> Iterator[Blueprint]:
    """Each smaller blueprint that was taken; the last one is minimal: no candidate of it fails.

    ``still_fails`` is asked once of each blueprint.
    """
    answers: dict[str, bool] = {}

    def fails(candidate: Blueprint) -> bool:
        text = json.dumps(to_json(candidate), sort_keys=True)
        if text not in answers:
            answers[text] = still_fails(candidate)
        return answers[text]

    taken = True
    while taken:
        taken, position = False, 0
        while True:
            candidates = list(smaller(blueprint))[position:]
            found = next((at for at, each in enumerate(candidates) if fails(each)), None)
            if found is None:
                break
            # What failed to be smaller before here is not tried again until the next round.
            taken, position, blueprint = True, position + found, candidates[found]
            yield blueprint


def failures_of(
    blueprint: Blueprint, inliner: Inliner, capture: str, route: str
) -> tuple[CellRecord, list[Failure]]:
    """What one cell of a blueprint shows.

    Raises:
        Exception: whatever building a blueprint raises that is no program.
    """
    case = case_of(blueprint)
    key = CellKey(case.name, capture, inliner.name, Route(route))
    try:
        prepared = prepare(case, capture, 0, StageClock())
    except NotPrepared as error:
        record = ended_before_routes(key, error.cause, error.stage)
    else:
        record = run_cell(prepared, inliner, key, StageClock())
    return record, [Failure.of(verdict) for verdict in record.failures]


def reduce(request: Mapping[str, Any], tell: Callable[[str], None]) -> Blueprint:
    """The minimal blueprint of a request.

    Args:
        request: ``library``, ``corpus``, ``subject`` (a SubjectSpec), ``case``, ``capture``,
            ``routes`` (the first on which it fails is taken), ``oracle`` ("" for the worst that
            fails) and ``name`` (of what is found).

    Raises:
        NothingToReduce: the case is no blueprint, or nothing fails.
    """
    blueprint = blueprint_of(find_case(request["case"]))
    if blueprint is None:
        raise NothingToReduce(
            f"{request['case']} is no blueprint but code, which cannot be reduced; "
            "the drawn and found cases of `python -m harness list` can"
        )
    inliner = load_inliner(subject_from_json(request["subject"]))
    # Named first: a case's numbers come from its name.
    blueprint = dataclasses.replace(blueprint, name=request["name"])
    route, failure = _first_failure(blueprint, inliner, request)

    def still_fails(candidate: Blueprint) -> bool:
        try:
            return failure in failures_of(candidate, inliner, request["capture"], route)[1]
        except Exception:  # noqa: BLE001 - a candidate need not be a program that can be built
            return False

    tell(f"{route}: {failure.oracle} {failure.symptom}: {failure.message}")
    found = blueprint
    for found in reduced(blueprint, still_fails):
        steps, inputs, ops, *_ = size(found)
        tell(f"{steps} steps, {inputs} inputs, {ops} ops")
    catches = (
        f"what {request['case']} was reduced to: {failure.symptom} ({failure.message}) in "
        f"{inliner.name} by {route}"
    )
    return dataclasses.replace(found, catches=catches)


def _first_failure(
    blueprint: Blueprint, inliner: Inliner, request: Mapping[str, Any]
) -> tuple[str, Failure]:
    oracle, routes = request["oracle"], request["routes"]
    for route in routes:
        _, failures = failures_of(blueprint, inliner, request["capture"], route)
        for failure in failures:
            if oracle in ("", failure.oracle):
                return route, failure
    raise NothingToReduce(
        f"{request['case']} does not fail {oracle or 'anything'} in {inliner.name} by "
        f"{' or '.join(routes)}; `python -m harness explain` tells what it does"
    )


def main() -> int:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    request = json.loads(sys.stdin.read())
    load_runtime(Path(request["library"]))
    elsewhere.load(request["corpus"])
    try:
        found = reduce(request, lambda line: print(line, file=sys.stderr, flush=True))
    except NothingToReduce as error:
        print(error, file=sys.stderr)
        return USAGE
    print(json.dumps(to_json(found), sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
