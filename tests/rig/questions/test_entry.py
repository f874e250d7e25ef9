"""The one entry point for what the controller asks the rig."""

import importlib
import sys

import pytest

from harness.base.errors import UsageError
from harness.rig.questions.__main__ import MODULES
from harness.toolchain.rig_client import ask_rig

PRINTS = """
from corpus.case import Family, Program, case
from corpus.inputs import floats
import torch

print("this corpus says hello")

@case(Family.FOUND, catches="nothing")
def our_relu():
    return Program(floats((2, 8)), model=torch.nn.ReLU())
"""


def test_every_question_has_a_function_of_its_name():
    for question, module in MODULES.items():
        assert callable(
            getattr(importlib.import_module(f"harness.rig.questions.{module}"), question)
        )


def test_what_a_corpus_prints_when_it_is_imported_is_no_answer(tmp_path):
    file = tmp_path / "our_cases.py"
    file.write_text(PRINTS)
    case, digest = ask_rig(sys.executable, "cases", corpus=[str(file)])
    assert case["name"] == "our_relu"
    assert digest.keys() == {"corpus_digest", "case_digests", "files"}


def test_a_case_that_there_is_not_is_the_user_s_mistake():
    with pytest.raises(UsageError, match="no case is named nothing"):
        ask_rig(sys.executable, "split_text", corpus=[], case="nothing", capture="nonstrict")
