"""`check`: a user's model goes in, and the release and the call to use come out."""

import dataclasses
import json
import re
import shlex
import sysconfig
import venv
from pathlib import Path

import pytest

from harness.register.defects import DEFECTS_FILE
from harness.run.stated_models import ModelOptions, models_place
from harness.toolchain.environment import PROJECT_ROOT
from tests import commands

MODEL = """
import os
import signal

import torch

class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return torch.relu(x * 2) + self.calls

class Plain(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x * 2) + 1

class Folded(torch.nn.Module):
    def forward(self, x):
        folded = torch.relu((x * 2).reshape(x.shape[0] * 2, -1))
        return folded.reshape(x.shape[0], -1) + 1

class Killed(torch.nn.Module):
    def forward(self, x):
        os.kill(os.getpid(), signal.SIGSEGV)

class KilledInExport(torch.nn.Module):
    def forward(self, x):
        if torch.compiler.is_exporting():
            os._exit(7)
        return torch.relu(x * 2) + 1

class Keyed(torch.nn.Module):
    def forward(self, batch):
        return torch.relu(batch["x"] * 2) + 1

@torch.library.custom_op("check_of_a_user::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2

@twice.register_fake
def _(x):
    return torch.empty_like(x)

class WithAnOp(torch.nn.Module):
    def forward(self, x):
        return torch.relu(twice(x + 1)) * 3

class Sized(torch.nn.Module):
    def __init__(self, size):
        super().__init__()

def example():
    return torch.randn(4, 8)

def larger():
    return torch.randn(6, 8)

def keyed():
    return ({"x": torch.randn(4, 8)},)
"""
SPLIT = ["--fallback", "relu", "--setting", "min_block_size=1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("a user")
    (folder / "mine.py").write_text(MODEL)
    return folder


def check(folder: Path, *words: str) -> tuple[int, str, str]:
    return harness(folder, "check", *words)


def harness(folder: Path, *words: str) -> tuple[int, str, str]:
    # From the user's own folder, as he would call it.
    cache = str(PROJECT_ROOT / ".cache")
    done = commands.harness(*words, cwd=folder, INLINER_REGRESS_CACHE=cache)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def upgrade(folder):
    (folder / "models.toml").write_text(
        "\n".join(
            f'[{name}]\nmodel = "mine.py:{name}"\nfallback = ["relu"]\n'
            "settings = { min_block_size = 1 }\n"
            for name in ("Counter", "Sized", "Killed", "Plain", "KilledInExport")
        )
        + '[Typo]\nmodel = "mine.py:Plain"\nfallbacks = ["relu"]\n'
        + '[Dying]\nmodel = "dying.py:Plain"\n[Leaving]\nmodel = "leaving.py:Plain"\n'
    )
    (folder / "dying.py").write_text("import os\nos.kill(os.getpid(), 11)\n")
    (folder / "leaving.py").write_text("import os\nos._exit(0)\n")
    return check(folder, "models.toml", "--from", "2.13.0", "--to", "2.14.0")


def test_of_one_model_an_upgrade_is_what_changes_and_then_its_table_of_both_releases(folder):
    code, out, err = check(folder, "mine.py:Counter", *SPLIT, "--from", "2.13.0", "--to", "2.14.0")
    assert code == 0, err  # by a call of the release to go to
    changes, _, _, releases, *calls = out.splitlines()
    assert changes == (
        "Counter: 2.13.0 to 2.14.0: gains save(m, f), save(m, f, retrace=False); use "
        "save(m, f, retrace=False)"
    )
    assert releases.split() == ["2.14.0", "2.13.0"]
    assert [line.rsplit(maxsplit=2)[1:] for line in calls[:3]] == [
        ["✗", "✗"],
        ["~", "✗"],
        ["~", "✗"],
    ]
    assert "compile(), and so every save, in 2.13.0: silently wrong, as the known defect: " in out
    told = out.partition("save(m, f), save(m, f, retrace=False) in 2.14.0: right numbers in ano")[2]
    assert "explain Counter --subject 2.14.0 --route compile --run " in told.partition("\n\n")[0]
    page = Path(re.search(r"page: (.+)", out)[1])
    assert changes in page.read_text()


def test_of_a_team_s_models_an_upgrade_is_a_line_each(upgrade):
    _, out, err = upgrade
    answer, *lines = out.splitlines()
    wrong = "Sized, Killed, KilledInExport, Typo and 2 more"
    assert answer == (
        "2.13.0 to 2.14.0 changes something for 1 of 2 models: 1 model (Counter) gains some; "
        f"not asked: {wrong}"
    ), err
    assert lines[0].startswith("Counter: 2.13.0 to 2.14.0: gains save(m, f), ")
    assert lines[3] == "Plain: 2.13.0 to 2.14.0: nothing changes; use save(m, f)"


def test_a_wrong_model_of_a_team_is_told_in_its_line_and_the_others_are_asked(upgrade):
    code, out, err = upgrade
    _, *lines = out.splitlines()
    assert code == 2, err
    assert lines[1].startswith("Sized: Sized takes arguments (size); write a ")
    assert lines[5].startswith("Typo: has no key fallbacks; there are model, inputs, fallback")
    page = Path(re.search(r"page: (.+)", out)[1])
    models = json.loads((page.parent / "check.json").read_text())["models"]
    assert [bool(model.get("wrong")) for model in models] == [
        *(False, True, True, False),
        *(True, True, True, True),
    ]
    assert "Sized takes arguments" in page.read_text()


def test_a_model_that_ends_the_process_which_calls_or_exports_it_has_its_line_too(upgrade):
    _, *lines = upgrade[1].splitlines()
    assert lines[2].startswith("Killed: the process that builds the model and calls it once was ")
    assert "was killed by SIGSEGV; " in lines[2]
    told = "KilledInExport: the process that exports the model ended: worker exited with code 7"
    assert lines[4] == told


def test_a_model_whose_import_ends_the_process_has_its_line_too(upgrade, folder):
    _, *lines = upgrade[1].splitlines()
    told = "{}: the process that imports {} {}; mend what it does there"
    dying, leaving = folder / "dying.py", folder / "leaving.py"
    assert lines[6] == told.format("Dying", dying, "was killed by SIGSEGV")
    assert lines[7] == told.format("Leaving", leaving, "exited with code 0")


def test_how_each_model_is_split_is_told_as_soon_as_it_is_known(upgrade):
    lines = upgrade[2].splitlines()
    assert lines[0] == "reading the models of models.toml"
    assert lines.index("6/8 Counter: 2 engines") < lines.index("7/8 Plain: 2 engines")


@pytest.fixture(scope="module")
def one(folder):
    return check(folder, "mine.py:Counter", *SPLIT, "--releases", "2.13.0")


def test_a_model_that_no_call_saves_right_is_red_and_names_the_known_defect(one, folder):
    code, out, err = one
    assert code == 1, err
    assert out.startswith("Counter: 2.13.0 saves it right by no call")
    assert "silently wrong, as the known defect: " in out
    assert "A buffer or KV cache is never updated: every call after the first is wrong" in out
    assert "in PyTorch as asked: aten.relu.default" in out
    assert "not asked: a GPU" in out
    page = Path(re.search(r"page: (.+)", out)[1])
    data = json.loads((page.parent / "check.json").read_text())
    (model,) = data["models"]
    assert model["use"] is None
    assert {call["standing"] for call in model["calls"]} >= {"silently wrong"}
    html = page.read_text()
    assert "<svg" in html
    assert "Counter: 2.13.0 saves it right by no call" in html


def test_the_command_that_is_printed_explains_the_call_from_any_folder(one, tmp_path):
    command = re.search(r"^  (python -m harness explain .*)$", one[1], re.MULTILINE)[1]
    code, out, err = harness(tmp_path, *shlex.split(command)[3:])
    assert code == 0, err
    assert "2.13.0" in out


def test_what_the_latest_check_asked_is_found_by_its_name_alone(one, tmp_path):
    asked = ("explain", "Counter", "--subject", "2.13.0", "--route", "compile")
    code, _, err = harness(tmp_path, *asked)
    assert (code, "no case is named Counter" in err) == (2, True)
    (tmp_path / "results").mkdir()
    run = Path(re.search(r"page: (.+)", one[1])[1]).parent
    (tmp_path / "results" / "latest").symlink_to(run)
    code, out, err = harness(tmp_path, *asked)
    assert code == 0, err
    assert "wrong-values" in out


def test_the_script_of_a_failure_holds_the_user_s_own_class_and_calls(one, folder):
    asked = "Counter --subject 2.13.0 --route compile --corpus results/models/Counter.toml"
    code, script, err = harness(folder, "reproduce", *asked.split())
    assert code == 0, err
    assert "class Counter(torch.nn.Module):" in script
    assert "model = Counter().eval().cuda()" in script
    assert 'torch_executed_ops={"torch.ops.aten.relu.default"}' in script
    assert "harness" not in script.partition('"""\n\n')[2]


def test_without_a_gpu_the_package_that_is_installed_cannot_be_asked(folder):
    code, _, err = check(folder, "mine.py:Plain", "--here")
    assert code == 3, err
    assert re.search("CUDA driver.*the engine lane needs a machine with an NVIDIA GPU", err)


def test_the_command_that_is_printed_runs_with_the_python_that_has_what_the_model_imports(
    folder, tmp_path
):
    there = tmp_path / "theirs"
    venv.create(there, with_pip=False)
    python, site = there / "bin" / "python", next(there.glob("lib/*/site-packages"))
    (site / "ours.pth").write_text(sysconfig.get_path("purelib"))
    (site / "only_there.py").write_text("double = 2\n")
    doubled = MODEL.replace("x * 2", "x * only_there.double")
    (folder / "importing.py").write_text(f"import only_there\n{doubled}")
    asked = ("importing.py:Counter", *SPLIT, "--releases", "2.13.0")
    assert "imports only_there, which is not installed here" in check(folder, *asked)[2]
    code, out, err = check(folder, *asked, "--python", python, "--save-case", "theirs.toml")
    assert code == 1, err
    command = re.search(r"^  (python -m harness explain .*)$", out, re.MULTILINE)[1]
    for name in ("explain", "reproduce"):
        code, out, err = harness(tmp_path, name, *shlex.split(command)[4:])
        assert code == 0, err
        assert "wrong-values" in out
    given = ("--corpus", "theirs.toml", "--python", python)
    words = ("reproduce", "Counter", "--subject", "2.13.0", "--route", "compile", *given)
    head = harness(folder, *words)[1].split('"""')[1]
    command = re.search(r"^    python -m harness (reproduce .*)$", head, re.MULTILINE)[1]
    assert harness(folder, *shlex.split(command))[1].split('"""')[1] == head


@pytest.fixture(scope="module")
def unknown(folder):
    """A model that shows a defect of which the register knows nothing."""
    head, *defects = DEFECTS_FILE.read_text().split("[[defect]]")
    known = [each for each in defects if 'id = "output-size-without-symbol"' not in each]
    assert len(known) == len(defects) - 1
    (folder / "planted").mkdir()
    (folder / "planted" / DEFECTS_FILE.name).write_text("[[defect]]".join([head, *known]))
    words = ("mine.py:Folded", *SPLIT, "--dynamic", "x:0=2:64", "--releases", "2.14.0")
    return check(folder, *words, "--save-case", "kept.toml", "--expectations", "planted")


def test_what_is_no_known_defect_is_reduced_to_a_script_beside_the_page(unknown):
    code, out, err = unknown
    assert code == 0, err
    assert "save(m, f) in 2.14.0: error, as no known defect" in out
    place = Path(re.search(r"page: (.+)", out)[1]).parent
    script = place / "reduced_Folded.py"
    lines = len(script.read_text().splitlines())
    assert lines < 100
    assert f"{script}: {lines} lines, exit code 1; it says: " in out
    before, after = re.search(
        r"^(\d+) ops, 1 input, .* became (\d) ops?,", out, re.MULTILINE
    ).groups()
    assert int(after) < int(before)
    assert "It bears the signs of no known defect" in script.read_text()
    assert (place / "reduced_Folded_case.py").is_file()


@pytest.mark.slow  # a check of two models, and a reduction
def test_the_command_below_a_model_of_a_team_reduces_its_failure_from_any_folder(
    unknown, folder, tmp_path
):
    asked = 'fallback = ["relu"]\nsettings = { min_block_size = 1 }\n'
    (folder / "two.toml").write_text(
        f'[Folded]\nmodel = "mine.py:Folded"\n{asked}dynamic = ["x:0=2:64"]\n'
        f'[Plain]\nmodel = "mine.py:Plain"\n{asked}'
    )
    code, out, err = check(folder, "two.toml", "--releases", "2.14.0", "--expectations", "planted")
    assert code == 0, err
    told, below, plain = out.splitlines()[:3]
    assert told.startswith("Folded: use torch_tensorrt 2.14.0 and ")
    assert plain == "Plain: use torch_tensorrt 2.14.0 and save(m, f)"
    command = below.partition("as no known defect; ")[2]
    code, out, err = harness(tmp_path, *shlex.split(command)[3:])
    assert code == 0, err
    assert "reduced_Folded.py: " in out
    assert (tmp_path / "reduced_Folded.py").is_file()


def test_a_size_that_one_piece_gives_to_another_is_told_by_the_input_that_has_it(unknown):
    assert "sizes that go from one piece into another: x:0 from _run_on_" in unknown[1]


def test_a_function_of_the_inputs_beside_the_model_is_named_by_its_name_alone(folder):
    words = ("mine.py:Plain", *SPLIT, "--inputs", "larger", "--releases", "2.14.0")
    code, out, err = check(folder, *words)
    assert code == 0, err
    assert out.startswith("Plain: use torch_tensorrt 2.14.0 and save(m, f)")
    assert '/mine.py:larger"' in (folder / "results/models/Plain.toml").read_text()


def test_a_model_that_is_given_a_dictionary_is_asked_of_the_call_that_does_not_refuse_it(folder):
    words = ("mine.py:Keyed", *SPLIT, "--inputs", "keyed", "--releases", "2.14.0")
    code, out, err = check(folder, *words)
    assert code == 0, err
    use = "use torch_tensorrt 2.14.0 and save(m, f, retrace=False), without inputs"
    assert out.startswith(f"Keyed: {use}")
    assert "error, as the known defect: save(arg_inputs=...) refuses a dict, list" in out
    run = shlex.split(re.search(r"--run (.+)", out)[1])[0]
    words = ("--subject", "2.14.0", "--route", "no-retrace-no-inputs", "--run", run)
    code, out, err = harness(folder, "explain", "Keyed", *words)
    assert code == 0, err
    assert "  values      ok" in out


def test_an_op_that_the_model_s_own_file_defines_is_there_in_the_process_that_loads(folder):
    code, out, err = check(folder, "mine.py:WithAnOp", *SPLIT, "--releases", "2.14.0")
    assert code == 0, err
    assert out.startswith("WithAnOp: use torch_tensorrt 2.14.0 and save(m, f)")


def test_what_is_asked_can_be_kept_as_a_case_to_be_run_again(unknown, folder):
    assert (
        harness(folder, "list", "--corpus", "kept.toml")[1].splitlines()[1].split()[0] == "Folded"
    )
    code, _, err = check(folder, "mine.py:Plain", "--save-case", "kept.toml")
    assert (code, "give the name of a new FILE.toml" in err) == (2, True)


def test_what_an_earlier_check_asked_stays_for_the_commands_that_it_printed(tmp_path):
    (tmp_path / "mine.py").touch()
    first = ModelOptions(str(tmp_path / "mine.py:Plain"), fallback=("relu",))
    place, new = models_place(first, tmp_path)
    before = place.read_text()
    assert (place.name, new) == ("Plain.toml", True)
    assert models_place(first, tmp_path) == (place, False)
    other, new = models_place(dataclasses.replace(first, fallback=("cos",)), tmp_path)
    assert (other.name, new) == ("Plain-1.toml", True)
    assert place.read_text() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("mine.py:Plain", "--setting", "min_block=1"), "no setting min_block; it has "),
        (("mine.py:Plain", "--setting", "min_block_size"), "write NAME=VALUE"),
        (("mine.py:Plain", "--setting", "torch_executed_ops=relu"), "write --fallback OP for"),
        (("mine.py:Plain", "--setting", "truncate_double=yes"), "takes true or false as trunc"),
        (("mine.py:Planar",), "mine.py has no Planar; it has Counter, Plain, Folded"),
        (
            ("mine.py:Plain", "--inputs", "examples"),
            "mine.py has no examples that returns the inputs",
        ),
        (("mine.py:Plain", "--inputs", "a.txt:b"), "^error: --inputs a.txt:b: write FILE.py:FUN"),
        (("elsewhere.py",), "there is no file elsewhere.py; name a model as FILE.py:CLASS"),
        (("mine.py:Plain", "--from", "2.13.0"), "--from and --to belong together"),
        (("mine.py:Plain", "--releases", "2.3.0"), "2.3.0: .* can be asked from 2.7.0 on"),
        (("mine.py:Plain", "--python", "no-such-python"), "no-such-python: no such program"),
        (("mine.py:Plain", "--python", "false"), "--python false: torch is not installed there"),
    ],
)
def test_a_user_s_mistake_is_one_sentence_and_no_verdict(folder, words, told):
    code, out, err = check(folder, *words, "--out", "nothing")
    assert code == 2, err
    assert re.search(told, err), err
    assert "Traceback" not in err
    assert not out
    assert not (folder / "nothing").exists()
