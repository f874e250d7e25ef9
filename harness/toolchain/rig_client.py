"""The corpus as the controller sees it: asked of a rig process, since reading it needs torch."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.base.errors import SurroundingsError, UsageError
from harness.base.exit_codes import ExitCode
from harness.base.process import run
from harness.base.program import PROGRAM
from harness.toolchain import kept_answers
from harness.toolchain.environment import PROJECT_ROOT, QUESTIONS_MODULE, rig_command
from harness.toolchain.package_site import PackageSite
from harness.wire.record_json import case_from_json, to_json
from harness.wire.records import CaseInfo, SubjectSpec
from harness.wire.routes import Lane


@dataclass(frozen=True)
class Corpus:
    """Every case, and the digest of their sources."""

    cases: tuple[CaseInfo, ...]
    digest: str
    places: tuple[str, ...] = ()  # where the cases are, if they are not the project's own

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
        return _printed(python, "cases", corpus=list(places))

    # What lies elsewhere can be anything, and read anything.
    printed = ask() if cache is None or places else kept_answers.kept(cache, python, ask)
    lines = [json.loads(line) for line in printed.splitlines()]
    cases = tuple(case_from_json(line) for line in lines[:-1])
    return Corpus(cases, lines[-1]["corpus_digest"], tuple(places))


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
        "lane": Lane.GRAPH.value,
        "library": str(library),
        "subjects": [to_json(subject) for subject in subjects],
        "corpus": list(places),
        "seed": seed,
    }


def package_lane(site: PackageSite, places: Iterable[str] = (), seed: int = 0) -> dict[str, Any]:
    """The setup of a package lane, likewise."""
    return {
        "lane": Lane.PACKAGE.value,
        "site": str(site.folder),
        "release": site.release,
        "builder": site.builder,
        "corpus": list(places),
        "seed": seed,
    }


def ask_rig(python: str, question: str, **request: Any) -> list[Any]:
    """Ask the rig one question (`harness.rig.questions`) and return its answers."""
    return [json.loads(line) for line in _printed(python, question, **request).splitlines()]


def _printed(python: str, question: str, **request: Any) -> str:
    stdin = json.dumps({"question": question, **request})
    done = run(rig_command(python, QUESTIONS_MODULE), folder=PROJECT_ROOT, stdin=stdin)
    if done.code == ExitCode.USAGE:
        raise UsageError(done.last_words)
    if done.code != 0:
        raise SurroundingsError(
            f"asking the rig for {question} failed: {done.last_words}",
            f"`{PROGRAM} doctor` tells what is missing",
        )
    return done.printed


def select_cases(
    cases: Sequence[CaseInfo],
    expression: str = "",
    families: Collection[str] = (),
    *,
    quick: bool = False,
    full: bool = True,
    lanes: Collection[Lane] = (Lane.GRAPH, Lane.PACKAGE),
) -> tuple[CaseInfo, ...]:
    """The cases that an expression and families choose, each with the lanes that it goes through.

    Args:
        expression: words that a case's name or family must contain, with `and`, `or`, `not`: as
            pytest's -k, without brackets. Empty for all.
        families: families' names, or parts of them; empty for all.
        quick: of the quick cases alone.
        full: of those too, and through the lanes too, that only a full run takes.
        lanes: through these lanes alone.
    """
    known = sorted({case.family for case in cases})
    for family in families:
        if not any(family.lower() in name.lower() for name in known):
            raise UsageError(f"no family is named like {family!r}; there are: {', '.join(known)}")
    chosen = tuple(
        case
        for case in (_through(case, lanes, full) for case in cases)
        if case.lanes
        and (case.quick or not quick)
        and _chosen(expression, f"{case.name} {case.family}".lower())
        and (not families or any(name.lower() in case.family.lower() for name in families))
    )
    if not chosen:
        raise UsageError(
            f"no {'quick ' if quick else ''}case matches "
            f"{expression or ', '.join(families)!r}; `{PROGRAM} list` "
            f"shows them all{'' if full else ', and some are for `--full` alone'}"
        )
    return chosen


def _through(case: CaseInfo, lanes: Collection[Lane], full: bool) -> CaseInfo:
    """The case with those of its lanes that a run takes it through."""
    left_out = () if full else case.full
    taken = (lane for lane in case.lanes if lane in lanes and lane not in left_out)
    return dataclasses.replace(case, lanes=tuple(taken))


def _chosen(expression: str, text: str) -> bool:
    """`or` binds loosest, then `and`, then `not`."""
    words = expression.lower().split()
    if not words:
        return True
    return any(
        all(_holds(term, text, expression) for term in _parted(clause, "and"))
        for clause in _parted(words, "or")
    )


def _parted(words: Sequence[str], separator: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == separator:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _holds(term: Sequence[str], text: str, expression: str) -> bool:
    negations = [word for word in term if word == "not"]
    names = [word for word in term if word != "not"]
    if len(names) != 1 or list(term[: len(negations)]) != negations:
        raise UsageError(f"-k {expression!r}: expected words joined by `and`, `or`, `not`")
    return (names[0] in text) ^ (len(negations) % 2 == 1)
