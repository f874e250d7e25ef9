"""The search: edits are tried, those of many ops first, until none of them keeps the failure."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from harness.rig.reducing import edits, rewriting
from harness.rig.reducing.candidate import Candidate

Fails = Callable[[Candidate], bool]
"""Whether a candidate fails as it should; every program is asked once."""

_FIRST: Final = (edits.fewer_outputs, edits.plainer)
_AGAIN: Final = (
    edits.fewer_inputs,
    edits.fewer_outputs,
    edits.plainer,
    edits.fewer_fallbacks,
    edits.plainer_ops,
    edits.of_other_sizes,
)
_LAST: Final = (edits.smaller_sizes, edits.shorter_names)


def reduced(candidate: Candidate, fails: Fails) -> Iterator[Candidate]:
    """Each smaller candidate that fails; the last one is minimal: no edit of it fails.

    It ends, because each one is smaller than the one before (`Candidate.measure`).
    """
    search = _Search(candidate, fails)
    yield from search.cut_short()
    yield from search.by(_FIRST)
    for passes in (_AGAIN, (*_LAST, *_AGAIN)):
        before = None
        while before != search.best.measure():
            before = search.best.measure()
            yield from search.without_runs()
            yield from search.by(passes)


class _Search:
    """The smallest so far, and what has been asked."""

    def __init__(self, candidate: Candidate, fails: Fails) -> None:
        self.best = candidate
        self._fails = fails
        self._asked = {candidate.digest()}

    def _takes(self, edit: edits.Edit) -> bool:
        """Whether an edit gives a smaller candidate that fails, which is then the best."""
        made = edit()
        if made is None or made.measure() >= self.best.measure():
            return False
        digest = made.digest()
        if digest in self._asked:
            return False
        self._asked.add(digest)
        if not self._fails(made):
            return False
        self.best = made
        return True

    def by(
        self, passes: Iterable[Callable[[Candidate], Iterator[edits.Edit]]]
    ) -> Iterator[Candidate]:
        """Every edit of some passes."""
        for each in passes:
            yield from self._one_by_one(each)

    def _one_by_one(self, each: Callable[[Candidate], Iterator[edits.Edit]]) -> Iterator[Candidate]:
        """Edits in their order; behind one that is taken, those of what it gave, from there on."""
        position, again = 0, True
        while again:
            again = False
            for at, edit in enumerate(each(self.best)):
                if at >= position and self._takes(edit):
                    yield self.best
                    position, again = at, True
                    break

    def cut_short(self) -> Iterator[Candidate]:
        """The first ops alone, as few as fail when half of what is left is looked at each time."""
        whole = self.best
        low, high = 0, len(whole.calls)
        while high - low > 1:
            middle = (low + high) // 2
            if self._takes(functools.partial(rewriting.cut_short, whole, middle)):
                yield self.best
                high = middle
            else:
                low = middle

    def without_runs(self) -> Iterator[Candidate]:
        """Without a half, a quarter, ..., a single one of all ops, from the last to the first."""
        length = max(len(self.best.calls) // 2, 1)
        while length:
            start = len(self.best.calls) - length
            while start > -length:
                first = max(start, 0)
                count = length + min(start, 0)
                if any(map(self._takes, edits.without(self.best, first, count))):
                    yield self.best
                start = min(start, len(self.best.calls)) - length
            length //= 2
