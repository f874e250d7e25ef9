"""What came out when a user's own models were taken through releases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.gate.model_answer import ModelAnswer
from harness.run.judged_run import JudgedRun
from harness.subjects.packages import Installed
from harness.wire.builders import SEGMENT
from harness.wire.records import CaseInfo


def _version_of(pin: str) -> str:
    """``2.14.0`` of ``>=2.14.0+cu130``."""
    return pin.lstrip("=~<>").partition("+")[0]


@dataclass(frozen=True)
class Checked:
    """What came out for some models.

    ``place`` is the models file, as a command in any folder finds it. ``runs`` are the runs that
    were made, the newest releases in the first. ``splits`` tells how the newest release split each
    model, and ``split_by`` how older ones did, by model and release. ``installed`` is the package
    that was asked, if it is the one that is installed here. ``own_torch`` says of a known defect,
    by its id and a release, what it does in this project's cases with the torch which that release
    pins, where that is less than here. ``modules`` are the models of which `torch_tensorrt.compile`
    of the module itself compiles another program than `torch.export` makes, in the releases in
    which it does; ``same_program`` names those in which it compiles the same, by model.
    """

    place: str
    answers: tuple[ModelAnswer, ...]
    runs: tuple[JudgedRun, ...]
    splits: Mapping[str, Mapping[str, Any]]
    torch: str
    installed: Installed | None = None
    builder: str = SEGMENT
    own_torch: Mapping[tuple[str, str], str] = field(default_factory=dict)
    split_by: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    modules: Checked | None = None
    same_program: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of_module(self, answer: ModelAnswer) -> ModelAnswer | None:
        """What is to be said of the module itself, where that was asked."""
        if self.modules is None:
            return None
        modules = self.modules
        own = (each for each in modules.answers if modules.case_of(each).module_of == answer.model)
        return next(own, None)

    def case_of(self, answer: ModelAnswer) -> CaseInfo:
        """What was planned of a model that was asked."""
        return next(case for run in self.runs for case in run.cases if case.name == answer.model)

    def split_of(self, answer: ModelAnswer) -> tuple[str, Mapping[str, Any]]:
        """The release to use and how it splits a model; where nothing is told, the newest."""
        best = answer.best.release if answer.best else ""
        newest = next(iter(answer.releases), ""), self.splits.get(answer.model, {})
        split = self.split_by.get((answer.model, best))
        return newest if split is None else (best, split)

    def pinned(self, release: str) -> str:
        """The torch that a release pins, if it was asked here with another one."""
        specs = {spec.subject: spec for run in self.runs for spec in run.subjects}
        pin = (specs[release].torch_pinned or "") if release in specs else ""
        other = self.installed is None and not self.torch.startswith(_version_of(pin))
        return _version_of(pin) if other else ""

    def run_of(self, release: str) -> JudgedRun:
        """The run that asked a release."""
        asked = (run for run in self.runs if release in {spec.subject for spec in run.subjects})
        return next(asked, self.runs[0])
