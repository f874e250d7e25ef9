"""Which cases a test of every case takes by default: the quick ones, some of every family.

The others are for `--full`. What such a test asks of a case, `nox -s regress` asks of all of them.
"""

from collections.abc import Collection, Iterable

import pytest
from _pytest.mark import ParameterSet

from harness.run.order import quick_cells, read_order

#: The cases of a quick run.
QUICK = frozenset(cell.case for cell in quick_cells(read_order()))


def quick_first(names: Iterable[str], quick: Collection[str] = QUICK) -> list[ParameterSet]:
    """The names as parameters, those that are not quick marked as slow."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in names]
