"""The order in which subjects stand, wherever several do."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.version import InvalidVersion, Version

from harness.wire.records import SubjectSpec
from harness.wire.vocabulary import SubjectKind


def ordered_subjects(subjects: Iterable[SubjectSpec]) -> tuple[SubjectSpec, ...]:
    """Releases by version, then files, then built-ins, then torch."""
    kinds = list(SubjectKind)

    def order(spec: SubjectSpec) -> tuple[int, Version, str]:
        return kinds.index(spec.kind), version_of(spec.release or spec.subject), spec.subject

    return tuple(sorted(subjects, key=order))


def version_of(text: str) -> Version:
    """A version to sort by. Text that is no version sorts first."""
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")
