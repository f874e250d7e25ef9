"""What counts as silent and what as announced: one count of cells by harm, for every view."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pandas as pd

from harness.wire.oracles import Harm


@dataclass(frozen=True)
class Harms:
    """How many cells harm their users, each by what he meets in it; a cosmetic failure is no harm.

    ``silent`` cells run without a warning and compute something else. Those that are ``announced``
    do so too, and the release warns of it or documents it: they are not silent, and not right.
    ``error`` ends in one; of ``interface`` the numbers are right.
    """

    silent: int = 0
    announced: int = 0
    error: int = 0
    interface: int = 0


def harms_of(cells: pd.DataFrame) -> Harms:
    """The harms of some rows of the frame of cells."""
    counts = Counter(map(str, cells["harm"].dropna()))
    return Harms(
        silent=counts[Harm.SILENT.value],
        announced=counts[Harm.WARNED.value],
        error=counts[Harm.ERROR.value],
        interface=counts[Harm.INTERFACE.value],
    )
