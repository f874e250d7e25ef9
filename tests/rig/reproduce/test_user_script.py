"""Which failures a user's calls can show, and what a script and a test of them look like."""

import ast
import builtins
import dataclasses
import re
import sys

import pytest

from corpus.case import find_case
from harness.rig.capture.capture import capture
from harness.rig.reproduce.failures import Differs, Failure, Raises, failures_of
from harness.rig.reproduce.user_calls import UserCalls, user_calls
from harness.rig.reproduce.user_script import user_script, user_test
from harness.wire.oracles import Harm, Oracle, Symptom
from harness.wire.records import Verdict
from harness.wire.routes import Route
from harness.wire.vocabulary import Outcome, Stage
from tests.commands import python

EAGER = "split module against eager: "


def verdict(oracle: Oracle, stage: Stage, message: str) -> Verdict:
    return Verdict(oracle, Outcome.FAILED, Symptom.ERROR, stage, message)


def calls_of(case: str, route: Route) -> UserCalls:
    return user_calls(capture(find_case(case), "nonstrict"), route, "nonstrict")


@pytest.mark.parametrize(
    ("oracle", "stage", "message", "failures"),
    [
        (
            Oracle.COMPLETION,
            Stage.COMPILE,
            "IndexError: index 1",
            [Raises("compile", "IndexError"), Raises("compiled", "IndexError")],
        ),
        (Oracle.COMPLETION, Stage.CLEAN, "KeyError: 1", [Raises("save", "KeyError")]),
        (
            Oracle.COMPLETION,
            Stage.SAVE,
            "AssertionError in lift: assert it",
            [Raises("save", "AssertionError")],
        ),
        # `torch_tensorrt.load` calls every failure a file that is no program.
        (Oracle.COMPLETION, Stage.LOAD, "RuntimeError: u0", [Raises("load", "ValueError")]),
        # The emulated engine's own exception; TensorRT's runtime raises a RuntimeError.
        (Oracle.COMPLETION, Stage.RUN, "EngineRefusal: 1", [Raises("loaded", "RuntimeError")]),
        (
            Oracle.VALUES,
            Stage.COMPILE,
            f"{EAGER}numbers differ; {EAGER}structure differs",
            [Differs("compiled", "structure"), Differs("compiled", "numbers", leaves=True)],
        ),
        (
            Oracle.VALUES,
            Stage.COMPILE,
            f"{EAGER}an input is left otherwise",
            [Differs("compiled", "inputs")],
        ),
        (Oracle.VALUES, Stage.RUN, "numbers differ", [Differs("loaded", "numbers")]),
        (Oracle.METADATA, Stage.EXPORT, "another dtype", [Differs("loaded", "metadata")]),
        (
            Oracle.UNFLATTEN,
            Stage.RUN,
            "unflattened: numbers differ",
            [Differs("unflattened", "numbers", leaves=True)],
        ),
        (Oracle.UNFLATTEN, Stage.LOAD, "unflatten raises A", [Raises("unflatten", "A")]),
        (
            Oracle.STATE,
            Stage.EXPORT,
            "a constant became a buffer",
            [Differs("loaded", "persistent")],
        ),
        (Oracle.STATE, Stage.EXPORT, "a buffer is lost", []),
        (Oracle.DETERMINISM, Stage.RUN, "numbers differ", []),
    ],
)
def test_a_verdict_stands_for_what_a_user_sees(oracle, stage, message, failures):
    assert [*failures_of(verdict(oracle, stage, message), Route.RETRACE)] == failures


def test_no_call_of_a_user_shows_metadata_that_a_program_in_memory_alone_has():
    declared = verdict(Oracle.METADATA, Stage.EXPORT, "a list")
    assert [*failures_of(dataclasses.replace(declared, harm=Harm.COSMETIC), Route.RETRACE)] == []


def test_of_a_verdict_with_two_findings_only_the_one_that_is_meant_is_shown():
    both = verdict(Oracle.VALUES, Stage.COMPILE, f"{EAGER}numbers differ; {EAGER}structure differs")
    packed, numbers = f"{EAGER}structure differs", f"{EAGER}numbers differ"
    assert [*failures_of(both, Route.COMPILE, [packed])] == [Differs("compiled", "structure")]
    found = [*failures_of(both, Route.COMPILE, [numbers])]
    assert found == [Differs("compiled", "numbers", leaves=True)]


@pytest.mark.parametrize(
    ("oracle", "stage", "message", "failure"),
    [
        (Oracle.VALUES, Stage.RUN, "numbers differ", Differs("compiled", "numbers")),
        (Oracle.COMPLETION, Stage.RUN, "IndexError: 1", Raises("compiled", "IndexError")),
        # torch wraps what a backend raises.
        (
            Oracle.COMPLETION,
            Stage.COMPILE,
            "ValueError: no view",
            Raises("compiled", "BackendCompilerFailed"),
        ),
    ],
)
def test_what_torch_compile_does_wrong_is_seen_when_its_module_is_called(
    oracle, stage, message, failure
):
    assert [*failures_of(verdict(oracle, stage, message), Route.TORCH_COMPILE)] == [failure]


FAILURES = (
    ("running_state", Route.NO_RETRACE, Differs("loaded", "numbers")),
    ("running_state", Route.COMPILE, Differs("compiled", "state")),
    ("input_written_whole", Route.COMPILE, Differs("compiled", "inputs")),
    ("running_state", Route.TORCH_COMPILE, Differs("compiled", "numbers")),
    ("relu_once", Route.TORCH_COMPILE, Raises("compiled", "BackendCompilerFailed")),
    ("keywords_in_another_order_at_save", Route.RETRACE, Differs("loaded", "numbers")),
    ("dynamic_batch", Route.RETRACE_DYNAMIC, Raises("loaded", "AssertionError")),
    ("transposed_output", Route.NO_RETRACE, Raises("save", "SerializeError")),
    ("cache_read_by_two_engines", Route.COMPILE, Raises("compiled", "IndexError")),
    ("count_of_nonzero", Route.NO_RETRACE, Raises("load", "ValueError")),
    ("relu_once", Route.NO_RETRACE, Differs("loaded", "persistent")),
    ("relu_once", Route.RETRACE, Raises("unflatten", "ValueError")),
    ("relu_once", Route.RETRACE, Differs("unflattened", "numbers")),
)


@pytest.mark.parametrize(("case", "route", "failure"), FAILURES, ids=lambda each: str(each))
def test_a_script_and_a_test_are_short_and_of_a_users_calls_alone(case, route, failure):
    calls = calls_of(case, route)
    for text in (
        user_script(calls, failure, '"""What fails."""'),
        user_test(calls, failure, '"""What fails."""', "a-defect", 'It says "no"'),
    ):
        tree = ast.parse(text)
        assert len(text.splitlines()) < 90
        assert "harness" not in text
        assert unbound(tree) == set()
        assert roots(tree) - set(sys.stdlib_module_names) <= {"torch", "torch_tensorrt", "pytest"}
        assert ("torch_tensorrt.save(" in text) == (not route.row.in_memory)


def test_a_script_without_its_package_says_what_to_install_and_ends_by_no_answer(tmp_path):
    file = tmp_path / "script.py"
    docstring = '"""What fails.\n\n    pip install torch-tensorrt==2.14.0\n"""'
    calls = calls_of("relu_once", Route.RETRACE)
    file.write_text(user_script(calls, Raises("unflatten", "ValueError"), docstring))
    done = python(file)
    assert (done.returncode, done.stderr) == (125, "")
    said = "No module named 'torch_tensorrt'; first: pip install torch-tensorrt==2.14.0\n"
    assert done.stdout == said


def unbound(tree: ast.AST) -> set[str]:
    """The names that a module reads and nothing in it binds."""
    nodes = [*ast.walk(tree)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    bound |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {
        (each.asname or each.name).partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for each in node.names
    }
    bound |= {node.name or "" for node in nodes if isinstance(node, ast.ExceptHandler)}
    return {node.id for node in names} - bound - {*dir(builtins)}


def roots(tree: ast.AST) -> set[str]:
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {each.partition(".")[0] for each in imported}


def exit_codes(failure: Failure) -> list[int]:
    text = user_script(calls_of("running_state", Route.NO_RETRACE), failure, '"""What fails."""')
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    ends = [node for node in calls if ast.unparse(node.func) == "sys.exit"]
    # Where a package is lacking, what is printed comes before the code.
    return sorted(int(ast.unparse(node.args[0]).rpartition(" or ")[2]) for node in ends)


@pytest.mark.parametrize(
    "failure",
    [
        Raises("save", "KeyError"),
        Differs("loaded", "numbers"),
        Differs("loaded", "structure"),
        Differs("loaded", "inputs"),
        Differs("loaded", "state"),
        Differs("loaded", "persistent"),
        Differs("loaded", "metadata"),
        Differs("unflattened", "numbers", leaves=True),
        Raises("unflatten", "ValueError"),
    ],
    ids=str,
)
def test_a_script_ends_with_1_where_it_fails_and_with_0_at_its_end_and_else_by_125(failure):
    assert exit_codes(failure) == [0, 1, 125]


def test_a_model_with_state_is_called_twice_with_other_inputs():
    text = user_script(
        calls_of("cache_in_one_engine", Route.COMPILE), Differs("compiled", "numbers"), '""""""'
    )
    assert text.count("torch.tensor([") == 2
    assert "expected = run(copy.deepcopy(model), calls)" in text


def test_an_input_that_a_model_returns_is_held_against_itself_as_it_was():
    """The compiled module may write to it, and then to what eager returned."""
    calls = calls_of("input_returned", Route.COMPILE)
    text = user_script(calls, Differs("compiled", "numbers"), '""""""')
    assert "expected = pytree.tree_leaves(copy.deepcopy(model(*inputs)))" in text


def test_a_test_is_expected_to_fail_strictly_and_by_its_own_exception():
    calls = calls_of("relu_once", Route.NO_RETRACE)
    text = user_test(calls, Raises("save", "KeyError"), '"""It."""', "no-outputs", 'Says "no" (it)')
    assert '@pytest.mark.xfail(strict=True, raises=KeyError, reason="Says \\"no\\" (it)")' in text
    assert "def test_no_outputs(tmp_path):" in text
    assert text.rstrip().splitlines()[-1].strip().startswith("torch_tensorrt.save(")


def test_a_test_of_what_cannot_be_compiled_calls_it_too_and_knows_what_other_engines_raise():
    calls, failure = calls_of("relu_once", Route.COMPILE), Raises("compile", "RuntimeError")
    text = user_test(calls, failure, '"""It."""', "a-defect", "It", also=["ValueError"])
    assert "raises=(RuntimeError, ValueError)" in text
    assert text.rstrip().endswith("\n    compiled(*inputs)")
    assert "raises=RuntimeError" in user_test(calls, failure, '"""It."""', "a-defect", "It")


def test_a_script_of_sizes_that_a_release_ties_calls_with_sizes_that_differ():
    calls = calls_of("module_given_two_sizes_of_one_range", Route.NO_RETRACE)
    given, _ = calls.several
    assert given.count("torch.randn(2, 8)") == given.count("torch.randn(3, 8)") == 1
    assert calls.export == (), "the package exports the module itself"


def test_a_script_that_gives_a_module_states_the_shapes_that_it_gives_to_save():
    calls = calls_of("module_given_two_sizes_of_one_range", Route.RETRACE_DYNAMIC)
    assert "\n".join(calls.save).count("shapes = ") == 1


def test_a_script_names_the_sizes_that_its_user_names_and_no_other():
    (compiling,) = calls_of("module_given_named_sizes", Route.COMPILE).compile
    named = re.findall(r"shared_dims=\{0: '(\w+)'\}", compiling)
    assert named == ["few", "few", "many"]
    (compiling,) = calls_of("module_given_two_ranges", Route.COMPILE).compile
    assert "shared_dims" not in compiling
