"""Sizes, doubles and a cache at the boundary of an engine, through a release's real package."""

import copy
import tempfile
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from corpus.case import find_case
from harness.rig.capture.capture import capture
from harness.rig.package.compiling import compile_like_a_user

SMALLEST, LARGEST = 4, 8
RELU = "torch.ops.aten.relu.default"


class Reshaped(torch.nn.Module):
    """A size out of an engine, and into one behind a fallback that reads it too."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        doubled = x * 2
        rows = doubled.shape[0] * 2
        return (torch.relu(doubled.reshape(rows, 2)) + 1).reshape(rows * 2) * 2


class Counted(torch.nn.Module):
    """A size out of an engine, into an op of PyTorch that takes nothing but a number."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = x * 2
        return made + torch.arange(0, made.shape[0] * 2, 2, dtype=torch.float32)[:, None]


class Squared(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * x + x) + x


class Weighted(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4).double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)) + 1


def compiled_sizes(package: ModuleType, model: torch.nn.Module, *in_pytorch: str) -> Any:
    rows = torch.export.Dim("rows", min=SMALLEST, max=LARGEST)
    program = torch.export.export(model, (torch.randn(4, 4),), dynamic_shapes=({0: rows},))
    described = package.Input(min_shape=(SMALLEST, 4), opt_shape=(4, 4), max_shape=(LARGEST, 4))
    return package.dynamo.compile(
        program, arg_inputs=[described], min_block_size=1, torch_executed_ops=set(in_pytorch)
    )


def compiled_doubles(package: ModuleType, model: torch.nn.Module, truncate_double: bool) -> Any:
    x = torch.randn(4, 4, dtype=torch.float64)
    return package.dynamo.compile(
        torch.export.export(model, (x,)),
        arg_inputs=[x],
        min_block_size=1,
        torch_executed_ops={RELU},
        truncate_double=truncate_double,
    )


def outcome(work: Callable[[], Any]) -> str:
    """What a computation said, or "right" or "wrong"."""
    try:
        return "right" if work() else "wrong"
    except Exception as error:  # noqa: BLE001 - that is what is asked
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def agrees(package: ModuleType, model: torch.nn.Module, *in_pytorch: str) -> dict[str, str]:
    """Whether a model with a size at a boundary computes the same in memory and behind a save."""
    compiled, x = compiled_sizes(package, model, *in_pytorch), torch.randn(6, 4)

    def saved() -> bool:
        with tempfile.TemporaryDirectory() as folder:
            file, rows = f"{folder}/p.pt2", torch.export.Dim("rows", min=SMALLEST, max=LARGEST)
            shapes = ({0: rows},)
            inputs = [torch.randn(4, 4)]
            package.save(compiled, file, arg_inputs=inputs, retrace=True, dynamic_shapes=shapes)
            return torch.allclose(package.load(file).module()(x), model(x))

    return {
        "in memory": outcome(lambda: torch.allclose(compiled(x), model(x))),
        "saved": outcome(saved),
    }


def doubles(package: ModuleType, model: torch.nn.Module, truncate_double: bool) -> str:
    def same() -> bool:
        x = torch.randn(4, 4, dtype=torch.float64)
        returned = compiled_doubles(package, model, truncate_double)(x)
        assert returned.dtype is torch.float64
        return torch.allclose(returned, model(x), atol=1e-5)

    return outcome(same)


def boundaries(package: ModuleType) -> dict[str, Any]:
    fallbacks = (RELU, "torch.ops.aten.reshape.default")
    return {
        "reshaped": agrees(package, Reshaped().eval(), *fallbacks),
        "counted": agrees(package, Counted().eval(), "torch.ops.aten.arange.start_step"),
        "squared": doubles(package, Squared().eval(), truncate_double=True),
        "squared as it is": doubles(package, Squared().eval(), truncate_double=False),
        "weighted": doubles(package, Weighted().eval(), truncate_double=True),
        "weighted as it is": doubles(package, Weighted().eval(), truncate_double=False),
    }


def cache_written_in_one_engine(package: ModuleType) -> dict[str, Any]:
    captured = capture(find_case("cache_in_one_engine"), "nonstrict")
    eager = copy.deepcopy(captured.eager)
    compiled = compile_like_a_user(package, captured)
    before = compiled.get_buffer("keys").clone()
    (writer,) = [child for child in compiled.children() if getattr(child, "aliased_io", {})]
    agree = []
    with torch.no_grad():
        for call in captured.calls:
            (returned,) = compiled(*call.args)
            agree.append(torch.allclose(returned, eager(*call.args), atol=1e-5))
    keys = compiled.get_buffer("keys")
    return {
        "aliased": writer.aliased_io,
        "outputs": writer.output_binding_names,
        "agree": agree,
        "same keys": torch.allclose(keys, eager.get_buffer("keys"), atol=1e-5),
        "written": not torch.equal(keys, before),
    }


def writes_of_engines(package: ModuleType, name: str) -> dict[str, Any]:
    """What engines of a compiled case write to, and what one call leaves of its inputs."""
    captured = capture(find_case(name), "nonstrict")
    compiled = compile_like_a_user(package, captured)
    written = [
        list(source)
        for child in compiled.children()
        for source in getattr(child, "aliased_io", {}).values()
    ]
    args = captured.calls[0].args
    given = [torch.clone(tensor) for tensor in args]
    with torch.no_grad():
        compiled(*given)
    return {
        "written": written,
        "inputs kept": [torch.equal(*pair) for pair in zip(given, args, strict=True)],
    }


def rows_written_with_a_step(package: ModuleType) -> dict[str, list[int]]:
    """Where in its cache the engine finds each row that was written, and where eager does."""
    captured = capture(find_case("cache_written_with_a_step"), "nonstrict")
    eager = copy.deepcopy(captured.eager)
    compiled = compile_like_a_user(package, captured)
    before = compiled.get_buffer("keys").clone()
    with torch.no_grad():
        for module in (compiled, eager):
            module(*captured.calls[0].args)

    def changed(module: torch.nn.Module) -> list[int]:
        differs = (module.get_buffer("keys") != before).any(dim=(0, 1, 3))
        return differs.nonzero().flatten().tolist()

    return {"compiled": changed(compiled), "eager": changed(eager)}
