"""Reach: who makes the split of a cell, as the corpus lock says that it was observed."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence

from packaging.version import InvalidVersion, Version

from harness.corpus_checks.lock import CorpusLock, Seen, read_lock
from harness.gate.verdict import ReachOf
from harness.wire.records import CaseInfo, CellKey
from harness.wire.routes import Lane
from harness.wire.vocabulary import Reach, SplitSeen

_NO_LIKES: Mapping[str, str] = {}


def reach_in(
    cases: Iterable[CaseInfo], corpus: Sequence[str], likes: Mapping[str, str] = _NO_LIKES
) -> ReachOf:
    """The reach of a cell by the committed lock; ``likes`` is as of `observed_reach`.

    Args:
        corpus: places of cases that take the place of the project's own. The lock knows nothing of
            these, whatever they are named.
    """
    if corpus:
        return observed_reach(cases, {}, (), likes)
    lock = _committed()
    return observed_reach(cases, lock.seen, lock.releases, likes)


def observed_reach(
    cases: Iterable[CaseInfo],
    seen: Seen,
    releases: Sequence[str],
    likes: Mapping[str, str] = _NO_LIKES,
) -> ReachOf:
    """The reach of a cell.

    A cell of a whole package is the product's own. A split that was recorded from the product is,
    too, and one that is handmade is nobody's. An exported one is the product's in the releases
    whose packages make the same split of the model, and a program of it.

    Args:
        seen: what the packages make of the models; of a case that is not in it, none was asked.
        releases: whose packages were asked, the oldest first.
        likes: for each candidate the release that it is held against.
    """
    origins = {case.name: Reach(case.origin) for case in cases}

    @functools.cache
    def speaks_for(subject: str) -> str:
        return asked_for(likes.get(subject, subject), releases)

    def reach_of(key: CellKey) -> Reach:
        if key.lane != Lane.GRAPH:
            return Reach.PRODUCT
        origin, of_case = origins[key.case], seen.get(key.case, {})
        if origin is not Reach.EXPORTED or not releases:
            return origin
        same = of_case.get(speaks_for(key.subject)) is SplitSeen.SAME
        return Reach.PRODUCT if same else origin

    return reach_of


@functools.lru_cache(maxsize=1024)
def _version(subject: str) -> Version | None:
    try:
        return Version(subject)
    except InvalidVersion:
        return None


def asked_for(subject: str, releases: Sequence[str]) -> str:
    """Whose package speaks for a subject: its own, or of what has none the nearest before or after.

    Of releases before the first package it is the oldest, and of what is no release the newest.
    """
    version = _version(subject)
    older = [release for release in releases if version is None or Version(release) <= version]
    return older[-1] if older else releases[0]


@functools.cache
def _committed() -> CorpusLock:
    return read_lock()
