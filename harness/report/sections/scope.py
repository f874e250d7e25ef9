"""What a run compared, and where, in one line."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from harness.report import text
from harness.report.frames.matrix_views import Matrix
from harness.report.sections.environment import Compared, kind_of
from harness.report.sections.package_views import PackageLane
from harness.wire.builders import PINNED
from harness.wire.records import CellKey
from harness.wire.routes import Lane
from harness.wire.vocabulary import SubjectKind


def scope_words(
    cells: pd.DataFrame,
    matrix: Matrix,
    lane: Lane,
    packages: Sequence[PackageLane],
    gpu: str | None,
) -> str:
    """What was compared, in one line."""
    kinds = [row.kind for row in matrix.rows]
    releases = kinds.count(SubjectKind.RELEASE.value)
    others = len(kinds) - releases
    families = f"{cells['case'].nunique()} cases in {len(matrix.families)} families"
    first = (
        f"{text.plural(releases, 'release')}, {text.plural(others, 'other subject')}, {families}"
        if lane is Lane.GRAPH
        else f"{_named(lane, gpu)}: {text.plural(releases, 'release')}, {families}"
    )
    whole = (
        f"{_named(of.lane, gpu)}: {text.plural(len({row.release for row in of.rows}), 'release')}, "
        f"{text.plural(of.cases, 'case')}"
        for of in packages
        if of.lane is not lane
    )
    return "; ".join((first, *whole))


def _named(lane: Lane, gpu: str | None) -> str:
    """A lane's name, and on which GPU it ran."""
    return f"{lane} lane{f' on {gpu}' if gpu and lane is Lane.ENGINE else ''}"


def compared_words(plan: Sequence[CellKey], where: Compared) -> str:
    """Where that is, of a run with a lane that has environments of both kinds."""
    both = {key.lane for key in plan if kind_of(key.environment) != where.kinds[key.lane]}
    return f"; compared in the {PINNED} environment, and all in the version matrix" if both else ""
