"""An attempt to send a split module through a release's inliner; `script` copies this."""

from __future__ import annotations

import copy
import importlib.machinery
import importlib.util
import inspect
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule

from harness.rig.inliners.surroundings import EXPORTER, PACKAGE, load_shape_analysis, stand_ins
from harness.rig.reproduce.engines import Call, emulate_engines, run_placeholders, state_values

THERE, NOT_THERE, CANNOT_BE_TOLD = 1, 0, 125  # bad, good and skip for `git bisect run`


@dataclass
class Outcome:
    """What calls returned, what they made of their inputs, and which state they changed."""

    returned: list[Any]
    inputs: list[Any]
    changed: list[str]


@dataclass
class Attempt:
    """How far a split module came, and what there was by then.

    ``eager`` is what a model does before a package compiles it.
    """

    stage: str = "inline-engines"
    eager: Outcome | None = None
    inlined: GraphModule | None = None
    program: ExportedProgram | None = None
    reloaded: ExportedProgram | None = None
    results: Outcome | None = None
    error: Exception | None = None

    @property
    def ended(self) -> str:
        """Where it ended and by which exception, in one line."""
        lines = str(self.error).strip().splitlines()
        return f"{self.stage}: {type(self.error).__name__}" + (f": {lines[0]}" if lines else "")


Check = Callable[[Attempt, GraphModule, Sequence[Call]], str]


def load_exporter(wheel: Path, file: Path | None) -> Any:
    """`torch_tensorrt.dynamo._exporter` out of a wheel, or a file in its place.

    The rest of the package is not loaded: stand-ins give the few names that the exporter imports.
    """
    modules = stand_ins(wheel)
    sys.modules.update(modules)
    if file is not None:
        spec = importlib.util.spec_from_file_location(EXPORTER, file)
    else:
        folders = modules[f"{PACKAGE}.dynamo"].__path__
        spec = importlib.machinery.PathFinder.find_spec(EXPORTER, folders)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"no torch_tensorrt/dynamo/_exporter.py in {file or wheel}")
    exporter = importlib.util.module_from_spec(spec)
    sys.modules[EXPORTER] = exporter
    spec.loader.exec_module(exporter)
    if hasattr(exporter, "partitioning"):
        load_shape_analysis()
    return exporter


def accepted(function: Any, **offered: Any) -> dict[str, Any]:
    """The offered arguments that this release's function takes."""
    parameters = inspect.signature(function).parameters
    return {name: value for name, value in offered.items() if name in parameters}


def track_stages(exporter: Any, attempt: Attempt) -> None:
    """Wrap the two passes that `transform` calls, so that the attempt knows its stage."""
    engines, fallbacks = exporter.inline_trt_modules, exporter.inline_torch_modules

    def watched_engines(gm: GraphModule, *args: Any, **kwargs: Any) -> Any:
        attempt.stage, attempt.inlined = "inline-engines", gm
        returned = engines(gm, *args, **kwargs)
        attempt.stage = "inline-fallbacks"
        return returned

    def watched_fallbacks(gm: GraphModule, *args: Any, **kwargs: Any) -> Any:
        attempt.stage, attempt.inlined = "inline-fallbacks", gm
        returned = fallbacks(gm, *args, **kwargs)
        attempt.stage = "clean"
        return returned

    exporter.inline_trt_modules, exporter.inline_torch_modules = watched_engines, watched_fallbacks


def run_inliner(
    attempt: Attempt,
    exporter: Any,
    split: GraphModule,
    route: str,
    calls: Sequence[Call],
    given: Call,
    dynamic_shapes: Any,
) -> None:
    """Inline, export, save, load and run, as the release does it by this route.

    Args:
        given: what `save` is given.

    Raises:
        Exception: whatever raises; ``attempt`` holds the stage and what came before.
    """
    args, kwargs = copy.deepcopy(given)  # a release may run the model on them
    crossed = route.startswith("cross")
    legacy = "legacy" in route
    if crossed or route == "legacy-no-inputs":
        args, kwargs = (), {}
    offered = {
        "inputs": args,
        "kwarg_inputs": kwargs,
        "expose_aliased_mutations": legacy,
        "cross_compile_flag": crossed,  # 2.6
        "cross_compile_module": crossed,  # from 2.7 on
    }
    inlined = exporter.transform(split, **accepted(exporter.transform, **offered))
    # A graph of its own: the legacy exporter lifts parameters in the very module that it is given.
    attempt.inlined = GraphModule(inlined, copy.deepcopy(inlined.graph))
    attempt.stage = "export"
    if crossed and not legacy:  # as `save_cross_compiled_exported_program` calls it
        legacy = "use_legacy_exporter" not in accepted(exporter.export, use_legacy_exporter=True)
    if legacy:
        create = exporter.create_trt_exp_program
        given_by_save = {
            "arg_inputs": args,
            "kwarg_inputs": kwargs,
            "dynamic_shapes": dynamic_shapes,
        }
        offered = {} if crossed else given_by_save
        attempt.program = create(inlined, **accepted(create, **offered))
    else:
        attempt.program = torch.export.export(inlined, args, kwargs, dynamic_shapes=dynamic_shapes)
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "program.pt2"
        attempt.stage = "save"
        torch.export.save(attempt.program, archive)
        attempt.stage = "load"
        attempt.reloaded = torch.export.load(archive)
    if crossed:  # before this it has no engines, and there is nothing to ask it
        attempt.program = attempt.inlined = None
        attempt.reloaded = exporter.replace_execute_engine_no_op_node(attempt.reloaded)
    attempt.stage = "run"
    assert attempt.reloaded is not None
    attempt.results = outcome(copy.deepcopy(attempt.reloaded).module(), calls)


def outcome(module: torch.nn.Module, calls: Sequence[Call]) -> Outcome:
    """What a module does on every call, and on the first once more."""
    before = contents(module)
    returned, inputs = [], []
    for call in (*calls, calls[0]):
        args, kwargs = copy.deepcopy(call)
        with torch.no_grad():
            # Copied, since a program may hand out its input or its state, and change it later.
            returned.append(copy.deepcopy(module(*args, **kwargs)))
        inputs.append((args, kwargs))
    after = contents(module)
    changed = sorted(after[name] for name in after if after[name] != before[name])
    return Outcome(returned, inputs, changed)


def contents(module: torch.nn.Module) -> dict[str, str]:
    tensors = [*module.named_parameters(), *module.named_buffers()]
    return {name: f"{value.dtype} {value.tolist()}" for name, value in tensors}


def main(
    arguments: Sequence[str],
    case: Callable[[], tuple[GraphModule, Sequence[Call], Call, Any, Any]],
    route: str,
    check: Check,
) -> int:
    """Send the case through an inliner and say whether the defect is there."""
    warnings.filterwarnings("ignore")
    if not arguments:
        print("name the wheel of a release, and a file to take the place of its _exporter.py")
        return CANNOT_BE_TOLD
    torch.manual_seed(0)
    attempt = Attempt()
    try:
        emulate_engines()
        file = Path(arguments[1]) if len(arguments) > 1 else None
        exporter = load_exporter(Path(arguments[0]), file)
        split, calls, given, dynamic_shapes, saved_shapes = case()
        state_values(split, calls[0], dynamic_shapes)
        track_stages(exporter, attempt)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is no answer
        print(f"cannot be told: the script itself fails on torch {torch.__version__}: {error!r}")
        return CANNOT_BE_TOLD
    try:
        run_inliner(attempt, exporter, copy.deepcopy(split), route, calls, given, saved_shapes)
    except Exception as error:  # noqa: BLE001 - for the check to look at
        attempt.error = error
    run_placeholders()
    return conclude(attempt, check, split, calls)


def conclude(attempt: Attempt, check: Check, split: GraphModule, calls: Sequence[Call]) -> int:
    failure = check(attempt, split, calls)
    if failure:
        print(f"the defect is there: {failure}")
        return THERE
    if attempt.error is not None:
        print(f"cannot be told: it ended before that, at {attempt.ended}")
        return CANNOT_BE_TOLD
    print("the defect is not there")
    return NOT_THERE
