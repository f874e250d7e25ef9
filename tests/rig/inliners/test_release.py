"""Released inliners load alone out of their wheels, and the adapters add nothing of their own."""

from __future__ import annotations

import dataclasses
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from torch.export import ExportedProgram

from harness.rig.clock import StageClock
from harness.rig.inliners.protocol import Inliner, Inlining, LoadError
from harness.rig.inliners.release import ReleaseInliner
from harness.rig.prepare import PreparedCase
from harness.rig.records import Route, Stage, SubjectSpec

Prepared = Callable[[str], PreparedCase]
RELEASES = ("2.10.0", "2.13.0", "2.14.0")


def canonical(program: ExportedProgram) -> str:
    """Graph, signature, constraints and module call graph as text."""
    nodes = [
        f"{node.name} {node.op} {node.target} {node.args} {node.kwargs}"
        for node in program.graph.nodes
    ]
    return "\n".join(
        [*nodes, str(program.graph_signature), str(program.range_constraints.values())]
    )


# 2.10.0 has no `export` route of its own: there it is hypothetical.
OWN_ROUTES = [
    ("2.10.0", Route.LEGACY),
    *((version, route) for version in RELEASES[1:] for route in (Route.LEGACY, Route.EXPORT)),
]


@pytest.mark.parametrize(("version", "route"), OWN_ROUTES)
@pytest.mark.parametrize(
    "name", ["relu_four_steps", "dynamic_batch", "linear_in_fallback", "keywords_in_another_order"]
)
def test_the_adapter_is_equal_to_the_release_s_own_export(
    inliners: dict[str, Inliner], prepared: Prepared, version: str, route: Route, name: str
) -> None:
    inliner, case = inliners[version], prepared(name)
    assert isinstance(inliner, ReleaseInliner)
    arguments = (case.captured.example, case.captured.program.dynamic_shapes)
    ours = inliner.produce(case.split, route, *arguments, StageClock(), Inlining())
    theirs = inliner.own_export(case.split, route, *arguments)
    assert canonical(ours) == canonical(theirs)


def test_every_pass_is_timed_apart(inliners: dict[str, Inliner], prepared: Prepared) -> None:
    case, clock, result = prepared("relu_four_steps"), StageClock(), Inlining()
    example = case.captured.example
    inliners["2.14.0"].produce(case.split, Route.LEGACY, example, None, clock, result)
    assert set(clock.seconds) == {
        Stage.INLINE_ENGINES,
        Stage.INLINE_FALLBACKS,
        Stage.CLEAN,
        Stage.EXPORT,
    }
    assert result.finished


def test_a_stage_that_raises_is_the_clock_s_stage(
    inliners: dict[str, Inliner], prepared: Prepared
) -> None:
    case, clock, result = prepared("pr_4360"), StageClock(), Inlining()
    with pytest.raises(RuntimeError, match="used before it has been defined"):
        inliners["2.13.0"].produce(
            case.split, Route.LEGACY, case.captured.example, None, clock, result
        )
    assert clock.stage is Stage.CLEAN
    assert result.inlined is not None  # what the last pass left, for the wiring oracle
    assert not result.finished


def test_loading_leaves_no_module_of_the_package_behind(inliners: dict[str, Inliner]) -> None:
    assert inliners
    assert not [name for name in sys.modules if name.startswith("torch_tensorrt")]


def test_each_release_has_modules_of_its_own(inliners: dict[str, Inliner]) -> None:
    exporters = [inliners[version].exporter for version in RELEASES]  # type: ignore[attr-defined]
    assert len({id(exporter) for exporter in exporters}) == 3
    pairs = zip(RELEASES, exporters, strict=True)
    assert all(version in exporter.__file__ for version, exporter in pairs)


def test_an_exporter_file_takes_the_place_of_the_wheel_s(
    release_specs: dict[str, SubjectSpec], prepared: Prepared, tmp_path: Path
) -> None:
    source = _exporter_source(release_specs["2.14.0"])
    path = tmp_path / "_exporter.py"
    path.write_text(
        source.replace("    # Inline pytorch submodules\n", "    raise ValueError('mine')\n")
    )
    spec = dataclasses.replace(release_specs["2.14.0"], subject="file:x", exporter_path=str(path))
    case = prepared("relu_once")
    with pytest.raises(ValueError, match="mine"):
        ReleaseInliner(spec).produce(
            case.split, Route.LEGACY, case.captured.example, None, StageClock(), Inlining()
        )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import not_a_module", "does not import on this torch: ModuleNotFoundError"),
        ("raise ValueError('x')", "does not import on this torch: ValueError"),
        ("def transform(gm): ...", "lacks inline_trt_modules"),
    ],
)
def test_a_file_that_does_not_load_says_why(
    release_specs: dict[str, SubjectSpec], tmp_path: Path, source: str, message: str
) -> None:
    path = tmp_path / "_exporter.py"
    path.write_text(source)
    spec = dataclasses.replace(release_specs["2.14.0"], exporter_path=str(path))
    with pytest.raises(LoadError, match=message):
        ReleaseInliner(spec)


def test_a_subject_without_a_wheel_says_so(release_specs: dict[str, SubjectSpec]) -> None:
    with pytest.raises(LoadError, match="no wheel"):
        ReleaseInliner(dataclasses.replace(release_specs["2.14.0"], wheel_path=None))


def _exporter_source(spec: SubjectSpec) -> str:
    with zipfile.ZipFile(str(spec.wheel_path)) as wheel:
        return wheel.read("torch_tensorrt/dynamo/_exporter.py").decode()
