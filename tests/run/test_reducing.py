"""A model that fails is reduced to a small one that fails by the same defect, and told so."""

import dataclasses
import sys

import pytest

from harness.base.errors import UsageError
from harness.cli.reducing import reduced
from harness.gate.signature import Known, signature_of
from harness.register.expected import read_expectations
from harness.run.reducing import Asked, reduce_model
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import graph_lane
from harness.wire.oracles import Harm, Oracle, Symptom
from harness.wire.records import CellKey, CellRecord, Verdict
from harness.wire.routes import Route
from harness.wire.vocabulary import CellState, Outcome, Stage
from tests.commands import harness, python
from tests.rig.reducing.models import DEEP

RELEASE = "2.13.0"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    file = tmp_path_factory.mktemp("mine") / "deep_models.py"
    file.write_text(DEEP)
    return str(file)


@pytest.fixture(scope="module")
def known():
    expectations = read_expectations(corpus=["mine"])
    return Known(expectations.table, expectations.register)


@pytest.fixture
def asked(place, library, release_specs):
    def make(case, **changes):
        setup = graph_lane(library, [release_specs[RELEASE]], [place])
        return Asked(case, "nonstrict", RELEASE, (Route.EXPORT,), setup, **changes)

    return make


def nothing(tried):
    """Watches no try."""


@pytest.mark.slow  # half a minute each on an idle machine
@pytest.mark.parametrize(
    ("case", "defect"),
    [("deep_effect", "effect-deleted"), ("deep_collision", "wired-by-name")],
)
def test_a_model_of_200_steps_comes_down_to_8_nodes_that_fail_by_the_same_defect(
    case, defect, asked, known
):
    done = reduce_model(asked(case), known, sys.executable, nothing)
    assert done.before.ops > 200
    assert done.after.nodes <= 8
    assert done.signature.defect == defect
    assert (done.verdict.oracle, done.verdict.harm) == (Oracle.VALUES, Harm.SILENT)
    assert not done.interrupted


def test_ctrl_c_keeps_the_smallest_so_far(asked, known):
    kept = []

    def until_some_are_kept(tried):
        kept.extend([tried.size] if tried.kept else [])
        if len(kept) == 3:
            raise KeyboardInterrupt

    done = reduce_model(asked("small_effect"), known, sys.executable, until_some_are_kept)
    assert done.interrupted
    assert done.before.ops > done.after.ops > 1
    assert done.after.ops <= kept[1].ops
    assert "def reduced():" in done.text


def test_ctrl_c_before_anything_was_smaller_says_that_nothing_is_written(
    asked, known, monkeypatch, capsys
):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("harness.cli.reducing.reduce_model", interrupted)
    with pytest.raises(SystemExit) as ended:
        reduced(asked("small_effect"), known, sys.executable)
    assert ended.value.code == 130
    assert "before anything was smaller; nothing is written" in capsys.readouterr().err


def test_when_its_time_is_over_a_reduction_ends_with_the_smallest_so_far(asked, known):
    tries = []
    done = reduce_model(asked("small_effect", limit_s=0.0), known, sys.executable, tries.append)
    assert len(tries) == done.tries == 2
    assert not done.interrupted
    assert "def reduced():" in done.text


@pytest.mark.parametrize(
    ("case", "choice", "says"),
    [
        ("packed_call", {}, "packed_call does not fail in 2.13.0 by export"),
        (
            "small_effect",
            {"harm": "error"},
            "does not fail by error in .*; it shows what is silent",
        ),
        ("relu_once", {}, "no case is named relu_once"),
    ],
)
def test_what_does_not_fail_so_is_told_in_a_sentence(case, choice, says, asked, known):
    with pytest.raises(UsageError, match=says):
        reduce_model(asked(case, **choice), known, sys.executable, nothing)


def test_a_command_decides_by_its_exit_code(asked, known, tmp_path):
    check = tmp_path / "check.py"
    check.write_text(
        "import sys\ntext = open(sys.argv[1]).read()\n"
        "sys.exit(1 if 'cos' in text and 'tanh' in text else 0)\n"
    )
    wanted = dataclasses.replace(
        asked("small_effect"), check=f"{sys.executable} {check}", subject=""
    )
    done = reduce_model(wanted, known, sys.executable, nothing)
    assert done.after.ops == 2
    assert "cos" in done.text
    assert "tanh" in done.text
    check.write_text("import sys\nsys.exit(2)\n")
    with pytest.raises(UsageError, match="the command says of small_effect itself"):
        reduce_model(wanted, known, sys.executable, nothing)


def test_what_cannot_be_given_to_a_command_is_not_told_as_its_answer(asked, known, tmp_path):
    check = tmp_path / "check.py"
    check.write_text("import sys\nsys.exit(int('topk' in open(sys.argv[1]).read()))\n")
    by_command = {"check": f"{sys.executable} {check}", "subject": ""}
    named = dataclasses.replace(asked("returns_a_named_tuple"), **by_command)
    done = reduce_model(named, known, sys.executable, nothing)
    assert done.after.ops == 2  # and the getitem
    hooked = dataclasses.replace(asked("has_a_hook"), **by_command)
    with pytest.raises(UsageError, match=r"cannot be written down .* its after_compile is a func"):
        reduce_model(hooked, known, sys.executable, nothing)


def test_what_no_call_of_a_user_shows_is_a_short_script_of_what_stands_behind_lowering(
    place, tmp_path
):
    script = tmp_path / "small.py"
    done = harness(
        *("reduce", "tiny_effect", "--corpus", place, "--subject", RELEASE),
        *("--route", "export", "--out", script),
    )
    assert done.returncode == 0, done.stderr
    assert " ops, 1 input, 1 fallback became 1 op" in done.stdout
    assert "It bears the signs of the known defect effect-deleted: " in done.stdout
    assert done.stdout.count("state is left otherwise") == 1
    text = script.read_text()
    assert "known defect effect-deleted" in text
    assert f"torch-tensorrt=={RELEASE}" in text
    assert "aten.add_.Tensor" in text
    assert "compile() lowers this model to another one" in text
    assert "compiled, _ = fast_partition(" in text
    command = f"    python -m harness reduce tiny_effect --corpus {place} --subject {RELEASE} "
    assert f"Made by\n\n{command}--route export --out {script}\n" in text
    assert len(text.splitlines()) < 95
    assert (tmp_path / "small_case.py").read_text().count("aten.add_.Tensor") == 2
    with_release = PROJECT_ROOT / "docs" / "ten-failures" / "run.py"
    assert python(with_release, script, RELEASE).returncode == 1
    healed = text.replace("        compiled,\n", "        program,\n")
    assert healed != text
    script.write_text(healed)
    assert python(with_release, script, RELEASE).returncode == 0


def test_of_a_user_s_own_case_the_calls_of_the_package_are_reduced_before_the_inliner_alone(
    place, tmp_path
):
    script = tmp_path / "small.py"
    done = harness(
        "reduce", "tiny_effect", "--corpus", place, "--subject", RELEASE, "--out", script
    )
    assert done.returncode == 0, done.stderr
    assert f"{RELEASE}, compile(): wrong-values@compile, silent: " in done.stdout
    assert "It bears the signs of the known defect buffers-folded: " in done.stdout
    text = script.read_text()
    assert "torch_tensorrt.dynamo.compile(" in text
    assert len(text.splitlines()) < 80


def test_the_script_of_a_failure_shows_that_one_and_not_what_the_call_shows_beside(tmp_path):
    (tmp_path / "count.py").write_text(
        "import torch\nclass Count(torch.nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.register_buffer('n', torch.zeros(1))\n"
        "    def forward(self, x):\n        self.n.add_(1)\n        return torch.relu(x) + self.n\n"
        "def example():\n    return torch.randn(4, 8)\n"
    )
    (tmp_path / "count.toml").write_text('[count]\nmodel = "count.py"\nfallback = ["relu"]\n')
    where = ("--corpus", tmp_path / "count.toml", "--out", tmp_path / "small.py")
    done = harness("reduce", "count", *where, "--subject", "2.14.0", "--route", "compile")
    assert done.returncode == 0, done.stderr
    assert "the known defect copy-back-in-memory: " in done.stdout
    # Beside the lost write the module returns a tuple for a tensor, which is another defect.
    assert "it says: the compiled module has not written to buffers what eager has" in done.stdout


def test_what_a_run_does_not_ask_a_case_is_no_failure_of_it(tmp_path):
    """Nothing with an input can be cross-compiled, which would always be the worst."""
    (tmp_path / "plain.py").write_text(
        "import torch\nclass Plain(torch.nn.Module):\n    def forward(self, x):\n"
        "        return torch.relu(x * 2) + 1\ndef example():\n    return torch.randn(4, 8)\n"
    )
    (tmp_path / "plain.toml").write_text('[plain]\nmodel = "plain.py"\nfallback = ["relu"]\n')
    where = ("--corpus", tmp_path / "plain.toml", "--out", tmp_path / "small.py")
    done = harness("reduce", "plain", *where, "--subject", RELEASE, "--lane", "graph")
    assert done.returncode == 2, done.stdout
    assert f"plain does not fail in {RELEASE} by legacy or export" in done.stderr


def test_a_handmade_split_which_has_no_model_is_refused_with_the_command_that_shows_it():
    done = harness("reduce", "drawn_lone_fallback", "--subject", RELEASE)
    assert done.returncode == 2
    assert "drawn_lone_fallback is a split without a model" in done.stderr
    assert "harness show drawn_lone_fallback" in done.stderr


# ------------------------------------------------------------------ what counts as the same


def verdict(oracle, message, stage=Stage.INLINE_FALLBACKS, harm=Harm.SILENT):
    symptom = {Oracle.COMPLETION: Symptom.ERROR}.get(oracle, oracle.row.symptom)
    return Verdict(oracle, Outcome.FAILED, symptom, stage, message, harm=harm)


def record(*verdicts):
    key = CellKey("mine", "nonstrict", RELEASE, Route.EXPORT)
    return CellRecord(key, CellState.ENDED, verdicts)


DELETED = verdict(Oracle.VALUES, "state is left otherwise")
MISWIRED = verdict(Oracle.VALUES, "numbers differ")
COUNT = verdict(Oracle.WIRING, "another number of mutations and random draws")
OTHER_ENGINE = verdict(Oracle.WIRING, "reads another engine")
OTHER_WEIGHT = verdict(Oracle.WIRING, "reads another parameter or constant")


def test_the_same_verdict_of_the_same_defect_is_the_same_failure(known):
    signature, _ = signature_of([record(DELETED, COUNT)], known)
    assert signature.defect == "effect-deleted"
    assert signature.shown_by(record(DELETED, COUNT)) is DELETED


def test_a_defect_that_needs_what_the_model_lacks_is_not_that_of_the_failure(known):
    needs = known.register.by_id["effect-deleted"].models
    lacking = dataclasses.replace(known, lacks=tuple(needs))
    assert needs
    assert signature_of([record(DELETED, COUNT)], lacking)[0].defect != "effect-deleted"


@pytest.mark.parametrize(
    "other",
    [
        record(),
        record(COUNT),
        record(MISWIRED, OTHER_ENGINE),
        record(DELETED, COUNT, OTHER_ENGINE),
        record(dataclasses.replace(DELETED, harm=Harm.WARNED), COUNT),
        record(verdict(Oracle.COMPLETION, "AssertionError", harm=Harm.ERROR)),
        dataclasses.replace(record(DELETED, COUNT), state=CellState.UNSUPPORTED),
    ],
)
def test_another_harm_oracle_or_defect_is_another_failure(other, known):
    signature, _ = signature_of([record(DELETED, COUNT)], known)
    assert signature.shown_by(other) is None


def test_wrong_numbers_of_another_wire_are_another_failure(known):
    """Both bear the sign of wrong numbers; what is wired otherwise tells them apart."""
    signature, _ = signature_of([record(MISWIRED, OTHER_WEIGHT)], known)
    assert signature.defect == "one-name-two-values"
    assert signature.shown_by(record(MISWIRED, OTHER_ENGINE)) is None
    assert signature.shown_by(record(MISWIRED, OTHER_WEIGHT)) is MISWIRED


def test_the_failure_that_is_meant_is_chosen_by_harm_oracle_or_defect(known):
    raises = verdict(Oracle.COMPLETION, "KeyError: a", Stage.EXPORT, Harm.ERROR)
    cells = [record(raises), record(DELETED, COUNT)]
    assert signature_of(cells, known)[0].harm is Harm.SILENT
    assert signature_of(cells, known, harm="error")[0].oracle is Oracle.COMPLETION
    assert signature_of(cells, known, oracle="wiring")[0].oracle is Oracle.WIRING
    assert signature_of(cells, known, defect="effect-deleted")[0].defect == "effect-deleted"
    assert signature_of(cells, known, defect="wired-by-name") is None
