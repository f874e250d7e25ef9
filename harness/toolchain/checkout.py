"""A working tree of Torch-TensorRT, and the revision that it is held against, each as a wheel.

A checkout has the Python of `py/torch_tensorrt`, and nothing that is built. What only a package has
comes from a release: `_version.py`, which its build writes, what is no Python, and METADATA. The
compiled libraries are in neither: what stands in for them in the package lane is the harness's own
(`package_site`).
"""

from __future__ import annotations

import ast
import hashlib
import re
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.version import InvalidVersion, Version

from harness.base.errors import UsageError
from harness.base.files import replace_file
from harness.base.process import Ended, run
from harness.base.zips import opened_zip
from harness.catalogue.releases import EXPORTER_MODULE, Catalogue, Release
from harness.toolchain.cache import CANDIDATES, guarded
from harness.toolchain.unpacking import is_of_package

PACKAGE: Final = "torch_tensorrt"
SOURCES: Final = f"py/{PACKAGE}"
VERSION_FILE: Final = "version.txt"
#: What the build of a package writes among its sources.
GENERATED: Final = (f"{PACKAGE}/_version.py",)
#: The branches whose merge base with HEAD is the base, if the user names none.
MAIN: Final = ("origin/main", "upstream/main", "main")
_TIMEOUT_S: Final = 120.0
_MOMENT: Final = (1980, 1, 1, 0, 0, 0)  # of every file in a made wheel, which is named by content


@dataclass(frozen=True)
class Checkout:
    """A working tree, and the commit that it is held against."""

    root: Path
    base: str


@dataclass(frozen=True)
class Commit:
    """A commit of a history, with its first parent.

    Attributes:
        tree: git's name of the content of `SOURCES`, and ``parents_tree`` of that of the parent.
        day: on which it was committed, in ISO 8601.
        version: as the tree names it.
        paths: the files that it changed, of those that were asked for.
    """

    sha: str
    parent: str
    tree: str
    parents_tree: str
    version: str
    day: str
    title: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Sources:
    """The Python of one tree, by its path in a wheel, and the version that the tree names."""

    files: Mapping[str, bytes]
    version: str


def checkout_at(path: Path, base: str = "") -> Checkout:
    """The working tree that a path is in, and its base.

    Args:
        base: a revision; by default the merge base of HEAD with the main branch.

    Raises:
        UsageError: there is no working tree of Torch-TensorRT, or no such revision.
    """
    where = path if path.is_dir() else path.parent
    if not where.is_dir():
        raise UsageError(f"--checkout {path}: no such folder", _ADVICE)
    root = Path(_git(where, "rev-parse", "--show-toplevel", said=f"--checkout {path}: ").strip())
    if not (root / SOURCES).is_dir():
        raise UsageError(f"--checkout {path}: {root} has no {SOURCES}", _ADVICE)
    if base:
        asked = f"{base}^{{commit}}"
        return Checkout(root, _git(root, "rev-parse", "--verify", asked, said="--base: ").strip())
    for branch in MAIN:
        found = _asked(root, "merge-base", "HEAD", branch)
        if found.code == 0:
            return Checkout(root, found.printed.strip())
    raise UsageError(
        f"--checkout {path}: HEAD has no merge base with {', '.join(MAIN)}",
        "name the revision that it is held against, with --base REV",
    )


def tree_of(checkout: Checkout) -> Sources:
    """What the working tree holds now: tracked files, and new ones that git does not ignore."""
    root = checkout.root
    listed = _git(root, "ls-files", "-co", "--exclude-standard", "-z", "--", SOURCES)
    files = {}
    for name in filter(_counts, listed.split("\0")):
        place = root / name
        if place.is_file():  # a file may be deleted, and still in the index
            with guarded(place, "what a checkout holds has to be readable"):
                files[name.removeprefix("py/")] = place.read_bytes()
    version = root / VERSION_FILE
    return _checked(Sources(files, version.read_text() if version.is_file() else ""), str(root))


def revision_of(checkout: Checkout) -> Sources:
    """What the base holds."""
    with tempfile.TemporaryDirectory(prefix="revision-") as folder:
        archive = Path(folder) / "sources.zip"
        _git(
            checkout.root,
            "archive", "--format=zip", "-0", "-o", str(archive), checkout.base, SOURCES,
            said=f"the base {checkout.base[:10]} has no {SOURCES}: ",
        )  # fmt: skip
        with zipfile.ZipFile(archive) as sources:
            files = {
                name.removeprefix("py/"): sources.read(name)
                for name in sources.namelist()
                if _counts(name)
            }
    named = _asked(checkout.root, "show", f"{checkout.base}:{VERSION_FILE}")
    version = named.printed if named.code == 0 else ""
    return _checked(Sources(files, version), f"{checkout.root} at {checkout.base[:10]}")


def history(clone: Path, paths: Sequence[str], since: str) -> list[Commit]:
    """The first parents of HEAD since a day that changed any of the paths, the newest first.

    Raises:
        UsageError: ``clone`` is no repository, with or without a working tree.
    """
    if not clone.is_dir():
        raise UsageError(f"--clone {clone}: no such folder", _CLONE)
    listed = _git(
        clone, "log", "--first-parent", "--diff-merges=first-parent", f"--since={since}",
        "--format=%x00%H%x00%P%x00%cs%x00%s%x00", "--name-only", "HEAD", "--", *paths,
        said=f"--clone {clone}: ",
    )  # fmt: skip
    fields = listed.split("\0")[1:]
    commits = []
    for sha, parents, day, title, changed in zip(*(fields[i::5] for i in range(5)), strict=True):
        parent = parents.partition(" ")[0]
        trees = [
            _asked(clone, "rev-parse", "--verify", f"{each}:{SOURCES}").printed.strip()
            for each in (sha, parent)
            if each
        ]
        if len(trees) == 2 and all(trees):  # the first of all commits is held against nothing
            version = _asked(clone, "show", f"{sha}:{VERSION_FILE}").printed.strip()
            paths = tuple(changed.split())
            commits.append(Commit(sha, parent, trees[0], trees[1], version, day, title, paths))
    return commits


def commits_between(clone: Path, good: str, bad: str) -> list[str]:
    """The good commit, the first parents up to the bad one that changed Python of it, and that one.

    Raises:
        UsageError: there is no such repository, or one of the revisions is not in it.
    """
    ends = [
        _git(clone, "rev-parse", "--verify", f"{each}^{{commit}}", said=f"{name} {each}: ").strip()
        for name, each in (("--good", good), ("--bad", bad))
    ]
    if _asked(clone, "merge-base", "--is-ancestor", *ends).code:
        raise UsageError(f"--good {good} is not before --bad {bad}", "name an older revision")
    between = _git(
        clone, "rev-list", "--first-parent", "--reverse", f"{ends[0]}..{ends[1]}", "--", SOURCES
    ).split()
    return [ends[0], *(each for each in between if each != ends[1]), ends[1]]


@contextmanager
def worktree(clone: Path, commit: str, folder: Path) -> Iterator[Path]:
    """A working tree of a commit in a new folder, removed at the end."""
    _git(clone, "worktree", "add", "--quiet", "--detach", str(folder.resolve()), commit)
    try:
        yield folder
    finally:
        _git(clone, "worktree", "remove", "--force", str(folder.resolve()))


def nearest(named: str, catalogue: Catalogue) -> Release:
    """The newest release of the minor version that a tree names, or else the newest before it."""
    try:
        version = Version(named.strip())
    except InvalidVersion:
        return catalogue.newest
    minor = (version.major, version.minor)
    before = [each for each in catalogue if _minor(each) <= minor]
    return before[-1] if before else catalogue.releases[0]


def made_wheel(cache: Path, wheel: Path, files: Mapping[str, bytes], *, whole: bool = True) -> Path:
    """A wheel of a release with other Python in it, without its compiled parts.

    It is named by its content, so that equal sources are one file in the cache.

    Args:
        wheel: of the release.
        files: Python of the package, by path in the wheel.
        whole: whether that is all of it, so that the release's own is left out.
    """

    def kept(name: str) -> bool:
        if name in files or not is_of_package(name):
            return False
        python = name.startswith(f"{PACKAGE}/") and name.endswith(".py")
        return not whole or not python or name in GENERATED

    with opened_zip(wheel) as archive:
        content = {name: archive.read(name) for name in archive.namelist() if kept(name)}
    content.update(files)
    digest = hashlib.sha256()
    for name, data in sorted(content.items()):
        digest.update(f"{name}\0{len(data)}\0".encode())
        digest.update(data)
    target = cache / CANDIDATES / f"{digest.hexdigest()}.whl"
    if not target.is_file():
        with tempfile.TemporaryFile() as made:
            with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, data in sorted(content.items()):
                    entry = zipfile.ZipInfo(name, _MOMENT)
                    archive.writestr(entry, data, compress_type=zipfile.ZIP_DEFLATED)
            made.seek(0)
            with guarded(target):
                target.parent.mkdir(parents=True, exist_ok=True)
            replace_file(target, made.read(), durable=False)
    return target


def changed_files(before: Sources, now: Sources) -> list[str]:
    """The files that two trees do not have alike."""
    names = sorted({*before.files, *now.files})
    return [name for name in names if before.files.get(name) != now.files.get(name)]


def refuse_what_is_no_python(checkout: Checkout, before: Sources, now: Sources) -> None:
    """Raise UsageError for a changed file that does not parse: no package would be to blame."""
    for name in changed_files(before, now):
        try:
            ast.parse(now.files.get(name, b""))
        except SyntaxError as error:
            where = checkout.root / "py" / name
            raise UsageError(
                f"{where}, line {error.lineno}: not valid Python ({error.msg})",
                "correct it and run again",
            ) from error


_CLONE: Final = "give the folder of a clone of Torch-TensorRT"
_ADVICE: Final = "give the folder of a git working tree of Torch-TensorRT"


def _minor(release: Release) -> tuple[int, int]:
    version = Version(release.version)
    return version.major, version.minor


def _counts(name: str) -> bool:
    """Whether a file of a tree is in a package that is built of it."""
    return bool(re.fullmatch(rf"{SOURCES}/.*\.py", name)) and "/test/" not in name


def _checked(sources: Sources, where: str) -> Sources:
    if EXPORTER_MODULE not in sources.files:
        raise UsageError(f"{where}: no py/{EXPORTER_MODULE}", _ADVICE)
    return sources


def _asked(folder: Path, *words: str) -> Ended:
    """What git answered, which may be no."""
    return run(["git", *words], folder=folder, timeout_s=_TIMEOUT_S, if_missing="install git")


def _git(folder: Path, *words: str, said: str = "") -> str:
    done = _asked(folder, *words)
    if done.code:
        raise UsageError(f"{said}git {words[0]}: {done.last_words}", _ADVICE)
    return done.printed
