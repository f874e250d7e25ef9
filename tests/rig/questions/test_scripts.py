"""A failure's script, with torch and a wheel alone: it shows the failure, and no other."""

import ast
import contextlib
import dataclasses
import io
import os
import runpy
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.rig.questions.reproduce import scripts
from harness.rig.reproduce.trial import Trials
from harness.toolchain.rig_client import graph_lane
from harness.wire.records import SubjectSpec
from harness.wire.vocabulary import SubjectKind
from tests.commands import python

OURS = frozenset({"corpus", "harness", "tests"})

VALUES = ("inputs_read_in_reverse", "legacy", "2.13.0", "2.14.0", "wrong-values", "should be -")
ASSERTION = ("only_fallbacks", "legacy", "2.13.0", "2.14.0", "error", "fallbacks: AssertionError")
OTHERS = (
    ("named_like_an_earlier_getitem", "export", "2.13.0", "2.14.0", "wrong-values", "call 0"),
    ("inputs_in_both_orders", "export", "2.13.0", "2.14.0", "error", "export: RuntimeError"),
    ("two_outputs", "legacy", "2.10.0", "2.12.1", "error", "export: KeyError"),
    ("one_linear_in_two_fallbacks", "legacy", "2.13.0", "2.14.0", "wrong-structure", "duplicate"),
    ("dynamic_batch_of_two_inputs", "legacy", "2.10.0", "2.12.1", "wrong-signature", "is lost"),
    ("frozen_weight_in_fallback", "legacy", "2.13.0", "2.14.0", "lost-state", "requires_grad"),
    ("linear_beside_an_output", "legacy", "2.13.0", "2.14.0", "wrong-metadata", "strides"),
)
"""Case, route, a release that fails, one that does not, the symptom, and words of what is said."""


@pytest.fixture(scope="module")
def trials():
    return Trials()


def answer(library: Path, spec: SubjectSpec, case: str, **wanted: Any) -> dict[str, str]:
    asked: dict[str, Any] = {
        "case": case,
        "capture": "nonstrict",
        "routes": ["legacy"],
        "labels": [],
        "what": "",
    }
    asked |= {"file": f"{case}.py", "command": "the command by {route}", "subject": spec.subject}
    (answered,) = scripts({**graph_lane(library, [spec]), "wanted": [asked | wanted]})
    return answered


def labelled(oracle: str, label: str) -> list[list[str]]:
    return [[oracle, label]]


@pytest.mark.parametrize("failure", [VALUES, ASSERTION], ids=lambda each: each[0])
def test_a_script_shows_its_failure_in_the_release_that_has_it_alone(
    failure, library, release_specs, trials
):
    case, route, bad, good, symptom, words = failure
    answered = answer(library, release_specs[bad], case, routes=[route])
    assert answered["why_not"] == ""
    assert answered["label"].startswith(symptom)
    assert words in answered["said"]
    there, said, _ = trials.shows(answered["script"], [str(release_specs[good].wheel_path)])
    assert (there, said) == (False, "the defect is not there")


@pytest.mark.slow
@pytest.mark.parametrize("failure", [VALUES, *OTHERS], ids=lambda each: "-".join(each[:2]))
def test_a_script_is_a_command_that_bisects(failure, library, release_specs, tmp_path):
    """By itself, in a folder of its own: what it needs is torch and the wheel's file."""
    case, route, bad, good, symptom, words = failure
    answered = answer(library, release_specs[bad], case, routes=[route])
    assert answered["label"].startswith(symptom), answered["why_not"]
    script = tmp_path / "script.py"
    script.write_text(answered["script"])
    ended = {}
    for release in (bad, good):
        wheel = str(release_specs[release].wheel_path)
        done = python("-I", script.name, wheel, cwd=tmp_path)
        ended[release] = done.returncode
        assert (words in done.stdout) == (release == bad), done.stdout + done.stderr
    assert ended == {bad: 1, good: 0}


def run_away_from_the_checkout(script: str, wheel: str) -> tuple[str, object]:
    """What a script prints, and its exit code, where nothing of this project can be imported."""
    for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
        del sys.modules[name]
    sys.path[:] = [path for path in sys.path if not (Path(path) / "corpus").is_dir()]
    os.chdir(Path(script).parent)
    sys.argv = [script, wheel]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.raises(SystemExit) as ended:
        runpy.run_path(script, run_name="__main__")
    return printed.getvalue(), ended.value.code


@pytest.mark.parametrize(
    ("case", "route", "words"),
    [
        ("keywords_in_another_order_at_save", "export", "reloaded program: call 0, output 0"),
        ("custom_op_that_writes", "legacy", "operator 'corpus.remember.default' is not functional"),
        ("star_arguments_of_a_dynamic_batch", "export", "`dynamic_shapes` has 1 elements"),
        ("half_of_a_size_out", "export", "instead found type 'FakeTensor'"),
        ("rows_by_item", "legacy", "an error when deserializing the saved file"),
    ],
)
def test_a_script_has_what_its_case_gives_to_save_and_what_it_imports(
    case, route, words, library, release_specs, ask_torch, tmp_path
):
    spec = release_specs["2.14.0"]
    answered = answer(library, spec, case, routes=[route])
    assert answered["why_not"] == ""
    script = tmp_path / "script.py"
    script.write_text(answered["script"])
    printed, ended = ask_torch(run_away_from_the_checkout, str(script), str(spec.wheel_path))
    assert words in printed
    assert ended == 1


def test_an_exporter_file_takes_the_place_of_the_wheels(library, release_specs, trials, tmp_path):
    old, new = (release_specs[version] for version in ("2.13.0", "2.14.0"))
    answered = answer(library, old, VALUES[0])
    assert new.wheel_path is not None
    file = tmp_path / "_exporter.py"
    file.write_bytes(zipfile.ZipFile(new.wheel_path).read("torch_tensorrt/dynamo/_exporter.py"))
    there, said, _ = trials.shows(answered["script"], [str(old.wheel_path), str(file)])
    assert (there, said) == (False, "the defect is not there")


def crossed(like: SubjectSpec, folder: Path) -> SubjectSpec:
    """A release's exporter as a candidate that gives a fallback its inputs in reverse."""
    assert like.wheel_path is not None
    source = zipfile.ZipFile(like.wheel_path).read("torch_tensorrt/dynamo/_exporter.py")
    file = folder / "my_exporter.py"
    file.write_bytes(source.replace(b"submodule_inputs[idx]", b"submodule_inputs[-1 - idx]"))
    return dataclasses.replace(
        like, subject="file:my_exporter-1", kind=SubjectKind.FILE, exporter_path=str(file)
    )


def test_a_wrong_wire_that_changes_no_number_has_a_script_as_well(
    library, release_specs, trials, tmp_path
):
    like = release_specs["2.14.0"]
    candidate = crossed(like, tmp_path)
    answered = answer(library, candidate, "residual_over_a_fallback")
    assert answered["label"] == "wrong-wiring@inline-fallbacks", answered["why_not"]
    told = "aten.mul.Tensor reads output 0 of _run_on_acc_0, should read output 0 of _run_on_acc_2"
    assert answered["said"].endswith(told)
    for files, fails in (((like.wheel_path,), False), ((like.wheel_path, candidate), True)):
        given = [each if isinstance(each, str) else str(each.exporter_path) for each in files]
        there, said, _ = trials.shows(answered["script"], given)
        assert there is fails, said


def test_a_script_of_a_candidate_is_called_as_it_says_itself(
    library, release_specs, trials, tmp_path
):
    like = release_specs["2.14.0"]
    candidate = crossed(like, tmp_path)
    answered = answer(library, candidate, VALUES[0], routes=["export"])
    assert answered["why_not"] == ""
    (call,) = [line for line in answered["script"].splitlines() if line.startswith("    python ")]
    (*_, wheel, exporter) = call.split()
    assert (wheel, exporter) == ("torch_tensorrt-2.14.0-*.whl", "my_exporter.py")
    there, *_ = trials.shows(answered["script"], [like.wheel_path, str(tmp_path / exporter)])
    assert there


def test_a_script_of_a_wheel_that_no_registry_has_names_its_file(library, release_specs):
    nightly = dataclasses.replace(
        release_specs["2.13.0"], subject="2.15.0.dev1", kind=SubjectKind.FILE, release="2.14.0"
    )
    script = answer(library, nightly, VALUES[0])["script"]
    assert nightly.wheel_path is not None
    assert f"    python {VALUES[0]}.py {Path(nightly.wheel_path).name}\n" in script
    assert "pip download" not in script


def test_what_ends_before_the_failure_is_no_answer(library, release_specs, trials):
    answered = answer(library, release_specs["2.6.0"], VALUES[0], routes=["cross"])
    assert answered["label"].startswith("wrong-values")
    there, said, _ = trials.shows(answered["script"], [str(release_specs["2.14.0"].wheel_path)])
    assert not there
    assert said.startswith("cannot be told: it ended before that, at ")


def test_a_recorded_split_has_the_metadata_that_the_global_partitioner_left(library, release_specs):
    name = "recorded_chunk_halves_global_partitioner"
    answered = answer(library, release_specs["2.14.0"], name, routes=["export"])
    assert answered["label"] == "wrong-values@inline-fallbacks"
    assert "another structure" in answered["said"]
    assert answered["script"].count("bare=True") == 1  # of two engines the one with one output


def test_a_program_for_another_platform_that_is_not_saved_shows_its_wires(library, release_specs):
    wiring = labelled("wiring", "wrong-wiring@inline-fallbacks")
    answered = answer(library, release_specs["2.13.0"], VALUES[0], routes=["cross"], labels=wiring)
    assert answered["why_not"] == ""
    assert VALUES[-1] in answered["said"]


def test_a_wheel_that_is_none_is_no_answer(library, release_specs, trials, tmp_path):
    answered = answer(library, release_specs["2.13.0"], VALUES[0])
    there, said, _ = trials.shows(answered["script"], [str(tmp_path / "no.whl")])
    assert not there
    assert said.startswith("cannot be told: the script itself fails")


def test_a_script_that_falls_over_shows_nothing(trials):
    there, said, _ = trials.shows("raise ValueError('planted')", [])
    assert (there, said) == (False, "ValueError: planted")


def test_a_script_that_says_it_but_does_not_end_so_shows_nothing(trials):
    there, *_ = trials.shows("print('the defect is there: planted')", [])
    assert not there


def test_what_does_not_fail_has_no_script(library, release_specs):
    answered = answer(
        library, release_specs["2.14.0"], VALUES[0], labels=labelled("values", "wrong-values@run")
    )
    assert answered["script"] == ""
    assert answered["why_not"] == "it does not fail so today"


def imported(script: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(script)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_a_script_imports_torch_and_the_standard_library_alone(library, release_specs):
    text = answer(library, release_specs["2.13.0"], VALUES[0])["script"]
    roots = {name.partition(".")[0] for name in imported(text)}
    assert "torch" in roots
    assert roots <= {*sys.stdlib_module_names, "torch"}
    assert "pip download --no-deps torch-tensorrt==2.13.0" in text
    assert "Made by `the command by legacy`" in text
