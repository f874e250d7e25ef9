"""Seconds and bytes of the rows of a version matrix, over the cases that all of them finished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd

from harness.report.frames import tables
from harness.report.frames.measure_views import Quartiles
from harness.report.sections.package_lane import WHOLE_SAVE, compiled, summed
from harness.report.sections.rows import quartiles_by
from harness.report.sections.version_views import MEASURED_BY, Measures
from harness.wire.record_json import KEY
from harness.wire.routes import Lane
from harness.wire.vocabulary import Stage

COMPILE_PARTS: Final = {
    "compile": Stage.COMPILE,
    "lowering": Stage.LOWERING,
    "conversion": Stage.CONVERSION,
    "build": Stage.BUILD,
}


def measures_of(
    cells: pd.DataFrame, samples: pd.DataFrame, names: Sequence[str], lane: Lane
) -> dict[str, Measures]:
    """What was measured of each row, by its name.

    Args:
        cells, samples: those of one block, a row's name in place of the subject.
        lane: theirs; in the graph lane there is no compile of the release.
    """
    route = MEASURED_BY[lane]
    saved = cells[cells["route"] == route.value]
    taken = samples[samples["route"] == route.value]
    load = summed(taken, (Stage.LOAD,))
    # A save is whole only where the load, which comes after it, began.
    save = summed(taken, WHOLE_SAVE).merge(load[list(KEY)], on=list(KEY))
    files = saved.dropna(subset=["archive_bytes"]).astype({"archive_bytes": "float64"})
    bare = files.assign(
        bare=files["archive_bytes"] - files["carried_bytes"].fillna(0).astype(float)
    )
    # A run of the graph lane compiles with emulated engines, and with no release's own compile.
    parts = COMPILE_PARTS if lane is not Lane.GRAPH else {}
    found = {
        "save": _quartiles(save, "seconds"),
        "load": _quartiles(load, "seconds"),
        **{name: _quartiles(compiled(samples, part), "seconds") for name, part in parts.items()},
        "archive": _quartiles(files, "archive_bytes"),
        "bare": _quartiles(bare, "bare"),
    }
    return {
        name: Measures(**{what: of.get((name,)) for what, of in found.items()}) for name in names
    }


def _quartiles(frame: pd.DataFrame, column: str) -> Mapping[tuple[str, ...], Quartiles]:
    # All of one route, so that there is one group to compare within.
    fair = tables.comparable(frame.assign(all=""), ["all"])
    return quartiles_by(tables.quartiles(fair, ["subject"], column), "subject")
