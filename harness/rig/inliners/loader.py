"""From a subject's description to the inliner that stands for it."""

from __future__ import annotations

from harness.rig.inliners.builtin import WIRINGS, BuiltinInliner
from harness.rig.inliners.control import NoInliner
from harness.rig.inliners.protocol import Inliner, LoadError
from harness.rig.inliners.release import ReleaseInliner
from harness.wire.records import SubjectSpec
from harness.wire.vocabulary import SubjectKind


def load_inliner(spec: SubjectSpec) -> Inliner:
    """The inliner of one subject.

    Raises:
        LoadError: it cannot be loaded.
    """
    if spec.kind is SubjectKind.TORCH:
        return NoInliner()
    if spec.kind is SubjectKind.BUILTIN:
        if spec.subject not in WIRINGS:
            raise LoadError(f"no built-in inliner is named {spec.subject}")
        return BuiltinInliner(spec.subject)
    return ReleaseInliner(spec)
