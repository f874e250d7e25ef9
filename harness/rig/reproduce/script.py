"""Puts a reproduction script together: the case as plain code, and all that it needs."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.fx import GraphModule

from harness.rig.capture.capture import CapturedProgram
from harness.rig.inliners import surroundings
from harness.rig.reproduce import attempt, checks, engines, package_attempt
from harness.rig.reproduce.code import WHOLE, CaseWriter
from harness.wire.builders import SEGMENT
from harness.wire.oracles import Oracle
from harness.wire.records import Verdict
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage

_WIDTH: Final = 98
_WORTH_A_TITLE: Final = 10  # lines
_NOT_THERE: Final = ("harness", "corpus", "__future__")
_FOR_LINTERS: Final = re.compile(r"  # (?:noqa|type: ignore).*")

_SAID: Final = '''\
"""{what}

{usage}

{seen}

Exit code 1: that failure is there. 0: it is not. 125: something else failed before it could be
told; `git bisect run` takes it so. A second argument takes the place of the wheel's _exporter.py.

It takes torch (made with {torch}) and the wheel's file; the package is not installed, and no GPU
is asked for. The inliner is the release's own. Engines are emulated: each is its segment, run on
the CPU. Made by `{command}`.
"""
'''

_SAID_OF_PACKAGE: Final = '''\
"""{what}

    pip install torch-tensorrt=={release}
    python {file}

{seen}

Exit code 1: that failure is there. 0: it is not. 125: something else failed before it could be
told; `git bisect run` takes it so.

It makes a user's calls of the whole package, and takes a GPU. It was tried without one: with the
release's own Python, stand-ins for CUDA and emulated engines (torch {torch}), as
`{command}` runs it.
"""
'''

_NEEDED_OF_ATTEMPT: Final = (
    *("THERE", "NOT_THERE", "CANNOT_BE_TOLD"),
    *("Check", "Outcome", "Attempt", "track_stages", "conclude", "outcome", "contents"),
)
"""What a script of the package lane needs of `attempt`."""

_COMPILED: Final = ("check_compiled", "difference", "unlike")
"""Finds wrong values of a compiled model, whatever becomes of it afterwards."""


@dataclass(frozen=True)
class Shown:
    """What a script shows: a verdict on a cell, in the words of its docstring."""

    what: str  # what goes wrong, in a sentence
    case: str
    subject: str
    release: str
    route: str
    file: str
    command: str
    wheel: str = ""  # the name of a wheel's file that no registry has
    exporter: str = ""  # the name of a file that takes the place of the wheel's _exporter.py
    builder: str = SEGMENT

    @property
    def _engines(self) -> str:
        """The builder whose engines it was seen with: a failure to build one is its own."""
        if self.builder == SEGMENT:
            return "emulated engines on a CPU"
        return f"engines that {self.builder} built, emulated on a CPU where they run,"

    def paragraphs(self, verdict: Verdict) -> tuple[str, ...]:
        """What a script of a user's calls says of itself; nothing of here without a command."""
        said = (
            *self.what.split("\n\n"),
            f"    pip install torch-tensorrt=={self.release}\n    python {self.file}",
            "Exit code 1: the failure is there. 0: it is not. 125: the package is not installed.",
        )
        if not self.command:
            return said
        return (
            *said,
            f"Seen of case {self.case} by route {self.route}, {verdict.label}, with "
            f"{self._engines} and torch {torch.__version__}; not run on a GPU. Made by",
            f"    {self.command}",  # in one line, to be pasted
        )

    @property
    def usage(self) -> str:
        """What shows it, from nothing: two commands, or one where the wheel is the user's own."""
        call = ["python", self.file, self.wheel or f"torch_tensorrt-{self.release}-*.whl"]
        lines = [" ".join([*call, self.exporter]).rstrip()]
        if not self.wheel:
            lines.insert(0, f"pip download --no-deps torch-tensorrt=={self.release}")
        return "\n".join(f"    {line}" for line in lines)


def script(
    shown: Shown,
    verdict: Verdict,
    split: GraphModule,
    captured: CapturedProgram,
) -> str:
    """The text of the script.

    Args:
        split: the split module, with segments where its engines will be.
    """
    call = f'main(sys.argv[1:], case, "{shown.route}", {_check(verdict)})'
    parts = [*map(_embedded, (engines, attempt, surroundings))]
    case = _case(split, captured, captured.shapes_given(Route(shown.route)))
    return _docstring(_SAID, shown, verdict) + _put_together(case, parts, verdict, call)


def package_script(
    shown: Shown,
    verdict: Verdict,
    captured: CapturedProgram,
    settings: Mapping[str, Any],
    saving: Mapping[str, Any] | None,
) -> str:
    """The text of a script that makes a user's calls of the whole package.

    Args:
        settings: of `torch_tensorrt.dynamo.compile`.
        saving: of `torch_tensorrt.save`, None where it is not called; where it names
            ``dynamic_shapes``, they are the case's.
    """
    call = f"main(case, {settings!r}, {saving!r}, {_check(verdict)})"
    parts = [
        _embedded(engines, ("Call", "one_by_one")),
        _embedded(attempt, _NEEDED_OF_ATTEMPT),
        _embedded(package_attempt),
    ]
    case = _case(captured.fresh_module(), captured, captured.program.shapes_saved)
    return _docstring(_SAID_OF_PACKAGE, shown, verdict) + _put_together(case, parts, verdict, call)


def _case(
    module: GraphModule, captured: CapturedProgram, for_save: Any
) -> tuple[CaseWriter, list[str]]:
    """The functions that make a case, the last of them `case`."""
    program = captured.program
    writer = CaseWriter(map(importlib.import_module, captured.case.imports))
    made = writer.graph(module, WHOLE)
    shapes, saved = map(writer.shapes, (program.dynamic_shapes, for_save))
    calls = captured.calls if program.dynamic_shapes is not None else captured.calls[:1]
    given = "calls[0]" if program.given_to_save is None else writer.call(captured.given_to_save)
    lines = [
        "def case() -> Any:",
        '    """The module, calls, what `save` is given, and the shapes for export and save."""',
        *(f"    {name} = {dim}" for name, dim in writer.dims.items()),
        f"    calls = {writer.calls(calls)}",
        f"    given = {given}",
        f"    return {made}, calls, given, {shapes}, {saved}",
    ]
    tensors = ["torch.manual_seed(0)", *writer.tensors] if writer.tensors else []
    beside = [_embedded(module) for module in writer.beside]
    return writer, [*beside, "\n".join(tensors), *writer.functions, "\n".join(lines)]


def _put_together(
    case: tuple[CaseWriter, list[str]], parts: Sequence[str], verdict: Verdict, call: str
) -> str:
    writer, made = case
    asked = _embedded(checks, _asking(verdict))
    end = f'if __name__ == "__main__":\n    sys.exit({call})'
    body = [*made, *parts, asked, end]
    code = "\n\n\n".join(part.strip("\n") for part in body if part) + "\n"
    origins = (engines, attempt, package_attempt, surroundings, checks, *writer.beside)
    return f"\n{_imports(origins, code, writer.modules)}\n\n\n{code}"


def _asking(verdict: Verdict) -> tuple[str, ...]:
    """What a script needs of `checks`; the first is the one to call."""
    if verdict.oracle is Oracle.VALUES and verdict.stage is Stage.COMPILE:
        return _COMPILED
    return verdict.oracle.row.script_check


def _check(verdict: Verdict) -> str:
    name = _asking(verdict)[0]
    if verdict.oracle is not Oracle.COMPLETION:
        return name
    error = verdict.message.partition(":")[0]
    return f'{name}("{verdict.stage}", "{error}")'


def _docstring(said: str, shown: Shown, verdict: Verdict) -> str:
    seen = (
        f"Seen of case {shown.case} in {shown.subject} by route {shown.route}: {verdict.label}: "
        f"{verdict.said}"
    )
    text = said.format(
        what=textwrap.fill(shown.what, _WIDTH),
        release=shown.release,
        file=shown.file,
        usage=shown.usage,
        seen=textwrap.fill(seen, _WIDTH),
        torch=torch.__version__,
        command=shown.command,
    )
    return text.replace("\\", "\\\\")


def _embedded(module: types.ModuleType, names: Collection[str] = ()) -> str:
    """A module's code without its imports: what binds these names, or all of it."""
    source = inspect.getsource(module)
    tree = ast.parse(source)
    lines: list[str | None] = list(source.splitlines())
    dropped = [tree.body[0], *(item for item in tree.body if _is_import(item))]
    if names:
        dropped += [item for item in tree.body if not _bound(item) & {*names}]
    for item in dropped:
        decorated = getattr(item, "decorator_list", [])
        first = min([item.lineno, *(each.lineno for each in decorated)])
        lines[first - 1 : item.end_lineno] = [None] * (item.end_lineno - first + 1)  # type: ignore[operator]
    kept = "\n".join(_FOR_LINTERS.sub("", line) for line in lines if line is not None).strip("\n")
    while "\n\n\n\n" in kept:
        kept = kept.replace("\n\n\n\n", "\n\n\n")
    if len(kept.splitlines()) < _WORTH_A_TITLE:
        return kept
    title = (ast.get_docstring(tree) or "").partition("\n")[0].partition(";")[0].rstrip(".")
    return f"# {title}\n\n\n{kept}"


def _bound(item: ast.stmt) -> set[str]:
    """What a statement of a module binds: a function, a class, or names that are assigned."""
    if isinstance(item, ast.FunctionDef | ast.ClassDef):
        return {item.name}
    targets = item.targets if isinstance(item, ast.Assign) else []
    return {
        node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)
    }


def _imports(modules: Sequence[types.ModuleType], code: str, whole: Collection[str]) -> str:
    """The imports that code needs, taken from the modules it is from, and ``whole`` modules."""
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    plain: set[str] = {f"import {name}" for name in whole}
    named: set[str] = set()
    for module in modules:
        for item in ast.parse(inspect.getsource(module)).body:
            for statement, name in _bindings(item):
                if name in used:
                    (plain if isinstance(item, ast.Import) else named).add(statement)
    first = "from __future__ import annotations\n"
    return "\n".join([first, *sorted(plain), *sorted(named)])


def _bindings(item: ast.stmt) -> Iterator[tuple[str, str]]:
    """Each import as a statement of its own, and the name that it binds; not the rig's own."""
    if isinstance(item, ast.Import):
        for alias in item.names:
            bound = alias.asname or alias.name.partition(".")[0]
            yield f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else ""), bound
    elif isinstance(item, ast.ImportFrom) and not str(item.module).startswith(_NOT_THERE):
        for alias in item.names:
            yield f"from {item.module} import {alias.name}", alias.asname or alias.name


def _is_import(item: ast.stmt) -> bool:
    return isinstance(item, ast.Import | ast.ImportFrom)
