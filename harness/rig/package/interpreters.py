"""What stands in the place of a release's `TRTInterpreter`, which turns a segment into an engine.

Only that class is replaced: what surrounds it (shapes, types, caching, packing of results) stays
the release's. With builder `segment` nothing of TensorRT runs; with `tensorrt-rtx` the release's
own interpreter does its work, and the segment travels behind the engine that it built.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

import torch
from torch.fx import Graph, GraphModule, Node

from harness.rig.engines.builder import behind, build_segment_engine
from harness.rig.engines.contract import Profile, UnsupportedSegment
from harness.rig.package import engine_cache
from harness.rig.package.engine_cache import EngineBuild, KeptEngine, content_key
from harness.rig.package.site import Site


@dataclass(frozen=True)
class HeldEngine:
    """Engine bytes where a release has an engine: it can be serialized, and no more."""

    payload: bytes

    def serialize(self) -> bytes:
        return self.payload

    def get_aliased_input_tensor(self, _: str) -> None:
        """Asked by 2.14; an engine has one only for a KV cache that was asked for."""


class HeldRuntime:
    """`tensorrt.Runtime`, for as much as a release's interpreter wants of it."""

    def __init__(self, *_: Any) -> None:
        pass

    def deserialize_cuda_engine(self, serialized: Any) -> HeldEngine:
        return HeldEngine(bytes(serialized))


def hold_engines(_: Site) -> None:
    """Keep an engine as its bytes, where a release would put it onto the GPU."""
    sys.modules["tensorrt"].Runtime = HeldRuntime  # type: ignore[attr-defined]


def build_segments(_: Site) -> None:
    """Put an interpreter that builds segments in the place of the one that calls TensorRT."""
    conversion = importlib.import_module("torch_tensorrt.dynamo.conversion._conversion")
    result = conversion.TRTInterpreterResult
    refusal = _refusal_of_a_profile(conversion.TRTInterpreter)

    class SegmentInterpreter:
        """Takes what `TRTInterpreter` takes, and `run` returns what its `run` does."""

        def __init__(
            self,
            module: GraphModule,
            input_specs: Any,
            *,
            compilation_settings: Any,
            input_binding_names: Any = None,
            output_binding_names: Any = None,
            **_: Any,
        ) -> None:
            if not compilation_settings.truncate_double:
                _refuse_doubles_that_it_holds(module)
            whole, self._aliased = _with_aliased_outputs(module, result)
            self._profiles = _profiles_of(input_specs)
            self._built = build_segment_engine(
                "segment", whole, doubles_as_floats=True, profiles=self._profiles
            )
            _leave_as_converted(module)
            self._inputs = list(input_binding_names or self._built.input_names)
            self._outputs = list(output_binding_names or self._built.output_names)

        def run(self) -> Any:
            for wrong in (profile for profile in self._profiles if not profile.is_valid):
                raise refusal() from UnsupportedSegment(f"not MIN <= OPT <= MAX: {wrong}")
            values: dict[str, Any] = {
                "input_names": self._inputs,
                "output_names": self._outputs,
                "weight_name_map": None,  # None as well where weights are immutable, the default
                "requires_output_allocator": False,
                "requires_native_multidevice": False,
                "aliased_io": self._aliased,
            }
            return _result(result, values, self._built.payload)

    conversion.TRTInterpreter = SegmentInterpreter  # type: ignore[attr-defined]


def _profiles_of(specs: Any) -> tuple[Profile, ...]:
    """The profile of each of a release's `Input`s, which its interpreter hands to TensorRT.

    A release computes them when it has partitioned (`construct_submodule_inputs`), so they may be
    narrower, or wider, than what the metadata of the segment says.
    """
    return tuple(_profile(spec) for spec in specs)


def _profile(spec: Any) -> Profile:
    shape = spec.shape
    if not isinstance(shape, dict):
        sizes = tuple(int(size) for size in shape)
        return Profile(sizes, sizes, sizes)
    ranges = (shape[which] for which in ("min_shape", "opt_shape", "max_shape"))
    return Profile(*(tuple(int(size) for size in sizes) for sizes in ranges))


def _refusal_of_a_profile(interpreter: type) -> Callable[[], Exception]:
    """What a release raises where TensorRT refuses a profile and builds nothing, made anew.

    From 2.12.0 on it says so (`TRTInterpreter.run`); before, it asserts that there is an engine.
    """
    said = "TensorRT build_serialized_network returned None; engine build failed."
    says_so = said in inspect.getsource(interpreter)
    return partial(RuntimeError, said) if says_so else AssertionError


def carry_segments(site: Site) -> None:
    """Let the release build its engine, and send the segment along behind the engine's bytes."""
    conversion = importlib.import_module("torch_tensorrt.dynamo.conversion._conversion")
    real, result = conversion.TRTInterpreter, conversion.TRTInterpreterResult

    class CarryingInterpreter:
        """Takes what `TRTInterpreter` takes, and `run` returns what its `run` does."""

        def __init__(self, module: GraphModule, input_specs: Any, **given: Any) -> None:
            self._module, self._specs, self._given = module, input_specs, given

        def run(self) -> Any:
            # Before the real one, which may empty the module; and its complaint after the real
            # one's, which is what a user would meet.
            whole, aliased = _with_aliased_outputs(self._module, result)
            carried = _carried(whole, _profiles_of(self._specs))
            versions = (site.release, site.tensorrt)
            settings = self._given["compilation_settings"]
            key = content_key(self._module, self._specs, settings, versions)
            kept = site.engines and engine_cache.kept_engine(site.engines, key)
            if kept:
                _leave_as_converted(self._module)
            engine = kept or self._build()
            if engine.fields.get("aliased_io", {}) != aliased:
                raise AssertionError(f"{engine.fields['aliased_io']} are aliased, not {aliased}")
            if site.engines and not kept:
                engine_cache.keep(site.engines, key, engine)
            engine_cache.builds.append(
                EngineBuild(
                    key, engine.conversion_s, engine.build_s, len(engine.engine), bool(kept)
                )
            )
            if isinstance(carried, UnsupportedSegment):
                raise carried
            return _result(result, engine.fields, behind(engine.engine, carried))

        def _build(self) -> KeptEngine:
            """Convert and build for real; conversion ends when the network is filled."""
            began = time.perf_counter()
            interpreter = real(self._module, self._specs, **self._given)
            fill, filled = interpreter._construct_trt_network_def, [began]

            def timed() -> None:
                fill()
                filled.append(time.perf_counter())

            interpreter._construct_trt_network_def = timed
            built = interpreter.run()
            ended = time.perf_counter()
            fields = built._asdict()
            held = fields.pop("engine", None)
            payload = fields.pop("serialized_engine", None) if held is None else held.serialize()
            return KeptEngine(fields, bytes(payload), filled[-1] - began, ended - filled[-1])

    conversion.TRTInterpreter = CarryingInterpreter  # type: ignore[attr-defined]


def _with_aliased_outputs(
    module: GraphModule, result: Any
) -> tuple[GraphModule, dict[str, tuple[str, str]]]:
    """A segment that returns what its engine writes to inputs, too, and its `aliased_io`.

    In 2.14 a converter turns a write to a cache that is an engine's input into TensorRT's own layer
    for it, whose output lies where the input lies: the engine writes to the caller's buffer. That
    output is bound behind those that the split module knows (`TRTInterpreter.output`).
    `aliased_io` is the name of each such output, with the name of its input and the kind of its
    alias, in the release's own form.
    """
    if "aliased_io" not in result._fields:
        return module, {}
    return with_aliased_outputs(module)


def with_aliased_outputs(module: GraphModule) -> tuple[GraphModule, dict[str, tuple[str, str]]]:
    """Do so for a release that has them; a segment without any stays as it is."""
    caches = {node: _written_cache(node) for node in module.graph.nodes}
    written = {write: cache for write, cache in caches.items() if cache is not None}
    if not written:
        return module, {}
    graph, copies = Graph(), dict[Node, Node]()
    returned = graph.graph_copy(module.graph, copies)
    outputs = list(returned) if isinstance(returned, tuple | list) else [returned]
    outputs += [copies[write] for write in written if copies[write] not in outputs]
    graph.output(tuple(outputs))
    for write in written:
        _write_without_gaps(copies[write])
    aliased = {
        f"output{outputs.index(copies[write])}": (cache.name, "kv_cache_update")
        for write, cache in written.items()
    }
    return GraphModule(module, graph), aliased


_WRITES_OF_CACHES: Final = ("slice_scatter", "index_put", "index_copy")
_TYPES_OF_CACHES: Final = (torch.float32, torch.float16, torch.bfloat16)


def _written_cache(node: Node) -> Node | None:
    """The input that a release's converter of this node makes its engine write to; None for none.

    This is the release's own prediction, which reads what its converters read, with one thing
    mended: it is made before lowering, and the converter of a `slice_scatter` asks later whether
    the tensor that it is handed is an input of the network (`input_binding_name`). A clone is one,
    since it is converted to the tensor that it is a clone of. That a node is marked to be left
    alone the prediction leaves to its caller to see.
    """
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], Node):
        return None
    given = node.args[0]
    cache = _converted_to(given) if node.target is torch.ops.aten.slice_scatter.default else given
    if cache.op != "placeholder" or node.meta.get("_trt_no_kv_alias"):
        return None
    value = cache.meta["val"]
    if not isinstance(value, torch.Tensor) or value.dtype not in _TYPES_OF_CACHES:
        return None  # nothing is written to a number, and TensorRT builds no engine for the others
    lifting = importlib.import_module("torch_tensorrt.dynamo.lowering._buffer_lifting")
    predict = getattr(lifting, "_kv_write_will_alias", None)
    if predict is None:  # in a checkout from between two releases
        if any(name in str(node.target) for name in _WRITES_OF_CACHES):
            raise UnsupportedSegment(f"{node.target}: this tree does not say if it is aliased")
        return None
    others = node.args[1:]
    node.args = (cache, *others)
    try:
        return cache if predict(node, tuple(value.shape)) else None
    finally:
        node.args = (given, *others)


def _converted_to(node: Node) -> Node:
    """The node whose tensor of the network this one is converted to: for most, itself.

    A clone, or a cast to the type that there is, adds no layer (`aten_ops_clone_copy_dtype`), but
    where it stands alone between an input and an output (`is_only_operator_on_placeholder`).
    """
    utilities = importlib.import_module("torch_tensorrt.dynamo.conversion.converter_utils")
    while (
        node.op == "call_function"
        and node.target in (torch.ops.aten.clone.default, torch.ops.aten._to_copy.default)
        and isinstance(node.args[0], Node)
        and node.meta["val"].dtype is node.args[0].meta["val"].dtype
        and not utilities.is_only_operator_on_placeholder(node)
    ):
        node = node.args[0]
    return node


def _write_without_gaps(write: Node) -> None:
    """Let a `slice_scatter` with a step write as TensorRT's layer does, which knows no step.

    It is given the rows and where the first one goes, and writes them one behind the other
    (`try_emit_kv_cache_update`).
    """
    if write.target is torch.ops.aten.slice_scatter.default and len(write.args) > 5:
        cache, rows, dim, start = cast(tuple[Any, ...], write.args[:4])
        size = cache.meta["val"].shape[dim]
        first = 0 if start is None else start + size if start < 0 else start
        write.args = (cache, rows, dim, first, first + rows.meta["val"].shape[dim])


def _refuse_doubles_that_it_holds(module: GraphModule) -> None:
    """Raise what a release raises of a segment with a float64 weight (`create_constant`).

    It does so unless `truncate_double` is set; then it casts that weight, and its compile casts
    what goes in and comes out (`repair_double_inputs`). Without it an engine is built as well where
    no weight is in the way, for float32, and refuses the float64 that it is called with.
    """
    reads = {node.target for node in module.graph.nodes if node.op == "get_attr"}
    held = [*module.named_parameters(), *module.named_buffers(), *vars(module).items()]
    if any(name in reads and getattr(each, "dtype", None) is torch.float64 for name, each in held):
        raise ValueError(
            "TensorRT does not support float64 (double) precision. To resolve this, please set "
            "truncate_double=True in your compilation settings and re-run the model."
        )


def _leave_as_converted(module: GraphModule) -> None:
    """Leave a segment's nodes as their conversion would.

    The release names each node by the last entry of its `nn_module_stack`, and takes that away.
    Fallbacks' nodes share these stacks and lose them too, so that what is saved cannot be
    unflattened: that must not depend on whether anything was converted.
    """
    interpreter = importlib.import_module("torch_tensorrt.dynamo.conversion._TRTInterpreter")
    for node in module.graph.nodes:
        interpreter.get_node_name(node)


def _carried(module: GraphModule, profiles: Sequence[Profile]) -> bytes | UnsupportedSegment:
    try:
        return build_segment_engine(
            "segment", module, doubles_as_floats=True, profiles=profiles
        ).payload
    except UnsupportedSegment as error:
        return error


def _result(result: Any, values: dict[str, Any], payload: bytes) -> Any:
    """A release's own result: it holds an engine from 2.10 on, and the engine's bytes up to 2.9."""
    known = {**values, "engine": HeldEngine(payload), "serialized_engine": payload}
    return result(**{field: known[field] for field in result._fields})
