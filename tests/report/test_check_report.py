"""What a check on a GPU leaves behind, made of a check with emulated engines."""

import dataclasses
import html
import re
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.base.program import PROGRAM, as_called_here
from harness.catalogue.releases import Catalogue
from harness.gate.model_answer import CallAnswer, Cause, ModelAnswer, Standing
from harness.machine.cuda import Device
from harness.register.defects import read_register
from harness.report.check_causes import causes_told, difference_words
from harness.report.check_report import check_html, write_check
from harness.report.check_words import answer_lines
from harness.run.checked import Checked
from harness.runs.gpu_evidence import contributed, seen_on_gpus
from harness.subjects.packages import Installed
from harness.toolchain import Toolchain
from harness.wire.builders import BuilderKind
from harness.wire.oracles import Harm
from harness.wire.routes import Route
from tests.report.checks import checked_in

MODEL = """
import torch

class Secret(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return torch.relu(x * 2) + self.calls

def example():
    return torch.randn(4, 8)
"""


@pytest.fixture(scope="module")
def checked(
    tmp_path_factory: pytest.TempPathFactory, toolchain: Toolchain, catalogue: Catalogue
) -> Checked:
    folder = tmp_path_factory.mktemp("check")
    (folder / "secret.py").write_text(MODEL)
    tables = (
        '[secret]\nmodel = "secret.py"\nfallback = ["relu"]\nsettings = { min_block_size = 1 }\n'
    )
    return checked_in(folder, tables, "2.13.0", toolchain, catalogue)


@pytest.fixture
def on_a_gpu(checked: Checked) -> Checked:
    installed = Installed("2.13.0", BuilderKind.RTX, "1.4.0", Device("a GPU", (8, 9)))
    return dataclasses.replace(checked, installed=installed)


def test_evidence_says_what_was_seen_and_nothing_of_the_model(on_a_gpu: Checked, tmp_path: Path):
    page = write_check(on_a_gpu, "", "")
    (tmp_path / "one.json").write_text((page.parent / "evidence.json").read_text())
    (evidence,) = contributed(tmp_path)
    assert (evidence.gpu, evidence.release, evidence.tensorrt) == ("a GPU", "2.13.0", "1.4.0")
    assert evidence.calls["compile()"] == "silently wrong"
    assert len(evidence.structure) == 16
    assert list(seen_on_gpus((evidence,), "nothing")) == []
    assert "buffers-folded" in evidence.defects
    for defect in evidence.defects:
        assert list(seen_on_gpus((evidence,), defect)) == [
            "a GPU, torch_tensorrt 2.13.0 with TensorRT 1.4.0"
        ]
    assert "secret" not in (tmp_path / "one.json").read_text().lower()


def test_a_page_of_emulated_engines_says_so_and_one_of_a_gpu_names_it(
    checked: Checked, on_a_gpu: Checked
):
    assert "No GPU has run it" in check_html(checked)
    assert "engines ran on a GPU" in check_html(on_a_gpu)
    # A phone may break a call where a part of it ends, and nowhere else.
    assert "<code>save(<wbr>m, f, retrace=<wbr>False)</code>" in check_html(checked)
    lines = [list(answer_lines(each, each.answers[0])) for each in (checked, on_a_gpu)]
    assert [any("not asked: a GPU" in line for line in each) for each in lines] == [True, False]


@pytest.mark.parametrize(
    ("shows", "words"),
    [
        ("call 0: output 1: 3 of 64 elements", "call 1: output 1: 3 of 64 elements"),
        (
            "call 0: TreeSpec(tuple, None, [*]), should be *",
            "call 1: a tuple of one tensor, should be the tensor itself",
        ),
        (
            "changed [], should be ['torch.float32 ()', 'torch.float32 (2, 4)']",
            "of the model's own tensors 2 should have changed, and none did",
        ),
    ],
)
def test_where_a_program_differs_is_told_in_words(shows: str, words: str):
    assert difference_words(shows) == words


def test_a_bare_number_is_told_with_what_it_counts():
    of = "another number of outputs"
    assert difference_words("3, should be 1", of) == "another number of outputs: 3, should be 1"


def test_the_difference_and_the_split_of_the_release_to_use_are_told(checked: Checked):
    (answer,) = checked.answers
    lines = list(answer_lines(checked, answer))
    (told,) = {line for line in lines if line.startswith("  differs: ")}
    assert re.match(r"  differs: call \d: output 0: .* of 32 ", told), told
    assert any(line.startswith("split by 2.13.0: 2 engines") for line in lines)
    best = CallAnswer("2.10.0", Route.RETRACE, Standing.RIGHT)
    older = dataclasses.replace(answer, best=best)
    told_of = {("secret", "2.10.0"): {"engines": 7, "fallbacks": [], "crossing": []}}
    with_older = dataclasses.replace(checked, split_by=told_of)
    assert "split by 2.10.0: 7 engines; in PyTorch nothing" in [*answer_lines(with_older, older)]


def test_a_release_that_pins_another_torch_is_told_below_the_answer(checked: Checked):
    best = CallAnswer("2.13.0", Route.RETRACE, Standing.RIGHT)
    answer = dataclasses.replace(checked.answers[0], best=best)
    other = dataclasses.replace(checked, torch="2.11.0+cpu")
    assert [*answer_lines(other, answer)][1] == (
        "torch_tensorrt 2.13.0 pins torch 2.13.0; it was asked here with torch 2.11.0"
    )
    assert "2.13.0 pins torch 2.13.0" in check_html(dataclasses.replace(other, answers=(answer,)))
    assert [*answer_lines(checked, answer)][1] == ""


def test_a_page_prints_the_commands_that_the_console_prints_where_python_is_another_one(
    checked: Checked, monkeypatch
):
    monkeypatch.setenv("PATH", "/where there is/no python")
    told = [line.strip() for line in answer_lines(checked, checked.answers[0]) if PROGRAM in line]
    assert told
    here = {as_called_here(line) for line in told}
    assert not here & {*told}
    page = html.unescape(check_html(checked))
    assert [line for line in here if line not in page] == []


def test_only_the_saves_that_end_as_compile_does_are_told_with_it(checked: Checked):
    compiled = Route.COMPILE
    routes, releases = (compiled, Route.RETRACE, Route.NO_RETRACE), ("2.14.0", "2.13.0")
    wrong = Cause((), "numbers differ", Harm.SILENT)

    def calls(*standings: Standing) -> dict[tuple[str, Route], CallAnswer]:
        return {
            (release, route): CallAnswer(
                release, route, standing, (wrong,) if route is compiled else ()
            )
            for release in releases
            for route, standing in zip(routes, standings, strict=True)
        }

    def told(*standings: Standing) -> str:
        answer = ModelAnswer("secret", releases, routes, calls(*standings), None)
        (cause,) = causes_told(checked, answer)
        return cause.calls

    silent, right = Standing.SILENT, Standing.RIGHT
    every = "compile(), and so every save, in 2.13.0 to 2.14.0"
    assert told(silent, silent, silent) == every
    assert told(silent, silent, right) == "compile(), and so save(m, f), in 2.13.0 to 2.14.0"
    assert told(silent, right, right) == "compile() in 2.13.0 to 2.14.0"


def test_engines_that_were_really_built_are_told_as_that(checked: Checked):
    built = dataclasses.replace(checked, builder="tensorrt-rtx")
    (line,) = [each for each in answer_lines(built, built.answers[0]) if "not asked" in each]
    assert "not asked: a GPU: tensorrt-rtx really builds the engines, which are emulated" in line


def test_damaged_evidence_is_named_with_its_file(tmp_path: Path):
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(UsageError, match=r"bad\.json: no evidence of a check, or damaged"):
        contributed(tmp_path)
    assert contributed(tmp_path / "absent") == ()


def test_a_release_to_upgrade_to_that_fails_this_model_as_well_is_said(checked: Checked):
    known = read_register().by_id["complex-input-refused"]
    defect = dataclasses.replace(known, workaround="Upgrade to 2.12.0.")
    refused = Cause((defect,), "refused", Harm.ERROR)

    def instead(newest: Standing) -> str:
        calls = {
            ("2.12.0", Route.COMPILE): CallAnswer("2.12.0", Route.COMPILE, newest),
            ("2.11.0", Route.COMPILE): CallAnswer(
                "2.11.0", Route.COMPILE, Standing.ERROR, (refused,)
            ),
        }
        answer = ModelAnswer("secret", ("2.12.0", "2.11.0"), (Route.COMPILE,), calls, None)
        (cause,) = causes_told(checked, answer)
        return cause.instead

    assert instead(Standing.RIGHT) == instead(Standing.NOT_ASKED) == "Upgrade to 2.12.0."
    assert instead(Standing.SILENT).endswith("and the call fails in 2.12.0 all the same.")


@pytest.mark.parametrize(
    ("saved", "more"),
    [
        (Standing.RIGHT, ""),
        (Standing.NOT_ASKED, ""),
        (Standing.SILENT, " But for this model that fails in 2.14.0, too: save(m, f)."),
    ],
)
def test_a_call_to_make_instead_that_fails_this_model_as_well_is_said(checked, saved, more):
    defect = read_register().by_id["copy-back-in-memory"]
    shown = Cause((defect,), "numbers differ", Harm.SILENT)
    release, compiled, save = "2.14.0", Route.COMPILE, Route.RETRACE
    calls = {
        (release, compiled): CallAnswer(release, compiled, Standing.SILENT, (shown,)),
        (release, save): CallAnswer(release, save, saved),
    }
    told = causes_told(checked, ModelAnswer("m", (release,), (compiled, save), calls, None))
    assert [each.instead for each in told if each.instead] == [defect.workaround + more]
