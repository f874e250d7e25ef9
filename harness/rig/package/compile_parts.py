"""What of `torch_tensorrt.dynamo.compile` is lowering, conversion and engine build.

The rest of it is the partitioner's and the modules' around the engines. The release's own function
is wrapped for the time of the call, never changed.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from harness.rig.package import engine_cache
from harness.wire.vocabulary import Stage

COMPILER = "torch_tensorrt.dynamo._compiler"


@contextmanager
def timed_parts() -> Iterator[dict[Stage, float]]:
    """Seconds of the parts of the one `compile` inside, filled in as far as it got.

    `compile_module` is what a release calls with the lowered graph (dynamo/_compiler.py of 2.6.0 to
    2.14.0). Conversion and build are known of a builder that really builds: of an engine that was
    kept from an earlier run they are what they took then, more than the whole call does now.
    """
    compiler = importlib.import_module(COMPILER)
    partition_and_convert = compiler.compile_module
    seconds: dict[Stage, float] = {}
    before = len(engine_cache.builds)
    began = time.perf_counter()

    def timed(*args: Any, **kwargs: Any) -> Any:
        seconds[Stage.LOWERING] = time.perf_counter() - began
        return partition_and_convert(*args, **kwargs)

    compiler.compile_module = timed  # type: ignore[attr-defined]
    try:
        yield seconds
    finally:
        compiler.compile_module = partition_and_convert  # type: ignore[attr-defined]
        built = engine_cache.builds[before:]
        if built:
            seconds[Stage.CONVERSION] = sum(each.conversion_s for each in built)
            seconds[Stage.BUILD] = sum(each.build_s for each in built)
