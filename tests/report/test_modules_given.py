"""`check` also answers for `torch_tensorrt.compile` of the module itself, which exports that."""

import dataclasses

import pytest

from harness.catalogue.releases import Catalogue
from harness.gate.model_answer import Standing
from harness.report.check_report import check_html, check_json
from harness.report.check_words import answer_lines, headline
from harness.run.checked import Checked
from harness.toolchain import Toolchain
from harness.wire.routes import Route
from tests.report.checks import checked_in

RELEASE = "2.14.0"
MODELS = """
import torch

class Alike(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x * 2) + 1

class AnyNumber(torch.nn.Module):
    def forward(self, *xs):
        return torch.relu(xs[0] + 1) * xs[1]

class TwoLengths(torch.nn.Module):
    def forward(self, few, many):
        return torch.relu(few * 2).sum(0) - torch.relu(many - 1).sum(0)

def one():
    return torch.randn(4, 8)

def two():
    return torch.randn(4, 8), torch.randn(4, 8)
"""
TABLES = """
[alike]
model = "mine.py:Alike"
inputs = "mine.py:one"
[any_number]
model = "mine.py:AnyNumber"
inputs = "mine.py:two"
[lengths]
model = "mine.py:TwoLengths"
inputs = "mine.py:two"
dynamic = ["few:0=2:16", "many:0=2:16"]
"""


@pytest.fixture(scope="module")
def checked(
    tmp_path_factory: pytest.TempPathFactory, toolchain: Toolchain, catalogue: Catalogue
) -> Checked:
    folder = tmp_path_factory.mktemp("modules")
    (folder / "mine.py").write_text(MODELS)
    return checked_in(folder, TABLES, RELEASE, toolchain, catalogue)


def test_a_module_is_asked_where_another_program_is_compiled_than_torch_export_makes(checked):
    answers = dict(zip(("alike", "any_number", "lengths"), checked.answers, strict=True))
    assert checked.same_program == {"alike": (RELEASE,), "any_number": (), "lengths": ()}
    assert checked.of_module(answers["alike"]) is None
    assert "compiles the same program, so all this holds" in text(checked, "alike")
    lengths = checked.of_module(answers["lengths"])
    for answer, standing in ((answers["lengths"], Standing.RIGHT), (lengths, Standing.ERROR)):
        assert answer.calls[RELEASE, Route.NO_RETRACE].standing is standing
    assert "(one-name-for-all-sizes)" in text(checked, "lengths")


def test_the_answer_warns_of_giving_the_module_where_that_call_fails(checked):
    any_number, lengths = checked.answers[1:]
    warning = 'compile an exported program, since torch_tensorrt.compile(model, ir="dynamo", ...)'
    assert headline(checked, any_number).endswith(f"; {warning} ends there as: error")
    assert warning not in headline(checked, lengths), "the call to use is right by both"
    without = dataclasses.replace(checked, modules=None)
    assert warning not in headline(without, any_number)


def test_page_and_data_tell_of_the_module_what_the_terminal_tells(checked):
    page, told = check_html(checked), check_json(checked)
    assert page.count("<h2>Given as a module</h2>") == 3
    assert "--subject 2.14.0 --route no-retrace" in page
    same, other = told["models"][0]["module_given"], told["models"][2]["module_given"]
    assert same == {"same_program": [RELEASE], "calls": []}
    assert {"error", "right"} == {call["standing"] for call in other["calls"]}


def text(checked: Checked, model: str) -> str:
    (answer,) = [each for each in checked.answers if each.model == model]
    return "\n".join(answer_lines(checked, answer))
