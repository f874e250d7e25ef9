"""What torch told of an environment is known without it, until anything changes."""

import dataclasses
import os
import sys

import pytest

import harness.toolchain
from harness.toolchain import Toolchain, clean
from harness.toolchain import fingerprint as module
from harness.toolchain.cache import KEPT, WHEELS
from harness.toolchain.fingerprint import digest_of_content, remembered_digest, states_of


@pytest.fixture
def asked(tmp_path, monkeypatch, toolchain):
    """How often torch was asked; it tells what it told the other tests, and the number."""
    known, times = toolchain.python_env(), []

    def probe(_):
        times.append(1)
        return dataclasses.replace(known, threads=len(times))

    folder = tmp_path / "installed"
    folder.mkdir()
    (folder / "torch.py").write_text("torch")
    monkeypatch.setattr(harness.toolchain, "probe", probe)
    monkeypatch.setattr(harness.toolchain, "import_folders", lambda: [folder])
    return times


def command(tmp_path):
    made = Toolchain(tmp_path / "cache", sys.executable)
    assert made.installed()
    made.keep_facts()
    return made.python_env()


def test_torch_is_asked_once(tmp_path, asked):
    assert command(tmp_path) == command(tmp_path)
    assert len(asked) == 1


@pytest.mark.parametrize("change", ["edited", "added", "variable"])
def test_torch_is_asked_anew_when_anything_has_changed(tmp_path, asked, monkeypatch, change):
    command(tmp_path)
    match change:
        case "edited":
            (tmp_path / "installed" / "torch.py").write_text("Torch")
        case "added":
            (tmp_path / "installed" / "numpy.py").write_text("numpy")
        case "variable":
            monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    assert command(tmp_path).threads == 2


def test_where_nobody_has_read_what_is_installed_torch_is_asked_and_nothing_is_kept(
    tmp_path, asked
):
    for count in (1, 2):
        made = Toolchain(tmp_path / "cache", sys.executable)
        made.keep_facts()
        assert made.python_env().threads == count
    assert not (tmp_path / "cache").exists()


def test_of_another_python_nothing_is_known(tmp_path, asked):
    for count in (1, 2):
        made = Toolchain(tmp_path / "cache", "/another/python")
        made.keep_facts()
        assert made.python_env().threads == count


def test_a_folder_is_read_once_and_again_when_it_was_written_to(tmp_path, monkeypatch):
    folder, cache = tmp_path / "folder", tmp_path / "cache"
    folder.mkdir()
    path = folder / "a.py"
    path.write_text("1")
    assert remembered_digest([folder], cache) is None
    first = digest_of_content([folder], cache)
    assert remembered_digest([folder], cache) == first
    monkeypatch.setattr(module, "sha256_of", lambda _: pytest.fail("it was read again"))
    assert digest_of_content([folder], cache) == first
    monkeypatch.undo()
    times = path.stat()
    path.write_text("2")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # as if nobody had
    assert remembered_digest([folder], cache) is None
    assert digest_of_content([folder], cache) != first


def test_the_digest_of_a_folder_is_the_same_wherever_it_lies(tmp_path):
    digests = set()
    for name in ("one", "two"):
        (tmp_path / name / "package" / "__pycache__").mkdir(parents=True)
        (tmp_path / name / "package" / "a.py").write_text("1")
        (tmp_path / name / "package" / "__pycache__" / "a.pyc").write_text(name)
        (tmp_path / name / "RECORD").write_text(name)
        digests.add(digest_of_content([tmp_path / name], tmp_path / "cache"))
    assert len(digests) == 1


def test_what_a_link_leads_to_counts(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.py").write_text("1")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "linked").symlink_to(tmp_path / "real")
    assert [each.name for each in states_of(tmp_path / "folder")] == ["linked/a.py"]


def test_kept_verdicts_can_be_forgotten_alone(tmp_path):
    for name in (KEPT, WHEELS):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("12345")
    assert clean(tmp_path, wheels=False, native=False, packages=False) == 5
    assert not (tmp_path / KEPT).exists()
    assert (tmp_path / WHEELS / "file").exists()
