"""Campaigns against a release with mends in it, by itself."""

import json

import pytest

from harness.base.errors import UsageError
from harness.cli.fuzzing import parted
from harness.mends.all import MENDS
from harness.register.defects import read_register
from tests.commands import harness


def test_what_is_mended_and_what_a_user_forgets_is_not_known():
    register, mended = read_register(), MENDS[0].defects
    known, forgotten = parted(register, ["wired-by-name"], mended)
    assert {each.id for each in forgotten.defects} == {"wired-by-name", *mended}
    assert len(known.defects) + len(forgotten.defects) == len(register.defects)
    with pytest.raises(UsageError, match="--without nothing: the register has no such defect"):
        parted(register, ["nothing"], mended)


def test_a_mended_release_is_drawn_for_by_itself(tmp_path, library):
    asked = ("fuzz", "--mended", "2.14.0", "--minutes", "0.05", "--out", tmp_path)
    refused = harness(*asked, "--releases", "2.13.0")
    assert (refused.returncode, "leave out --releases" in refused.stderr) == (2, True)
    done = harness(*asked)
    assert done.returncode in (0, 1), done.stderr
    lines = [
        json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().split("\n") if line
    ]
    assert lines[-1]["programs"] > 0
    mended = {name for mend in MENDS for name in mend.defects}
    assert not {line.get("defect") for line in lines} & mended


def test_mutants_are_made_of_the_mended_file(tmp_path, library):
    mended_alone = "_give_value_to_readers"  # a function that a mend adds
    asked = ("mutants", "--functions", mended_alone, "--minutes", "0", "--out", tmp_path)
    refused = harness(*asked)
    assert refused.returncode == 2
    assert f"--functions {mended_alone}" in refused.stderr
    done = harness(*asked, "--mended", "2.14.0")
    assert done.returncode == 3, done.stderr
    assert "the mended 2.14.0's _exporter.py" in done.stdout
