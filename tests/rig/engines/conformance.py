"""What a program can tell of an engine, whoever runs it: run as a program, once an executor.

    python tests/rig/engines/conformance.py SETUP

SETUP is JSON: how `open_package` opens the package, and a "device". Three models are compiled by
that package, and their engines are asked. The answers are one JSON object on the last line of
stdout, a boolean for each of `FACTS`, and for each of `ALIASED_FACTS` where the release has aliased
I/O. A process has one runtime, the emulated or the real one, so each executor is asked in a process
of its own.
"""

import copy
import importlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import torch

from harness.rig.engines.emulated import (
    ALIASED_SLOT,
    BINDING_DELIMITER,
    INPUTS_SLOT,
    OUTPUTS_SLOT,
    engine_slots,
)
from harness.rig.package.opening import open_package

RELU = "torch.ops.aten.relu.default"
LARGEST = 8  # of the dynamic engine's profile
CLOSE = 1e-3
CACHE = (1, 2, 8, 4)  # TensorRT's layer for caches writes along the third of four dimensions

_TYPE = "setup_input_tensors: the check of an input's type"
_SHAPE = "setup_input_tensors: setInputShape, which fails outside the profile"
_MEMORY = "create_output_tensors: at::empty(dims, options).contiguous()"
#: Each with its source, in core/runtime of pytorch/TensorRT (execute_engine.cpp but for the last).
FACTS = {
    "computes what its segment computes": "execute_engine",
    "takes what it was built for": "setup_input_tensors",
    "takes a strided input": "setup_input_tensors: inputs[i].view(shape).contiguous()",
    "refuses another type": _TYPE,
    "refuses another size": _SHAPE,
    "refuses another rank": _SHAPE,
    "returns contiguous memory": _MEMORY,
    "aliases nothing": f"{_MEMORY}, fresh but for declared aliased I/O",
    "takes every size of its profile": _SHAPE,
    "refuses a size above its profile": _SHAPE,
    "keeps all but its bytes when copied": "register_jit_hooks.cpp: def_pickle",
}
_BOUND = "setup_input_tensors: an aliased input's own memory is bound, never a staging buffer"
_STRIDED = "setup_input_tensors: inputs[i].view(shape).contiguous(), a copy of what is strided"
_BOUND_OUTPUT = "create_output_tensors: outputs[pyt_idx] = aliased_input"
_LAYER = "IKVCacheUpdateLayer, as emit_kv_cache_update_layer (conversion/impl/slice_scatter.py)"
#: Of an engine that writes to a cache which it is given; such are built from 2.14 on.
ALIASED_FACTS = {
    "returns a write where the cache lies": _BOUND_OUTPUT,
    "writes to the cache that it is given": _BOUND,
    "writes to its position, and nowhere else": f"{_LAYER} adds it: write_indices",
    "reads the cache before it writes, if the model does": f"{_LAYER} adds it beside other readers",
    "reads what it has written, if the model does": f"{_LAYER} hands its output on",
    "shows a write to its next call": _BOUND,
    "shows a write to a second engine": _BOUND,
    "leaves a later write, where two go to one position": _BOUND,
    "computes the same from a strided cache": _STRIDED,
    "returns a write to a strided cache in other memory": _STRIDED,
    "loses a write to a strided cache": _STRIDED,
}


class Hybrid(torch.nn.Module):
    """Two engines around a fallback; the first takes a number."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return (torch.relu(self.linear(x) * k) + 1).t()


class Resized(torch.nn.Module):
    """One engine of any number of rows."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1


class Caching(torch.nn.Module):
    """One engine that writes to a cache, and reads it before and after."""

    keys: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.randn(CACHE))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        before = self.keys.sum(2)
        self.keys.index_copy_(2, position, x + 1)
        return before, self.keys.sum(2)


def asked(first: Any, last: Any, device: str = "cpu") -> dict[str, bool]:
    """What the two engines of a compiled `Hybrid` answer; of all but the last two of `FACTS`."""
    x = torch.randn(2, 4, device=device)
    k = torch.tensor(3, device=device)
    (transposed,) = _run(last, x)
    return {
        "computes what its segment computes": torch.allclose(
            transposed, (x + 1).t(), rtol=CLOSE, atol=CLOSE
        ),
        "takes what it was built for": not _refused(first, x, k),
        "takes a strided input": not _refused(first, torch.randn(4, 2, device=device).t(), k),
        "refuses another type": _refused(first, x.double(), k) and _refused(first, x, k.float()),
        "refuses another size": _refused(first, torch.randn(3, 4, device=device), k),
        "refuses another rank": _refused(first, x[0], k) and _refused(first, x, k[None]),
        "returns contiguous memory": transposed.shape == (4, 2) and transposed.is_contiguous(),
        "aliases nothing": transposed.untyped_storage().data_ptr()
        != x.untyped_storage().data_ptr(),
        "keeps all but its bytes when copied": engine_slots(copy.deepcopy(first))
        == engine_slots(first),
    }


def asked_of_sizes(engine: Any, device: str) -> dict[str, bool]:
    """What the engine of a compiled `Resized` answers."""

    def rows(count: int) -> torch.Tensor:
        return torch.randn(count, 4, device=device)

    return {
        "takes every size of its profile": not any(
            _refused(engine, rows(count)) for count in range(1, LARGEST + 1)
        ),
        "refuses a size above its profile": _refused(engine, rows(LARGEST + 1)),
    }


def asked_of_cache(engine: Any, device: str) -> dict[str, bool]:
    """What the engine of a compiled `Caching` answers."""
    slots = engine_slots(engine)
    inputs, outputs = (slots[at].split(BINDING_DELIMITER) for at in (INPUTS_SLOT, OUTPUTS_SLOT))
    written, source, _ = slots[ALIASED_SLOT].split("@")
    token = torch.randn(1, 2, 1, 4, device=device)

    def called(who: Any, cache: torch.Tensor, at: int, x: torch.Tensor = token) -> Called:
        given = {"x": x, "position": torch.tensor([at], device=device), source: cache}
        returned = _run(who, *(given[name] for name in inputs))
        in_place = returned.pop(outputs.index(written))
        return Called(returned[0], returned[1], in_place)

    def with_write(cache: torch.Tensor, at: int) -> torch.Tensor:
        copied = cache.clone(memory_format=torch.contiguous_format)
        copied[:, :, at : at + 1] = token + 1
        return copied

    old = torch.randn(CACHE, device=device)
    cache, new = old.clone(), with_write(old, 3)
    first = called(engine, cache, 3)
    after_first = cache.clone()
    second = called(engine, cache, 5)
    third = called(copy.deepcopy(engine), cache, 0)
    twice = old.clone()
    called(engine, twice, 3, token * 2)
    called(engine, twice, 3)
    strided = old.to(memory_format=torch.channels_last)
    from_strided = called(engine, strided, 3)
    return {
        "returns a write where the cache lies": first.cache.data_ptr() == cache.data_ptr(),
        "writes to the cache that it is given": not torch.equal(after_first, old),
        "writes to its position, and nowhere else": _close(after_first, new),
        "reads the cache before it writes, if the model does": _close(first.before, old.sum(2)),
        "reads what it has written, if the model does": _close(first.after, new.sum(2)),
        "shows a write to its next call": _close(second.before, new.sum(2)),
        "shows a write to a second engine": _close(third.before, with_write(new, 5).sum(2)),
        "leaves a later write, where two go to one position": _close(twice, new),
        "computes the same from a strided cache": _close(from_strided.after, new.sum(2)),
        "returns a write to a strided cache in other memory": _close(from_strided.cache, new)
        and from_strided.cache.is_contiguous()
        and from_strided.cache.data_ptr() != strided.data_ptr(),
        "loses a write to a strided cache": torch.equal(strided, old),
    }


@dataclass(frozen=True)
class Called:
    """What the engine of a `Caching` returned: sums before and after its write, and the cache."""

    before: torch.Tensor
    after: torch.Tensor
    cache: torch.Tensor


def _close(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.allclose(one, other, rtol=CLOSE, atol=CLOSE)


def has_aliased_io() -> bool:
    """Whether the package that is open builds engines that write to what they are given."""
    interpreter = importlib.import_module("torch_tensorrt.dynamo.conversion._TRTInterpreter")
    return "aliased_io" in interpreter.TRTInterpreterResult._fields


def compiled_engines(
    package: ModuleType,
    model: torch.nn.Module,
    example: tuple[Any, ...],
    described: Sequence[Any] = (),
    dynamic_shapes: Any = None,
) -> list[Any]:
    """The engines of a model, in the order of its calls.

    Args:
        described: the example as the package takes it where a size is dynamic.
    """
    program = torch.export.export(model, example, dynamic_shapes=dynamic_shapes)
    compiled = package.dynamo.compile(
        program,
        arg_inputs=list(described or example),
        torch_executed_ops={RELU},
        min_block_size=1,
        disable_tf32=True,
    )
    return [each.engine for each in compiled.children() if hasattr(each, "engine")]


def _run(engine: Any, *inputs: torch.Tensor) -> list[torch.Tensor]:
    returned: list[torch.Tensor] = torch.ops.tensorrt.execute_engine(list(inputs), engine)
    return returned


def _refused(engine: Any, *inputs: torch.Tensor) -> bool:
    try:
        _run(engine, *inputs)
    except RuntimeError:
        return True
    return False


def answers_of(package: ModuleType, device: str) -> dict[str, bool]:
    """What engines that a package builds answer on a device."""
    torch.manual_seed(0)
    example = (torch.randn(2, 4, device=device), torch.tensor(3, device=device))
    first, *_, last = compiled_engines(package, Hybrid().eval().to(device), example)
    (resized,) = compiled_engines(
        package,
        Resized().eval(),
        (torch.randn(4, 4, device=device),),
        dynamic_shapes=({0: torch.export.Dim("rows", min=1, max=LARGEST)},),
        described=[package.Input(min_shape=(1, 4), opt_shape=(4, 4), max_shape=(LARGEST, 4))],
    )
    answers = {**asked(first, last, device), **asked_of_sizes(resized, device)}
    if has_aliased_io():
        token = (torch.randn(1, 2, 1, 4, device=device), torch.tensor([3], device=device))
        (caching,) = compiled_engines(package, Caching().eval().to(device), token)
        answers.update(asked_of_cache(caching, device))
    return answers


if __name__ == "__main__":
    setup = json.loads(sys.argv[1])
    print("\n" + json.dumps(answers_of(open_package(setup), setup["device"])))
