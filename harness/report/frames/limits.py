"""How much of a large run the page itself holds, so that it opens at once and fits a mail.

What is left out is counted where it is missed, and lies in a file beside the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MOST_ROWS: Final = 40
"""Most rows of a table that has one row per release or builder; the newest are kept."""

MOST_LISTED: Final = 300
"""Entries of one list."""

LISTED_IN_ALL: Final = 3_000
"""About how many entries all lists together may show; with many lists, each shows fewer."""


def most_of_each(sizes: Sequence[int], each: int = MOST_LISTED, in_all: int = LISTED_IN_ALL) -> int:
    """How many entries of each list are shown, so that there are not too many in all."""
    for most in range(each, 1, -1):
        if sum(min(size, most) for size in sizes) <= in_all:
            return most
    return 1
