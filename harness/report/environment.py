"""Which torch and TensorRT each subject pins, and which ran: one line of text a subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.rig.records import Lane, SubjectKind, SubjectSpec


def environments(
    subjects: Sequence[SubjectSpec],
    summary: Mapping[str, Any],
    provenance: Mapping[str, Any],
    lane: Lane,
) -> dict[str, str]:
    """A line for each subject, such as ``torch 2.13 (ran 2.13.0), TensorRT 11.0``, in a lane."""
    rows = summary.get("inliners", ())
    ran = {str(row.get("subject")): row for row in rows if row.get("lane", lane) == lane}
    default = torch_running(provenance)
    return {spec.subject: _line(spec, ran.get(spec.subject, {}), default) for spec in subjects}


def torches_running(
    subjects: Sequence[SubjectSpec], summary: Mapping[str, Any], provenance: Mapping[str, Any]
) -> tuple[str, ...]:
    """The different torch versions that ran: one where the environment is pinned."""
    ran = {str(row.get("subject")): row for row in summary.get("inliners", ())}
    default = torch_running(provenance)
    found = (_version(ran.get(s.subject, {}).get("torch"), "running") or default for s in subjects)
    return tuple(dict.fromkeys(version for version in found if version))


def torch_running(provenance: Mapping[str, Any]) -> str:
    """The torch of the rig, as run.json tells it, or an empty string."""
    return _version(provenance.get("torch_version") or provenance.get("torch"), "version")


def _line(spec: SubjectSpec, row: Mapping[str, Any], default: str) -> str:
    running = _version(row.get("torch"), "running") or default or "not recorded"
    if spec.kind is SubjectKind.TORCH:
        return f"the control: no inliner, ran torch {running}"
    if spec.kind is SubjectKind.BUILTIN:
        return f"built in, ran torch {running}"
    torch = f"torch {spec.torch_pinned or 'not recorded'} (ran {running})"
    engine = _version(row.get("tensorrt"), "running")
    tensorrt = f"TensorRT {spec.tensorrt_pinned or 'not recorded'}"
    return f"{torch}, {tensorrt}{f' (ran {engine})' if engine else ''}"


def _version(value: Any, field: str) -> str:
    """A version that stands either plainly or under ``field`` of a mapping."""
    if isinstance(value, Mapping):
        value = value.get(field)
    return str(value) if value else ""
