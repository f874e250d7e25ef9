"""`coverage`: the extraction is asked for once, and the exit code says whether it is enough."""

import json
import sys
from typing import Any

import pytest

from harness import cli
from harness.cli import corpus

EXTRACTION: dict[str, Any] = {
    "axes": [
        {"name": "size", "values": {"size/small": "a small one"}},
        {"name": "colour", "values": {"colour/red": "a red one"}},
    ],
    "impossible": [],
    "unreachable": {},
    "cases": {"one": ["size/small", "colour/red"]},
}


class Rig:
    """Answers as the rig would, and counts how often it is asked for the extraction."""

    def __init__(self, extraction: dict[str, Any]) -> None:
        self.extraction = extraction
        self.extracted = 0

    def ask(self, _python: str, question: str) -> list[Any]:
        if question == "coverage_digest":
            return ["abc"]
        self.extracted += 1
        return [self.extraction]


@pytest.fixture
def coverage(monkeypatch, capfd, tmp_path):
    monkeypatch.setenv("INLINER_REGRESS_CACHE", str(tmp_path))

    def run(rig: Rig, *arguments: str, with_errors: bool = False) -> tuple[int, str]:
        monkeypatch.setattr(corpus, "ask_rig", rig.ask)
        monkeypatch.setattr(sys, "argv", ["harness", "coverage", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        told = capfd.readouterr()
        return int(ended.value.code or 0), told.out + told.err * with_errors

    return run


def test_enough_coverage_is_green_and_asked_for_once(coverage):
    rig = Rig(EXTRACTION)
    code, printed = coverage(rig)
    assert code == 0
    assert "single values: 2 of 2 (100.0%)" in printed
    assert coverage(rig) == (0, printed)
    assert rig.extracted == 1


def test_too_little_coverage_is_red_and_names_what_is_missing(coverage):
    code, printed = coverage(Rig({**EXTRACTION, "cases": {"one": ["size/small"]}}), "--missing")
    assert code == 1
    assert "missing: colour/red" in printed
    assert "missing pair: size/small with colour/red" in printed


def test_json_is_one_object(coverage):
    code, printed = coverage(Rig(EXTRACTION), "--json")
    assert code == 0
    assert json.loads(printed)["pairwise"] == 1.0


def test_an_answer_that_cannot_be_kept_is_given_nevertheless(coverage, monkeypatch, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("INLINER_REGRESS_CACHE", str(tmp_path / "file"))
    code, printed = coverage(Rig(EXTRACTION), with_errors=True)
    assert code == 0
    assert "single values: 2 of 2 (100.0%)" in printed
    assert "not kept for the next time: " in printed
    assert "INLINER_REGRESS_CACHE=DIR" in printed
