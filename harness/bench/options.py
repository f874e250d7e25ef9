"""The options of a bench, and the plan, subjects and provenance that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.base.errors import SurroundingsError, UsageError
from harness.base.program import PROGRAM
from harness.bench import plan as plans
from harness.bench.measures import Measures, measures_of
from harness.bench.plan import BenchCell, BenchPlan
from harness.catalogue.releases import Catalogue
from harness.runs.provenance import Provenance, collect_provenance
from harness.subjects.choosing import choose_subjects
from harness.subjects.specs import BUILTIN_SUBJECTS
from harness.toolchain import Toolchain
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import Corpus
from harness.wire.bench_records import USER_PASSES
from harness.wire.builders import SEGMENT
from harness.wire.records import CaseInfo, SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import SubjectKind


@dataclass(frozen=True)
class BenchOptions:
    """What a user asks of a bench."""

    baseline: str
    candidate: str = ""  # empty: the newest release, or the file
    exporter: Path | None = None
    wheel: Path | None = None  # a candidate that is a whole wheel
    like: str = ""
    cases: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()  # empty: those of the lane that both have
    stages: str = ""
    gating: str = ""
    sweeps: tuple[str, ...] = ()
    full: bool = False
    budget_s: float = 300.0
    max_slowdown: str = ""
    seed: int = 0
    spawn: bool = False
    corpus: tuple[str, ...] = ()
    lane: str = Lane.GRAPH
    builder: str = SEGMENT  # of the package lane's engines
    pythons: tuple[str, ...] = ()  # RELEASE=PATH: of the package lane's releases
    out: Path = Path("results")
    command_line: tuple[str, ...] = ()


def check(options: BenchOptions) -> None:
    """Raise UsageError for mistakes that depend on neither the corpus nor the releases."""
    measures = measures_of(options.lane)
    foreign = _OF_THE_OTHER_LANE[measures.lane](options)
    if any(foreign.values()):
        options_given = ", ".join(name for name, given in foreign.items() if given)
        raise UsageError(f"--lane {options.lane} has no {options_given}; it is for the other lane")
    plans.bands(options.max_slowdown)
    for text in (options.stages, options.gating):
        measures.choose(text)
    if options.sweeps:
        plans.make_cells((), ("",), options.sweeps, full=options.full)


_OF_THE_OTHER_LANE: Final[Mapping[Lane, Callable[[BenchOptions], dict[str, bool]]]] = {
    Lane.GRAPH: lambda options: {
        "--builder": options.builder != SEGMENT,
        "--python": bool(options.pythons),
    },
    Lane.PACKAGE: lambda options: {
        "--exporter": options.exporter is not None,
        "--like": bool(options.like) and options.wheel is None,
        "--sweep": bool(options.sweeps),
    },
}


def make_plan(
    options: BenchOptions, corpus: Corpus, baseline: SubjectSpec, candidate: SubjectSpec
) -> BenchPlan:
    """The plan of a bench of these two subjects."""
    measures = measures_of(options.lane)
    metrics = measures.choose(options.stages)
    importing = [metric for metric in metrics if metric in USER_PASSES["import"]]
    cells: tuple[BenchCell, ...] = (plans.IMPORT_CELL,) if importing else ()
    if len(importing) < len(metrics):
        routes = _routes(options, measures, (baseline, candidate))
        cases = _cases(options, measures, corpus)
        cells = (*plans.make_cells(cases, routes, options.sweeps, full=options.full), *cells)
    wanted = measures.choose(options.gating) if options.gating else measures.gating
    gating = tuple(stage for stage in metrics if stage in wanted)
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
        sizes=measures.sizes,
        lane=options.lane,
        builder=options.builder,
    )


def _routes(
    options: BenchOptions, measures: Measures, specs: Sequence[SubjectSpec]
) -> tuple[str, ...]:
    had = {spec.subject: _routes_of(spec, measures.lane) for spec in specs}
    if not options.routes:
        return tuple(
            route for route in measures.routes if all(route in routes for routes in had.values())
        )
    for subject, routes in had.items():
        missing = [route for route in options.routes if route not in routes]
        if missing:
            raise UsageError(
                f"{subject} has no route {', '.join(missing)} in the {measures.lane} lane; "
                f"it has {', '.join(routes)}"
            )
    return options.routes


def _routes_of(spec: SubjectSpec, lane: Lane) -> tuple[str, ...]:
    """The routes of the inliner in the graph lane, or of the whole package."""
    if lane is Lane.GRAPH:
        return spec.routes
    return spec.packages[0].routes


def _cases(options: BenchOptions, measures: Measures, corpus: Corpus) -> tuple[CaseInfo, ...]:
    known = {case.name: case for case in corpus.of_lane(measures.lane)}
    names = options.cases
    if not names and not options.sweeps:
        names = tuple(known) if corpus.places else measures.cases
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            f"no case is named {', '.join(unknown)} in the {measures.lane} lane; "
            f"`{PROGRAM} list` shows them all"
        )
    return tuple(case for case in known.values() if case.name in names)


def subjects_of(
    options: BenchOptions, toolchain: Toolchain, catalogue: Catalogue
) -> tuple[SubjectSpec, SubjectSpec]:
    brought = options.exporter or options.wheel
    newest = catalogue.newest.version
    names = [options.baseline, *([] if brought else [options.candidate or newest])]
    releases = [name for name in names if name not in BUILTIN_SUBJECTS]
    chosen = choose_subjects(
        toolchain,
        catalogue,
        releases=",".join(dict.fromkeys(releases)),
        exporter=options.exporter,
        wheel=options.wheel,
        like=options.like,
    )
    by_name = {spec.subject: spec for spec in chosen}
    files = [spec for spec in chosen if spec.kind is SubjectKind.FILE]
    pair = (by_name[options.baseline], files[0] if files else by_name[names[-1]])
    for spec in pair:
        if spec.unavailable:
            raise SurroundingsError(f"{spec.subject} cannot be measured: {spec.unavailable}")
    return pair


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
