"""A working tree of Torch-TensorRT as a wheel: what it holds now, and what its base held."""

import subprocess
import zipfile

import pytest

from harness.base.errors import UsageError
from harness.catalogue.entry import subject_for_wheel
from harness.catalogue.releases import EXPORTER_MODULE, Catalogue, load_catalogue
from harness.toolchain.checkout import (
    changed_files,
    checkout_at,
    made_wheel,
    nearest,
    refuse_what_is_no_python,
    revision_of,
    tree_of,
)
from tests.fake_releases import FULL_EXPORTER, full_wheel, make_release

GONE = "torch_tensorrt/gone.py"


def git(root, *words):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    command = ["git", *identity, *words]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path):
    """A tree with a commit on main, and a branch with one more."""
    root = tmp_path / "tree"
    for name, data in {
        f"py/{EXPORTER_MODULE}": FULL_EXPORTER.decode(),
        "py/torch_tensorrt/_compile.py": "def save(module, path='', *, retrace=True): ...\n",
        "py/torch_tensorrt/fx/test/test_a.py": "",
        f"py/{GONE}": "",
        ".gitignore": "_version.py\n",
        "version.txt": "9.2.0a0\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(data)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    git(root, "checkout", "-q", "-b", "mine")
    (root / "py/torch_tensorrt/new.py").write_text("A = 1\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "two")
    return root


def test_the_base_is_where_the_branch_left_main_or_what_the_user_names(root):
    assert checkout_at(root / "py").base == git(root, "rev-parse", "main")
    assert checkout_at(root, "HEAD").base == git(root, "rev-parse", "mine")


def test_a_tree_is_what_lies_there_without_tests_and_without_what_git_ignores(root):
    (root / "py/torch_tensorrt/uncommitted.py").write_text("")
    (root / "py/torch_tensorrt/_version.py").write_text("")
    (root / f"py/{GONE}").unlink()
    checkout = checkout_at(root)
    before, now = revision_of(checkout), tree_of(checkout)
    assert before.version.strip() == now.version.strip() == "9.2.0a0"
    assert changed_files(before, now) == [
        GONE, "torch_tensorrt/new.py", "torch_tensorrt/uncommitted.py"
    ]  # fmt: skip
    assert not any("test" in name.split("/") for name in now.files)
    assert "torch_tensorrt/_version.py" not in now.files


def test_the_files_of_a_tree_take_the_place_of_a_releases(root, tmp_path):
    others = {**full_wheel(), GONE: b"of the release", "torch_tensorrt/py.typed": b""}
    release = make_release(tmp_path, exporter=b"", others=others)
    files = tree_of(checkout_at(root)).files
    wheel = made_wheel(tmp_path / "cache", tmp_path / release.wheel, files)
    with zipfile.ZipFile(wheel) as made:
        assert made.read(EXPORTER_MODULE) == FULL_EXPORTER
        assert made.read(GONE) == b""  # the tree's, and not the release's
        assert {"torch_tensorrt/_version.py", "torch_tensorrt/py.typed"} <= set(made.namelist())
    assert made_wheel(tmp_path / "cache", tmp_path / release.wheel, files) == wheel
    without = {name: data for name, data in files.items() if name != GONE}
    other = made_wheel(tmp_path / "cache", tmp_path / release.wheel, without)
    assert GONE not in zipfile.ZipFile(other).namelist()
    assert subject_for_wheel(wheel, Catalogue(())).pins.torch == "9.1.0"


def test_the_nearest_release_is_the_newest_of_the_trees_minor_version_or_before_it():
    catalogue = load_catalogue()
    found = {
        version: nearest(version, catalogue).version
        for version in ("2.12.0a0\n", "2.6.0a0", "99.0", "1.0", "", "2.12.9")
    }
    assert found == {
        "2.12.0a0\n": "2.12.1", "2.6.0a0": "2.6.1", "99.0": catalogue.newest.version,
        "1.0": "2.3.0", "": catalogue.newest.version, "2.12.9": "2.12.1",
    }  # fmt: skip


def test_what_is_no_checkout_is_named_with_what_to_give_instead(root, tmp_path):
    with pytest.raises(UsageError, match="no such folder"):
        checkout_at(tmp_path / "nothing" / "here")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="working tree of Torch-TensorRT"):
        checkout_at(tmp_path / "empty")
    with pytest.raises(UsageError, match="--base"):
        checkout_at(root, "no-such-revision")
    git(root, "branch", "-q", "-m", "main", "trunk")
    with pytest.raises(UsageError, match="--base REV"):
        checkout_at(root)


def test_a_changed_file_that_does_not_parse_is_the_users_mistake(root):
    (root / "py/torch_tensorrt/new.py").write_text("def f(:\n")
    checkout = checkout_at(root)
    with pytest.raises(UsageError, match=r"new\.py, line 1: not valid Python"):
        refuse_what_is_no_python(checkout, revision_of(checkout), tree_of(checkout))
