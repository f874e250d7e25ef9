"""A campaign of mutants of this harness: which wrong copies of oracles and gate do its tests find?

Each mutant stands in a copy of the checkout, whose tests are run: those of its package first, and
where they find nothing, those that use it. Found is what makes a test fail, does not end, or cannot
be imported. The tree as it is goes first, and has to pass.
"""

from __future__ import annotations

import hashlib
import queue
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.base.errors import SurroundingsError, UsageError
from harness.base.process import TookTooLong, run
from harness.campaigns.mutants import Found, Journal, Ledger
from harness.campaigns.mutation import Mutant, mutants_of

#: By package, the tests that are run, each of which is asked where those before found nothing.
TESTS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "harness/gate": (
        ("tests/gate",),
        ("tests/register", "tests/report", "tests/run", "tests/check", "tests/runs"),
    ),
    "harness/rig/oracles": (
        ("tests/rig/oracles",),
        ("tests/rig/cell", "tests/rig/test_mutants.py", "tests/rig/package"),
    ),
}
#: What a copy of the checkout has for itself; all else is a link to the checkout's.
_COPIED: Final = ("harness", "corpus", "tests")
_LONGEST_S: Final = 900.0


@dataclass(frozen=True)
class OwnMutant:
    """A mutant, and the file of the checkout that it is made of."""

    path: str
    mutant: Mutant

    @property
    def package(self) -> str:
        return str(Path(self.path).parent)


def own_mutants(checkout: Path, every: int) -> list[OwnMutant]:
    """Each N-th mutant of the oracles and the gate, in the order of their files and lines.

    Raises:
        UsageError: the harness is installed, and has no tests beside it.
    """
    if not (checkout / "tests").is_dir():
        raise UsageError(f"{checkout} has no tests: call --ours in a checkout of the project")
    found = [
        OwnMutant(str(path.relative_to(checkout)), mutant)
        for package in TESTS
        for path in sorted((checkout / package).glob("*.py"))
        for mutant in mutants_of(path.read_text(encoding="utf-8"))
    ]
    return found[every // 2 :: every]


def ask_tests(
    mutants: Sequence[OwnMutant],
    checkout: Path,
    folder: Path,
    jobs: int,
    say: Callable[[str], None],
) -> Ledger:
    """Ask the tests of every mutant that is not in the folder's journal yet.

    Raises:
        SurroundingsError: the tests fail of the tree as it is.
    """
    sources = sorted({(each.path, each.mutant.before) for each in mutants})
    journal = Journal(folder, hashlib.sha256(repr(sources).encode()).hexdigest())
    left = [each for each in mutants if each.mutant.name not in journal.ledger.asked]
    trees: queue.Queue[Path] = queue.Queue()
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        for number in range(jobs):
            trees.put(_copy(checkout, Path(place) / str(number)))
        tree = trees.queue[0]
        for package in sorted({each.package for each in left}):
            for tests in TESTS[package]:
                if failure := _failure(tree, tests):
                    raise SurroundingsError(f"the tree as it is fails {failure}")

        def ask(each: OwnMutant) -> tuple[OwnMutant, Found | None]:
            tree = trees.get()
            try:
                return each, next(_found(tree, each), None)
            finally:
                _put(tree, each.path, each.mutant.before)
                trees.put(tree)

        with ThreadPoolExecutor(jobs) as pool:
            for number, (each, found) in enumerate(pool.map(ask, left), 1):
                name = each.mutant.name
                if found:
                    journal.write(event="found", mutant=name, where=vars(found))
                journal.write(event="asked", case=each.package, mutants={name: True})
                say(f"{number}/{len(left)} {each.path}: {'found' if found else 'survived'}")
    return journal.ledger


def _found(tree: Path, each: OwnMutant) -> Iterator[Found]:
    _put(tree, each.path, each.mutant.after)
    for tests in TESTS[each.package]:
        if failure := _failure(tree, tests):
            yield Found(failure, "", "tests", "", each.path, failure)


def _failure(tree: Path, tests: Sequence[str]) -> str:
    """The first test that fails, or what else went wrong; empty where all pass."""
    options = ("-x", "-q", "-m", "not slow and not browser", "-p", "no:cacheprovider")
    try:
        ended = run(
            [sys.executable, "-m", "pytest", *options, *tests], folder=tree, timeout_s=_LONGEST_S
        )
    except TookTooLong:
        return "its time limit"
    if ended.code == 0:
        return ""
    lines = ended.printed.splitlines()
    failed = [line.split()[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return failed[0] if failed else f"pytest ended with exit code {ended.code}"


def _copy(checkout: Path, tree: Path) -> Path:
    tree.mkdir()
    for name in _COPIED:
        shutil.copytree(checkout / name, tree / name)
    for path in checkout.iterdir():
        if path.name not in _COPIED and path.name != ".git":
            (tree / path.name).symlink_to(path)
    return tree


def _put(tree: Path, path: str, text: str) -> None:
    """Write a file; its bytecode goes, since a file of the same size and second would seem old."""
    place = tree / path
    place.write_text(text, encoding="utf-8")
    for compiled in place.parent.glob(f"__pycache__/{place.stem}.*"):
        compiled.unlink()
