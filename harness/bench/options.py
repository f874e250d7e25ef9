"""What a user asks of a bench, and the plan, subjects and provenance that come of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.bench import plan as plans
from harness.bench.plan import BenchPlan
from harness.choosing import choose_subjects
from harness.corpus_client import Corpus
from harness.errors import SurroundingsError, UsageError
from harness.provenance import Provenance, collect_provenance
from harness.releases import Catalogue
from harness.rig.records import CaseInfo, SubjectKind, SubjectSpec
from harness.subjects import BUILTIN_SUBJECTS
from harness.toolchain import Toolchain
from harness.toolchain.environment import PROJECT_ROOT


@dataclass(frozen=True)
class BenchOptions:
    """What a user asks of a bench."""

    baseline: str
    candidate: str = ""  # empty: the newest release, or the file
    exporter: Path | None = None
    like: str = ""
    cases: tuple[str, ...] = ()
    routes: tuple[str, ...] = plans.DEFAULT_ROUTES
    stages: str = ""
    gating: str = ""
    sweeps: tuple[str, ...] = ()
    full: bool = False
    budget_s: float = 300.0
    max_slowdown: str = ""
    seed: int = 0
    spawn: bool = False
    corpus: tuple[str, ...] = ()
    out: Path = Path("results")
    command_line: tuple[str, ...] = ()


def check(options: BenchOptions) -> None:
    """Raise UsageError for what is wrong whatever the corpus and the releases are."""
    plans.bands(options.max_slowdown)
    for text in (options.stages, options.gating):
        plans.stages(text)
    if options.sweeps:
        plans.make_cells((), options.routes, options.sweeps, full=options.full)


def make_plan(
    options: BenchOptions, corpus: Corpus, baseline: SubjectSpec, candidate: SubjectSpec
) -> BenchPlan:
    """Raises UsageError for what is not there."""
    for spec in (baseline, candidate):
        missing = [route for route in options.routes if route not in spec.routes]
        if missing:
            raise UsageError(f"{spec.subject} has no route {', '.join(missing)}")
    cells = plans.make_cells(
        _cases(options, corpus), options.routes, options.sweeps, full=options.full
    )
    metrics = plans.stages(options.stages)
    asked = plans.stages(options.gating) if options.gating else plans.GATING
    gating = tuple(stage for stage in metrics if stage in asked)
    return BenchPlan(
        baseline=baseline.subject,
        candidate=candidate.subject,
        cells=cells,
        metrics=metrics,
        gating=gating or metrics,
        bands=plans.bands(options.max_slowdown),
        budget_s=options.budget_s,
        seed=options.seed,
        spawn=options.spawn,
    )


def _cases(options: BenchOptions, corpus: Corpus) -> tuple[CaseInfo, ...]:
    names = options.cases
    if not names and not options.sweeps:
        names = plans.DEFAULT_CASES if not corpus.places else corpus.names
    unknown = [name for name in names if name not in corpus.names]
    if unknown:
        raise UsageError(
            f"no case is named {', '.join(unknown)}; `python -m harness list` shows them all"
        )
    return tuple(case for case in corpus.cases if case.name in names)


def subjects_of(
    options: BenchOptions, toolchain: Toolchain, catalogue: Catalogue
) -> tuple[SubjectSpec, SubjectSpec]:
    newest = "" if options.exporter else catalogue.newest.version
    names = [options.baseline, *([options.candidate or newest] if not options.exporter else [])]
    releases = [name for name in names if name not in BUILTIN_SUBJECTS]
    chosen = choose_subjects(
        toolchain,
        catalogue,
        releases=",".join(dict.fromkeys(releases)),
        exporter=options.exporter,
        like=options.like,
    )
    by_name = {spec.subject: spec for spec in chosen}
    files = [spec for spec in chosen if spec.kind is SubjectKind.FILE]
    found = (by_name[options.baseline], files[0] if files else by_name[names[-1]])
    for spec in found:
        if spec.unavailable:
            raise SurroundingsError(f"{spec.subject} cannot be measured: {spec.unavailable}")
    return found


def provenance_of(
    options: BenchOptions, corpus: Corpus, subjects: tuple[SubjectSpec, ...]
) -> Provenance:
    return collect_provenance(
        root=PROJECT_ROOT,
        corpus_digest=corpus.digest,
        corpus=corpus.places,
        subjects=subjects,
        seeds=(options.seed,),
        command_line=options.command_line,
    )
