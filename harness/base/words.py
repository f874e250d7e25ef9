"""Counts and names as words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def plural(count: int, noun: str, several: str = "") -> str:
    """``1 cell``, ``2 cells``, ``1,234 cells``; ``several`` is the plural that has no plain s."""
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def listed(words: Iterable[str], most: int = 4, between: str = ", ") -> str:
    """``a, b, c and 5 more``."""
    items = list(words)
    shown = items if len(items) <= most + 1 else items[:most]
    rest = len(items) - len(shown)
    return between.join(shown) + (f" and {rest} more" if rest else "")


def most_first(counted: Mapping[str, int]) -> tuple[str, ...]:
    """The most frequent first; those that are equally frequent in the order of the alphabet."""
    return tuple(sorted(counted, key=lambda word: (-counted[word], word)))


def span(neighbours: Sequence[str], to: str = " to ") -> str:
    """Neighbours by their ends: ``2.7.0 to 2.10.0``; one by its name."""
    return neighbours[0] if len(neighbours) == 1 else f"{neighbours[0]}{to}{neighbours[-1]}"


def spans(names: Iterable[str], order: Sequence[str], to: str = " to ") -> list[str]:
    """Names that follow each other in ``order`` put together: ``2.3.0``, ``2.7.0 to 2.10.0``."""
    runs: list[list[str]] = []
    for name in sorted(names, key=order.index):
        if runs and order.index(runs[-1][-1]) + 1 == order.index(name):
            runs[-1].append(name)
        else:
            runs.append([name])
    return [span(run, to) for run in runs]
