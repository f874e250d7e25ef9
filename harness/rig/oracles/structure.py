"""The structure oracle: the flat graph is well formed, and has the model's inputs."""

from __future__ import annotations

from collections.abc import Iterator

from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Graph, GraphModule

from harness.rig.oracles.finding import Finding
from harness.wire.vocabulary import Stage


def placeholder_names(graph: Graph) -> list[str]:
    return [str(node.target) for node in graph.nodes if node.op == "placeholder"]


def check_inlined(split: GraphModule, inlined: GraphModule) -> Iterator[Finding]:
    """Findings in the module that `transform` returned, compared with the split module."""
    yield from _check_graph(inlined, Stage.CLEAN)
    expected, got = placeholder_names(split.graph), placeholder_names(inlined.graph)
    if len(got) > len(expected):
        extra = [name for name in got if name not in expected] or got[len(expected) :]
        yield Finding(Stage.CLEAN, "an input that the model does not have", ", ".join(extra))
    elif got != expected:
        yield Finding(Stage.CLEAN, "inputs lost or reordered", f"{got}, should be {expected}")


def check_program(program: ExportedProgram, stage: Stage) -> Iterator[Finding]:
    """Findings in an exported program's lifted graph."""
    yield from _check_graph(program.graph_module, stage)
    names = [node.name for node in program.graph.nodes if node.op == "placeholder"]
    signature = [spec.arg.name for spec in program.graph_signature.input_specs]
    if names != signature:
        yield Finding(
            stage, "graph and signature name other inputs", f"{names}, signature {signature}"
        )
    lifted = [spec.kind is not InputKind.USER_INPUT for spec in program.graph_signature.input_specs]
    if lifted != sorted(lifted, reverse=True):
        yield Finding(stage, "a lifted input behind the model's own", str(lifted))


def _check_graph(module: GraphModule, stage: Stage) -> Iterator[Finding]:
    graph = module.graph
    try:
        graph.lint()
    except (RuntimeError, ValueError, AssertionError) as error:
        yield Finding(stage, "lint", str(error).splitlines()[0])
    calls = [node.name for node in graph.nodes if node.op == "call_module"]
    if calls:
        yield Finding(stage, "a child is still called", ", ".join(calls))
    try:
        compile(graph.python_code("self").src, "<lifted graph>", "exec")
    except SyntaxError as error:
        yield Finding(stage, "its code does not compile", f"{error.msg}, line {error.lineno}")
