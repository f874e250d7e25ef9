"""Provenance: complete where the machine tells, None where it does not, and never a failure."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

import harness.runs.provenance
from harness.machine.nvml import read_gpus
from harness.runs.provenance import (
    Provenance,
    collect_provenance,
    provenance_from_json,
    provenance_to_json,
    resume_mismatch,
    resume_warnings,
)
from harness.wire.record_json import SCHEMA, UnknownSchema
from tests import fake_drivers
from tests.commands import python
from tests.record_builders import provenance, subject

SUBJECTS = (subject("2.13.0", "legacy", "export", wheel_sha256="ab"), subject("positional"))


def collect(root: Path) -> Provenance:
    return collect_provenance(
        root=root,
        corpus_digest="digest",
        subjects=SUBJECTS,
        seeds=[1],
        command_line=["run", "--jobs", "2"],
    )


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    command = ["git", "-C", str(root), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def checkout(root: Path) -> Path:
    git(root, "init", "-q")
    (root / "file").write_text("one")
    git(root, "add", "file")
    git(root, "commit", "-q", "-m", "first")
    return root


def test_a_clean_checkout_is_named_by_its_commit_and_a_changed_one_is_dirty(tmp_path):
    root = checkout(tmp_path)
    found = collect(root)
    assert (found.harness_commit, found.harness_dirty) == (git(root, "rev-parse", "HEAD"), False)
    (root / "file").write_text("two")
    assert collect(root).harness_dirty is True


def test_a_folder_that_is_no_checkout_has_no_commit_even_inside_another_checkout(tmp_path):
    inner = checkout(tmp_path) / "unpacked"
    inner.mkdir()
    found = collect(inner)
    assert (found.harness_commit, found.harness_dirty) == (None, None)


def test_without_git_there_is_no_commit_and_no_failure(tmp_path, monkeypatch):
    root = checkout(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert collect(root).harness_commit is None


def test_a_hanging_git_does_not_hang_the_run(tmp_path, monkeypatch):
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nexec /bin/sleep 30\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent))
    monkeypatch.setattr(harness.runs.provenance, "_GIT_TIMEOUT_S", 0.2)
    assert collect(tmp_path).harness_commit is None


def test_the_machine_and_the_environment_are_described(tmp_path):
    found = collect(tmp_path)
    assert found.memory_bytes > 2**20
    assert found.cpu_cores >= 1
    assert found.cpu_model
    assert found.python.split()[1] == ".".join(map(str, sys.version_info[:3]))
    assert any(line.startswith("pytest==") for line in found.pip_freeze)
    assert list(found.pip_freeze) == sorted(set(found.pip_freeze), key=str.lower)
    assert "resolution" in found.clock_source
    assert found.started_at.endswith("+00:00")
    assert found.run_id.startswith(found.started_at[:4])
    assert found.gpu == (" and ".join(gpu.name for gpu in read_gpus()) or None)


def test_gpus_are_recorded_and_a_library_that_fails_is_told_and_ends_no_run(tmp_path, monkeypatch):
    fake_drivers.load_nvml(monkeypatch, tmp_path)
    found = collect(tmp_path)
    assert found.gpu == "Fake L4 and Fake A10"
    data = json.loads(json.dumps(provenance_to_json(found)))
    assert data["gpus"][0]["throttle_reasons"] == [
        "software power cap",
        "software thermal slowdown",
    ]
    assert data["gpus"][1]["sm_clock_mhz"] is None
    assert provenance_from_json(data, "run.json") == found
    fake_drivers.load_nvml(monkeypatch, tmp_path, init=9)
    assert collect(tmp_path).gpu == "NVML failed: Driver Not Loaded"


def test_torch_is_described_without_being_imported(tmp_path):
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (package / "version.py").write_text(
        "from typing import Optional\n__all__ = ['x']\n__version__ = '9.8.7+cpu'\ndebug = False\n"
        "cuda: Optional[str] = None\ngit_version = 'abc'\n"
    )
    (tmp_path / "torch-9.8.7.dist-info").mkdir()
    (tmp_path / "torch-9.8.7.dist-info" / "METADATA").write_text("Name: torch\nVersion: 9.8.7\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import harness.runs.provenance as p; print(p._installed_torch())"
    )
    assert python("-c", code).stdout.strip() == "('9.8.7+cpu', 'git_version abc, debug False')"


def test_a_machine_that_tells_nothing_fails_no_run(tmp_path, monkeypatch):
    real = Path.read_text

    def nothing_of_the_machine(path: Path, *arguments: str, **more: str) -> str:
        if path.parts[1] in ("proc", "sys") or path.name == "version.py":
            raise OSError("not here")
        return real(path, *arguments, **more)

    monkeypatch.setattr(Path, "read_text", nothing_of_the_machine)
    found = collect(tmp_path)
    assert found.cpu_model
    assert "resolution" in found.clock_source
    assert found.torch_build is None


def test_it_goes_to_json_and_back_without_loss(tmp_path):
    found = collect(tmp_path)
    data = json.loads(json.dumps(provenance_to_json(found)))
    assert provenance_from_json(data, "run.json") == found
    assert data["schema"] == SCHEMA
    assert data["subjects"][0]["wheel_sha256"] == "ab"
    assert data["subjects"][0]["inliner_id"] == "id of 2.13.0"


def test_an_unknown_schema_is_refused():
    data = {**provenance_to_json(provenance()), "schema": SCHEMA + 1}
    with pytest.raises(UnknownSchema, match=rf"run\.json: schema {SCHEMA + 1}"):
        provenance_from_json(data, "run.json")


def test_a_run_may_be_resumed_by_one_that_differs_in_nothing_that_matters():
    old = provenance(*SUBJECTS)
    new = dataclasses.replace(
        old, run_id="other", command_line=("x",), cpu_model="y", pip_freeze=()
    )
    assert resume_mismatch(old, new) == []
    assert resume_warnings(old, new) == []


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("corpus_digest", "other", "corpus digest: the run has digest, this is other"),
        ("torch_version", "2.14.0", "torch: the run has 2.13.0, this is 2.14.0"),
        ("seeds", (3,), "seeds: the run has [1, 2], this is [3]"),
        ("rig_digest", "edited", "harness/rig: the run has sources, this is edited"),
        ("subjects", SUBJECTS[:1], "inliner of positional"),
        ("subjects", (*SUBJECTS, subject("2.14.0")), "inliner of 2.14.0"),
        (
            "subjects",
            (dataclasses.replace(SUBJECTS[0], inliner_id="changed"), SUBJECTS[1]),
            "inliner of 2.13.0: the run has id of 2.13.0, this is changed",
        ),
        (
            "subjects",
            (dataclasses.replace(SUBJECTS[0], unavailable="no wheel"), SUBJECTS[1]),
            "this is id of 2.13.0 (unavailable)",
        ),
    ],
)
def test_what_would_mix_verdicts_forbids_to_resume(field, value, named):
    old = provenance(*SUBJECTS)
    new = dataclasses.replace(old, **{field: value})
    (difference,) = resume_mismatch(old, new)
    assert named in difference


def test_another_commit_of_the_harness_is_a_warning_only():
    old = provenance(*SUBJECTS)
    new = dataclasses.replace(old, harness_commit="decade", harness_dirty=True)
    assert resume_mismatch(old, new) == []
    assert [line.split(":")[0] for line in resume_warnings(old, new)] == [
        "harness commit",
        "harness has uncommitted changes",
    ]
