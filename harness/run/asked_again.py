"""Which kept cells a run asks again, to see whether they still end as they were kept. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Final

from harness.runs.plan import PlannedCell
from harness.wire.routes import Lane

#: How many kept cells of the graph lane every run asks again, of how many cases, and how many of
#: one package.
GRAPH_CELLS: Final = 20
GRAPH_CASES: Final = 7
PACKAGE_CELLS: Final = 4
PACKAGE_CASES: Final = 2


def chosen_again(kept: Sequence[PlannedCell], seed: str, audit: float) -> set[str]:
    """The ids of the kept cells that are asked again: another sample for each run.

    These are cells of a few cases of the graph lane and of one package, as a case that is captured
    once answers several cells; and, where a share of all is asked for, so many more of any.
    """
    drawn = random.Random(seed)
    graph = [cell for cell in kept if cell.key.lane == Lane.GRAPH]
    packages: dict[tuple[str, str], list[PlannedCell]] = {}
    for cell in kept:
        if cell.key.lane != Lane.GRAPH:
            packages.setdefault((cell.key.subject, cell.key.builder), []).append(cell)
    chosen = _of_few_cases(graph, drawn, GRAPH_CELLS, GRAPH_CASES)
    if packages:
        package = packages[drawn.choice(sorted(packages))]
        chosen += _of_few_cases(package, drawn, PACKAGE_CELLS, PACKAGE_CASES)
    ids = {cell.key.cell_id for cell in chosen}
    left = [cell.key.cell_id for cell in kept if cell.key.cell_id not in ids]
    more = math.ceil(audit * len(kept)) - len(ids)
    return ids | set(drawn.sample(left, min(len(left), max(0, more))))


def _of_few_cases(
    cells: Sequence[PlannedCell], drawn: random.Random, count: int, cases: int
) -> list[PlannedCell]:
    """So many cells, of so few cases where these have enough."""
    by_case: dict[str, list[PlannedCell]] = {}
    for cell in cells:
        by_case.setdefault(cell.key.case, []).append(cell)
    order = drawn.sample(sorted(by_case), len(by_case))
    each = math.ceil(count / cases)
    chosen: list[PlannedCell] = []
    left: list[PlannedCell] = []
    for name in order:
        if len(chosen) >= count:
            break
        some = drawn.sample(by_case[name], len(by_case[name]))
        chosen += some[:each]
        left += some[each:]
    return [*chosen, *left][:count]
