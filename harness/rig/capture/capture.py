"""Capture: from a case to the graph that is split, and the inputs that it is called with."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import importlib
import inspect
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram
from torch.export.passes import move_to_device_pass
from torch.fx import GraphModule

from corpus.case import Case, Inputs, Program, is_from_elsewhere
from corpus.leaves import cut_off
from harness.rig.capture.fallbacks import fallbacks_meant
from harness.rig.capture.sizes import apart, indices_within, ranges_tried, user_values
from harness.rig.capture.split import split_module
from harness.wire.routes import Route

try:
    import torch._export.config as export_config
except ModuleNotFoundError:  # up to torch 2.9
    export_config = None  # type: ignore[assignment]

CALLS = 3  # seeded inputs that every program is run on
#: The namespaces of ops that torch itself brings.
_OF_TORCH = frozenset(("aten", "prim", "prims", "_c10d_functional", "quantized", "rngprims"))
#: Settings by which strict export traces with the functional export. torch 2.10 has the first
#: alone, and with it this one way to use the tracer.
_FUNCTIONAL_TRACER = {
    "use_new_tracer_experimental": True,
    "use_legacy_dynamo_graph_capture": True,
}


class CannotAsk(Exception):
    """What a case asks for is not there to be asked: no verdict on anything."""


@dataclass(frozen=True)
class CapturedProgram:
    """A case, built and captured once, to be shared by all its cells.

    ``case`` names the ops that fall back as both lanes take them, whatever words its user chose;
    ``unnamed`` are those that are the graph lane's alone: a user named what lowering makes of them.
    ``eager`` is what the values are held against: the model, or for a handmade case its split
    module before any engine is built. ``exported`` is None for a handmade case.
    """

    case: Case
    program: Program
    eager: torch.nn.Module
    exported: ExportedProgram | None
    calls: tuple[Inputs, ...]
    device: str = "cpu"
    unnamed: frozenset[str] = frozenset()
    export_s: float | None = None

    @property
    def example(self) -> Inputs:
        return self.calls[0]

    @property
    def given_to_save(self) -> Inputs:
        """What `save` is given: the example, unless the case gives it otherwise."""
        change = self.program.given_to_save
        return self.example if change is None else change(self.example)

    @property
    def shapes_by_place(self) -> Any:
        """The dynamic shapes in the order of the arguments, where they are stated by name.

        What a model takes as ``*args`` has one name, and its shapes one place.
        """
        shapes, example = self.program.dynamic_shapes, self.example
        if not isinstance(shapes, Mapping):
            return shapes
        names = list(inspect.signature(self.eager.forward).parameters)
        given = [*names[: len(example.args)], *example.kwargs]
        return tuple(shapes[name] for name in (given if {*given} == {*shapes} else shapes))

    @property
    def imports(self) -> tuple[str, ...]:
        """What a process has to import before it loads the saved program.

        Of a user's model that calls ops which torch has not, its own file: that defines them, or
        imports what does.
        """
        if self.case.imports or self.exported is None:
            return self.case.imports
        targets = [node.target for node in self.exported.graph.nodes]
        others = {op.namespace for op in targets if isinstance(op, OpOverload)} - _OF_TORCH
        return (type(self.eager).__module__,) if others else ()

    def shapes_given(self, route: Route) -> Any:
        """The dynamic shapes that `torch_tensorrt.save` is given by a route; None for none.

        Who has shapes of its own for `save` gives them with every call that takes any. Without
        inputs `create_trt_exp_program` leaves them (dynamo/_exporter.py:553 of 2.14.0).
        """
        own = self.program.shapes_for_save is not None
        gives = route.row.gives_shapes or (own and route.row.newer)
        return self.program.shapes_saved if gives else None

    def keywords_of_save(self, route: Route) -> dict[str, Any]:
        """What `torch_tensorrt.save` is given beside inputs and shapes: the route's words count."""
        return {**copy.deepcopy(dict(self.case.save_keywords)), **route.row.save}

    def fresh_module(self) -> GraphModule:
        """A graph module of its own for a splitter to change."""
        if self.exported is not None:
            return self.exported.module(check_guards=False)
        assert self.program.split is not None
        return copy.deepcopy(self.program.split)

    def split(self) -> GraphModule:
        """A split module of its own, with segments where engines will be."""
        module = self.fresh_module()
        if self.exported is None:  # a handmade case is split as it is
            return module
        return split_module(module, self.case.fallback, self.case.min_block_size)


def capture(case: Case, mode: str, seed: int = 0) -> CapturedProgram:
    """Build a case and capture it.

    Args:
        mode: "nonstrict", "strict", "functional", or "decomposed", which is nonstrict with
            `run_decompositions` behind it; a case that has a mode of its own keeps to it.
        seed: added to the case's own, for another set of inputs and weights.

    Raises:
        NoSuchOp: a case from elsewhere sends an op to PyTorch that it has not. The project's own
            name ops for several torches and lanes, and its lock holds their splits.
        Exception: whatever the case, or torch.export, raises.
    """
    for name in case.imports:
        importlib.import_module(name)
    torch.manual_seed(case.seed + seed)
    program = case.build()
    calls = tuple(_make_inputs(program, case.seed + seed, number) for number in range(CALLS))
    if program.split is not None:
        calls = _sizes_apart(program, None, calls)
        return CapturedProgram(case, program, program.split.eval(), None, calls)
    assert program.model is not None
    export_s = None
    if program.archive is None:
        model = program.model.eval()
        _tell_state_apart(model)
        before = [(module, dict(vars(module))) for module in model.modules()]
        began, how = time.perf_counter(), case.capture or mode
        exported = _exported(program, model, calls[0], how)
        given_as_exported = program.given_to_save is None and program.shapes_for_save is None
        if how == "nonstrict" and program.before_compile is None and given_as_exported:
            export_s = time.perf_counter() - began
        for module, attributes in before:
            _as_before(module, attributes)
        cut_off(model)
    else:  # its module is in evaluation, and its weights are the user's
        model, exported = program.model, torch.export.load(program.archive)
    unnamed: frozenset[str] = frozenset()
    if is_from_elsewhere(case):
        fallback, unnamed = fallbacks_meant(case, exported)
        case = dataclasses.replace(case, fallback=fallback)
    apart = _sizes_apart(program, exported, calls)
    calls = _taken_by(model, apart, calls) if is_from_elsewhere(case) else apart
    return CapturedProgram(
        case, program, model, exported, calls, unnamed=unnamed, export_s=export_s
    )


def _as_before(module: torch.nn.Module, attributes: Mapping[str, Any]) -> None:
    """Take what export traced from a module whose forward keeps a tensor as an attribute."""
    kept = [name for name, value in vars(module).items() if isinstance(value, FakeTensor)]
    for name in kept:
        del module.__dict__[name]
        if name in attributes:
            module.__dict__[name] = attributes[name]


def _exported(
    program: Program, model: torch.nn.Module, example: Inputs, mode: str
) -> ExportedProgram:
    with functional_tracer() if mode == "functional" else contextlib.nullcontext():
        exported = export_like_a_user(
            model, example, program.dynamic_shapes, strict=mode in ("strict", "functional")
        )
    if mode == "decomposed":
        exported = exported.run_decompositions()
    return exported if program.before_compile is None else program.before_compile(exported)


@contextmanager
def functional_tracer() -> Iterator[None]:
    """Within, `torch.export.export(..., strict=True)` traces with the functional export.

    That is `torch._dynamo.functional_export`, which yields torch-level IR; strict export lowers it
    to ATen, and since some version uses this tracer anyhow. Here it is pinned.

    Raises:
        CannotAsk: this torch's strict export cannot do that.
    """
    if export_config is None:
        raise CannotAsk("strict export of this torch has no functional tracer; 2.10 brought it")
    known = {
        name: value for name, value in _FUNCTIONAL_TRACER.items() if hasattr(export_config, name)
    }
    with export_config.patch(known):
        yield


def _sizes_apart(
    program: Program, exported: ExportedProgram | None, calls: tuple[Inputs, ...]
) -> tuple[Inputs, ...]:
    """The calls; the second gives independent dynamic dimensions different sizes, if there are any.

    The oracle on metadata looks at that call. The last call is at the upper bound.
    """
    if program.bounds is None:
        return calls
    example, second, largest = calls
    middle = _sizes(program)[0]
    assert middle is not None
    if exported is None:
        assert program.split is not None
        values = user_values(None, program.split.graph)
    else:
        values = user_values(exported, exported.graph)
    ranges = {}
    if program.ranges:
        smallest = program.inputs(torch.Generator().manual_seed(0), program.bounds[0])
        ranges = ranges_tried(values, smallest, largest)
    return example, apart(values, largest, program.bounds, middle, ranges) or second, largest


def _taken_by(
    model: torch.nn.Module, apart: tuple[Inputs, ...], plain: tuple[Inputs, ...]
) -> tuple[Inputs, ...]:
    """The calls whose sizes differ, if a user's model takes them; else the plain ones.

    What is cut to another size may be what an index points at, as nodes are by the edges of a
    graph: such an index is made to point at what is left.
    """
    first, second, last = apart
    for call in (second, indices_within(second)) if second is not plain[1] else ():
        own = copy.deepcopy(call)
        try:
            with torch.no_grad():
                copy.deepcopy(model)(*own.args, **own.kwargs)
        except Exception:  # noqa: BLE001 - a user's own, which may raise anything
            continue
        return first, call, last
    return plain


def _tell_state_apart(model: torch.nn.Module) -> None:
    """Add seeded noise to every parameter and buffer of a floating type.

    A batch norm begins with zeros and ones, as does every other one: two that change places would
    compute the same. Of an expanded tensor each number in memory gets its noise once.
    """
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_floating_point():
                own = tensor[tuple(slice(None if step else 1) for step in tensor.stride())]
                own.add_(0.1 * torch.rand_like(own))


def export_like_a_user(
    model: torch.nn.Module, example: Inputs, dynamic_shapes: Any, *, strict: bool = False
) -> ExportedProgram:
    """`torch.export.export` with the arguments in the form that the case states them.

    The program keeps them as its example: they are its own.
    """
    own = copy.deepcopy(example)
    return torch.export.export(
        model,
        own.args,
        dict(own.kwargs),
        dynamic_shapes=dynamic_shapes,
        strict=strict,
    )


def over_bound_inputs(captured: CapturedProgram) -> Inputs | None:
    """Inputs one above the upper bound of every dynamic dimension, or None where there is none."""
    bounds = captured.program.bounds
    if bounds is None or captured.program.unbounded:
        return None
    generator = torch.Generator().manual_seed(captured.case.seed)
    return _inputs_on(captured.program.inputs(generator, bounds[1] + 1), captured.device)


def on_device(captured: CapturedProgram, device: str) -> CapturedProgram:
    """The same program with everything that is computed with on a device.

    It is captured first and moved then, by torch's own pass: what a model's code makes, such as a
    constant, is moved as well. The device is named with its number, as tensors name it: a program
    may assert where one of its tensors is, and "cuda" is not "cuda:0" there.
    """
    assert captured.exported is not None
    device = str(torch.empty(0, device=device).device)
    return dataclasses.replace(
        captured,
        exported=move_to_device_pass(captured.exported, device),
        calls=tuple(_inputs_on(call, device) for call in captured.calls),
        device=device,
    )


def _inputs_on(inputs: Inputs, device: str) -> Inputs:
    args, kwargs = pytree.tree_map_only(
        torch.Tensor, lambda tensor: tensor.to(device), (inputs.args, dict(inputs.kwargs))
    )
    return Inputs(args, kwargs)


def _make_inputs(program: Program, seed: int, number: int) -> Inputs:
    generator = torch.Generator().manual_seed(seed + number)
    return program.inputs(generator, _sizes(program)[number])


def _sizes(program: Program) -> Sequence[int | None]:
    """Three sizes of the dynamic dimension, so that a specialised program shows."""
    if program.bounds is None:
        return (None,) * CALLS
    low, high = program.bounds
    middle = (low + high) // 2
    return (middle, max(low, 2), high)
