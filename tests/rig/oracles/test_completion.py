from __future__ import annotations

import pytest

from harness.rig.oracles import completion
from harness.rig.oracles.finding import Finding, verdict_of
from harness.rig.vocabulary import Oracle, Outcome, Stage, Symptom


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:  # noqa: BLE001 - to give it a traceback
        return caught


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (AssertionError(), "AssertionError"),
        (KeyError("relu"), "KeyError: 'relu'"),
        (ValueError("object at 0x7f00deadbeef is odd"), "ValueError: object at 0x… is odd"),
        (OSError("cannot read /home/someone/x/file.py"), "OSError: cannot read file.py"),
        (RuntimeError("\n  first line\nand a graph dump"), "RuntimeError: first line"),
        (RuntimeError("a  b\tc"), "RuntimeError: a b c"),
    ],
)
def test_an_exception_keeps_its_type_and_what_is_the_same_everywhere(
    error: Exception, message: str
) -> None:
    assert completion.normalise(error) == message


def test_the_verdict_names_the_stage_and_keeps_the_traceback() -> None:
    verdict = completion.ended_by(raised(KeyError("x")), Stage.EXPORT)
    assert verdict.label == "error@export"
    assert "test_completion.py" in verdict.evidence


def test_a_message_of_any_length_stays_readable() -> None:
    assert len(completion.normalise(ValueError("x" * 10_000))) == completion.MAX_MESSAGE


def test_a_new_kind_of_finding_does_not_hide_behind_a_known_one() -> None:
    known = Finding(Stage.LOAD, "known", "node a")
    new = Finding(Stage.EXPORT, "new", "node b")
    one = verdict_of(Oracle.METADATA, Symptom.WRONG_METADATA, [known, known])
    two = verdict_of(Oracle.METADATA, Symptom.WRONG_METADATA, [known, new])
    assert one.message == "known"
    assert two.message == "known; new"
    assert two.stage is Stage.EXPORT


def test_no_finding_is_a_pass() -> None:
    assert verdict_of(Oracle.VALUES, Symptom.WRONG_VALUES, []).outcome is Outcome.OK
