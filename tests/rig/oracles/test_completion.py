import pytest
import torch

from harness.rig.oracles import completion
from harness.rig.oracles.finding import Finding, verdict_of
from harness.wire.oracles import Oracle
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage
from tests.rig.conftest import cell_record


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
def test_an_exception_keeps_its_type_and_what_is_the_same_everywhere(error, message):
    assert completion.normalise(error) == message


def test_what_torch_lists_below_its_first_line_is_told_where_it_is_asked_for():
    error = ValueError("Constraints violated (b)!\n  - a and b must be equal.\n\nSee the docs.")
    assert completion.normalise(error) == "ValueError: Constraints violated (b)!"
    told = completion.normalise(error, lists=True)
    assert told == "ValueError: Constraints violated (b)! - a and b must be equal."


def test_the_verdict_names_the_stage_and_keeps_the_traceback():
    verdict = completion.ended_by(raised(KeyError("x")), Stage.EXPORT)
    assert verdict.label == "error@export"
    assert "test_completion.py" in verdict.evidence


LOST_INPUT = "assert len(submodule_inputs) == len(gm_added_placeholder_inputs)"


@pytest.mark.parametrize(
    ("name", "release", "where"),
    [
        (
            "residual_over_a_fallback",
            "2.4.0",
            f"inline_torch_modules (torch_tensorrt/dynamo/_exporter.py:243): {LOST_INPUT}",
        ),
        (
            "residual_over_a_fallback",
            "2.13.0",
            f"inline_torch_modules (torch_tensorrt/dynamo/_exporter.py:284): {LOST_INPUT}",
        ),
        (
            "batch_norm_in_fallback",  # raised in torch, below
            "2.10.0",
            "lift (torch_tensorrt/dynamo/_exporter.py:175): InputSpec(",
        ),
        (
            "no_output_at_all",  # in a comprehension, which is a function of its own in Python 3.11
            "2.14.0",
            "create_trt_exp_program (torch_tensorrt/dynamo/_exporter.py:451): "
            'node for node in output_nodes if "_kv_mutation_target" not in node.meta',
        ),
    ],
)
def test_the_verdict_names_upstream_s_own_line_out_of_the_wheel(
    inliners, prepared, name, release, where
):
    record = cell_record(prepared(name), inliners[release], Route.LEGACY)
    verdict = record.verdict(Oracle.COMPLETION)
    assert verdict.raised == where


def test_where_torch_alone_raised_its_line_is_named():
    with pytest.raises(TypeError) as error:
        torch.export.save(None, "x.pt2")  # type: ignore[arg-type]
    named = completion.where_raised(error.value)
    assert named.startswith("save (torch/export/__init__.py:")
    assert named.rpartition("): ")[2].startswith("raise ")


def test_what_neither_raised_has_no_place():
    assert completion.where_raised(raised(KeyError("x"))) == ""


def test_a_message_of_any_length_stays_readable():
    assert len(completion.normalise(ValueError("x" * 10_000))) == completion.MAX_MESSAGE


def test_a_new_kind_of_finding_does_not_hide_behind_a_known_one():
    known = Finding(Stage.LOAD, "known", "node a")
    new = Finding(Stage.EXPORT, "new", "node b")
    one = verdict_of(Oracle.METADATA, [known, known])
    two = verdict_of(Oracle.METADATA, [known, new])
    assert one.message == "known"
    assert two.message == "known; new"
    assert two.stage is Stage.EXPORT
