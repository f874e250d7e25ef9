"""What ran in one environment of a run. Pure.

A run has one environment, which its own provenance describes. A merged run has several, which the
provenance of its sources describes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.runs.plan import PlannedCell
from harness.runs.provenance import Provenance, Source


def sources_of(provenance: Provenance, plan: Iterable[PlannedCell]) -> tuple[Source, ...]:
    """The runs that a run is made of: those that were merged into it, or itself."""
    if provenance.sources:
        return provenance.sources
    return (Source(tuple(sorted({cell.key.environment for cell in plan})), provenance),)


def torch_in(provenance: Provenance, environment: str) -> str | None:
    """The torch that ran there, or all of them where a mismatch was allowed."""
    return joined_words(run.torch_version for run in _runs_in(provenance, environment))


def tensorrt_in(provenance: Provenance, environment: str, subject: str, builder: str) -> str | None:
    """The TensorRT that ran there in a subject's package, with the builder's engines."""
    return joined_words(
        package.tensorrt_running
        for run in _runs_in(provenance, environment)
        for spec in run.subjects
        if spec.subject == subject
        for package in spec.packages
        if package.builder == builder
    )


def environment_bytes_in(
    provenance: Provenance, environment: str, subject: str, builder: str
) -> int | None:
    """The bytes on the disk of the largest environment that had this package.

    If no run had it, as in the graph lane, the largest environment there is.
    """
    runs = _runs_in(provenance, environment)
    had = [run for run in runs if tensorrt_in(run, environment, subject, builder)]
    known = [run.environment_bytes for run in had or runs if run.environment_bytes is not None]
    return max(known, default=None)


def _runs_in(provenance: Provenance, environment: str) -> Sequence[Provenance]:
    if not provenance.sources:
        return (provenance,)
    return [source.run for source in provenance.sources if environment in source.environments]


def joined_words(said: Iterable[str | None]) -> str | None:
    """All different words, joined by `and`; None if there are none."""
    return " and ".join(sorted({words for words in said if words})) or None
