"""A failing blueprint is reduced to a minimal one with the same failure."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from corpus.blueprints.blueprint import Blueprint, Form, FormKind, from_json, packed, value
from corpus.blueprints.build import build
from corpus.blueprints.cases import blueprint_of
from corpus.case import Case, Family, Origin
from corpus.drawn.draft import Draft
from harness.rig.questions import reduce as reducing
from harness.rig.questions.reduce import NothingToReduce, failures_of
from harness.toolchain.environment import PROJECT_ROOT
from harness.wire.record_json import to_json
from harness.wire.records import SubjectSpec
from harness.wire.vocabulary import SubjectKind

SUBJECT = SubjectSpec("name-matching", SubjectKind.BUILTIN, ("export",))


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


def request(**changes: Any) -> dict[str, Any]:
    asked = {"case": "residual", "name": "found", "oracle": "", "routes": ["export"]}
    return {**asked, "capture": "nonstrict", "corpus": [], "subject": to_json(SUBJECT), **changes}


@pytest.fixture
def blueprint(monkeypatch: pytest.MonkeyPatch) -> Blueprint:
    made = residual()
    case = Case("residual", Family.FOUND, Origin.HANDMADE, "", lambda: build(made))
    monkeypatch.setattr(reducing, "find_case", lambda name: case)
    monkeypatch.setattr(reducing, "blueprint_of", lambda found: made)
    return made


def test_the_minimal_blueprint_fails_alike_and_is_smaller(blueprint: Blueprint) -> None:
    inliner = reducing.load_inliner(SUBJECT)
    told: list[str] = []
    found = reducing.reduce(request(), told.append)
    _, before = failures_of(blueprint, inliner, "nonstrict", "export")
    _, after = failures_of(found, inliner, "nonstrict", "export")
    assert before[0] == after[0]
    assert (len(blueprint.steps), len(found.steps)) == (5, 2)
    assert found.name == "found"
    assert "residual" in found.catches
    assert told[0].startswith("export: completion error: AssertionError")


def test_a_failure_of_another_message_is_not_the_same(blueprint: Blueprint) -> None:
    failure = reducing.Failure("completion", "error", "AssertionError")
    assert failure != dataclasses.replace(failure, message="KeyError")
    with pytest.raises(NothingToReduce, match="does not fail values in name-matching by export"):
        reducing.reduce(request(oracle="values"), print)


def run(library: Path, case: str) -> subprocess.CompletedProcess[str]:
    asked = json.dumps(request(case=case, library=str(library)))
    return subprocess.run(
        [sys.executable, "-m", "harness.rig.questions.reduce"],
        cwd=PROJECT_ROOT, input=asked, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_case_that_is_code_cannot_be_reduced_and_the_exit_code_is_2(library: Path) -> None:
    done = run(library, "residual_over_a_fallback")
    assert done.returncode == 2
    assert "residual_over_a_fallback is no blueprint but code" in done.stderr


@pytest.mark.slow
def test_a_drawn_case_is_reduced_from_the_command_line(library: Path) -> None:
    done = run(library, "drawn_lone_fallback")
    assert done.returncode == 0
    assert len(from_json(json.loads(done.stdout)).inputs) < 17
    assert blueprint_of(reducing.find_case("drawn_lone_fallback")) is not None
