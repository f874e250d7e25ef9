"""Questions to the rig, such as which cases there are: a process with torch answers them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from harness.base.errors import ExitCode, SurroundingsError, UsageError
from harness.base.files import digest_of, replace_file
from harness.base.process import Ended, how_it_ended, lines_of
from harness.base.program import PROGRAM
from harness.toolchain.cache import ANSWERS, CHOOSE, guarded
from harness.toolchain.environment import PROJECT_ROOT, QUESTIONS_MODULE, rig_command
from harness.toolchain.package_site import PackageSite
from harness.wire.record_json import case_from_json, to_json
from harness.wire.records import CaseInfo, SubjectSpec
from harness.wire.routes import Lane

SOURCES = tuple(PROJECT_ROOT / name for name in ("corpus", "harness/rig", "harness/wire"))
KEPT_ANSWERS = 8  # several checkouts of the project may share a cache


@dataclass(frozen=True)
class Corpus:
    """Every case, and the digest of their sources.

    ``case_digests`` has for each case the digest of its own code and of what that imports; it is
    empty if the cases are not the project's own, and ``files`` are what those are made of.
    """

    cases: tuple[CaseInfo, ...]
    digest: str
    places: tuple[str, ...] = ()  # where the cases are, if they are not the project's own
    case_digests: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()

    def of_lane(self, lane: Lane) -> tuple[CaseInfo, ...]:
        """The cases that go through one lane."""
        return tuple(case for case in self.cases if lane in case.lanes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(case.name for case in self.cases)


def read_corpus(python: str, places: Sequence[str] = (), cache: Path | None = None) -> Corpus:
    """Ask the rig for every case.

    Args:
        places: files, folders or entry points whose cases take the place of the project's own.
        cache: where the answer is kept, and given again while no source of it has changed; None
            asks in any case.
    """

    def ask() -> str:
        return "".join(_printed(python, "cases", corpus=list(places)))

    # Cases from elsewhere may depend on files that no digest here covers.
    printed = ask() if cache is None or places else kept(cache, python, ask)
    lines = [json.loads(line) for line in printed.splitlines()]
    cases = tuple(case_from_json(line) for line in lines[:-1])
    told = lines[-1]
    files = tuple(told["files"])
    return Corpus(cases, told["corpus_digest"], tuple(places), told["case_digests"], files)


def split_text(python: str, case: str, capture: str, places: Sequence[str] = ()) -> str:
    """A case's split graph as text. Raises as `read_corpus`."""
    lines = ask_rig(python, "split_text", corpus=list(places), case=case, capture=capture)
    return "\n".join(lines)


def absolute(places: Iterable[str]) -> tuple[str, ...]:
    """Paths as every process finds them, wherever it runs; entry points as they are."""
    return tuple(str(Path(place).resolve()) if Path(place).exists() else place for place in places)


def graph_lane(
    library: Path, subjects: Iterable[SubjectSpec], places: Iterable[str] = (), seed: int = 0
) -> dict[str, Any]:
    """The setup of a graph lane, as a question about its cells holds it (`harness.rig.lanes`)."""
    return {
        "lane": Lane.GRAPH,
        "library": str(library),
        "subjects": [to_json(subject) for subject in subjects],
        "corpus": list(places),
        "seed": seed,
    }


def package_lane(site: PackageSite, places: Iterable[str] = (), seed: int = 0) -> dict[str, Any]:
    """The setup of a package lane, as a question about its cells holds it."""
    return {
        "lane": Lane.PACKAGE,
        "site": str(site.folder),
        "release": site.release,
        "builder": site.builder,
        "corpus": list(places),
        "seed": seed,
    }


def ask_rig(python: str, question: str, **request: Any) -> list[Any]:
    """Ask the rig one question (`harness.rig.questions`) and return its answers."""
    return [*answers_of(python, question, **request)]


def answers_of(python: str, question: str, **request: Any) -> Iterator[Any]:
    """Ask as `ask_rig` does, and give each answer as soon as it is there."""
    return map(json.loads, _printed(python, question, **request))


def _printed(python: str, question: str, **request: Any) -> Iterator[str]:
    stdin = json.dumps({"question": question, **request})
    answered = False
    for line in lines_of(rig_command(python, QUESTIONS_MODULE), folder=PROJECT_ROOT, stdin=stdin):
        if isinstance(line, str):
            answered = True
            yield line
        elif line.code == ExitCode.USAGE:
            raise UsageError(line.last_words)
        elif question == "cases" and request["corpus"] and not (answered or _by_itself(line)):
            raise UsageError(
                f"{', '.join(Path(place).stem for place in request['corpus'])}: the process that "
                f"imports it ended: {how_it_ended(line.code)}",
                "mend what it does there",
            )
        elif line.code != 0:
            raise SurroundingsError(
                f"asking the rig for {question} failed: {line.last_words}",
                f"`{PROGRAM} doctor` tells what is missing",
            )


def _by_itself(ended: Ended) -> bool:
    """Whether the rig ended with a traceback of its own, and not by what a user's code does."""
    return ended.code == 1 and bool(ended.complaint)


def kept(cache: Path, python: str, ask: Callable[[], str]) -> str:
    """What ``ask`` returned when it was last called with the same sources, or returns now.

    To ask takes as long as importing torch. An answer is kept under a digest of everything that it
    can depend on: the sources of corpus and rig, the Python, and its torch. Nothing is kept for
    another Python than this one, because nobody here knows whether it has changed.
    """
    if python != sys.executable:
        return ask()
    digest = digest_of(SOURCES, _torch(), sys.version, python)
    folder = cache / ANSWERS
    place = folder / digest
    with guarded(place):
        if place.is_file():
            return place.read_text(encoding="utf-8")
    answer = ask()
    if digest_of(SOURCES, _torch(), sys.version, python) != digest:
        return answer  # somebody is editing
    with guarded(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for older in sorted(folder.iterdir(), key=_written)[: 1 - KEPT_ANSWERS]:
            older.unlink(missing_ok=True)
    replace_file(place, answer.encode(), CHOOSE)
    return answer


def _written(place: Path) -> float:
    return place.stat().st_mtime


def _torch() -> str:
    try:
        return version("torch")
    except PackageNotFoundError:  # whoever asks will say so
        return ""
