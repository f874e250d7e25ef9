"""Tests of defects for upstream: each fails strictly where its defect is, and is red without it."""

import ast
import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.catalogue.releases import Catalogue, load_catalogue
from harness.mends.all import WRITTEN_FOR, mend_of
from harness.register.expected import read_expectations
from harness.register.standing import Standings, State
from harness.report.exported_tests import files_of_tests, left_out, to_export
from harness.report.sections.causes import Script
from harness.report.upstream import description, issue_text, lines_of, shortened, text_of
from harness.report.upstream_scripts import (
    Finding,
    cells_of,
    findings,
    real_cells,
    reason_of,
    shows_with_own_torch,
    told_of,
    why_none,
)
from harness.toolchain import Toolchain
from harness.wire.builders import Builder
from tests.commands import harness, python

PROJECT = Path(__file__).resolve().parents[1]
RUNNER = PROJECT / "docs" / "ten-failures" / "run.py"
KNOWN = read_expectations()
STANDINGS = Standings(KNOWN.register, KNOWN.table)
RELEASES = load_catalogue()

NEW_IN_2_14 = (
    "cache-read-twice",
    "cache-written-twice",
    "copies-still-returned",
    "tuple-for-a-tensor",
)
FIXED_IN_2_14 = ("wired-by-name", "buffers-folded")


def run_tests(folder: Path, release: str, *changed: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RUNNER), str(folder), release, *map(str, changed)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def test_what_is_exported_is_met_by_a_users_calls_and_not_so_by_design():
    exported = [each.defect for each in to_export(STANDINGS, RELEASES.get("2.14.0"))]
    ids = {each.id for each in exported}
    assert {*NEW_IN_2_14, "data-dependent-size", "save-refuses-containers"} <= ids
    assert "specialised" not in ids  # by design
    assert "pair-in-a-pair" not in ids  # handmade: no user's calls come to it
    assert "one-output-list" not in ids  # cosmetic: no file has it


@pytest.mark.slow
@pytest.mark.parametrize(
    ("having", "without", "defects"),
    [("2.14.0", "2.13.0", NEW_IN_2_14), ("2.13.0", "2.14.0", FIXED_IN_2_14)],
)
def test_an_exported_test_xfails_where_its_defect_is_and_is_red_where_it_is_not(
    having: str,
    without: str,
    defects: tuple[str, ...],
    toolchain: Toolchain,
    catalogue: Catalogue,
    tmp_path: Path,
):
    release = catalogue.get(having)
    shown = [STANDINGS.of(name, having) for name in defects]
    assert all(STANDINGS.of(each, without).state is State.ABSENT for each in defects)
    files = files_of_tests(findings(shown, STANDINGS, toolchain, release), [], release)
    assert len(files) == len(defects) + 1
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        assert "harness" not in text
    there = run_tests(tmp_path, having)
    assert there.returncode == 0, there.stdout[-3000:] + there.stderr[-2000:]
    assert there.stdout.count("\nXFAIL ") == len(defects)
    gone = run_tests(tmp_path, without)
    assert gone.returncode == 1
    for name in defects:
        assert f"[XPASS(strict)] {KNOWN.register.by_id[name].title} ({name})" in gone.stdout


@pytest.mark.slow
def test_an_exported_test_passes_over_the_release_with_its_mend_and_no_other_does(
    toolchain: Toolchain, catalogue: Catalogue, tmp_path: Path
):
    release = catalogue.get(WRITTEN_FOR)
    every = to_export(STANDINGS, release)
    mends = {each.defect.id: mend_of(each.defect.id) for each in every}
    whole = {name for name, mend in mends.items() if mend and not mend.limits}
    without = [name for name, mend in mends.items() if not mend][:3]
    shown = [each for each in every if each.defect.id in whole or each.defect.id in without]
    told = findings(shown, STANDINGS, toolchain, release)
    folder = tmp_path / "tests"
    folder.mkdir()
    files = files_of_tests(told, [], release)
    for name, text in files.items():
        (folder / name).write_text(text)
    mended = tmp_path / "mended"
    assert harness("mend", "--release", release.version, "--out", mended).returncode == 0
    done = run_tests(folder, release.version, mended)
    assert done.returncode == 1, done.stdout[-3000:] + done.stderr[-2000:]
    passing = set(re.findall(r"\[XPASS\(strict\)\].* \((.*)\)", done.stdout))
    exported = {Path(name).stem.removeprefix("test_").replace("_", "-") for name in files}
    exported &= KNOWN.register.by_id.keys()  # and no README.md
    real = {
        each.standing.defect.id for each in told if each.place and Builder(each.place.builder).real
    }
    assert done.stdout.count("\nSKIPPED ") == len(exported & real)  # engines are emulated here
    exported -= real
    assert len(exported & whole) >= 8
    assert passing == exported & whole
    assert done.stdout.count("\nXFAIL ") == len(exported - whole) > 0


@pytest.mark.slow
def test_an_issue_has_all_that_upstream_asks_for(toolchain: Toolchain, catalogue: Catalogue):
    release = catalogue.get("2.14.0")
    defect = KNOWN.register.by_id["cache-read-twice"]
    text = issue_text(defect, STANDINGS, toolchain, release)
    assert text.startswith(f"# {defect.title}\n")
    script = text.split("```python\n")[1].split("```")[0]
    ast.parse(script)
    assert "the compiled module, called: IndexError:" in text
    for section in ("Bug Description", "To Reproduce", "Expected behavior", "Cause", "Environment"):
        assert f"\n## {section}\n" in text
    for fact in (*defect.where, "torch-tensorrt 2.14.0", "nothing ran on a GPU", defect.workaround):
        assert fact.partition(" (")[0] in text
    assert "harness" not in text


@pytest.mark.slow
def test_an_issue_on_a_program_that_does_not_load_says_why_torch_refuses_it(toolchain, catalogue):
    defect = KNOWN.register.by_id["data-dependent-size"]
    text = issue_text(defect, STANDINGS, toolchain, catalogue.get("2.14.0"))
    assert "\nload: ValueError: The file model.pt2 doesn't" in text
    assert "\nload_pt2: SerializeError KeyError: u0\n" in text


def test_another_defect_is_named_by_its_title_since_upstream_has_no_register():
    register = KNOWN.register
    register = dataclasses.replace(
        register,
        defects=tuple(
            dataclasses.replace(each, why="See cache-read-twice.") for each in register.defects
        ),
    )
    (finding,) = [
        each
        for each in to_export(Standings(register, KNOWN.table), RELEASES.get("2.14.0"))
        if each.defect.id == "tuple-for-a-tensor"
    ]
    told = " ".join(told_of(finding.defect, Standings(register, KNOWN.table)))
    assert f'See "{register.by_id["cache-read-twice"].title}".' in told


def test_the_reason_of_a_test_names_what_ends_it_where_its_defect_is_fixed():
    reasons = {
        each.defect.id: reason_of(each, STANDINGS)
        for each in to_export(STANDINGS, RELEASES.get("2.13.0"))
    }
    titles = KNOWN.register.titles
    assert reasons["no-output-empty-graph"] == (
        f"{titles['no-output-empty-graph']} (no-output-empty-graph); where it is fixed, this ends "
        f"in: {titles['no-output-refused']}"
    )
    assert reasons["buffers-folded"] == f"{titles['buffers-folded']} (buffers-folded)"
    assert reasons["rows-for-outputs"] == f"{titles['rows-for-outputs']} (rows-for-outputs)"


def test_a_test_knows_what_its_defect_raises_over_other_engines_and_in_later_releases():
    def raised(release: str) -> tuple[str, ...]:
        shown = STANDINGS.shown_by("last-index-written", release)
        return STANDINGS.raised_from("last-index-written", release, shown[0].place)

    assert raised("2.14.0") == raised("2.13.0") == ("RuntimeError", "ValueError")
    assert raised("2.7.0") == ("AssertionError", "RuntimeError", "ValueError")


def test_an_issue_tells_the_lines_of_one_release_and_of_torch_apart():
    told = {
        name: "\n".join(lines_of(KNOWN.register.by_id[name], release, "2.14.0"))
        for name, release in (
            ("rows-for-outputs", "2.14.0"),
            ("no-output-refused", "2.13.0"),
            ("strided-cache-copied", "2.14.0"),
            ("wired-by-name", "2.12.0"),
        )
    }
    ours, torchs = told["rows-for-outputs"].split("In torch 2.")
    assert ours.startswith("In torch_tensorrt 2.14.0:\n\n- `inline_trt_modules` (")
    assert "`insert_subgm` (torch/fx/" in torchs
    assert told["no-output-refused"] == (
        "In torch_tensorrt 2.13.0:\n\n- `compile_module` (dynamo/_compiler.py:1199)"
    )
    assert told["strided-cache-copied"].endswith(
        "In sources that were read and not run:\n\n"
        "- `setup_input_tensors` (core/runtime/execute_engine.cpp:140)"
    )
    assert "(dynamo/_exporter.py:232, 2.13.0)" in told["wired-by-name"]


def test_an_issue_on_what_upstream_has_fixed_says_so_before_its_script():
    script = Script("", "", "", "", "")
    fixed = Finding(STANDINGS.of("size-into-engine", "2.14.0"), script, None, "error")
    assert description(fixed).endswith("\n\n#4628 fixes it, which is in no release yet.")
    alive = Finding(STANDINGS.of("rows-for-outputs", "2.14.0"), script, None, "error")
    assert "fixes it" not in description(alive)
    old = Finding(STANDINGS.of("wired-by-name", "2.13.0"), script, None, "silent")
    assert "in no release yet" not in description(old)


def test_an_issue_says_what_its_script_shows_and_that_other_models_meet_worse():
    standing, script = STANDINGS.of("rows-for-outputs", "2.14.0"), Script("", "", "", "", "")
    told = description(Finding(standing, script, None, "interface"))
    assert told.startswith("This can affect a model that is split by the global partitioner. The n")
    assert told.endswith(" Other models fare worse: it raises an exception.")
    assert "worse" not in description(Finding(standing, script, None, "error"))


@pytest.mark.parametrize("defect", [each.id for each in KNOWN.register.defects])
def test_an_issue_describes_who_meets_a_defect_and_does_not_say_its_title_again(defect):
    standing = STANDINGS.newest_with(defect)
    if standing is not None:
        told = description(Finding(standing, Script("", "", "", "", "")))
        assert standing.defect.title not in told
        assert told.startswith(("This can affect a model that ", "This can affect any model. "))


def test_an_issue_says_if_the_torch_that_the_release_pins_does_not_show_it():
    text = text_of(finding_of("complex-of-reals"), STANDINGS, RELEASES.get("2.14.0"))
    assert "; an error with torch 2.14.0, which 2.14.0 pins." in text
    assert " pins." not in text_of(finding_of("rows-for-outputs"), STANDINGS, RELEASES.newest)


def test_an_issue_without_a_script_says_how_to_come_to_it_if_the_register_knows():
    text = text_of(finding_of("engine-in-a-fallback-left-behind"), STANDINGS, RELEASES.newest)
    assert (
        "## To Reproduce\n\nThere is no script. The model that is compiled holds an engine" in text
    )
    text = text_of(finding_of("engine-without-inputs"), STANDINGS, RELEASES.newest)
    assert "\n\nThere is no script. None was asked.\n" in text
    assert "In the script below" not in text


def test_an_issue_says_whether_the_torch_that_the_release_pins_shows_its_script_too():
    release = RELEASES.get("2.14.0")

    def ran(name: str) -> str:
        place = STANDINGS.shown_by(name, "2.14.0")[0].place
        text = text_of(dataclasses.replace(finding_of(name), place=place), STANDINGS, release)
        return next(line for line in text.splitlines() if "which is what ran" in line)

    assert ran("strided-cache-copied").endswith("what ran; torch 2.14.0 shows it, too")
    assert ran("complex-of-reals").endswith(
        "what ran; torch 2.14.0 does not show it with this model"
    )


def test_a_script_has_a_model_that_fails_with_the_torch_that_the_release_pins_if_one_does():
    release = RELEASES.get("2.14.0")
    for each in to_export(STANDINGS, release):
        name, places = each.defect.id, [cell.place for cell in cells_of(each, STANDINGS, release)]
        own = [shows_with_own_torch(name, place, STANDINGS, release) for place in places]
        assert own == sorted(own, reverse=True), name
        gone = STANDINGS.milder_in(name, "2.14.0", "torch-2.14") == ""
        assert not own or own[0] is not gone, name


def test_an_issue_names_the_cause_by_which_most_of_its_models_fail_elsewhere():
    text = text_of(finding_of("copy-back-in-memory"), STANDINGS, RELEASES.get("2.14.0"))
    title = KNOWN.register.titles["buffers-folded"]
    others = f'- In 2.7.0 to 2.13.0 the same models fail for another reason, most often: "{title}".'
    assert others in text
    assert KNOWN.register.titles["dynamic-bound-of-a-write"] not in text


def finding_of(name: str) -> Finding:
    return Finding(STANDINGS.of(name, "2.14.0"), Script("", "", "", "none was asked", ""))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("defect", "why"),
    [
        ("effect-deleted", "what stands behind the lowering"),
        ("in-place-declared", "what stands behind the lowering"),
        ("one-name-two-values", "puts a split module together by hand"),
        ("cross-without-inputs", "makes the two calls below on it"),
    ],
)
def test_an_issue_on_what_no_users_call_shows_has_a_short_script_that_says_why_it_calls_more(
    defect: str, why: str, toolchain: Toolchain, catalogue: Catalogue
):
    text = issue_text(KNOWN.register.by_id[defect], STANDINGS, toolchain, catalogue.get("2.14.0"))
    script = text.split("```python\n")[1].split("```")[0]
    ast.parse(script)
    assert why in script.replace("\n", " ")
    assert "harness" not in script
    assert len(script.splitlines()) < 130
    assert "\n## Expected behavior\n" in text
    assert "\nIt prints:\n" in text


@pytest.mark.slow
def test_an_issue_on_what_another_torch_shows_has_a_script_and_says_that_it_was_not_run(
    toolchain: Toolchain, catalogue: Catalogue
):
    defect = KNOWN.register.by_id["complex-inside-returns-a-node"]
    text = issue_text(defect, STANDINGS, toolchain, catalogue.get("2.14.0"))
    assert "This script was not run as it stands, because it takes torch 2.14." in text
    assert "\n- torch 2.14, which is what ran" in text
    assert "retrace=False)" in text


def test_an_issue_on_a_release_that_has_not_the_defect_is_refused_without_torch(tmp_path):
    done = python("-m", "harness", "defects", "wired-by-name", "--issue", "--release", "2.14.0")
    assert done.returncode == 2
    assert "2.14.0 does not show wired-by-name: absent" in done.stderr


def test_what_is_not_exported_is_listed_with_the_reason():
    told = {each.defect.id: why for each, why in left_out(STANDINGS, RELEASES.get("2.14.0"))}
    exported = {each.defect.id for each in to_export(STANDINGS, RELEASES.get("2.14.0"))}
    having = STANDINGS.having("2.14.0", State.SHOWN, State.HIDDEN)
    assert told.keys() | exported == {each.defect.id for each in having}
    assert not told.keys() & exported
    assert told["specialised"] == "it is so by design"
    assert "splits of a module made otherwise" in told["pair-in-a-pair"]
    assert told["one-output-list"].startswith("only a program in memory has it")
    assert "library for it" in told["cross-without-inputs"]
    assert "library for it" in told["cross-no-engine"]
    before = dict(left_out(STANDINGS, RELEASES.get("2.6.0")))
    assert {*before.values()} >= {"no whole package of 2.6.0 is asked, but its inliner alone"}
    release = RELEASES.get("2.14.0")
    readme = files_of_tests([], left_out(STANDINGS, RELEASES.get("2.14.0")), release)["README.md"]
    assert all(
        f"- {KNOWN.register.by_id[each].title}: {why}." in readme for each, why in told.items()
    )


def test_an_export_of_nothing_says_why(tmp_path):
    done = harness("defects", "wired-by-name", "--export-tests", tmp_path, "--release", "2.14.0")
    assert done.returncode == 2
    assert "there is nothing to export: 2.14.0 does not show wired-by-name" in done.stderr
    done = harness("defects", "pair-in-a-pair", "--export-tests", tmp_path, "--release", "2.14.0")
    assert done.returncode == 3
    assert "tests of 0 of 1 defects of 2.14.0" in done.stdout
    assert "no model that was compiled shows it" in done.stdout


def test_what_real_engines_or_another_torch_alone_show_is_told_by_its_own_reason():
    def why(name: str) -> str:
        return why_none(STANDINGS.of(name, "2.14.0"), STANDINGS)

    assert why("complex-inside-returns-a-node").startswith("it shows with torch 2.14 alone, and")
    assert real_cells(STANDINGS.of("slice-without-an-end", "2.14.0"), STANDINGS)
    assert "splits of a module made otherwise" in why("pair-in-a-pair")


@pytest.mark.parametrize("root", ["/home/me/", ""])
def test_what_a_script_prints_names_no_place_of_the_machine_and_keeps_how_it_ends(root: str):
    lines = [f'  File "{root}.venv/lib/python3.11/site-packages/torch/{n}.py"' for n in range(20)]
    told = shortened("\n".join(["save: SerializeError: it failed", *lines, "AssertionError: why"]))
    assert "venv" not in told
    assert 'File "torch/0.py"' in told
    assert told.startswith("save: SerializeError")
    assert told.endswith("AssertionError: why")
    assert len(told.splitlines()) == 12


@pytest.mark.slow
def test_an_issue_on_what_real_engines_alone_show_has_a_script_that_was_run_with_such(
    toolchain: Toolchain, catalogue: Catalogue
):
    defect = KNOWN.register.by_id["slice-without-an-end"]
    text = issue_text(defect, STANDINGS, toolchain, catalogue.get("2.14.0"))
    assert "\ncompile: ValueError: operands could not be broadcast together" in text
    assert "Engines were built by tensorrt-rtx-" in text
    assert "emulated" not in text
