"""Which torch and TensorRT each subject pins, and which ran, by environment.

Two kinds of environment: the pinned one, which all releases share, and matched ones, of which each
release has its own. What compares subjects is of one kind a lane (`Compared`); the version matrix
has all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.report import text
from harness.wire.builders import MATCHED, PINNED, Builder, Environment
from harness.wire.records import CellKey, SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import SubjectKind


def kind_of(environment: str) -> str:
    return Environment(environment).kind


def builder_kind(builder: str) -> str:
    """A builder without its version."""
    return Builder.shared(builder).kind.value


def compared_kind(environments: Collection[str]) -> str:
    """The kind in which subjects are compared: the pinned one, which isolates the code, if any."""
    return PINNED if PINNED in environments or not environments else MATCHED


@dataclass(frozen=True)
class Compared:
    """The environments in which the subjects of a run are compared, lane by lane.

    ``kinds`` has each lane's kind of environment: engines run on a GPU in matched ones alone. As
    torch is there, so is TensorRT the environment's, and no version of it tells two cells apart;
    but where ``versioned``, since a release has several there.
    """

    kinds: Mapping[str, str]
    versioned: bool

    def rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows whose environment is of their lane's kind, as if it were one environment.

        A release is asked in its own matched environment alone, and compared with the next in its.
        """
        if set(frame["environment"].unique()) <= {PINNED}:
            return frame
        kind = frame["environment"].map(kind_of).astype("string")
        of_kind = kind == frame["lane"].map(self.kinds).astype("string")
        here = frame[of_kind].assign(environment=pd.Categorical(kind[of_kind]))
        builder, gpu = here["builder"].astype("string"), here["lane"] == Lane.ENGINE.value
        if self.versioned or not gpu.any():
            return here
        return here.assign(builder=pd.Categorical(builder.mask(gpu, builder.map(builder_kind))))


def compared_in(plan: Sequence[CellKey]) -> Compared:
    """The environments in which this plan lets subjects be compared."""
    kinds: dict[str, set[str]] = {}
    for key in plan:
        kinds.setdefault(key.lane, set()).add(key.environment)
    on_gpu = {(key.subject, key.builder) for key in plan if key.lane == Lane.ENGINE}
    return Compared(
        kinds={lane: compared_kind(environments) for lane, environments in kinds.items()},
        versioned=len({(name, builder_kind(of)) for name, of in on_gpu}) < len(on_gpu),
    )


def environments(
    subjects: Sequence[SubjectSpec],
    summary: Mapping[str, Any],
    provenance: Mapping[str, Any],
    lane: Lane,
) -> dict[str, str]:
    """A line for each subject, such as ``torch 2.13 (ran 2.13.0), TensorRT 11.0``, in a lane."""
    rows = [row for row in summary.get("inliners", ()) if row.get("lane", lane) == lane]
    default = torch_running(provenance)
    return {
        spec.subject: _line(spec, [row for row in rows if row["subject"] == spec.subject], default)
        for spec in subjects
    }


def torches_running(
    subjects: Sequence[SubjectSpec], summary: Mapping[str, Any], provenance: Mapping[str, Any]
) -> tuple[str, ...]:
    """The different torch versions that ran: one where the environment is pinned."""
    rows = summary.get("inliners", ())
    default = torch_running(provenance)
    found = [_ran(row, "torch") for row in rows] or [default for _ in subjects]
    return tuple(dict.fromkeys(version or default for version in found if version or default))


def torch_running(provenance: Mapping[str, Any]) -> str:
    """The rig's torch as run.json has it, all of them for a merged run; empty if it is unknown."""
    return _version(provenance.get("torch_version") or provenance.get("torch"), "version")


def _line(spec: SubjectSpec, rows: Sequence[Mapping[str, Any]], default: str) -> str:
    running = _all_that_ran(rows, "torch") or default or "not recorded"
    if spec.kind is SubjectKind.TORCH:
        return f"the control: no inliner, ran torch {running}"
    if spec.kind is SubjectKind.BUILTIN:
        return f"built in, ran torch {running}"
    torch = f"torch {spec.torch_pinned or 'not recorded'} (ran {running})"
    engine = _all_that_ran(rows, "tensorrt")
    tensorrt = f"TensorRT {spec.tensorrt_pinned or 'not recorded'}"
    return f"{torch}, {tensorrt}{f' (ran {engine})' if engine else ''}"


def _all_that_ran(rows: Sequence[Mapping[str, Any]], what: str) -> str:
    return text.joined(list(dict.fromkeys(ran for row in rows if (ran := _ran(row, what)))))


def _ran(row: Mapping[str, Any], what: str) -> str:
    return _version(row.get(what), "running")


def _version(value: Any, field: str) -> str:
    """A version that stands either plainly or under ``field`` of a mapping."""
    if isinstance(value, Mapping):
        value = value.get(field)
    return str(value) if value else ""
