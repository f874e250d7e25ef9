"""What the rig answered is given again while nothing that it depends on has changed."""

import os
import sys

import pytest

from harness.base.errors import SurroundingsError
from harness.toolchain import rig_client
from harness.toolchain.cache import ANSWERS
from harness.toolchain.rig_client import KEPT_ANSWERS, kept, read_corpus


class Rig:
    """Says how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        return f"answer {self.asked}"


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A source in a folder of sources that take the place of the project's own."""
    folder = tmp_path / "sources"
    (folder / "families").mkdir(parents=True)
    monkeypatch.setattr(rig_client, "SOURCES", (folder,))
    path = folder / "families" / "chains.py"
    path.write_text("steps = 1\n")
    return path


def test_it_is_asked_once(source, tmp_path):
    rig = Rig()
    assert [kept(tmp_path, sys.executable, rig) for _ in range(2)] == ["answer 1", "answer 1"]


@pytest.mark.parametrize("change", ["edited", "added", "renamed", "removed"])
def test_a_changed_source_is_asked_about_anew(change, source, tmp_path):
    rig = Rig()
    kept(tmp_path, sys.executable, rig)
    match change:
        case "edited":
            source.write_text("steps = 2\n")
        case "added":
            source.with_name("more.json").write_text("{}")
        case "renamed":
            source.rename(source.with_name("chain.py"))
        case "removed":
            source.unlink()
    assert kept(tmp_path, sys.executable, rig) == "answer 2"


def test_another_torch_is_asked_anew(source, tmp_path, monkeypatch):
    rig = Rig()
    kept(tmp_path, sys.executable, rig)
    monkeypatch.setattr(rig_client, "version", lambda _: "9.9.9")
    assert kept(tmp_path, sys.executable, rig) == "answer 2"


def test_of_another_python_nothing_is_kept(source, tmp_path):
    rig = Rig()
    assert [kept(tmp_path, "/another/python", rig) for _ in range(2)] == ["answer 1", "answer 2"]
    assert not (tmp_path / ANSWERS).exists()


def test_an_answer_to_sources_that_changed_meanwhile_is_not_kept(source, tmp_path):
    rig = Rig()

    def edited_meanwhile() -> str:
        source.write_text("steps = 2\n")
        return rig()

    kept(tmp_path, sys.executable, edited_meanwhile)
    assert kept(tmp_path, sys.executable, rig) == "answer 2"


def test_a_few_answers_are_kept_for_checkouts_that_share_a_cache_and_the_oldest_goes(
    source, tmp_path
):
    rig = Rig()
    for steps in range(KEPT_ANSWERS + 1):
        source.write_text(f"steps = {steps}\n")
        kept(tmp_path, sys.executable, rig)
        newest = max((tmp_path / ANSWERS).iterdir(), key=lambda place: place.stat().st_mtime_ns)
        os.utime(newest, (steps, steps))
    assert len(list((tmp_path / ANSWERS).iterdir())) == KEPT_ANSWERS
    source.write_text("steps = 1\n")
    assert kept(tmp_path, sys.executable, rig) == "answer 2"
    source.write_text("steps = 0\n")
    assert kept(tmp_path, sys.executable, rig) == f"answer {KEPT_ANSWERS + 2}"


def test_a_cache_in_the_way_of_which_a_file_lies_is_told(source, tmp_path):
    (tmp_path / ANSWERS).write_text("in the way")
    with pytest.raises(SurroundingsError, match=ANSWERS):
        kept(tmp_path, sys.executable, Rig())


def test_a_kept_corpus_is_the_one_that_was_read(tmp_path):
    first = read_corpus(sys.executable, cache=tmp_path)
    assert list((tmp_path / ANSWERS).iterdir())
    assert read_corpus(sys.executable, cache=tmp_path) == first
    assert first.cases
