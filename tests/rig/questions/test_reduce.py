"""A failing blueprint is reduced to a minimal one with the same failure."""

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest

from corpus.blueprints.blueprint import Blueprint, Form, FormKind, from_json, packed, value
from corpus.blueprints.build import build
from corpus.blueprints.cases import blueprint_of
from corpus.case import Case, Family, Origin
from harness.base.errors import UsageError
from harness.rig.lanes import lane_of
from harness.rig.questions import reduce as reducing
from harness.rig.questions.reduce import NothingToReduce, failures_of
from harness.toolchain.rig_client import ask_rig, graph_lane
from harness.wire.records import SubjectSpec
from harness.wire.routes import Route
from harness.wire.vocabulary import SubjectKind
from tests.corpus.blueprints.draft import Draft

SUBJECT = SubjectSpec("name-matching", SubjectKind.BUILTIN, (Route.EXPORT,))


def residual() -> Blueprint:
    """One engine output read by two fallbacks, which wiring by name cannot do; and more."""
    draft = Draft()
    x, y = draft.input(3, 8), draft.input(3, 8)
    draft.arguments = [value(x.at), value(y.at)]
    low = draft.engine([x], ("plus", 0, 1.0))
    first = draft.fallback([low], ("relu", 0))
    second = draft.fallback([low, first], ("mul", 0, 1))
    high = draft.engine([second, y], ("sub", 0, 1))
    last = draft.fallback([high], ("sigmoid", 0))
    returns = packed(FormKind.TUPLE, Form(FormKind.VALUE, last), Form(FormKind.VALUE, second))
    return draft.finished("residual", "what stands around it", returns)


def request(library: Path, **changes: Any) -> dict[str, Any]:
    asked = {"case": "residual", "name": "found", "oracle": "", "routes": ["export"]}
    lane = graph_lane(library, [SUBJECT])
    return {**lane, **asked, "subject": SUBJECT.subject, "capture": "nonstrict", **changes}


@pytest.fixture
def blueprint(monkeypatch):
    made = residual()
    case = Case("residual", Family.FOUND, Origin.HANDMADE, "", lambda: build(made))
    monkeypatch.setattr(reducing, "find_case", lambda name: case)
    monkeypatch.setattr(reducing, "blueprint_of", lambda found: made)
    return made


def test_the_minimal_blueprint_fails_alike_and_is_smaller(blueprint, library):
    found = from_json(*reducing.reduce(request(library)))
    with lane_of(request(library)) as lane:
        _, before = failures_of(lane, blueprint, "nonstrict", "name-matching", Route.EXPORT)
        _, after = failures_of(lane, found, "nonstrict", "name-matching", Route.EXPORT)
    assert before[0] == after[0]
    assert (len(blueprint.steps), len(found.steps)) == (5, 2)
    assert found.name == "found"
    assert "residual" in found.catches
    assert after[0].message.startswith("AssertionError")


def test_a_failure_of_another_message_is_not_the_same(blueprint, library):
    failure = reducing.Failure("completion", "error", "AssertionError")
    assert failure != dataclasses.replace(failure, message="KeyError")
    with pytest.raises(NothingToReduce, match="does not fail values in name-matching by export"):
        list(reducing.reduce(request(library, oracle="values")))


def test_that_a_case_is_code_and_cannot_be_reduced_is_told(library):
    with pytest.raises(UsageError, match="residual_over_a_fallback is no blueprint but code"):
        ask_rig(sys.executable, "reduce", **request(library, case="residual_over_a_fallback"))


@pytest.mark.slow
def test_a_drawn_case_is_reduced_from_the_command_line(library):
    (found,) = ask_rig(sys.executable, "reduce", **request(library, case="drawn_lone_fallback"))
    assert len(from_json(found).inputs) < 17
    assert blueprint_of(reducing.find_case("drawn_lone_fallback")) is not None
