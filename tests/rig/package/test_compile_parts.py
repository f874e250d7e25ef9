"""The parts of a compile: told beside the whole, and nothing of the release stays changed."""

import sys
import time
from types import ModuleType
from typing import Any

import pytest

from harness.rig.package import engine_cache
from harness.rig.package.compile_hooks import COMPILER, timed_parts
from harness.rig.package.engine_cache import EngineBuild
from harness.wire.vocabulary import Stage

LOWERING_S, CONVERTING_S = 0.02, 0.05


@pytest.fixture
def compiler(monkeypatch):
    """A module like a release's: `compile` lowers, and calls `compile_module` by its name."""
    module: Any = ModuleType(COMPILER)
    exec(
        "import time\n"
        "def compile_module(built):\n"
        "    time.sleep(CONVERTING_S)\n"
        "    builds.extend(built)\n"
        "def compile(built):\n"
        "    time.sleep(LOWERING_S)\n"
        "    compile_module(built)\n",
        module.__dict__,
    )
    module.LOWERING_S, module.CONVERTING_S = LOWERING_S, CONVERTING_S
    monkeypatch.setattr(engine_cache, "builds", [])
    module.builds = engine_cache.builds
    for parent in ("torch_tensorrt", "torch_tensorrt.dynamo"):
        monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
    monkeypatch.setitem(sys.modules, COMPILER, module)
    return module


def test_lowering_ends_where_the_partitioner_gets_the_graph(compiler):
    began = time.perf_counter()
    with timed_parts() as seconds:
        compiler.compile([])
    whole = time.perf_counter() - began
    assert set(seconds) == {Stage.LOWERING}
    assert LOWERING_S <= seconds[Stage.LOWERING] <= whole - CONVERTING_S


def test_conversion_and_build_are_the_sums_over_this_compiles_engines_alone(compiler):
    engine_cache.builds.append(EngineBuild("before", 100.0, 100.0, 1, kept=False))
    with timed_parts() as seconds:
        compiler.compile(
            [EngineBuild("a", 1.0, 2.0, 1, kept=True), EngineBuild("b", 0.5, 0.25, 1, kept=False)]
        )
    assert (seconds[Stage.CONVERSION], seconds[Stage.BUILD]) == (1.5, 2.25)


def test_a_release_has_its_own_function_back_even_if_it_raises(compiler):
    own = compiler.compile_module
    with pytest.raises(TypeError), timed_parts() as seconds:
        compiler.compile(None)
    assert compiler.compile_module is own
    assert set(seconds) == {Stage.LOWERING}
