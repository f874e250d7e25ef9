"""Reduces a case to a minimal one that fails alike.

The search is greedy: it takes the first of the candidates of `corpus.drawn.shrink` that fails with
the same oracle, symptom and message, until none does.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from corpus.blueprints.blueprint import Blueprint, to_json
from corpus.blueprints.cases import blueprint_of, case_of
from corpus.case import find_case
from corpus.drawn.shrink import smaller
from harness.rig.cell.pipeline import ended_before_routes
from harness.rig.cell.prepare import NotPrepared
from harness.rig.clock import StageClock
from harness.rig.lanes import Lane, lane_of
from harness.rig.questions import CannotAnswer
from harness.wire.records import CellRecord, Verdict
from harness.wire.routes import Route


class NothingToReduce(CannotAnswer):
    """The case is no blueprint, or does not fail: what, and what to do."""


@dataclass(frozen=True)
class Failure:
    """What has to stay as it is while a blueprint shrinks."""

    oracle: str
    symptom: str
    message: str

    @classmethod
    def of(cls, verdict: Verdict) -> Failure:
        return cls(verdict.oracle, str(verdict.symptom), verdict.message)


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
    lane: Lane, blueprint: Blueprint, capture: str, subject: str, route: Route
) -> tuple[CellRecord, list[Failure]]:
    """What one cell of a blueprint shows."""
    case = case_of(blueprint)
    key = lane.key(case.name, capture, subject, route)
    try:
        record = lane.run_cell(lane.prepare(case, capture, StageClock()), key, StageClock())
    except NotPrepared as error:
        record = ended_before_routes(key, error.cause, error.stage)
    return record, [Failure.of(verdict) for verdict in record.failures]


def reduce(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The minimal blueprint of a request.

    Args:
        request: the setup of the graph lane with one subject, ``subject`` (its name), ``case``,
            ``capture``, ``routes`` (the first on which it fails is taken), ``oracle`` ("" for the
            worst that fails) and ``name`` (of what is found).

    Raises:
        NothingToReduce: the case is no blueprint, or nothing fails.
    """
    with lane_of(request) as lane:
        yield to_json(_minimal(lane, request))


def _minimal(lane: Lane, request: Mapping[str, Any]) -> Blueprint:
    case, subject, capture = request["case"], request["subject"], request["capture"]
    blueprint = blueprint_of(find_case(case))
    if blueprint is None:
        raise NothingToReduce(
            f"{case} is no blueprint but code, which cannot be reduced; "
            "the drawn and found cases that `list` shows can"
        )
    # Named first: a case's numbers come from its name.
    blueprint = dataclasses.replace(blueprint, name=request["name"])
    route, failure = _first_failure(lane, blueprint, request)

    def still_fails(candidate: Blueprint) -> bool:
        try:
            return failure in failures_of(lane, candidate, capture, subject, route)[1]
        except Exception:  # noqa: BLE001 - a candidate need not be a program that can be built
            return False

    *_, minimal = (blueprint, *reduced(blueprint, still_fails))
    catches = (
        f"what {case} was reduced to: {failure.symptom} ({failure.message}) in {subject} by {route}"
    )
    return dataclasses.replace(minimal, catches=catches)


def _first_failure(
    lane: Lane, blueprint: Blueprint, request: Mapping[str, Any]
) -> tuple[Route, Failure]:
    oracle, subject, routes = request["oracle"], request["subject"], request["routes"]
    for route in map(Route, routes):
        _, failures = failures_of(lane, blueprint, request["capture"], subject, route)
        for failure in failures:
            if oracle in ("", failure.oracle):
                return route, failure
    raise NothingToReduce(
        f"{request['case']} does not fail {oracle or 'anything'} in {subject} by "
        f"{' or '.join(routes)}; `explain` tells what it does"
    )
