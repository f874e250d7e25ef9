"""A history with a broken wire, its mend and a comment, replayed with a real wheel and workers."""

import dataclasses
import json

import pytest

from harness.base.errors import ExitCode, SurroundingsError
from harness.catalogue.releases import EXPORTER_MODULE, load_catalogue
from harness.run.options import RunOptions
from harness.run.replay import SINCE, replay
from harness.run.replayed import KINDS, InLane, Replayed, State, read_reviews
from harness.toolchain.checkout import Commit
from harness.wire.routes import Lane
from tests.cli.test_bench import invoke
from tests.test_checkout_run import RIGHT, WRONG, tree_as_released
from tests.toolchain.test_checkout import git

CASE = "inputs_read_in_reverse and not recorded"


@pytest.fixture(scope="module")
def clone(tmp_path_factory, release_specs):
    root = tree_as_released(tmp_path_factory.mktemp("history"), release_specs["2.14.0"])
    exporter = root / "py" / EXPORTER_MODULE
    right = exporter.read_text()
    assert right.count(RIGHT) == 1
    compiling = root / "py" / "torch_tensorrt" / "_compile.py"
    for title, file, text in (
        ("breaks", exporter, right.replace(RIGHT, WRONG)),
        ("says more", exporter, right.replace(RIGHT, WRONG) + "# more\n"),
        ("mends", exporter, right),
        ("compiles", compiling, compiling.read_text() + "# more\n"),
    ):
        file.write_text(text)
        git(root, "commit", "-q", "-a", "-m", title)
    git(root, "clone", "-q", "--bare", str(root), str(root / "bare.git"))
    return root / "bare.git"


class _Interrupted:
    """A progress that is interrupted when the first cell has ended."""

    def start(self, total, done): ...

    def ended(self, record):
        raise KeyboardInterrupt

    def say(self, line): ...


class _Quiet(_Interrupted):
    def ended(self, record): ...


def test_a_replay_tells_what_breaks_and_what_mends_and_asks_the_same_files_once(clone, tmp_path):
    asked = [
        "replay", "--clone", str(clone), "--lane", "graph", "-k", CASE, "--jobs", "1",
        "--out", str(tmp_path),
    ]  # fmt: skip
    code, told = invoke(*asked, "--minutes", "0.0000001")
    assert code == ExitCode.GREEN, told
    assert "4 commits: 1 neither, 3 not asked yet" in told
    code, told = invoke(*asked)
    assert code == ExitCode.GREEN, told
    rows = {row["title"]: row for row in json.loads((tmp_path / "replay.json").read_text())}
    assert {title: row["verdict"] for title, row in rows.items()} == {
        "breaks": "breakage", "says more": "neither", "mends": "fix", "compiles": "neither"
    }  # fmt: skip
    assert any("numbers differ" in each for each in rows["breaks"]["lanes"][0]["breaks"])
    assert "cells of 1 case were asked of both" in rows["breaks"]["lanes"][0]["reason"]
    assert rows["breaks"]["reason"] == "not reviewed"
    assert rows["mends"]["lanes"][0]["mends"] == ["wired-by-name"]
    assert rows["compiles"]["lanes"][0]["state"] == State.ALIKE
    assert rows["says more"]["lanes"][0]["state"] == State.ASKED
    (run,) = [each for each in (tmp_path / "graph").iterdir() if not each.is_symlink()]
    subjects = json.loads((run / "run.json").read_text())["subjects"]
    assert len(subjects) == 3  # that which mends is that which was there before
    assert "breaks" in (tmp_path / "replay.md").read_text()


def test_a_replay_that_was_cut_off_goes_on_in_the_middle_of_a_run(clone, tmp_path, toolchain):
    options = RunOptions(lanes=("graph",), expression=CASE, jobs=1, out=tmp_path)
    rest = ("", toolchain, load_catalogue())
    with pytest.raises(KeyboardInterrupt):
        replay(clone, SINCE, options, *rest, _Interrupted())
    replayed = replay(clone, SINCE, options, *rest, _Quiet())
    assert [each.verdict for each in replayed] == [
        "neither", "fix", "neither", "breakage"
    ]  # fmt: skip
    assert len([each for each in (tmp_path / "graph").iterdir() if not each.is_symlink()]) == 1
    other = dataclasses.replace(options, expression="relu_once")
    with pytest.raises(Exception, match="a replay of other cases"):
        replay(clone, SINCE, other, *rest, _Quiet())


def test_what_a_person_found_decides_between_a_breakage_and_a_false_alarm():
    commit = Commit("a", "b", "c", "d", "2.14.0", "2026-01-01", "it changes", ())

    def verdict(kind: str, **found: tuple[str, ...]) -> str:
        lane = InLane(Lane.GRAPH, State.ASKED, **found)
        return Replayed(commit, "2.14.0", (lane,), kind).verdict

    assert verdict("", breaks=("values",)) == "breakage"
    assert verdict("false alarm", breaks=("values",)) == "false alarm"
    assert verdict("", alarms=("values",)) == "false alarm"
    assert verdict("breakage", mends=("a-defect",), alarms=("values",)) == "fix and breakage"


def test_a_review_of_an_unknown_kind_is_refused_and_the_committed_ones_are_read(tmp_path):
    assert {kind for kind, _ in read_reviews().values()} <= set(KINDS)
    wrong = tmp_path / "replay.toml"
    wrong.write_text('schema = 1\n[[commit]]\nid = "0123456789"\nkind = "odd"\nreason = "x"\n')
    with pytest.raises(SurroundingsError, match="'odd' is not valid"):
        read_reviews(wrong)
