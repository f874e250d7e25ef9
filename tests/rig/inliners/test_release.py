"""Released inliners load alone out of their wheels, and the adapters add nothing of their own."""

import dataclasses
import hashlib
import inspect
import os
import sys
import zipfile
from collections.abc import Callable

import pytest
import torch
from packaging.version import Version
from torch.export import ExportedProgram

from harness.catalogue.entry import subject_for_wheel
from harness.catalogue.releases import load_catalogue
from harness.rig.clock import StageClock
from harness.rig.inliners.protocol import Inlining, LoadError
from harness.rig.inliners.release import ReleaseInliner
from harness.subjects.specs import wheel_subject
from harness.wire.records import SubjectSpec
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage
from tests.fetched import FETCHED

CATALOGUE = load_catalogue()


def from_wheel(inliner: ReleaseInliner) -> tuple[str, ...]:
    """The modules that were loaded out of an inliner's wheel, as paths inside it, sorted."""
    files = (getattr(module, "__file__", None) or "" for module in inliner._modules.values())
    prefix = f"{inliner._spec.wheel_path}/"
    return tuple(sorted(f.removeprefix(prefix) for f in files if f.startswith(prefix)))


def described(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(described, value))}]"
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {tuple(value.shape)} {value.stride()}"
    return str(type(value))


def canonical(program: ExportedProgram) -> str:
    """Graph, metadata, signature and constraints as text."""
    nodes = [
        f"{node.name} {node.op} {node.target} {node.args} {node.kwargs} "
        f"{described(node.meta.get('val'))}"
        for node in program.graph.nodes
    ]
    return "\n".join(
        [*nodes, str(program.graph_signature), str(program.range_constraints.values())]
    )


def outcome(export: Callable[[], ExportedProgram]) -> str:
    """The program, or the exception that a release raises in its place, as text."""
    try:
        return canonical(export())
    except TypeError as error:
        return f"{type(error).__name__}: {error}"


CASES = ("relu_four_steps", "dynamic_batch", "linear_in_fallback", "keywords_in_another_order")
TAKES_NO_KEYWORDS = "2.4.0"
# A hypothetical route is none of the release's own.
OWN_ROUTES = [
    (version, Route(route), name)
    for version in FETCHED
    for route in CATALOGUE.get(version).reachable
    for name in CASES
    if (version, name) != (TAKES_NO_KEYWORDS, "keywords_in_another_order")
]


@pytest.mark.parametrize(("version", "route", "name"), OWN_ROUTES)
def test_the_adapter_is_equal_to_the_release_s_own_export(inliners, prepared, version, route, name):
    inliner, case = inliners[version], prepared(name)
    assert isinstance(inliner, ReleaseInliner)
    arguments = (case.captured.example, case.captured.shapes_given(route))
    ours = outcome(lambda: inliner.produce(case.split, route, *arguments, StageClock(), Inlining()))
    assert ours == outcome(lambda: inliner.own_export(case.split, route, *arguments))
    no_inputs = route is Route.CROSS and Version(version) >= Version("2.11")
    assert ours.startswith("TypeError: missing a required argument") is no_inputs


def test_a_release_that_takes_no_keyword_fails_as_its_own_export_does(inliners, prepared):
    inliner, case = inliners[TAKES_NO_KEYWORDS], prepared("keywords_in_another_order")
    assert isinstance(inliner, ReleaseInliner)
    clock, example = StageClock(), case.captured.example
    with pytest.raises(TypeError, match="missing 2 required positional arguments"):
        inliner.own_export(case.split, Route.LEGACY, example, None)
    with pytest.raises(TypeError, match="missing 2 required positional arguments"):
        inliner.produce(case.split, Route.LEGACY, example, None, clock, Inlining())
    assert clock.stage is Stage.INLINE_ENGINES


@pytest.mark.parametrize("version", FETCHED)
def test_the_wheel_is_asked_for_the_catalogue_s_modules_and_no_other(inliners, prepared, version):
    inliner, case = inliners[version], prepared("relu_four_steps")
    assert isinstance(inliner, ReleaseInliner)
    for route in (Route.LEGACY, Route.EXPORT):  # some modules are imported when a function runs
        arguments = (case.captured.example, None, StageClock(), Inlining())
        inliner.produce(case.split, route, *arguments)
    assert from_wheel(inliner) == CATALOGUE.get(version).modules


@pytest.mark.parametrize("version", FETCHED)
def test_the_catalogue_knows_the_arguments_of_a_release_s_functions(inliners, version):
    exporter, api = inliners[version].exporter, CATALOGUE.get(version).api  # type: ignore[attr-defined]
    for name in ("transform", "create_trt_exp_program"):
        assert ("gm", *getattr(api, name)) == tuple(
            inspect.signature(getattr(exporter, name)).parameters
        )


@pytest.mark.parametrize(
    "version", [v for v in FETCHED if "inputs" in CATALOGUE.get(v).api.transform]
)
def test_the_shape_analysis_is_the_release_s_own(inliners, version):
    analysis = inliners[version].exporter.partitioning.run_shape_analysis  # type: ignore[attr-defined]
    file = f"{version}-cp311"
    assert file in analysis.__code__.co_filename
    assert analysis.__code__.co_filename.endswith("/partitioning/common.py")


@pytest.mark.parametrize("route", [Route.LEGACY, Route.EXPORT])
def test_the_route_decides_the_arguments_of_the_passes_as_it_does_in_the_release(
    inliners, prepared, monkeypatch, route
):
    inliner, case = inliners["2.14.0"], prepared("relu_once")
    assert isinstance(inliner, ReleaseInliner)
    seen: list[tuple[object, ...]] = []
    original = inliner.exporter.inline_trt_modules

    def spy(gm: object, *arguments: object) -> object:
        seen.append(arguments)
        return original(gm, *arguments)

    monkeypatch.setattr(inliner.exporter, "inline_trt_modules", spy)
    example = case.captured.example
    inliner.produce(case.split, route, example, None, StageClock(), Inlining())
    inliner.own_export(case.split, route, example, None)
    assert seen == [(False, route is Route.LEGACY)] * 2  # expose_aliased_mutations is the second


def test_every_pass_is_timed_apart(inliners, prepared):
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


def test_a_stage_that_raises_is_the_clock_s_stage(inliners, prepared):
    case, clock, result = prepared("pr_4360"), StageClock(), Inlining()
    with pytest.raises(RuntimeError, match="used before it has been defined"):
        inliners["2.13.0"].produce(
            case.split, Route.LEGACY, case.captured.example, None, clock, result
        )
    assert clock.stage is Stage.CLEAN
    assert result.inlined is not None  # what the last pass left, for the wiring oracle
    assert not result.finished


def test_loading_leaves_no_module_of_the_package_behind(inliners):
    assert inliners
    assert not [name for name in sys.modules if name.startswith("torch_tensorrt")]


def test_each_release_has_modules_of_its_own(inliners):
    exporters = [inliners[version].exporter for version in FETCHED]  # type: ignore[attr-defined]
    assert len({id(exporter) for exporter in exporters}) == len(FETCHED)
    pairs = zip(FETCHED, exporters, strict=True)
    assert all(version in exporter.__file__ for version, exporter in pairs)


def test_an_exporter_file_takes_the_place_of_the_wheel_s(release_specs, prepared, tmp_path):
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
def test_a_file_that_does_not_load_says_why(release_specs, tmp_path, source, message):
    path = tmp_path / "_exporter.py"
    path.write_text(source)
    spec = dataclasses.replace(release_specs["2.14.0"], exporter_path=str(path))
    with pytest.raises(LoadError, match=message):
        ReleaseInliner(spec)


def test_a_file_that_was_changed_since_its_subject_was_made_is_not_loaded(release_specs, tmp_path):
    path = tmp_path / "_exporter.py"
    source = _exporter_source(release_specs["2.14.0"])
    path.write_text(source)
    sha256 = hashlib.sha256(source.encode()).hexdigest()
    spec = dataclasses.replace(
        release_specs["2.14.0"], exporter_path=str(path), exporter_sha256=sha256
    )
    ReleaseInliner(spec)
    path.write_text(source + "\n# saved in an editor\n")
    with pytest.raises(LoadError, match=rf"_exporter.py was changed .* at its start {sha256}"):
        ReleaseInliner(spec)
    path.unlink()
    with pytest.raises(LoadError, match="cannot be read"):
        ReleaseInliner(spec)


def test_a_file_is_read_anew_though_size_and_time_are_as_before(
    release_specs, tmp_path, monkeypatch
):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)  # as Python is by itself
    path = tmp_path / "_exporter.py"
    spec = dataclasses.replace(release_specs["2.14.0"], exporter_path=str(path))
    source = _exporter_source(spec)
    for mark in ("1", "2"):
        path.write_text(f"{source}\nMARK = {mark}\n")
        os.utime(path, (1e9, 1e9))
        assert int(mark) == ReleaseInliner(spec).exporter.MARK


def test_a_subject_without_a_wheel_says_so(release_specs):
    with pytest.raises(LoadError, match="no wheel"):
        ReleaseInliner(dataclasses.replace(release_specs["2.14.0"], wheel_path=None))


def _exporter_source(spec: SubjectSpec) -> str:
    with zipfile.ZipFile(str(spec.wheel_path)) as wheel:
        return wheel.read("torch_tensorrt/dynamo/_exporter.py").decode()


def test_a_nightly_is_loaded_out_of_its_own_wheel(release_specs, prepared, tmp_path):
    path = tmp_path / "torch_tensorrt-2.99.0.dev1-cp311-cp311-linux_x86_64.whl"
    released = zipfile.ZipFile(str(release_specs["2.14.0"].wheel_path))
    with released, zipfile.ZipFile(path, "w") as nightly:
        for name in released.namelist():
            if name.endswith((".py", "/METADATA")):
                text = released.read(name).replace(b"Version: 2.14.0", b"Version: 2.99.0.dev1")
                nightly.writestr(name, text)
    found = subject_for_wheel(path, CATALOGUE)
    spec = wheel_subject(found, path, CATALOGUE.newest)
    assert (spec.subject, spec.release) == ("2.99.0.dev1", "2.14.0")
    inliner, case = ReleaseInliner(spec), prepared("relu_once")
    example = case.captured.example
    inliner.produce(case.split, Route.LEGACY, example, None, StageClock(), Inlining())
    assert from_wheel(inliner) == found.modules
    assert inliner.exporter.__file__.startswith(str(path))
