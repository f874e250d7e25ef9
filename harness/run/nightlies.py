"""A store of runs of nightly wheels: which are in it, and which defects came and went."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from harness.base.errors import UsageError
from harness.base.files import sha256_of
from harness.run.judged_run import JudgedRun
from harness.runs.run_folder import RunFolder, RunState
from harness.subjects.choosing import likes
from harness.wire.records import SubjectSpec
from harness.wire.vocabulary import CellState

WHEELS = "torch_tensorrt-*.whl"


@dataclass(frozen=True)
class Seen:
    """A defect, or the text of a failure, over the nightlies of a store.

    Attributes:
        first: the first nightly that shows it; ``before`` is the one before it, empty where there
            is none.
        gone: the first one behind its last showing that was asked the same and does not show it.
        shown: how many nightlies show it.
    """

    name: str
    title: str
    first: str
    before: str
    gone: str
    shown: int


def wheels_in(folder: Path) -> list[Path]:
    """The wheels of a folder by their versions, the oldest first."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder", "give a folder of wheels, or an index")
    named = [(version_of_wheel(path), path) for path in folder.glob(WHEELS)]
    return [path for _, path in sorted(named)]


def version_of_wheel(path: Path) -> Version:
    """The version in a wheel's name."""
    try:
        return Version(path.name.split("-")[1])
    except (IndexError, InvalidVersion) as error:
        raise UsageError(f"{path.name}: no wheel's name has that form") from error


def runs_in(store: Path) -> list[RunFolder]:
    """The runs of a store that came to their end, the oldest first."""
    paths = (
        sorted(path for path in store.iterdir() if not path.is_symlink()) if store.is_dir() else []
    )
    folders = (RunFolder(path) for path in paths if (path / "plan.jsonl").is_file())
    return [folder for folder in folders if folder.state() is RunState.COMPLETE]


def nightly_of(folder: RunFolder) -> SubjectSpec | None:
    """The wheel that a run judged; None for a run of anything else."""
    for spec in folder.provenance().subjects:
        if spec.subject in likes(folder.provenance().subjects) and not spec.checkout:
            return spec if spec.wheel_sha256 and not spec.exporter_path else None
    return None


def new_wheels(wheels: Iterable[Path], store: Path) -> list[Path]:
    """The wheels that no run of a store has judged, told by their content."""
    known = {spec.wheel_sha256 for spec in map(nightly_of, runs_in(store)) if spec}
    return [wheel for wheel in wheels if sha256_of(wheel) not in known]


def over_nightlies(runs: Sequence[JudgedRun]) -> tuple[list[str], list[Seen]]:
    """The nightlies by their versions, and every defect that any of them shows."""
    by_name: dict[str, JudgedRun] = {}
    for run in runs:
        if (spec := nightly_of(run.folder)) is not None:
            by_name[spec.subject] = run  # of one that was judged again, the newest
    names = sorted(by_name, key=Version)
    shown = {name: _shown_by(by_name[name], name) for name in names}
    asked = {name: _asked_of(by_name[name], name) for name in names}
    titles = {k: v for run in runs for k, v in run.expectations.register.titles.items()}
    seen = []
    for what in dict.fromkeys(what for name in names for what in shown[name]):
        having = [name for name in names if what in shown[name]]
        first, last = names.index(having[0]), names.index(having[-1])
        where = {cell for name in having for cell in shown[name][what]}
        gone = next((name for name in names[last + 1 :] if where & asked[name]), "")
        before = names[first - 1] if first else ""
        seen.append(Seen(what, titles.get(what, what), having[0], before, gone, len(having)))
    return names, seen


def _shown_by(run: JudgedRun, subject: str) -> dict[str, set[tuple[str, ...]]]:
    """What a nightly shows, and in which cells."""
    shown: dict[str, set[tuple[str, ...]]] = {}
    for each in run.shown:
        if each.key.subject == subject:
            key = each.key
            shown.setdefault(each.defect or each.fact.text, set()).add(
                (key.lane, key.case, key.route)
            )
    return shown


def _asked_of(run: JudgedRun, subject: str) -> set[tuple[str, ...]]:
    return {
        (record.key.lane, record.key.case, record.key.route)
        for record in run.records.values()
        if record.key.subject == subject and record.state is CellState.ENDED
    }
