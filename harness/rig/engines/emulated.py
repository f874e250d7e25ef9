"""The `emulated` executor: runs an engine's segment on the CPU under the runtime's own op name.

In what a program can observe it behaves as the real runtime does (core/runtime/execute_engine.cpp
of pytorch/TensorRT): it refuses inputs of another type, rank or size than the engine was built for;
what it writes to is bound as contiguous memory, so that of a strided input it is a copy, and the
write is lost for the caller; its outputs are fresh and contiguous, and alias nothing but what it is
said to write to. The meta kernel answers from the contract alone (`fake_tensorrt_execute_engine`),
and never opens a payload: loading one under a fake or proxy mode would give fake weights.
"""

from __future__ import annotations

import base64
import collections
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

from harness.rig.engines.builder import (
    BuiltEngine,
    load_segment,
    payload_contract,
    payload_digest,
)
from harness.rig.engines.contract import (
    Contract,
    EngineRefusal,
    check_inputs,
    output_shapes,
)

OP_NAME = "tensorrt::execute_engine"
NAME_SLOT, ENGINE_SLOT, METADATA_SLOT = 1, 3, 7
INPUTS_SLOT, OUTPUTS_SLOT, ALIASED_SLOT = 4, 5, 12
BINDING_DELIMITER = "%"


@dataclass(frozen=True)
class _Engine:
    """An engine as it is run; ``aliased`` tells which output is which input, by their places."""

    name: str
    digest: str
    contract: Contract
    segment: torch.nn.Module
    aliased: dict[int, int]


# How often each engine ran, by payload digest: a program whose engines never ran proves nothing.
run_counts: collections.Counter[str] = collections.Counter()

# What each emulated engine holds, by its serial number; engines that hold the same share a tuple.
_slots: dict[int, tuple[str, ...]] = {}
_held: dict[tuple[str, ...], tuple[str, ...]] = {}
_segments: dict[str, tuple[Contract, torch.nn.Module]] = {}
_ran: dict[int, _Engine] = {}  # each engine object that ran, by its serial number
_libraries: list[torch.library.Library] = []


def load_runtime(library: Path, slots: int = 13, abi: str = "10") -> None:
    """Load the native half and register the kernels; once a process, later calls set the layout.

    Raises:
        RuntimeError: the real Torch-TensorRT runtime is loaded here already; both own one name.
    """
    if not _libraries:
        if hasattr(torch.ops.tensorrt, "execute_engine"):
            raise RuntimeError(
                "tensorrt::execute_engine is registered already: this process has the real "
                "Torch-TensorRT runtime, and cannot have the emulated one as well"
            )
        torch.ops.load_library(str(library))
        torch._library.register_fake_class("tensorrt::Engine", _FakeEngine)  # type: ignore[attr-defined,arg-type]
        register_kernels()
        torch.library.register_fake(OP_NAME, _execute_fake, lib=_libraries[0])
    torch.ops.tensorrt._emulated_set_layout(slots, abi)


def register_kernels() -> None:
    """Give the op a kernel that runs segments; in the package lane all that a release lacks.

    There the release loads the native half itself, and its own meta kernel and fake class stay.
    """
    kernels = torch.library.Library("tensorrt", "IMPL")
    kernels.impl("execute_engine", _execute, "CompositeExplicitAutograd")
    kernels.impl("_emulated_infer", _infer_outputs, "CompositeExplicitAutograd")
    _libraries.append(kernels)


def make_engine(built: BuiltEngine) -> torch.ScriptObject:
    """A `tensorrt::Engine` that holds these bytes, in the layout that `load_runtime` set."""
    slots = [""] * torch.ops.tensorrt.SERIALIZATION_LEN()
    slots[torch.ops.tensorrt.ABI_TARGET_IDX()] = torch.ops.tensorrt.ABI_VERSION()
    slots[NAME_SLOT] = f"{built.name}_engine"
    slots[2] = "0%9%0%0%emulated"
    slots[METADATA_SLOT] = built.contract.encode()
    slots[INPUTS_SLOT] = BINDING_DELIMITER.join(built.input_names)
    slots[OUTPUTS_SLOT] = BINDING_DELIMITER.join(built.output_names)
    slots[6] = "0"
    for index in range(8, len(slots)):
        slots[index] = "linux_x86_64" if index == 8 else "0"
    fields: list[str | bytes] = [*slots]
    fields[ENGINE_SLOT] = built.payload
    return torch.classes.tensorrt.Engine(fields)


def engine_payload(engine: Any) -> bytes:
    """The engine bytes inside a real or faked engine object."""
    return base64.b64decode(_pickled(engine)[0][ENGINE_SLOT])


def engine_slots(engine: Any) -> tuple[str, ...]:
    """Every slot as text, the engine bytes in base64: what an engine's pickle holds.

    The real runtime's engine goes without its bytes. TensorRT writes them anew whenever it is asked
    (`TRTEngine::serialize` in core/runtime/TRTEngine.cpp), and they may differ from those that the
    engine was made of. The other slots tell engines apart, by their names.
    """
    slots, real = _pickled(engine)
    return (*slots[:ENGINE_SLOT], "", *slots[ENGINE_SLOT + 1 :]) if real else slots


def _pickled(engine: Any) -> tuple[tuple[str, ...], bool]:
    """What an engine's pickle holds, and whether it is one of the real runtime.

    An emulated one never changes, and is read once.
    """
    held = _real(engine)
    try:
        serial = held._emulated_serial()
    except AttributeError:
        return tuple(held.__getstate__()[0]), True
    if serial not in _slots:
        slots = tuple(held.__getstate__()[0])
        _slots[serial] = _held.setdefault(slots, slots)
    return _slots[serial], False


def engine_digest(slots: Sequence[str]) -> str:
    """What tells one engine from another: another profile or binding order is another engine."""
    return payload_digest("\0".join(slots).encode())


def _real(engine: Any) -> Any:
    """The script object behind torch's fake wrappers."""
    return engine if isinstance(engine, torch.ScriptObject) else getattr(engine, "real_obj", engine)


def _to_run(engine: Any) -> _Engine:
    # One call of a script object's method takes as long as a small op.
    serial = engine._emulated_serial()
    if serial not in _ran:
        slots = engine_slots(engine)
        payload = base64.b64decode(slots[ENGINE_SLOT])
        digest = payload_digest(payload)
        if digest not in _segments:
            _segments[digest] = payload_contract(payload), load_segment(payload)
        aliased = _aliased_bindings(slots)
        _ran[serial] = _Engine(slots[NAME_SLOT], digest, *_segments[digest], aliased)
    return _ran[serial]


def _aliased_bindings(slots: Sequence[str]) -> dict[int, int]:
    """Which output of an engine is which of its inputs, from the slot that 2.14 has for it.

    Records `output@input@kind`, joined as names are (`serialize_aliased_io`).
    """
    if len(slots) <= ALIASED_SLOT or "@" not in slots[ALIASED_SLOT]:
        return {}
    inputs = slots[INPUTS_SLOT].split(BINDING_DELIMITER)
    outputs = slots[OUTPUTS_SLOT].split(BINDING_DELIMITER)
    records = [record.split("@") for record in slots[ALIASED_SLOT].split(BINDING_DELIMITER)]
    return {outputs.index(output): inputs.index(source) for output, source, _ in records}


def _execute(inputs: Sequence[torch.Tensor], engine: Any) -> list[torch.Tensor]:
    with unset_fake_temporarily(), disable_proxy_modes_tracing(), torch.no_grad():
        built = _to_run(engine)
        contract, aliased = built.contract, built.aliased
        check_inputs(contract, inputs, built.name)
        run_counts[built.digest] += 1
        # What is strided is bound as a copy, which is what an engine then writes to. Where it only
        # reads, a copy would show in nothing but the rounding of what PyTorch computes here.
        bound = {source: inputs[source].detach().contiguous() for source in aliased.values()}
        given = [
            binding.into_segment(tensor.detach())
            for binding, tensor in zip(contract.inputs, inputs, strict=True)
        ]
        returned = built.segment(*given)
        outputs = [
            binding.out_of_segment(value)
            for binding, value in zip(
                contract.outputs,
                returned if isinstance(returned, tuple | list) else (returned,),
                strict=True,
            )
        ]
        for output, source in aliased.items():
            if outputs[output].shape != bound[source].shape:
                raise EngineRefusal(
                    f"engine {built.name}: output {output} of shape {tuple(outputs[output].shape)} "
                    f"does not match source input {source} of shape {tuple(bound[source].shape)}"
                )
            outputs[output] = bound[source].copy_(outputs[output])
        return outputs


def _infer_outputs(engine: Any, ranks: Sequence[int], sizes: Sequence[int]) -> list[torch.Tensor]:
    """`TRTEngine::infer_outputs`: what the engine would return for inputs of these sizes.

    Asked by the meta kernel of 2.8 to 2.10, of concrete sizes; only shapes and types are read.
    """
    contract = payload_contract(engine_payload(engine))
    left = iter(sizes)
    inputs = [
        torch.empty([next(left) for _ in range(rank)], dtype=binding.dtype, device="meta")
        for rank, binding in zip(ranks, contract.inputs, strict=True)
    ]
    promised = _promised_outputs(contract, inputs, torch.device("meta"))
    return [
        output if binding.number is None else output.reshape(1)
        for output, binding in zip(promised, contract.outputs, strict=True)
    ]


def _execute_fake(inputs: Sequence[torch.Tensor], engine: Any) -> list[torch.Tensor]:
    contract = Contract.decode(_real(engine).get_serialized_metadata())
    device = inputs[0].device if inputs else torch.device("cpu")
    return _promised_outputs(contract, inputs, device)


def _promised_outputs(
    contract: Contract, inputs: Sequence[torch.Tensor], device: torch.device
) -> list[torch.Tensor]:
    shapes = output_shapes(contract, inputs)
    return [
        torch.empty(shape, dtype=binding.dtype, device=device)
        for shape, binding in zip(shapes, contract.outputs, strict=True)
    ]


class _FakeEngine:
    """What torch.export sees in place of an engine, as the runtime's own FakeTRTEngine."""

    def __init__(self, slots: Sequence[tuple[str, str]]) -> None:
        self.slots = dict(slots)

    @classmethod
    def __obj_unflatten__(cls, flattened: Sequence[tuple[str, str]]) -> _FakeEngine:
        return cls(flattened)

    def get_serialized_metadata(self) -> str:
        return self.slots["serialized_metadata"]

    def set_output_tensors_as_unowned(self, unowned: bool) -> None:
        """Nothing to own in a trace."""

    def are_output_tensors_unowned(self) -> bool:
        return False


def _not_in_a_trace(engine: _FakeEngine, *_: Any) -> Any:
    raise NotImplementedError("a trace asks this of no engine")


# Each is a method of the class (runtime.cpp), and torch logs a warning for every one that a fake
# lacks: for every engine of every export and load, inside of what is timed.
for _name in (
    "_emulated_serial",
    "infer_outputs",
    "requires_native_multidevice_getter",
    "reset_captured_graph",
    "update_runtime_settings",
    "use_dynamically_allocated_resources",
    "use_output_allocator_outputs_getter",
    "use_output_allocator_outputs_setter",
    "use_pre_allocated_outputs_getter",
    "use_pre_allocated_outputs_setter",
):
    setattr(_FakeEngine, _name, _not_in_a_trace)


PLACEHOLDER = "no_op_placeholder_for_execute_engine"
_placeholders: list[torch.library.Library] = []


def define_placeholder() -> None:
    """Register the op that stands for an engine in a program of another platform, once a process.

    `transform(cross_compile_module=True)` writes an engine's slots into the call itself, and
    `replace_execute_engine_no_op_node` makes the engine of them when the program has been loaded
    where it is to run. The op is the package's own (`register_meta_ops.py`; `runtime/_utils.py` in
    2.6), and has no kernel there either. Here it takes the emulated engine's slots as text, as up
    to 2.12. From 2.13 on it declares the engine's bytes as a tensor, which the text that
    `transform` gives it is not; no program of these releases comes so far, see the register.
    """
    if _placeholders:
        return
    slots = ", ".join(f"str slot_{at}" for at in range(torch.ops.tensorrt.SERIALIZATION_LEN()))
    library = torch.library.Library("tensorrt", "FRAGMENT")
    library.define(f"{PLACEHOLDER}(Tensor[] inputs, {slots}) -> Tensor[]")
    _placeholders.append(library)


def is_placeholder(target: Any) -> bool:
    return isinstance(target, torch._ops.OpOverload) and target.name() == f"tensorrt::{PLACEHOLDER}"
