"""A campaign of mutants of this harness: which wrong copies of oracles and gate do its tests find?

Each mutant stands in a copy of the checkout, of which those tests are run that run its line. Found
is what makes a test fail, does not end, or cannot be imported. The tree as it is goes first, and
has to pass; which test runs which line is measured on that way. What a test starts as a process of
its own is not measured: where no test runs a line, all are asked that use the package.
"""

from __future__ import annotations

import hashlib
import json
import queue
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.base.errors import SurroundingsError, UsageError
from harness.base.files import digest_of, replace_file
from harness.base.process import TookTooLong, run
from harness.campaigns.mutants import Found, Journal, Ledger
from harness.campaigns.mutation import Mutant, mutants_of

#: By package, the tests that use it, its own first.
TESTS: Final[Mapping[str, tuple[str, ...]]] = {
    "harness/gate": (
        "tests/gate",
        "tests/register",
        "tests/report",
        "tests/run",
        "tests/check",
        "tests/runs",
    ),
    "harness/rig/oracles": (
        "tests/rig/oracles",
        "tests/rig/cell",
        "tests/rig/test_mutants.py",
        "tests/rig/package",
    ),
}
#: What a copy of the checkout has for itself; all else is a link to the checkout's.
_COPIED: Final = ("harness", "corpus", "tests")
#: How often the time of all tests of a package those of one mutant may take, which are a part.
_LONGER: Final = 2.0


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
        measured = {
            package: _remembered_tests(trees.queue[0], package, jobs, folder)
            for package in sorted({each.package for each in left})
        }

        def ask(each: OwnMutant) -> tuple[OwnMutant, Found | None]:
            tree = trees.get()
            try:
                _put(tree, each.path, each.mutant.after)
                tests = measured[each.package]
                test = _failure(tree, tests.to_ask(each), tests.limit_s)
                return each, Found(test, "", "tests", "", each.path, test) if test else None
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


@dataclass(frozen=True)
class _TestsByLine:
    """Which tests of a package run which line of which of its files.

    ``lines`` are by the file's path in the checkout, and ``seconds`` what all tests took, one after
    the other.
    """

    lines: Mapping[str, Mapping[int, frozenset[str]]]
    seconds: float

    @property
    def limit_s(self) -> float:
        """How long the tests of a mutant may take before it counts as one that does not end."""
        return _LONGER * self.seconds

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> _TestsByLine:
        names = data["tests"]
        return cls(
            {
                path: {
                    int(line): frozenset(names[number] for number in numbers)
                    for line, numbers in lines.items()
                }
                for path, lines in data["lines"].items()
            },
            data["seconds"],
        )

    def to_json(self) -> dict[str, Any]:
        """Each test once by its name, and by its number where it runs a line."""
        files = self.lines.values()
        names = sorted({name for lines in files for tests in lines.values() for name in tests})
        numbers = {name: number for number, name in enumerate(names)}
        return {
            "seconds": self.seconds,
            "tests": names,
            "lines": {
                path: {line: sorted(map(numbers.__getitem__, tests)) for line, tests in of.items()}
                for path, of in self.lines.items()
            },
        }

    def to_ask(self, each: OwnMutant) -> tuple[str, ...]:
        """The tests that run a line of the mutant's statement; else those that run its file.

        A line that is run as its module is imported has no test of its own.
        """
        lines = self.lines.get(each.path, {})
        statement = range(each.mutant.first, each.mutant.last + 1)
        of_statement = frozenset[str]().union(*(lines.get(line, ()) for line in statement))
        tests = of_statement or frozenset[str]().union(*lines.values())
        places = TESTS[each.package]
        return tuple(sorted(tests, key=lambda test: (_first_of(places, test), test))) or places


def _first_of(places: Sequence[str], test: str) -> int:
    """Where the test's folder stands among ``places``, of which the first is the nearest."""
    return next(number for number, place in enumerate(places) if test.startswith(place))


def _remembered_tests(tree: Path, package: str, jobs: int, folder: Path) -> _TestsByLine:
    """The tests by line as the campaign's folder has them of the same code; else measured now."""
    kept = folder / f"tests-of-{Path(package).name}.json"
    code = digest_of(tree / name for name in _COPIED)
    if kept.exists():
        found = json.loads(kept.read_text(encoding="utf-8"))
        if found["code"] == code:
            return _TestsByLine.from_json(found)
    measured = _tests_by_line(tree, package, jobs)
    replace_file(kept, json.dumps({"code": code, **measured.to_json()}).encode())
    return measured


def _tests_by_line(tree: Path, package: str, jobs: int) -> _TestsByLine:
    """Run all tests of a package, and see which lines each of them runs.

    Raises:
        SurroundingsError: one fails.
    """
    began = time.monotonic()
    measuring = (f"--cov={package}", "--cov-context=test", "--cov-report=", "-n", str(jobs))
    if failure := _failure(tree, (*measuring, *TESTS[package]), limit_s=None):
        raise SurroundingsError(f"the tree as it is fails {failure}")
    seconds = jobs * (time.monotonic() - began)
    report = tree / "coverage.json"
    written = run(
        [sys.executable, "-m", "coverage", "json", "--show-contexts", "-o", report], folder=tree
    )
    if written.code:
        raise SurroundingsError(f"what the tests run was not measured: {written.last_words}")
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    return _TestsByLine(
        {
            path: {
                int(line): frozenset(name.rpartition("|")[0] for name in names if name)
                for line, names in file["contexts"].items()
            }
            for path, file in files.items()
        },
        seconds,
    )


def _failure(tree: Path, tests: Sequence[str], limit_s: float | None) -> str:
    """Run pytest with these words: the first test that fails; empty where all pass."""
    options = ("-x", "-q", "-m", "not slow and not browser", "-p", "no:cacheprovider")
    words = tree / "tests-asked"  # a command line would be too short for thousands of tests
    words.write_text("\n".join(tests), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", *options, f"@{words}"]
    try:
        ended = run(command, folder=tree, timeout_s=limit_s)
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
