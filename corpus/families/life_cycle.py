"""What became of a program before it is compiled: saved, loaded, decomposed, unflattened."""

from __future__ import annotations

import importlib
import io
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram
from torch.fx import GraphModule

from corpus.case import Family, Inputs, Program, case
from corpus.families.alternating_relu import Alternating
from corpus.families.attributes import LINEAR, TwoLinears
from corpus.families.cache_forms import OneEngine, Window
from corpus.families.caches import HEADS, WIDTH, Running, step
from corpus.families.dynamic_shapes import BOUNDS, batch, with_twice_as_many
from corpus.inputs import DYNAMIC, floats

RELU = "aten.relu.default"


def saved_and_loaded(program: ExportedProgram) -> ExportedProgram:
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)


def unflattened_and_exported(program: ExportedProgram) -> ExportedProgram:
    assert program.example_inputs is not None
    args, kwargs = program.example_inputs
    return torch.export.export(torch.export.unflatten(program), args, kwargs)


def decomposed(program: ExportedProgram) -> ExportedProgram:
    return program.run_decompositions()


def exported_again(program: ExportedProgram) -> ExportedProgram:
    assert program.example_inputs is not None
    args, kwargs = program.example_inputs
    return torch.export.export(program.module(), args, kwargs)


@case(
    Family.LIFE_CYCLE,
    catches="weights of fallbacks in a program that was saved and loaded before it is compiled",
    fallback=[*LINEAR],
    wiring=True,
)
def loaded_before_compile() -> Program:
    return Program(floats((2, 8)), model=TwoLinears(), before_compile=saved_and_loaded)


@case(
    Family.LIFE_CYCLE,
    catches="a dynamic batch that a saved and loaded program has, forgotten by compile or save",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def loaded_before_compile_dynamic() -> Program:
    return Program(
        floats((DYNAMIC, 8)),
        model=Alternating(2),
        dynamic_shapes=batch(),
        bounds=BOUNDS,
        before_compile=saved_and_loaded,
    )


class TwoRowsEach(torch.nn.Module):
    """Queries, and two candidates for each of them."""

    def forward(self, queries: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
        best = torch.relu(candidates).reshape(-1, 2, 8).amax(1)
        return torch.relu(queries) * best + 1


@case(
    Family.LIFE_CYCLE,
    catches="a size that is twice another, in a program that was saved and loaded",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=("package",),  # where it is: the graph lane, too, can take no such program
)
def loaded_before_compile_with_twice_a_size() -> Program:
    rows = torch.export.Dim("rows", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        with_twice_as_many,
        model=TwoRowsEach(),
        dynamic_shapes=({0: rows}, {0: 2 * rows}),
        bounds=BOUNDS,
        before_compile=saved_and_loaded,
    )


class HeldTensors(torch.nn.Module):
    passing: torch.Tensor
    table: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.frozen = torch.nn.Parameter(torch.rand(8), requires_grad=False)
        self.register_buffer("table", torch.rand(8))
        self.register_buffer("passing", torch.rand(8), persistent=False)
        self.plain = torch.rand(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.mul(torch.mul(x + 1, self.frozen), self.table) - 1
        return torch.mul(torch.mul(y, self.passing), self.plain) + 2


@case(
    Family.LIFE_CYCLE,
    catches="a frozen weight, buffers and a constant in a fallback, of a program that was loaded",
    fallback=["aten.mul.Tensor"],
    wiring=True,
)
def loaded_before_compile_with_buffers() -> Program:
    return Program(floats((2, 8)), model=HeldTensors(), before_compile=saved_and_loaded)


@case(
    Family.LIFE_CYCLE,
    catches="decompositions that a user ran before: other ops, and names without their modules",
    fallback=["aten.addmm.default", *LINEAR],
    wiring=True,
    eager_tolerance=1e-5,
)
def decomposed_before_compile() -> Program:
    return Program(floats((2, 8)), model=TwoLinears(), before_compile=decomposed)


class Twice(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shared = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
        self.tail = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.tail(self.shared(self.shared(x) - 1))


@case(
    Family.LIFE_CYCLE,
    catches="a module that is called twice, exported again from what unflatten made of it",
    fallback=[*LINEAR],
    wiring=True,
)
def unflattened_before_compile() -> Program:
    return Program(floats((2, 8)), model=Twice(), before_compile=unflattened_and_exported)


@case(
    Family.LIFE_CYCLE,
    catches="a program exported again from its own module, with guards as calls in the graph",
    fallback=[RELU],
    wiring=True,
)
def exported_twice_before_compile() -> Program:
    return Program(floats((2, 8)), model=Twice(), before_compile=exported_again)


def compiled_before(program: ExportedProgram) -> ExportedProgram:
    """The same program, which the process's package has compiled once: it may have been changed."""
    package: Any = importlib.import_module("torch_tensorrt")
    assert program.example_inputs is not None
    args, kwargs = program.example_inputs
    package.dynamo.compile(
        program,
        arg_inputs=args,
        kwarg_inputs=kwargs,
        min_block_size=1,
        torch_executed_ops={"torch.ops.aten.relu.default"},
    )
    return program


def hybrid_exported(program: ExportedProgram) -> ExportedProgram:
    """The program of what the process's package made of this one: engines are ops of its graph."""
    package: Any = importlib.import_module("torch_tensorrt")
    assert program.example_inputs is not None
    args, kwargs = program.example_inputs
    compiled = package.dynamo.compile(
        program,
        arg_inputs=args,
        kwarg_inputs=kwargs,
        min_block_size=1,
        torch_executed_ops={"torch.ops.aten.mul.Tensor"},
    )
    return torch.export.export(compiled, args, kwargs)


@case(
    Family.LIFE_CYCLE,
    catches="one program compiled twice, the second time with what the first one left of it",
    fallback=[*LINEAR],
    wiring=True,
    lanes=["package"],
)
def compiled_twice() -> Program:
    return Program(floats((2, 8)), model=Twice(), before_compile=compiled_before)


@case(
    Family.LIFE_CYCLE,
    catches="a program that has engines already, compiled again: names taken, engines lost",
    fallback=[RELU],
    wiring=True,
    lanes=["package"],
)
def hybrid_compiled_again() -> Program:
    return Program(floats((2, 8)), model=HeldTensors(), before_compile=hybrid_exported)


class Linears(torch.nn.Module):
    """A linear layer in each of two engines."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


def saved_before(compiled: GraphModule, example: Inputs) -> GraphModule:
    """The same module, which `save` has written before, with zeros for the weights of fallbacks.

    They get their numbers afterwards, in place, as those of a checkpoint that is loaded.
    """
    package: Any = importlib.import_module("torch_tensorrt")
    weights = [(weight, weight.detach().clone()) for weight in compiled.parameters()]
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        for weight, _ in weights:
            weight.zero_()
        file = str(Path(folder) / "first.pt2")
        for retrace in (True, False):
            package.save(compiled, file, arg_inputs=list(example.args), retrace=retrace)
        for weight, number in weights:
            weight.copy_(number)
    return compiled


def refitted(compiled: GraphModule, example: Inputs) -> GraphModule:
    """What `refit_module_weights` makes of the module with the weights that it has already."""
    package: Any = importlib.import_module("torch_tensorrt")
    program = torch.export.export(Linears(), example.args)
    refit: Any = package.dynamo.refit_module_weights
    return refit(compiled, program, arg_inputs=list(example.args))  # type: ignore[no-any-return]


@case(
    Family.LIFE_CYCLE,
    catches="a compiled module that is saved a second time, with what the first save left of it",
    fallback=[*LINEAR],
    wiring=True,
    lanes=["package"],
)
def saved_twice() -> Program:
    return Program(floats((2, 8)), model=TwoLinears(), after_compile=saved_before)


@case(
    Family.LIFE_CYCLE,
    catches="engines that are given other weights after they were built, then saved",
    fallback=[RELU],
    settings={"immutable_weights": False},
    lanes=["package"],
)
def refitted_before_save() -> Program:
    return Program(floats((2, 8)), model=Linears(), after_compile=refitted)


def module_of_its_program(compiled: GraphModule, example: Inputs) -> GraphModule:
    """The module that the program of the compiled one has, where its engines are ops of a graph.

    Up to 2.10 there is one exporter, which takes no inputs and no word that chooses it.
    """
    package: Any = importlib.import_module("torch_tensorrt")
    export: Any = package.dynamo.export
    chosen = "use_legacy_exporter"
    given: dict[str, Any] = {}
    if chosen in (export.__kwdefaults__ or {}):
        given = {chosen: True, "arg_inputs": example.args}
    return export(compiled, **given).module()  # type: ignore[no-any-return]


def pickled(compiled: GraphModule, example: Inputs) -> GraphModule:
    """What `torch.save` and `torch.load` make of the compiled module."""
    file = io.BytesIO()
    torch.save(compiled, file)
    file.seek(0)
    return torch.load(file, weights_only=False)  # type: ignore[no-any-return]


@case(
    Family.LIFE_CYCLE,
    catches="a compiled module that was pickled, which loses what its graph says of its engines",
    fallback=[RELU],
    wiring=True,
    lanes=["package"],
)
def pickled_before_save() -> Program:
    return Program(floats((2, 8)), model=Linears(), after_compile=pickled)


@case(
    Family.LIFE_CYCLE,
    catches="state that a program declares as written, taken for an output once more by `save`",
    fallback=[RELU],
    wiring=True,
    lanes=["package"],
    state=True,
)
def module_of_a_program_with_a_window() -> Program:
    return Program(
        floats((1, HEADS, 1, WIDTH)), model=Window(), after_compile=module_of_its_program
    )


@case(
    Family.LIFE_CYCLE,
    catches="a cache that a program's engine returns beside its outputs, exported once more",
    fallback=[RELU],
    wiring=True,
    lanes=["package"],
    state=True,
)
def module_of_a_program_with_a_cache() -> Program:
    return Program(step, model=OneEngine(), after_compile=module_of_its_program)


class Pipeline(torch.nn.Module):
    """A module of a user's own around a model, which gives what that returns a name."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> dict[str, torch.Tensor]:
        (scores,) = pytree.tree_leaves(self.model(x, position))
        return {"scores": scores}


def in_a_pipeline(compiled: GraphModule, example: Inputs) -> GraphModule:
    return torch.export.export(Pipeline(compiled), example.args).module(check_guards=False)


@case(
    Family.LIFE_CYCLE,
    catches="a compiled module with a cache inside of a larger one that returns a dictionary",
    fallback=[RELU],
    wiring=True,
    lanes=["package"],
    state=True,
)
def compiled_inside_of_a_pipeline() -> Program:
    return Program(step, model=Pipeline(OneEngine()), after_compile=in_a_pipeline)


def its_program_called(compiled: GraphModule, example: Inputs) -> GraphModule:
    """The compiled module, of which a program was made and tried once, as one does."""
    module_of_its_program(compiled, example)(*example.args)
    return compiled


@case(
    Family.LIFE_CYCLE,
    catches="a program that shares its state with the module: a call of one moves both",
    fallback=[RELU],
    wiring=True,
    lanes=["package"],
    state=True,
)
def its_program_called_before_save() -> Program:
    return Program(floats((1, 4)), model=Running(), after_compile=its_program_called)
