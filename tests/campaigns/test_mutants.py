"""A campaign of mutants finds what is wrong, asks nothing twice, and distrusts itself."""

import json
import zipfile

import pytest

from harness.base.errors import ExitCode, SurroundingsError, UsageError
from harness.campaigns import own_mutants
from harness.campaigns.mutant_report import read_equivalent, read_out_of_reach, report_of
from harness.campaigns.mutants import Found, Ledger, MutantCampaign
from harness.campaigns.mutation import Mutant, Operator, mutants_of
from harness.catalogue.releases import EXPORTER_MODULE
from harness.cli import mutating
from harness.mends.all import MENDS
from harness.mends.mend import mended
from harness.subjects.mended import files_of
from tests.commands import harness

ALIVE_IN = (
    EXPORTER_MODULE,
    "torch_tensorrt/_compile.py",
    "torch_tensorrt/dynamo/lowering/_buffer_lifting.py",
    "torch_tensorrt/dynamo/partitioning/_adjacency_partitioner.py",
)
WIRE = ("submodule_inputs[idx]", "submodule_inputs[-1 - idx]")


@pytest.fixture(scope="module")
def exporter(release_specs):
    return zipfile.ZipFile(release_specs["2.14.0"].wheel_path).read(EXPORTER_MODULE).decode()


def command(folder, *arguments):
    asked = ("-k", "pr_4360", "--jobs", "1", "--out", str(folder), *arguments)
    return harness("mutants", *asked)


def test_a_campaign_tells_found_from_survived_and_goes_on_where_it_was(tmp_path):
    asked = ["--lane", "graph", "--functions", "inline_torch_modules", "--every", "24"]
    first = command(tmp_path, *asked)
    assert first.returncode == ExitCode.RED, first.stderr  # one case does not find them all
    rows = json.loads((tmp_path / "mutants.json").read_text())
    assert any(row["found"] for row in rows)
    assert any(row["reached_by_cases"] and not row["found"] for row in rows)
    journal = (tmp_path / "journal.jsonl").read_text()
    assert command(tmp_path, *asked).returncode == ExitCode.RED
    news = (tmp_path / "journal.jsonl").read_text().removeprefix(journal).splitlines()
    assert [json.loads(line)["event"] for line in news] == ["file"]  # nothing was asked again


def test_what_only_export_itself_and_the_way_back_from_cross_compiling_run_is_asked(tmp_path):
    """What the release made of the case, equal or not, does not stand for what a mutant makes."""
    functions = ["export", "replace_execute_engine_no_op_node"]
    asked = ["--lane", "graph", "--functions", ",".join(functions), "--every", "9"]
    done = harness("mutants", "-k", "relu_once", "--jobs", "1", "--out", str(tmp_path), *asked)
    assert done.returncode in (ExitCode.RED, ExitCode.GREEN), done.stderr
    rows = json.loads((tmp_path / "mutants.json").read_text())
    assert {row["function"] for row in rows if row["found"]} == {*functions}


def test_a_mutant_of_a_whole_package_is_found_there(tmp_path):
    """`compile` and `save` reach the mutated file, although the package was imported before."""
    asked = ["--lane", "package", "--functions", "transform", "--every", "6"]
    done = command(tmp_path, *asked)
    assert done.returncode in (ExitCode.RED, ExitCode.GREEN), done.stderr
    rows = json.loads((tmp_path / "mutants.json").read_text())
    assert {row["found"]["lane"] for row in rows if row["found"]} == {"package"}


def test_what_a_case_s_user_does_behind_compile_is_done_with_the_mutant(tmp_path):
    asked = ["--lane", "package", "--functions", "create_trt_exp_program", "--every", "43"]
    name = "module_of_a_program_with_a_window"
    done = harness("mutants", "-k", name, "--jobs", "1", "--out", str(tmp_path), *asked)
    assert done.returncode in (ExitCode.RED, ExitCode.GREEN), done.stderr
    rows = json.loads((tmp_path / "mutants.json").read_text())
    marker = 'gm.meta["_copyback_mutations_declared"] = True'
    (mutant,) = [row for row in rows if f"-        {marker}" in row["difference"]]
    assert mutant["found"]["case"] == name


def test_a_campaign_in_which_the_file_as_it_is_would_be_found_ends_as_our_own_failure(
    exporter, tmp_path, monkeypatch
):
    """Planted: the file that is called unchanged has a wire that the release's has not."""
    wrong = exporter.replace(*WIRE)
    monkeypatch.setattr(
        mutating, "mutants_of", lambda source: [Mutant(Operator.ITEM, "f", 1, 2, wrong, source, "")]
    )
    done = command(tmp_path, "--lane", "graph")
    assert done.returncode == ExitCode.FAILED
    assert "the file as it is was found by " in done.stderr
    assert "pr_4360" in done.stderr


def test_a_folder_with_a_campaign_over_another_file_is_refused(tmp_path):
    MutantCampaign(mutants_of("f(1)"), tmp_path)
    with pytest.raises(UsageError, match="another file"):
        MutantCampaign(mutants_of("f(2)"), tmp_path)


def test_a_survivor_is_told_with_its_difference_and_counts_unless_it_is_listed_as_equivalent(
    tmp_path, monkeypatch
):
    found, equal, alive = mutants_of("f(a, b)\ng(1)")[:3]
    ledger = Ledger(found={found.name: Found("pr_4360", "nonstrict", "graph", "export", "", "")})
    listed = tmp_path / "equivalent.toml"
    listed.write_text(f'[[equivalent]]\nwhy = "the same"\nmutants = ["{equal.name}"]\n')
    monkeypatch.setattr(
        "harness.campaigns.mutant_report.read_equivalent",
        lambda mended: read_equivalent(mended, listed),
    )
    report = report_of("a file", (found, equal, alive), ledger, complete=True)
    assert [each.mutant for each in report.survivors] == [alive]
    assert report.lines[0].startswith("a file: 1 of 2 mutants found (50.0 %), 1 survived, 1 of")
    page = report.write(tmp_path).read_text()
    assert alive.difference in page
    assert "the same" in page


def test_a_reason_holds_where_the_defect_that_it_names_is_not_mended_or_in_the_mended_release_alone(
    tmp_path,
):
    listed = tmp_path / "equivalent.toml"
    listed.write_text(
        '[[equivalent]]\nwhy = "The release raises before (defect a-b)."\nmutants = ["f-1"]\n'
        '[[equivalent]]\nwhy = "Nobody reads it."\nmutants = ["f-2"]\n'
        '[[equivalent]]\nwhy = "A mend does it."\nmended = true\nmutants = ["f-3"]\n'
    )
    assert set(read_equivalent((), listed)) == {"f-1", "f-2"}
    assert set(read_equivalent({"c"}, listed)) == {"f-1", "f-2", "f-3"}
    assert set(read_equivalent({"a-b", "c"}, listed)) == {"f-2", "f-3"}


def test_every_reason_is_of_a_mutant_of_the_newest_release_or_of_it_mended(toolchain):
    read, _ = files_of("2.14.0", toolchain)
    after = mended(read, MENDS)
    texts = [text for name in ALIVE_IN for text in (read(name), after.get(name)) if text]
    there = {mutant.name for text in texts for mutant in mutants_of(text)}
    everywhere = {"no defect"}
    assert {*read_equivalent(everywhere), *read_out_of_reach(everywhere)} <= there


def test_a_survivor_that_is_out_of_reach_still_counts_and_is_told_with_its_reason(
    tmp_path, monkeypatch
):
    away, alive = mutants_of("f(a, b)\ng(1)")[:2]
    monkeypatch.setattr(
        "harness.campaigns.mutant_report.read_out_of_reach",
        lambda mended: {away.name: "nobody calls it"},
    )
    report = report_of("a file", (away, alive), Ledger(), complete=True)
    assert [each.mutant for each in report.survivors] == [away, alive]
    assert [each.mutant for each in report.unexplained] == [alive]
    assert "of the survivors 1 are out of the corpus's reach" in report.lines[2]
    assert "nobody calls it" in report.write(tmp_path).read_text()


def test_our_own_tests_are_asked_and_tell_which_of_them_finds_a_mutant(tmp_path, monkeypatch):
    """The checkout has three files, and a test that sees one of two faults."""
    checkout = tmp_path / "checkout"
    for name, text in {
        "harness/gate/sums.py": "def total(a, b):\n    return a + min(b, 9)\n",
        "tests/gate/test_sums.py": "from harness.gate.sums import total\n"
        "def test_a_sum(): assert total(1, 2) == 3\n",
        "tests/later/test_more.py": "def test_nothing(): pass\n",
        "corpus/case.py": "",
    }.items():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(text)
    tests = {"harness/gate": ("tests/gate", "tests/later")}
    monkeypatch.setattr(own_mutants, "TESTS", tests)
    mutants = own_mutants.own_mutants(checkout, 1)
    for _ in range(2):  # the second time nothing is left to ask
        ledger = own_mutants.ask_tests(mutants, checkout, tmp_path / "out", 2, str)
    report = report_of("ours", [each.mutant for each in mutants], ledger, complete=True)
    assert {where.case for where in ledger.found.values()} == {
        "tests/gate/test_sums.py::test_a_sum"
    }
    assert {each.mutant.operator for each in report.survivors} == {
        Operator.ARGUMENTS_SWAPPED,
        Operator.CONSTANT,
    }
    (checkout / "tests/later/test_more.py").write_text("def test_fails(): assert False\n")
    with pytest.raises(SurroundingsError, match=r"the tree as it is fails .*test_fails"):
        own_mutants.ask_tests(mutants, checkout, tmp_path / "again", 1, str)


def _without_journal(folder):
    (folder / "journal.jsonl").unlink()
    return folder


def test_where_no_test_runs_a_line_itself_all_tests_of_the_package_are_asked(tmp_path, monkeypatch):
    """One test runs a line by itself, the other another in a process that it starts."""
    files = {
        "harness/gate/sums.py": "def double(a):\n    return a + a\n",
        "harness/gate/apart.py": "def print_double(a):\n    print(a + a)\n",
        "tests/gate/test_sums.py": "from harness.gate.sums import double\n"
        "def test_of_a_sum(): assert double(3) == 6\n",
        "tests/later/test_apart.py": "import subprocess, sys\n"
        "def test_of_a_process():\n"
        "    words = 'from harness.gate.apart import print_double; print_double(3)'\n"
        "    assert subprocess.check_output([sys.executable, '-c', words]) == b'6\\n'\n",
        "corpus/case.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(own_mutants, "TESTS", {"harness/gate": ("tests/gate", "tests/later")})
    mutants = own_mutants.own_mutants(tmp_path, 1)
    found = own_mutants.ask_tests(mutants, tmp_path, tmp_path / "out", 2, str).found
    again = own_mutants.ask_tests(mutants, tmp_path, _without_journal(tmp_path / "out"), 2, str)
    assert again.found == found  # by what the folder knows of which test runs which line
    assert {each.path: found[each.mutant.name].case for each in mutants} == {
        "harness/gate/sums.py": "tests/gate/test_sums.py::test_of_a_sum",
        "harness/gate/apart.py": "tests/later/test_apart.py::test_of_a_process",
    }
