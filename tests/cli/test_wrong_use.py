"""Wrong input gives one clear message and the right exit code, and nothing is lost."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import cli
from harness.bench.options import BenchOptions
from harness.catalogue.releases import CATALOGUE_FILE, load_catalogue
from harness.cli import benching, cataloguing, fuzzing, mutating, running
from harness.run.options import RunOptions
from harness.runs.run_folder import RunFolder
from harness.toolchain import Toolchain
from harness.wire.vocabulary import SubjectKind
from tests.record_builders import key, planned, provenance, subject


@pytest.fixture
def harness(monkeypatch, capfd):
    """`python -m harness`, in this process: exit code, and all that was printed."""

    def run(*arguments: str | Path) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["harness", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capfd.readouterr()
        return int(ended.value.code or 0), printed.out + printed.err

    return run


def one_error(printed: str) -> str:
    lines = [line for line in printed.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, printed
    assert "Traceback" not in printed
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--releases", "9.9.9"], "9.9.9"),
        (["run", "--releases", ">=7"], "no release"),
        (["run", "--like", "2.13.0"], "give one of them too"),
        (["run", "--exporter", "x.py", "--like", "1.0"], "1.0"),
        (["run", "--exporter", "no/such/file.py"], "no/such/file.py"),
        (["run", "--capture", "sideways"], "nonstrict, strict or functional"),
        (["run", "--shard", "1-4"], "I/N"),
        (["run", "--exporter", "x.py", "--lane", "engine"], "the release that is installed here"),
        (["run", "--wheel", "x.whl", "--lane", "graph,engine"], "leave out --lane engine"),
        (["run", "--checkout", "no/such/folder/at/all"], "git working tree of Torch-TensorRT"),
        (["run", "--exporter", "x.py", "--wheel", "x.whl"], "two candidates; judge one at a time"),
        (["run", "--base", "HEAD"], "--base says what --checkout is held against"),
        (["run", "--quick", "--full"], "give one of them"),
        (["run", "--resume", "latest", "--releases", "2.13.0"], "--releases with --resume"),
        (["run", "--resume", "latest", "-k", "a", "--seed", "1"], "-k, --seed with --resume"),
        (["run", "-k", "drawn_0003"], "some are for `--full` alone"),
        (["run", "--expectations", "no/such/folder"], "no/such/folder: no such folder"),
        (["run", "--wheelhouse", "no/such/folder"], "no/such/folder"),
        (["explain", "pr_4360"], "name a --subject"),
        (["explain", "pr_4360", "--subject", "positional", "--route", "legacy"], "no route legacy"),
        (["explain", "pr_436", "--subject", "positional"], "did you mean pr_4360?"),
        (["reproduce", "pr_4360"], "name a --subject"),
        (["reproduce", "pr_4360", "--subject", "positional"], "positional has no wheel"),
        (
            ["reproduce", "pr_4360", "--subject", "2.3.0", "--lane", "package"],
            "the lane begins with 2.7.0",
        ),
        (
            ["explain", "pr_4360", "--subject", "2.14.0", "--lane", "engine"],
            "goes through the lane graph and package, and not engine",
        ),
        (["explain", "relu_once", "--subject", "2.14.0", "--route", "no"], "there are legacy"),
        (["show", "no_such_case"], "no case is named no_such_case"),
        (["list", "-k", "nothing_like_this"], "no case matches"),
        (["list", "-k", "a b"], "expected words joined by"),
        (["list", "--family", "nothing"], "no family is named like"),
        (["summary", "no-such-run"], "no run 'no-such-run'"),
        (["expected", "no-such-run"], "no run 'no-such-run'"),
        (["expected", "--update"], "--update: name a run"),
        (["expected", "--update", "--review", "latest"], "give one of them"),
        (["defects", "wired-by-nam"], "did you mean wired-by-name?"),
        (["defects", "--release", "1.0"], "1.0: the table knows 2.3.0"),
        (["defects", "--call", "nothing"], "--call 'nothing': compile, save"),
        (["defects", "--new-in", "2.3.0"], "2.3.0 is the oldest release here"),
        (["record", "recorded_nothing"], "no recording is named recorded_nothing; "),
        (["record", "--release", "1.0.0"], "1.0.0"),
        (["crossing", "--releases", "2.5.0,2.14.0"], "whole package of 2.5.0 cannot be run here"),
        (["crossing", "--routes", "legacy"], "--routes 'legacy': no-retrace, retrace, no-retrace-"),
        (["crossing", "--routes", "compile"], "--routes 'compile': no-retrace, retrace"),
        (["crossing", "--python", "2.14.0"], "--python '2.14.0': RELEASE=PATH"),
        (["crossing", "--python", "2.14.0=/no/python"], "the path of a Python that is there"),
        (["crossing", "--python", f"2.99.0={sys.executable}"], "unknown release '2.99.0'"),
        (["crossing", "-k", "no_such_case"], "no case matches 'no_such_case'"),
        (
            ["crossing", "--releases", "2.10.0", "--routes", "retrace-dynamic"],
            "no release saves any of these",
        ),
    ],
)
def test_wrong_use_is_exit_code_2_and_one_message(harness, arguments, message):
    code, printed = harness(*arguments)
    assert code == 2, printed
    assert message in one_error(printed)


@pytest.mark.parametrize("arguments", [["run", "--no-such-flag"], ["fly"], ["run", "--jobs", "x"]])
def test_a_flag_that_does_not_exist_is_exit_code_2(harness, arguments):
    code, printed = harness(*arguments)
    assert code == 2
    assert "Traceback" not in printed


CANNOT_BE_ASKED = "input_written_whole"  # in an engine


def not_asked(printed: str) -> list[str]:
    """What a run says that it could not ask."""
    assert "Traceback" not in printed
    return [line.strip() for line in printed.splitlines() if "cannot be asked" in line]


def test_a_case_of_the_projects_own_that_cannot_be_asked_and_is_not_listed_is_exit_code_3(
    harness, tmp_path, toolchain
):
    nothing_is_expected = tmp_path / "expectations"
    nothing_is_expected.mkdir()
    asked = ("-k", CANNOT_BE_ASKED, "--releases", "2.14.0", "--jobs", "1")
    places = ("--expectations", nothing_is_expected, "--out", tmp_path / "out")
    code, printed = harness("run", *asked, *places)
    assert code == 3, printed
    (told,) = not_asked(printed)
    assert told.startswith(f"not asked: {CANNOT_BE_ASKED} [")
    assert "at compile: UnsupportedSegment: " in told


@pytest.mark.parametrize(
    ("source", "message"),
    [("def transform(:\n", "line 1"), ("def transform(gm): ...\n", "inline_trt_modules")],
)
def test_an_exporter_file_that_is_none_is_exit_code_2(harness, tmp_path, source, message):
    path = tmp_path / "_exporter.py"
    path.write_text(source)
    code, printed = harness("run", "--exporter", path, "--out", tmp_path / "out")
    assert code == 2
    assert message in one_error(printed)
    assert not (tmp_path / "out").exists()


def test_an_exporter_file_that_does_not_import_is_told_as_its_own_fault(
    harness, tmp_path, toolchain
):
    path = tmp_path / "_exporter.py"
    calls = ("transform", "inline_trt_modules", "inline_torch_modules", "create_trt_exp_program")
    path.write_text("import no_such_module\n" + "\n".join(f"def {n}(): ..." for n in calls))
    code, printed = harness("run", "--exporter", path, "-k", "relu_once", "--out", tmp_path / "out")
    assert code == 2, printed
    assert "No module named 'no_such_module'" in one_error(printed)


def test_a_wheel_with_a_wrong_hash_is_exit_code_4(harness, tmp_path):
    for release in load_catalogue():
        (tmp_path / release.wheel).write_bytes(b"not the wheel")
    code, printed = harness("run", "--wheelhouse", tmp_path, "--out", tmp_path / "out")
    assert code == 4
    assert "SHA-256" in one_error(printed)


def test_no_compiler_is_exit_code_4(harness, tmp_path, monkeypatch):
    monkeypatch.setenv("INLINER_REGRESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", "no-such-compiler")
    code, printed = harness("run", "--offline", "-k", "relu_once", "--out", tmp_path / "out")
    assert code == 4, printed
    assert "no-such-compiler" in one_error(printed)


def test_a_folder_that_cannot_be_written_is_exit_code_4(harness, tmp_path):
    (tmp_path / "file").write_text("in the way")
    code, printed = harness("run", "--offline", "-k", "relu_once", "--out", tmp_path / "file" / "x")
    assert code == 4, printed
    assert str(tmp_path / "file") in one_error(printed)


def test_a_crash_of_the_harness_is_never_red(harness, monkeypatch):
    def crash(*_: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(cataloguing, "load_catalogue", crash)
    code, printed = harness("releases")
    assert code == 4
    assert "the harness itself crashed" in printed
    assert "planted" in printed


def test_ctrl_c_is_exit_code_130_and_names_no_run_where_none_was_made(harness, monkeypatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cataloguing, "load_catalogue", interrupt)
    code, printed = harness("releases")
    assert (code, printed) == (130, "interrupted; what has ended is kept\n")


def test_ctrl_c_while_a_command_is_imported_is_no_traceback(harness, monkeypatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "application", interrupt)
    assert harness("run") == (130, "interrupted; what has ended is kept\n")


def test_a_command_that_is_terminated_ends_as_by_ctrl_c():
    code = (
        "import os, signal, sys, time\n"
        "from harness.cli import cataloguing, main\n"
        "def terminated(*_):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(60)\n"
        "cataloguing.load_catalogue = terminated\n"
        "sys.argv = ['harness', 'releases']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (130, "interrupted; what has ended is kept\n")


def interrupted_in(folder: str, link: str) -> Callable[..., None]:
    """A run or a bench that has made its folder when Ctrl-C comes."""

    def interrupt(options: RunOptions | BenchOptions, *_: object) -> None:
        (options.out / folder).mkdir()
        (options.out / link).symlink_to(folder)
        raise KeyboardInterrupt

    return interrupt


def test_ctrl_c_in_a_run_names_the_folder_that_it_made(harness, monkeypatch, tmp_path):
    monkeypatch.setattr(running, "run", interrupted_in("RUN", "latest"))
    asked = ("run", "-k", "relu_once", "--out", tmp_path)
    code, printed = harness(*asked)
    assert code == 130
    goes_on = f"resume: python -m harness run --resume {tmp_path}/RUN --out {tmp_path}"
    assert printed.splitlines()[-1] == goes_on

    def interrupt_before_it_has_a_folder(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run", interrupt_before_it_has_a_folder)
    code, printed = harness(*asked)
    assert (code, "resume" in printed) == (130, False)


def test_ctrl_c_in_a_bench_names_the_folder_that_it_made(harness, monkeypatch, tmp_path):
    monkeypatch.setattr(benching, "bench", interrupted_in("bench-RUN", "latest-bench"))
    code, printed = harness("bench", "--out", tmp_path, "--python", "2.13.0=/other/python")
    assert code == 130
    goes_on = f"bench --resume {tmp_path}/bench-RUN --out {tmp_path} --python 2.13.0=/other/python"
    assert printed.splitlines()[-1] == f"resume: python -m harness {goes_on}"


def test_a_bench_that_goes_on_keeps_its_budget_where_none_is_given(harness, monkeypatch, tmp_path):
    budgets = []

    def interrupted(which: str, *others: object) -> None:
        budgets.append(others[4])
        raise KeyboardInterrupt

    monkeypatch.setattr(benching, "resume", interrupted)
    code, printed = harness("bench", "--resume", "latest", "--out", tmp_path)
    assert (code, budgets) == (130, [None])
    assert f"resume: python -m harness bench --resume latest --out {tmp_path}" in printed


@pytest.mark.parametrize("command", [fuzzing, mutating])
def test_ctrl_c_in_a_campaign_says_that_the_same_command_goes_on(
    harness, monkeypatch, tmp_path, command
):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "workers_on", interrupt)
    name = {fuzzing: "fuzz", mutating: "mutants"}[command]
    code, printed = harness(name, "--lane", "graph", "--out", tmp_path)
    assert code == 130
    assert printed.endswith("interrupted; what has ended is kept; the same command goes on\n")


def test_how_long_an_interrupted_run_took_is_not_known(harness, tmp_path):
    cell = planned(key("pr_4360", "2.14.0", "legacy"))
    RunFolder.create(tmp_path, provenance(subject("2.14.0", "legacy")), [cell]).close()
    _, printed = harness("summary", "latest", "--out", tmp_path, "--json")
    assert json.loads(printed)["seconds"]["wall"] is None


def test_reproduce_finds_the_candidate_of_the_run_that_it_is_given(harness, tmp_path):
    (file := tmp_path / "mine.py").write_text("")
    fields = {"kind": SubjectKind.FILE, "exporter_path": str(file)}
    candidate = subject("file:mine-1", "export", **fields)
    cell = planned(key("pr_4360", candidate.subject))
    for run, subjects in (("ours", (candidate,)), ("newer", ())):
        origin = provenance(*subjects, run_id=run)
        RunFolder.create(tmp_path, origin, [cell]).close()
    asked = ("reproduce", "pr_4360", "--subject", candidate.subject, "--route", "legacy", "--run")
    code, printed = harness(*asked, tmp_path / "ours")
    assert (code, "file:mine-1 has no route legacy" in one_error(printed)) == (2, True)
    code, printed = harness(*asked, tmp_path / "newer")
    assert (code, "file:mine-1" in one_error(printed), "no route" in printed) == (2, True, False)


def test_releases_are_listed_with_what_they_pin(harness):
    code, printed = harness("releases")
    assert code == 0
    for release in load_catalogue():
        assert release.version in printed
        assert release.inliner_id[:12] in printed


@pytest.fixture
def catalogue(tmp_path):
    """A copy of the catalogue without its newest release."""
    text, cut, _ = CATALOGUE_FILE.read_text().partition(
        f'[release."{load_catalogue().newest.version}"]'
    )
    assert cut
    path = tmp_path / "releases.toml"
    path.write_text(text)
    return path


def test_a_release_is_added_from_a_wheelhouse_as_the_committed_catalogue_has_it(
    harness, catalogue, toolchain
):
    newest = load_catalogue().newest
    wheels = toolchain.wheel(newest).parent
    add = ("add-release", newest.version, "--catalogue", catalogue, "--wheelhouse", wheels)
    code, printed = harness(*add)
    assert code == 0, printed
    assert load_catalogue(catalogue) == load_catalogue()
    assert newest.wheel in printed
    code, printed = harness(*add)
    assert (code, f"{newest.version} is in the catalogue already" in one_error(printed)) == (
        2,
        True,
    )


def test_the_wheel_that_an_added_release_was_read_from_is_found_again_without_it(
    harness, catalogue, toolchain, tmp_path, monkeypatch
):
    newest = load_catalogue().newest
    given = Path(shutil.copy(toolchain.wheel(newest), tmp_path))
    cache = tmp_path / "cache"
    monkeypatch.setenv("INLINER_REGRESS_CACHE", str(cache))
    add = ("add-release", newest.version, "--catalogue", catalogue, "--wheel", given)
    code, printed = harness(*add)
    assert code == 0, printed
    given.unlink()
    found = Toolchain(cache=cache, python=sys.executable, offline=True).wheel(newest)
    assert found.is_relative_to(cache)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("2.13", "2.13 is in the catalogue already"),  # 2.13.0 is
        ("2.2.0", "2.2.0 cannot be judged: it has no torch_tensorrt.save"),
        ("newest", "'newest' is no version"),
        ("99.0", "has no wheel of torch-tensorrt 99.0"),
    ],
)
def test_a_release_that_cannot_be_added_is_exit_code_2_and_the_catalogue_stays(
    harness, catalogue, version, message, tmp_path
):
    before = catalogue.read_text()
    code, printed = harness(
        "add-release", version, "--catalogue", catalogue, "--wheelhouse", tmp_path
    )
    assert (code, message in one_error(printed)) == (2, True)
    assert catalogue.read_text() == before


def test_cases_are_listed_with_what_they_catch(harness):
    code, printed = harness("list", "--json", "--family", "nested")
    assert code == 0
    cases = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert {case["family"] for case in cases} == {"nested getitems"}
    assert all(case["catches"] for case in cases)


def test_a_split_graph_is_shown(harness):
    code, printed = harness("show", "pr_4360")
    assert code == 0
    assert "_run_on_acc_0" in printed
    assert "getitem" in printed


def test_clean_removes_what_can_be_made_again(harness, tmp_path, monkeypatch):
    monkeypatch.setenv("INLINER_REGRESS_CACHE", str(tmp_path))
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "a.whl").write_bytes(bytes(2_000_000))
    code, printed = harness("clean")
    assert (code, "2.0 MB freed" in printed) == (0, True)
    assert not (tmp_path / "wheels").exists()


def test_a_damaged_run_is_exit_code_2(harness, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text('{"schema": 99}')
    for name in ("plan.jsonl", "journal.jsonl", "state.json"):
        (run / name).write_text("")
    code, printed = harness("summary", run)
    assert code == 2
    assert "schema" in one_error(printed)
