"""A user's calls of the whole package on a case, as lines of Python.

The calls are those that `harness.rig.package` makes (`compiling`, `saving`), in a user's words.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import textwrap
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import torch
import torch.utils._pytree as pytree

from corpus.case import Inputs
from harness.rig.capture.capture import CapturedProgram
from harness.rig.package.compiling import described_inputs, op_as_text, settings_of
from harness.rig.package.torch_compile import BACKEND
from harness.rig.reproduce.code import ENGINE_PREFIX, WHOLE, CaseWriter, Unwritable
from harness.rig.reproduce.source import NoSource, Source, model_source, without_model
from harness.wire.routes import Route

WIDTH: Final = 92  # of a line that is indented once more
_AS_A_GRAPH: Final = f"{WHOLE}()"
_DECOMPOSED: Final = "decomposed"
_NOT_A_CALL: Final = "functional"  # torch's tracer is set for it, which no user does


@dataclass(frozen=True)
class UserCalls:
    """What a user writes.

    Attributes:
        imports: whole statements, beside those of torch and of the package.
        definitions: classes and functions, and what else stands before any call.
        model: the lines that make ``model``.
        one: the lines that make ``inputs``, and ``keywords`` where there are any.
        several: the lines that make ``calls``, of which ``inputs`` are the first.
        keywords: whether there are any.
        stateful: whether a call writes to a buffer or an input, on which the next one depends.
        dynamic: whether later calls have other sizes, or are compiled anew as those of
            `torch.compile` may be.
        packed: whether it returns anything but one tensor.
        returns_inputs: whether it returns what it is given, to which a later call may write.
        export: the lines that make ``program``; ``compile``, those that make ``compiled``; ``save``
            those that write ``file``.
    """

    imports: tuple[str, ...]
    definitions: tuple[str, ...]
    model: tuple[str, ...]
    one: tuple[str, ...]
    several: tuple[str, ...]
    keywords: bool
    stateful: bool
    dynamic: bool
    packed: bool
    returns_inputs: bool
    export: tuple[str, ...]
    compile: tuple[str, ...]
    save: tuple[str, ...]

    @property
    def given(self) -> str:
        """What a module is called with."""
        return "*inputs, **keywords" if self.keywords else "*inputs"


def user_calls(
    captured: CapturedProgram, route: Route, mode: str, *, lowered: bool = True
) -> UserCalls:
    """The calls of a user who takes a case by a route.

    Args:
        mode: how it is captured, as of `capture`.
        lowered: whether `compile` is called. Else what it does behind its lowering is.

    Raises:
        Unwritable: the case holds something that has no plain form.
    """
    program, case, exported = captured.program, captured.case, captured.exported
    refuse_changed_module(captured)
    assert exported is not None
    writer = UserWriter()
    shapes = writer.shapes(program.dynamic_shapes)
    own = [] if program.shapes_for_save is None else [writer.shapes(program.shapes_for_save)]
    mode = case.capture or mode
    alone = route is Route.TORCH_COMPILE
    calls = captured.calls if alone else told_apart(captured)
    keywords = bool(captured.example.kwargs)
    written = [writer.call(each) if keywords else writer.value(each.args) for each in calls]
    names = "inputs, keywords" if keywords else "inputs"
    one = [tuple_of("inputs", captured.example.args, writer)]
    if keywords:
        given = (
            f"{json.dumps(name)}: {writer.value(x)}" for name, x in captured.example.kwargs.items()
        )
        one.append(block("keywords = {", list(given), "}"))
    whole = lowered or route.row.crosses
    compiles = _torch_compiling if alone else _compiling if whole else _partitioning
    compiling = tuple(compiles(captured, writer))
    source, signature = _source(captured, mode, writer), exported.graph_signature
    as_graph = source.made == _AS_A_GRAPH
    stating = [
        *(f"{name} = {dim}" for name, dim in writer.dims.items()),
        *([f"shapes = {shapes}"] if program.dynamic_shapes is not None else []),
        *(f"shapes_for_save = {each}" for each in own),
    ]
    exporting = _exporting(captured, "" if as_graph else mode, keywords=keywords)
    saves = tuple(saving(captured, route, writer))
    gives_shapes = captured.shapes_given(route) is not None
    return UserCalls(
        imports=(
            *source.imports,
            *(f"import {name}" for name in sorted(writer.modules)),
            *(() if whole else imports_of(compiling)),
        ),
        definitions=source.definitions,
        model=(*source.before, f"model = {source.made}.eval().cuda()"),
        one=tuple(one),
        several=(
            block("calls = [", written, "]"),
            f"{names} = calls[0]",
        ),
        keywords=keywords,
        stateful=writes(captured),
        dynamic=program.dynamic_shapes is not None or alone,
        packed=not exported.call_spec.out_spec.is_leaf(),
        returns_inputs=not {*signature.user_inputs}.isdisjoint(signature.user_outputs),
        export=() if case.module_given or alone else (*stating, exporting),
        compile=compiling,
        save=(*(stating if case.module_given and gives_shapes else ()), *saves),
    )


def refuse_changed_module(captured: CapturedProgram) -> None:
    """Raise Unwritable for a case whose user changes what was compiled, which nothing writes."""
    if captured.program.after_compile is not None:
        raise Unwritable("its user changes the compiled module before saving it")


def block(opening: str, items: Sequence[str], closing: str) -> str:
    """A call or a list in one line, or with a line an item where that is too long."""
    line = f"{opening}{', '.join(items)}{closing}"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    return "\n".join([opening, *(textwrap.indent(f"{item},", "    ") for item in items), closing])


class UserWriter(CaseWriter):
    """Writes the arguments of a user's calls: tensors are on the GPU, and no engine is built."""

    def __init__(self) -> None:
        super().__init__()
        self.classes: dict[str, type] = {}  # of containers, which the script has to hold

    def value(self, value: Any, nodes: Any = None) -> str:
        if isinstance(value, _Described):
            given = ", ".join(f"{name}={item}" for name, item in value.keywords.items())
            return f"torch_tensorrt.Input({given})"
        if type(value) is str:
            return json.dumps(value, ensure_ascii=False)
        if type(value) is dict:
            pairs = (f"{self.value(key)}: {self.value(item, nodes)}" for key, item in value.items())
            return f"{{{', '.join(pairs)}}}"
        if type(value) in (set, frozenset):
            items = sorted(self.value(item, nodes) for item in value)
            return f"{{{', '.join(items)}}}" if items else "set()"
        return super().value(value, nodes)

    def given(self, value: Any) -> str:
        return f"{super().given(value)}.cuda()"

    def engine(self, made: str, *, bare: bool) -> str:
        return made  # the package converts it

    def _own(self, value: Any, write: Any) -> str:
        self.classes[type(value).__name__] = type(value)
        return super()._own(value, write)


def tuple_of(name: str, items: Sequence[Any], writer: UserWriter) -> str:
    written = [writer.value(item) for item in items]
    return (
        block(f"{name} = (", written, ")")
        if len(written) > 1
        else f"{name} = {writer.value((*items,))}"
    )


@dataclass(frozen=True)
class _Described:
    """In the place of the package's `Input`."""

    keywords: Mapping[str, Any]


def told_apart(captured: CapturedProgram) -> tuple[Inputs, ...]:
    """Calls that show a lost write or a size that was fixed: of other inputs, or other sizes."""
    first, second, last = captured.calls
    if captured.program.dynamic_shapes is not None:
        return (first, second, last) if _sizes_part(first, second, last) else (first, last)
    # Drawn integers, such as a position in a cache, may be those of the first call once more.
    return first, max(second, last, key=lambda call: _unlike(first, call))


def _sizes_part(first: Inputs, second: Inputs, last: Inputs) -> bool:
    """Whether sizes that vary are told apart by the second call alone."""
    of_first, of_second, of_last = (
        [size for tensor in _tensors(call) for size in tensor.shape]
        for call in (first, second, last)
    )
    vary = [at for at, size in enumerate(of_first) if size != of_last[at]]
    return len({of_second[at] for at in vary}) > len({of_last[at] for at in vary})


def _unlike(one: Inputs, other: Inputs) -> int:
    """How many tensors of two calls differ."""
    return sum(not torch.equal(a, b) for a, b in zip(_tensors(one), _tensors(other), strict=True))


def writes(captured: CapturedProgram) -> bool:
    """Whether a call of the model changes a buffer, or what it is given.

    The exported graph need not declare it.
    """
    model, call = copy.deepcopy((captured.eager, captured.example))
    held = [*model.buffers(), *_tensors(call)]
    before = copy.deepcopy(held)
    with torch.no_grad():
        model(*call.args, **call.kwargs)
    return any(not torch.equal(old, new) for old, new in zip(before, held, strict=True))


def _tensors(call: Inputs) -> list[torch.Tensor]:
    return [x for x in pytree.tree_leaves((call.args, dict(call.kwargs))) if torch.is_tensor(x)]


def _source(captured: CapturedProgram, mode: str, writer: UserWriter) -> Source:
    """The model as its own source, or as the graph that was exported."""
    model = captured.program.model
    try:
        if model is None or captured.program.before_compile is not None or mode == _NOT_A_CALL:
            raise NoSource("what is compiled is another program than the model's own")
        return model_source(captured.case, model, writer.classes.values())
    except NoSource:
        made = writer.graph(captured.fresh_module(), WHOLE)
        assert made == _AS_A_GRAPH
        source = without_model(captured.case, writer.classes.values(), (), made)
        drawn = ["\n".join(["torch.manual_seed(0)", *writer.tensors])] if writer.tensors else []
        definitions = (*source.definitions, *drawn, *writer.functions)
        return dataclasses.replace(source, definitions=definitions)


def _exporting(captured: CapturedProgram, mode: str, *, keywords: bool) -> str:
    given = ["model", "inputs", *(["keywords"] if keywords else [])]
    if captured.program.dynamic_shapes is not None:
        given.append("dynamic_shapes=shapes")
    if mode == "strict":
        given.append("strict=True")
    behind = ".run_decompositions()" if mode == _DECOMPOSED else ""
    return block("program = torch.export.export(", given, f"){behind}")


def _compiling(captured: CapturedProgram, writer: UserWriter) -> Iterator[str]:
    """The call of `torch_tensorrt.dynamo.compile`, or of `torch_tensorrt.compile`."""
    given = ["arg_inputs=inputs", *(["kwarg_inputs=keywords"] if captured.example.kwargs else [])]
    if captured.program.bounds is not None:
        package: Any = types.SimpleNamespace(Input=lambda **keywords: _Described(keywords))
        described = described_inputs(cast(types.ModuleType, package), captured)
        given = [block("arg_inputs=[", [writer.value(each) for each in described.args], "]")]
        if described.kwargs:
            given.append(f"kwarg_inputs={writer.value(dict(described.kwargs))}")
    settings = settings_of(captured).items()
    stated = (f"{name}={writer.value(item)}" for name, item in settings)
    if captured.case.module_given:
        given = ["model", 'ir="dynamo"', *given]
        yield block("compiled = torch_tensorrt.compile(", [*given, *stated], ")")
        return
    yield block("compiled = torch_tensorrt.dynamo.compile(", ["program", *given, *stated], ")")


def _torch_compiling(captured: CapturedProgram, writer: UserWriter) -> Iterator[str]:
    """The call of `torch.compile`, which compiles nothing before its result is called."""
    stated = [f'"{name}": {writer.value(item)}' for name, item in settings_of(captured).items()]
    options = block("options={", stated, "}")
    yield block("compiled = torch.compile(", ["model", f'backend="{BACKEND}"', options], ")")


#: What `compile` does with each piece that becomes an engine (`compile_module`).
_CONVERTING: Final = """\
nodes = {node.target: node for node in compiled.graph.nodes if node.op == "call_module"}
for name, piece in list(compiled.named_children()):
    if name.startswith("_run_on_acc"):
        returned = piece.graph.output_node().all_input_nodes
        nodes[name].meta["val"] = [each.meta["val"] for each in returned]
        engine = convert_module(piece, construct_submodule_inputs(piece), settings, name)
        setattr(compiled, name, engine)"""
_PARTS: Final = {
    "CompilationSettings": "torch_tensorrt.dynamo",
    "convert_module": "torch_tensorrt.dynamo.conversion",
    "construct_submodule_inputs": "torch_tensorrt.dynamo.partitioning",
    "fast_partition": "torch_tensorrt.dynamo.partitioning",
}


def _partitioning(captured: CapturedProgram, writer: UserWriter) -> Iterator[str]:
    """What `compile` does behind its lowering: it partitions, and converts what becomes engines."""
    settings = settings_of(captured)
    # The exported graph is partitioned as it is, and so by what its ops are called there.
    settings["torch_executed_ops"] |= {op_as_text(name) for name in captured.unnamed}
    taken = ("min_block_size", "torch_executed_ops")
    given = [f"{name}={writer.value(settings[name])}" for name in taken]
    whole = "program.module(check_guards=False)"  # whose guards would be a piece of their own
    yield block("compiled, _ = fast_partition(", [whole, *given], ")")
    yield from converting(captured, writer)


def converting(captured: CapturedProgram, writer: UserWriter) -> Iterator[str]:
    """What `compile` does with a split module: it converts what becomes engines, if anything."""
    if any(name.startswith(ENGINE_PREFIX) for name, _ in captured.split().named_children()):
        settings = settings_of(captured).items()
        stated = [f"{name}={writer.value(value)}" for name, value in settings]
        yield block("settings = CompilationSettings(", stated, ")")
        yield _CONVERTING


def imports_of(lines: Sequence[str]) -> Iterator[str]:
    """The imports of the package's parts that some lines name, a module each."""
    parts: dict[str, list[str]] = {}
    for name, module in _PARTS.items():
        if any(name in line for line in lines):
            parts.setdefault(module, []).append(name)
    yield from (f"from {module} import {', '.join(names)}" for module, names in parts.items())


def saving(captured: CapturedProgram, route: Route, writer: UserWriter) -> Iterator[str]:
    """The call that writes the file; none where nothing is saved."""
    if route.row.crosses:
        given = ["compiled", "cross_compile_module=True"]
        given += ["use_legacy_exporter=True"] if route.is_legacy else []
        yield f"crossed = torch_tensorrt.dynamo.export({', '.join(given)})"
        yield "torch.export.save(crossed, file)"
    elif route is Route.EXPORTED:
        given = ["compiled", "inputs", *(["keywords"] if captured.example.kwargs else [])]
        if captured.shapes_given(route) is not None:
            given.append("dynamic_shapes=shapes")
        yield block("exported = torch.export.export(", given, ")")
        yield "torch_tensorrt.save(exported, file)"
    elif not route.row.in_memory:
        given = _given_to_save(captured, route, writer)
        yield block("torch_tensorrt.save(", ["compiled", "file", *given], ")")


def _given_to_save(captured: CapturedProgram, route: Route, writer: UserWriter) -> list[str]:
    args, kwargs = "list(inputs)", "keywords" if captured.example.kwargs else ""
    if captured.program.given_to_save is not None:
        given = captured.given_to_save
        args = writer.value(list(given.args))
        kwargs = writer.value(dict(given.kwargs)) if given.kwargs else ""
    keywords = {"arg_inputs": args, **({"kwarg_inputs": kwargs} if kwargs else {})}
    for name, value in captured.keywords_of_save(route).items():
        if value is None:
            keywords.pop(name, None)
        else:
            keywords[name] = writer.value(value)
    if captured.shapes_given(route) is not None:
        own = captured.program.shapes_for_save is not None
        keywords["dynamic_shapes"] = "shapes_for_save" if own else "shapes"
    return [f"{name}={value}" for name, value in keywords.items()]
