"""A user's own cases stay in the run's folder as they were asked, and are told when they change."""

import dataclasses
import sys

import pytest

from harness.base.errors import UsageError
from harness.catalogue.releases import load_catalogue
from harness.cli.common import toolchain_for
from harness.run.judged_run import reopen
from harness.runs import kept_cases as module
from harness.runs.kept_cases import CASES, keep_cases, kept_cases, merge_cases
from harness.runs.run_folder import RunFolder
from tests.record_builders import case, key, planned, provenance


@pytest.fixture
def user(tmp_path):
    """A models file in one folder that names a model in another, which reads a third file."""
    home = tmp_path / "home"
    (home / "models").mkdir(parents=True)
    files = [home / "mine.py", home / "helper.py", home / "models" / "mine.toml"]
    for file in files[:2]:
        file.write_text("as it was\n")
    files[2].write_text(f'[mine]\nmodel = "{files[0]}:Mine"\n')
    return files


@pytest.fixture
def run(tmp_path, user):
    where = dataclasses.replace(provenance(), corpus=(str(user[2]),))
    folder = RunFolder.create(tmp_path / "runs", where, [planned(key("mine"))])
    keep_cases(folder, where.corpus, map(str, user), [case("mine")], sys.executable)
    folder.close()
    return folder


def test_what_has_not_changed_is_the_user_s_own_file(run, user):
    kept = kept_cases(run)
    assert (kept.runnable(), kept.changed, kept.words) == ((str(user[2]),), None, "")
    assert kept.cases == (case("mine"),)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_of_what_was_edited_or_is_gone_the_copy_is_meant_and_that_is_said(run, user, number):
    file = user[number]
    for change in (lambda: file.write_text("edited\n"), file.unlink):
        change()
        kept = kept_cases(run)
        assert kept.words == f"{file} has changed since; this is as it was in run {run.run_id}"
        (place,) = kept.runnable()
        assert place == str(run.path / CASES / "models" / "mine.toml")
        assert kept.cases == (case("mine"),)
    copies = {each.name: each.read_text() for each in (run.path / CASES).glob("**/*.*")}
    assert copies["helper.py"] == copies["mine.py"] == "as it was\n"
    assert copies["mine.toml"] == '[mine]\nmodel = "../mine.py:Mine"\n'


def test_a_file_that_is_too_large_to_be_copied_cannot_be_run_once_it_has_changed(
    tmp_path, user, monkeypatch
):
    monkeypatch.setattr(module, "_LARGEST_BYTES", 10)
    where = dataclasses.replace(provenance(), corpus=(str(user[2]),))
    with RunFolder.create(tmp_path / "runs", where, [planned(key("mine"))]) as folder:
        keep_cases(folder, where.corpus, map(str, user), [case("mine")], sys.executable)
        assert kept_cases(folder).runnable() == where.corpus
        user[0].write_text("edited\n")
        with pytest.raises(UsageError, match=r"mine\.py has changed since run .*, which has no"):
            kept_cases(folder).runnable()
        assert kept_cases(folder).cases == (case("mine"),)


def test_what_another_python_imported_is_run_by_that_one_and_not_once_it_is_gone(tmp_path, user):
    where = dataclasses.replace(provenance(), corpus=(str(user[2]),))
    python = tmp_path / "python"
    python.touch()
    with RunFolder.create(tmp_path / "runs", where, [planned(key("mine"))]) as folder:
        keep_cases(folder, where.corpus, map(str, user), [case("mine")], str(python))
        kept = kept_cases(folder)
        assert (kept.runnable(), kept.interpreter) == (where.corpus, str(python))
        python.unlink()
        with pytest.raises(UsageError, match=r"python is gone, which had what the cases of run"):
            _ = kept.interpreter


def test_the_project_s_own_cases_and_those_of_a_package_are_not_copied(tmp_path):
    for places in ((), ("an_entry_point",)):
        where = dataclasses.replace(provenance(), corpus=places)
        with RunFolder.create(tmp_path, where, [planned(key())]) as folder:
            keep_cases(folder, places, [], [case("a")], sys.executable)
            assert kept_cases(folder) is None


def test_a_merged_run_keeps_what_its_runs_kept_and_what_they_know_of_the_models(
    run, user, tmp_path
):
    with RunFolder.create(tmp_path / "others", run.provenance(), run.plan()) as other:
        other.add_lacking("mine", ["state"])
    with RunFolder.create(tmp_path / "merged", run.provenance(), run.plan()) as merged:
        merge_cases(merged, [other, run])
        merge_cases(merged, [merged])
    user[0].write_text("edited\n")
    kept = kept_cases(merged)
    assert kept.runnable() == (str(merged.path / CASES / "models" / "mine.toml"),)
    assert kept.cases == (case("mine"),)
    assert (merged.path / CASES / "mine.py").read_text() == "as it was\n"
    assert merged.lacking() == {"mine": ("state",)}


def test_a_run_that_is_read_again_has_its_scripts_made_of_the_cases_as_they_were(run, user):
    judged = reopen(str(run.path), run.path.parent, toolchain_for(), load_catalogue())
    assert judged.case_places == (str(user[2]),)
    user[0].write_text("edited\n")
    assert judged.case_places == (str(run.path / CASES / "models" / "mine.toml"),)
