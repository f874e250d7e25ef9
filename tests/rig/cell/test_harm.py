"""Harm: graded by what a person who saves and loads sees, and not by which oracle found it."""

import logging
import warnings

import pytest

from harness.rig.cell.harm import DAMAGED, announced, harm_of
from harness.rig.cell.warned import recorded_warnings
from harness.rig.oracles.finding import Finding
from harness.wire.oracles import Harm, Oracle
from harness.wire.vocabulary import Stage

COPYBACK = (
    "Module has non-KV mutable buffer(s) needing copy-back, but retrace=False with "
    "use_legacy_exporter=False does not declare them. The saved program's signature will not "
    "reflect those updates."
)

AGAINST_EAGER = "split module against eager"


@pytest.mark.parametrize(
    ("oracle", "stage", "kind", "harm"),
    [
        (Oracle.VALUES, Stage.RUN, "numbers differ", Harm.SILENT),
        (Oracle.VALUES, Stage.RUN, "state is left otherwise", Harm.SILENT),
        (Oracle.VALUES, Stage.RUN, "structure differs", Harm.INTERFACE),
        (Oracle.VALUES, Stage.COMPILE, f"{AGAINST_EAGER}: structure differs", Harm.INTERFACE),
        (Oracle.VALUES, Stage.COMPILE, f"{AGAINST_EAGER}: numbers differ", Harm.SILENT),
        (Oracle.WIRING, Stage.LOAD, "reads another engine", Harm.SILENT),
        (Oracle.SIGNATURE, Stage.LOAD, "a range constraint is lost", Harm.INTERFACE),
        (Oracle.STATE, Stage.LOAD, "a parameter has another requires_grad", Harm.INTERFACE),
        (Oracle.METADATA, Stage.LOAD, "element of an engine: another shape", Harm.INTERFACE),
        (Oracle.METADATA, Stage.EXPORT, "element of an engine: a list", Harm.COSMETIC),
        (Oracle.METADATA, Stage.EXPORT, "model input: another dtype", Harm.INTERFACE),
        (Oracle.VALUES, Stage.INLINE_FALLBACKS, "inlined module: numbers differ", Harm.COSMETIC),
        (Oracle.STRUCTURE, Stage.INLINE_ENGINES, DAMAGED, Harm.INTERFACE),
    ],
)
def test_each_finding_does_the_harm_that_its_user_sees(oracle, stage, kind, harm):
    assert harm_of(oracle, [Finding(stage, kind)], reloaded=True) is harm


def test_the_worst_finding_of_a_program_on_disk_decides():
    found = [
        Finding(Stage.EXPORT, "element of an engine: a list"),
        Finding(Stage.RUN, "structure differs"),
        Finding(Stage.RUN, "numbers differ"),
    ]
    assert harm_of(Oracle.VALUES, found, reloaded=True) is Harm.SILENT
    assert harm_of(Oracle.VALUES, found[:2], reloaded=True) is Harm.INTERFACE


def test_whatever_is_wrong_with_a_program_that_never_ran_is_an_error_to_its_user():
    found = [Finding(Stage.INLINE_FALLBACKS, "reads another engine")]
    assert harm_of(Oracle.WIRING, found, reloaded=False) is Harm.ERROR


def test_nothing_found_does_no_harm():
    assert harm_of(Oracle.VALUES, [], reloaded=False) is None


def test_silent_harm_that_the_release_announces_is_warned():
    found = [Finding(Stage.RUN, "state is left otherwise")]
    assert announced([COPYBACK])
    assert harm_of(Oracle.VALUES, found, reloaded=True, warned=True) is Harm.WARNED
    assert not announced(["Provided model is a torch.fx.GraphModule and retrace is False"])


def test_an_announcement_makes_no_other_harm_less():
    found = [Finding(Stage.LOAD, "another upper bound")]
    assert harm_of(Oracle.SIGNATURE, found, reloaded=True, warned=True) is Harm.INTERFACE


def test_log_lines_and_warnings_of_the_release_are_recorded_once_and_those_of_others_not():
    logger = logging.getLogger("torch_tensorrt.dynamo._exporter")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with recorded_warnings() as told:
            for _ in range(2):
                logger.warning("lost in %s at 0x7f00aa11bb22", "/tmp/x/y.pt2")
            logger.info("not worth a word")
            logging.getLogger("somebody").warning("else")
            text, place = "use arg_inputs", "/wheel.whl/torch_tensorrt/_compile.py"
            warnings.warn_explicit(text, UserWarning, place, 3, module="torch_tensorrt._compile")
            warnings.warn("mine", stacklevel=1)
    assert told == ["lost in y.pt2 at", "use arg_inputs"]


def test_recording_leaves_no_handler_behind():
    before = list(logging.getLogger().handlers)
    with pytest.raises(KeyError), recorded_warnings():
        raise KeyError
    assert logging.getLogger().handlers == before
