"""The action and the workflow: their steps run as a script, over a real checkout.

What GitHub does is played: expressions are filled in, actions of others are left out, and the
environment is the Python of these tests, which asks few cells.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from harness.catalogue.releases import EXPORTER_MODULE
from harness.run.replayed import PATHS
from harness.toolchain.environment import PROJECT_ROOT
from tests.test_checkout_run import RIGHT, WRONG, tree_as_released
from tests.toolchain.test_checkout import git

ACTION = yaml.safe_load((PROJECT_ROOT / "action.yml").read_text())
WORKFLOW = yaml.safe_load((PROJECT_ROOT / ".github" / "workflows" / "judge.yml").read_text())
EXAMPLES = [
    yaml.safe_load(block)
    for block in re.findall(
        r"```yaml\n(.*?)```", (PROJECT_ROOT / "docs/ci.md").read_text(), re.DOTALL
    )
]
FEW = "-k 'inputs_read_in_reverse and not recorded' --lane graph --jobs 1"


class Job:
    """The steps of the action in their order, with what a job gives them."""

    def __init__(self, root: Path, folder: Path, **inputs: str) -> None:
        self.folder, self.printed = folder, ""
        self.summary = folder / "summary.md"
        self.values = {
            "github.action_path": str(PROJECT_ROOT),
            "github.workspace": str(root.parent),
            "github.event.pull_request.head.sha || github.sha": git(root, "rev-parse", "HEAD"),
            **{f"inputs.{name}": each["default"] for name, each in ACTION["inputs"].items()},
            **{f"inputs.{name}": value for name, value in inputs.items()},
            "inputs.checkout": root.name,
        }  # fmt: skip
        python = folder / "inliner-regress" / "environment" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(
            "#!/bin/bash\n"
            f'if [ "$3" = run ]; then set -- "$@" {FEW}; fi\nexec {sys.executable} "$@"\n'
        )
        python.chmod(0o755)
        (python.parents[1] / "complete").touch()

    def run(self) -> int:
        """Run the steps until one fails; its exit code, or 0."""
        for step in ACTION["runs"]["steps"]:
            if "run" in step and (code := self._step(step)):
                return code
        return 0

    def tell_again(self, **inputs: str) -> int:
        """Run the last step alone once more, with other inputs; its exit code."""
        self.values |= {f"inputs.{name}": value for name, value in inputs.items()}
        self.summary.unlink()
        return self._step(ACTION["runs"]["steps"][-1])

    def _step(self, step: dict) -> int:
        output = self.folder / "output"
        output.write_text("")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self._filled(step["working-directory"]),
            env={
                **os.environ,
                "RUNNER_TEMP": str(self.folder),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(self.summary),
                **{name: self._filled(value) for name, value in step.get("env", {}).items()},
                "INLINER_REGRESS_CACHE": str(PROJECT_ROOT / ".cache"),
            },
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        self.printed += done.stdout
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step['id']}.outputs.{name}"] = value
        return done.returncode

    def _filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: self.values[found[1]], text)


@pytest.fixture(scope="module")
def root(tmp_path_factory, release_specs):
    root = tree_as_released(tmp_path_factory.mktemp("ci") / "tree", release_specs["2.14.0"])
    git(root, "checkout", "-q", "-b", "change")
    return root


def change(root: Path, old: str, new: str) -> None:
    exporter = root / "py" / EXPORTER_MODULE
    text = exporter.read_text()
    assert text.count(old) == 1
    exporter.write_text(text.replace(old, new))
    git(root, "commit", "-q", "-a", "-m", "a change")


def test_a_change_that_breaks_a_wire_is_told_annotated_and_fails_only_if_asked_to(root, tmp_path):
    change(root, RIGHT, WRONG)
    line = next(
        number
        for number, text in enumerate((root / "py" / EXPORTER_MODULE).read_text().splitlines(), 1)
        if WRONG in text
    )
    try:
        job = Job(root, tmp_path / "advisory", base="main")
        assert job.run() == 0, job.printed
        text = job.summary.read_text()
        assert text == (tmp_path / "advisory" / "inliner-regress" / "comment.md").read_text()
        first = text.splitlines()[0]
        assert re.fullmatch(r"### ✗ \d+ cells of \d+ compared get worse by this change", first), (
            text
        )
        assert "inputs_read_in_reverse" in text
        assert f"py/{EXPORTER_MODULE}:{line}" in text
        assert f"::warning file=py/{EXPORTER_MODULE},line={line},endLine={line}," in job.printed
        assert "advice and fails nothing" in text
        assert job.values["steps.judge.outputs.again"]  # the red cells were asked a second time
        assert "Flaky" not in text
        assert job.tell_again(advisory="false") == 1, job.printed
        assert job.summary.read_text().splitlines()[0] == first
    finally:
        git(root, "reset", "-q", "--hard", "main")


def test_a_change_that_breaks_nothing_passes_the_gate(root, tmp_path):
    change(root, RIGHT, f"{RIGHT}  # as it was")
    try:
        job = Job(root, tmp_path / "gate", base="main", advisory="false")
        assert job.run() == 0, job.printed
        assert job.summary.read_text().startswith("### ✓ Nothing got worse in ")
        assert "::warning" not in job.printed
    finally:
        git(root, "reset", "-q", "--hard", "main")


def test_a_change_that_does_not_parse_is_told_with_its_line(root, tmp_path):
    change(root, RIGHT, "copied_placeholder.")
    try:
        job = Job(root, tmp_path / "gate", base="main", advisory="false")
        assert job.run() == 2, job.printed
        text = job.summary.read_text()
        assert text.startswith("### ? This pull request could not be judged")
        assert re.search(r"_exporter\.py, line \d+: not valid Python", text)
        assert job.tell_again(advisory="true") == 0, job.printed
    finally:
        git(root, "reset", "-q", "--hard", "main")


def steps_of(document: dict) -> list[dict]:
    if "runs" in document:
        return document["runs"]["steps"]
    return [step for job in document["jobs"].values() for step in job.get("steps", ())]


@pytest.mark.parametrize("document", [ACTION, WORKFLOW, *EXAMPLES])
def test_no_script_holds_an_expression_that_a_branch_or_a_title_could_fill(document):
    assert [step["run"] for step in steps_of(document) if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize("document", [WORKFLOW, *EXAMPLES])
def test_what_runs_a_pull_requests_code_has_no_token_that_writes(document):
    for job in document["jobs"].values():
        writes = "write" in job.get("permissions", {}).values()
        runs_it = any(step.get("uses") == "./.inliner-regress" for step in job.get("steps", ()))
        assert not (writes and runs_it)
        assert "permissions" in job


def test_the_example_asks_for_what_the_workflow_takes_and_the_workflow_for_what_the_action_takes():
    taken = WORKFLOW[True]["workflow_call"]["inputs"]  # YAML reads `on` as true
    given = EXAMPLES[0]["jobs"]["judge"]["with"]
    assert set(given) <= set(taken)
    assert {name for name, each in taken.items() if each.get("required")} <= set(given)
    (uses,) = [step for step in steps_of(WORKFLOW) if step.get("uses") == "./.inliner-regress"]
    assert set(uses["with"]) <= set(ACTION["inputs"])


def test_the_example_is_started_by_what_the_harness_judges():
    paths = EXAMPLES[0][True]["pull_request"]["paths"]
    assert {path.removesuffix("/**") for path in paths} == set(PATHS)
