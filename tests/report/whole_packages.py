"""2.13.0 and 2.14.0 as whole packages in a synthetic run, on a CPU or on a GPU."""

import dataclasses

from harness.wire.builders import CUDA, EMULATED
from harness.wire.oracles import Oracle
from harness.wire.records import CaseInfo, CellKey, PackageSpec
from harness.wire.routes import Lane, Route
from tests.report.conftest import Run

CALLS = ("no-retrace", "no-retrace-export", "retrace")
SECONDS = {
    "inline-engines": 0.001,
    "inline-fallbacks": 0.002,
    "clean": 0.001,
    "export": 0.006,
    "save": 0.01,
    "load": 0.1,
}
TENSORRT_OF = {"2.13.0": "tensorrt-11.0.0.114", "2.14.0": "tensorrt-11.1.0.106"}


def with_packages(run: Run) -> Run:
    """Two cases by three calls, and only `save(m, f)` is clean; engines are emulated segments."""
    builders = dict.fromkeys(TENSORRT_OF, "segment")
    return _with(run, builders, lane=Lane.PACKAGE, executor=EMULATED)


def with_engines(run: Run) -> Run:
    """The same on a GPU, each release in its own environment with its own TensorRT."""
    return _with(run, TENSORRT_OF, lane=Lane.ENGINE, executor=CUDA)


def alone(run: Run, lane: Lane) -> Run:
    """A lane without any other."""
    run.plan = [key for key in run.plan if key.lane == lane]
    run.records = [record for record in run.records if record.key.lane == lane]
    planned = {key.case for key in run.plan}
    run.cases = [case for case in run.cases if case.name in planned]
    return run


def _with(run: Run, builders: dict[str, str], *, lane: str, executor: str) -> Run:
    known = {case.name for case in run.cases}
    run.cases += [
        CaseInfo(name, "packages", "product", "a defect", lanes=("package",))
        for name in ("one", "two")
        if name not in known
    ]
    for at, spec in enumerate(run.subjects):
        if spec.subject in builders:
            packages = (*spec.packages, _package(builders[spec.subject], executor))
            run.subjects[at] = dataclasses.replace(spec, packages=packages)
    for name, case, call, failures in (
        ("2.13.0", "one", "no-retrace", {Oracle.VALUES: "off"}),
        ("2.13.0", "two", "no-retrace", {Oracle.COMPLETION: "raised"}),
        ("2.13.0", "one", "no-retrace-export", {Oracle.METADATA: "a list"}),
        ("2.13.0", "two", "no-retrace-export", {}),
        ("2.13.0", "one", "retrace", {}),
        ("2.13.0", "two", "retrace", {}),
        ("2.14.0", "one", "no-retrace", {}),
        ("2.14.0", "two", "no-retrace", {}),
        ("2.14.0", "one", "retrace", {}),
        ("2.14.0", "two", "retrace", {}),
    ):
        environment = "pinned" if lane == Lane.PACKAGE else f"torch-{name}"
        key = CellKey(
            f"{case}", "nonstrict", name, Route(call), lane, builders[name], executor, environment
        )
        broke = Oracle.COMPLETION in failures
        compiled = {"compile": 2.0, "compile-lowering": 0.5} if call == "no-retrace" else {}
        run.add(key, failures, seconds={} if broke else SECONDS | compiled, steps=2)
    return run


def _package(builder: str, executor: str) -> PackageSpec:
    return PackageSpec(builder, CALLS, builder.partition("tensorrt-")[2] or None, executor=executor)
