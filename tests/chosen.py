"""Which cases a test of every case takes by default: the quick ones, some of every family.

The others are for `--full`. What such a test asks of a case, `nox -s regress` asks of all of them.
"""

from collections.abc import Collection, Iterable

import pytest
from _pytest.mark import ParameterSet

from harness.run.order import quick_cells, read_order
from harness.wire.routes import Lane

#: The cases of a quick run, but those that it takes through the package lane alone.
QUICK = frozenset(c.case for c in quick_cells(read_order()) if c.lane is Lane.GRAPH)


def quick_first(names: Iterable[str], quick: Collection[str] = QUICK) -> list[ParameterSet]:
    """The names as parameters, those that are not quick marked as slow."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in names]
