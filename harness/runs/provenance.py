"""Where a run comes from: everything that is needed to trust it or to repeat it.

Collecting it never fails a run. What a machine does not tell is recorded as None or "unknown". This
module also decides what two runs must share so that the second may finish the first.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib.metadata
import importlib.util
import os
import platform
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from harness.base.errors import SurroundingsError
from harness.base.files import digest_of
from harness.base.process import run
from harness.machine.nvml import Gpu, NvmlError, read_gpus
from harness.runs.plan import PlannedCell
from harness.wire.record_json import check_schema, decode, to_json
from harness.wire.records import SubjectSpec
from harness.wire.vocabulary import SubjectKind

_GIT_TIMEOUT_S = 10.0
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class Provenance:
    """The content of ``run.json``. ``started_at`` is ISO 8601 in UTC, memory is in bytes.

    A merged run (`harness.runs.merging`) has the runs that went into it as its ``sources``. Where
    they differ, its own fields list all values, or hold the smallest number.
    """

    run_id: str
    started_at: str
    command_line: tuple[str, ...]
    seeds: tuple[int, ...]
    corpus_digest: str
    subjects: tuple[SubjectSpec, ...]
    harness_commit: str | None  # None: not a git checkout, or no git
    harness_dirty: bool | None
    torch_version: str | None  # None: not installed where the controller runs
    torch_build: str | None
    pip_freeze: tuple[str, ...]
    python: str
    os: str
    cpu_model: str
    cpu_cores: int  # those this process may use, which a container can make fewer than there are
    memory_bytes: int
    clock_source: str
    gpu: str | None = None  # the names of all, or why NVML does not tell; None: there is no NVML
    gpus: tuple[Gpu, ...] = ()  # as they were when the run began
    corpus: tuple[str, ...] = ()  # where the cases are, if they are not the project's own
    environment_bytes: int | None = None  # what the environment takes on the disk; None: unknown
    sources: tuple[Source, ...] = ()
    mismatches: tuple[str, ...] = ()  # of a merged run: in what its sources are unlike
    rig_digest: str | None = None  # of what judges cells; None: of a run that did not tell yet
    baseline: str = ""  # the release that the other one is held against; empty: the older
    budget_s: float | None = None  # so long it asked; None: until all was asked
    budget_cells: int = 0  # so many it would have asked without a budget

    def ran_out(self, plan: Sequence[PlannedCell]) -> bool:
        """Whether the run had no time for more than this plan."""
        return len(plan) < self.budget_cells


@dataclass(frozen=True)
class Source:
    """One run of those that were merged, and the environments that its cells have."""

    environments: tuple[str, ...]
    run: Provenance  # not a merged one


def collect_provenance(
    *,
    root: Path,
    corpus_digest: str,
    subjects: Sequence[SubjectSpec],
    seeds: Sequence[int],
    command_line: Sequence[str],
    corpus: Sequence[str] = (),
    environment_bytes: int | None = None,
    baseline: str = "",
) -> Provenance:
    """Describe this machine, this environment and the checkout at ``root``, without raising.

    torch is looked up but not imported.
    """
    started = datetime.now(UTC)
    commit, dirty = _git_state(root)
    version, build = _installed_torch()
    gpu, gpus = _gpus()
    return Provenance(
        run_id=new_run_id(started),
        started_at=started.isoformat(timespec="seconds"),
        command_line=tuple(command_line),
        seeds=tuple(seeds),
        corpus_digest=corpus_digest,
        subjects=tuple(_without_cache(spec) for spec in subjects),
        harness_commit=commit,
        harness_dirty=dirty,
        torch_version=version,
        torch_build=build,
        pip_freeze=_installed_packages(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        os=platform.platform(),
        cpu_model=_cpu_model(),
        cpu_cores=len(os.sched_getaffinity(0)),
        memory_bytes=int(psutil.virtual_memory().total),
        clock_source=_clock_source(),
        gpu=gpu,
        gpus=gpus,
        corpus=tuple(corpus),
        environment_bytes=environment_bytes,
        rig_digest=digest_of([root / "harness" / "rig", root / "harness" / "wire"]),
        baseline=baseline,
    )


def new_run_id(started: datetime, tail: str = "") -> str:
    """The UTC time to the second, which sorts, and 6 hex digits, random ones by default."""
    return f"{started.astimezone(UTC):%Y%m%dT%H%M%SZ}-{tail or secrets.token_hex(3)}"


def _without_cache(spec: SubjectSpec) -> SubjectSpec:
    """Name a release's wheel without its folder, which means nothing on another machine."""
    if spec.kind is not SubjectKind.RELEASE or spec.wheel_path is None:
        return spec
    return dataclasses.replace(spec, wheel_path=Path(spec.wheel_path).name)


def provenance_to_json(provenance: Provenance) -> dict[str, Any]:
    """JSON data in which each subject, and the run of each source, has its schema's number."""
    data = to_json(provenance)
    data["subjects"] = [to_json(subject) for subject in provenance.subjects]
    data["sources"] = [
        {"environments": list(source.environments), "run": provenance_to_json(source.run)}
        for source in provenance.sources
    ]
    return data


def provenance_from_json(data: Mapping[str, Any], where: str) -> Provenance:
    """The inverse of `provenance_to_json`; ``where`` names the file in messages.

    Raises:
        UnknownSchema: written by another schema.
        KeyError, TypeError, ValueError: as `decode`.
    """
    check_schema(data, where)
    return decode(Provenance, data)


def resume_mismatch(old: Provenance, new: Provenance) -> list[str]:
    """Why verdicts of ``new`` must not be mixed into the run of ``old``; empty if they may be."""
    differences = [
        f"{what}: the run has {before}, this is {now}"
        for what, before, now in (
            ("corpus digest", old.corpus_digest, new.corpus_digest),
            ("torch", old.torch_version, new.torch_version),
            ("torch build", old.torch_build, new.torch_build),
            ("seeds", list(old.seeds), list(new.seeds)),
            # Of an older run nobody knows.
            ("harness/rig", old.rig_digest or new.rig_digest, new.rig_digest),
        )
        if before != now
    ]
    before, now = _inliners(old), _inliners(new)
    for subject in dict.fromkeys([*before, *now]):
        if before.get(subject) != now.get(subject):
            was, becomes = before.get(subject, "no such subject"), now.get(subject, "absent")
            differences.append(f"inliner of {subject}: the run has {was}, this is {becomes}")
    return differences


def resume_warnings(old: Provenance, new: Provenance) -> list[str]:
    """Differences that allow to resume, but that a reader of the results should know."""
    return [
        f"{what}: the run has {before}, this is {now}"
        for what, before, now in (
            ("harness commit", old.harness_commit, new.harness_commit),
            ("harness has uncommitted changes", old.harness_dirty, new.harness_dirty),
            ("Python", old.python, new.python),
        )
        if before != now
    ]


def _inliners(provenance: Provenance) -> dict[str, str]:
    # A subject that was unavailable left unsupported cells behind, so that counts as a difference.
    return {
        subject.subject: f"{subject.inliner_id or 'none'}"
        + (" (unavailable)" if subject.unavailable else "")
        for subject in provenance.subjects
    }


def _git_state(root: Path) -> tuple[str | None, bool | None]:
    """The commit checked out at ``root`` and whether files differ from it; None if unknown."""
    # Both paths are given: a search upward could find another repository around an unpacked
    # archive, and a hook's GIT_DIR would win over -C.
    git = ["git", "--no-optional-locks", f"--git-dir={root / '.git'}", f"--work-tree={root}"]
    commit = _output([*git, "rev-parse", "HEAD"], root)
    if not commit:
        return None, None
    status = _output([*git, "status", "--porcelain"], root)
    return commit.strip(), None if status is None else bool(status.strip())


def _output(command: Sequence[str], folder: Path) -> str | None:
    """What a command prints, or None if it cannot be run or fails."""
    try:
        done = run(command, folder=folder, timeout_s=_GIT_TIMEOUT_S)
    except SurroundingsError:
        return None
    return done.printed if done.code == 0 else None


def _installed_torch() -> tuple[str | None, str | None]:
    """torch's version, and how it was built, both read from its files without importing it."""
    try:
        spec = importlib.util.find_spec("torch")
        installed = importlib.metadata.version("torch")
    except (ImportError, ValueError):
        return None, None
    if spec is None or spec.origin is None:
        return installed, None
    try:
        source = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
        constants = _assigned_constants(source)
    except (OSError, SyntaxError, ValueError):
        return installed, None
    build = ", ".join(
        f"{name} {constants[name]}"
        for name in ("git_version", "cuda", "hip", "debug")
        if constants.get(name) is not None
    )
    return str(constants.get("__version__", installed)), build or None


def _assigned_constants(source: str) -> dict[str, object]:
    """The module-level names of ``source`` that are assigned a constant."""
    constants: dict[str, object] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        if isinstance(value, ast.Constant):
            for target in targets:
                if isinstance(target, ast.Name):
                    constants[target.id] = value.value
    return constants


def _installed_packages() -> tuple[str, ...]:
    lines = {
        f"{distribution.name}=={distribution.version}"
        for distribution in importlib.metadata.distributions()
        # A half-removed package leaves metadata without a name.
        if distribution.metadata["Name"]
    }
    return tuple(sorted(lines, key=str.lower))


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine() or _UNKNOWN


def _gpus() -> tuple[str | None, tuple[Gpu, ...]]:
    """The content of ``gpu`` and of ``gpus``."""
    try:
        gpus = read_gpus()
    except NvmlError as error:
        return f"NVML failed: {error}", ()
    return " and ".join(gpu.name for gpu in gpus) or None, gpus


def _clock_source() -> str:
    clock = time.get_clock_info("perf_counter")
    clock_text = f"{clock.implementation}, resolution {clock.resolution:g} s"
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    try:
        return f"{clock_text}, {source.read_text(encoding='ascii').strip()}"
    except OSError:
        return clock_text


def with_fresh_id(provenance: Provenance) -> Provenance:
    """The same under another run id, because a folder of the old name exists."""
    started = datetime.fromisoformat(provenance.started_at)
    return dataclasses.replace(provenance, run_id=new_run_id(started))


def sources_of(provenance: Provenance, plan: Iterable[PlannedCell]) -> tuple[Source, ...]:
    """The runs that a run is made of: those that were merged into it, or itself.

    A run has one environment, and a merged run has those of its sources.
    """
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
