"""The source of a case's model, as a script of a user's calls holds it.

What the model's class names in its own module, or in others of the corpus, comes along: base
classes, functions, constants. Annotations stay behind, as a script of a user's has none.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import sys
import textwrap
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from corpus import structures
from corpus.case import Case, sources_elsewhere
from harness.rig.reproduce.code import Unwritable

_FOR_LINTERS: Final = re.compile(r"  # (?:noqa|type: ignore|fmt:).*")
_KEEP_THEIR_FIELDS: Final = ("NamedTuple", "TypedDict")
_OWN_NAMES: Final = re.compile(r"(?<=[\"'])corpus\.\w+\.(?=\w+[\"'])")  # of containers, in texts


class NoSource(Unwritable):
    """The source does not say how the model is made, or not in a form that can be taken out."""


@dataclass(frozen=True)
class Source:
    """Code that makes a model.

    ``imports`` are whole statements; ``definitions`` stand at the top of a module, in this order;
    ``before`` comes before ``made``, the expression that is the model.
    """

    imports: tuple[str, ...]
    definitions: tuple[str, ...]
    before: tuple[str, ...]
    made: str


def model_source(case: Case, model: torch.nn.Module, beside: Iterable[Any] = ()) -> Source:
    """The source of a case's model.

    Args:
        beside: classes that its inputs need, too.

    Raises:
        NoSource: the model is made in another way than by one call in the case's own function.
    """
    if case.made_by is not None:
        name, made = case.made_by
        return _found(case, beside, sys.modules[name], (), made)
    build = case.build
    module = importlib.import_module(build.__module__)
    before, made = _maker(build, module, model)
    return _found(case, beside, module, before, made)


def without_model(case: Case, beside: Iterable[Any], before: Sequence[str], made: str) -> Source:
    """What a case imports and what its inputs need, where its model is written as a graph.

    Raises:
        NoSource: one name stands for two things.
    """
    return _found(case, beside, None, before, made)


def _found(
    case: Case,
    beside: Iterable[Any],
    module: types.ModuleType | None,
    before: Sequence[str],
    made: str,
) -> Source:
    found = _Collector()
    for name in case.imports:
        if name != structures.__name__:  # whose containers come along where they are used
            found.whole(importlib.import_module(name))
    if module is not None:
        found.need(module, _names(ast.parse("\n".join([*before, made]))))
    for each in beside:
        found.need(importlib.import_module(each.__module__), {each.__name__})
    texts = tuple(found.texts())  # which may need more imports
    return Source(tuple(sorted(found.imports)), texts, tuple(before), made)


def _maker(build: Any, module: types.ModuleType, model: torch.nn.Module) -> tuple[list[str], str]:
    """The assignments before a model's constructor is called, and that call."""
    if inspect.getclosurevars(build).nonlocals or inspect.signature(build).parameters:
        raise NoSource(f"{build.__qualname__} is made by a function")
    if _top(module).get(build.__name__) is None:
        raise NoSource(f"{build.__qualname__} does not stand at the top of its module")
    body = ast.parse(textwrap.dedent(inspect.getsource(build))).body[0]
    assert isinstance(body, ast.FunctionDef)
    *before, last = [each for each in body.body if not _is_text(each)]
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Call):
        raise NoSource(f"{build.__qualname__} does not end by returning a program")
    by_name = [item.value for item in last.value.keywords if item.arg == "model"]
    given = by_name or [item for item in last.value.args if _makes(item, before, module, model)]
    if len(given) != 1 or not _makes(given[0], before, module, model):
        raise NoSource(f"{build.__qualname__} does not name its model's class")
    needed, kept = _names(given[0]), list[ast.stmt]()
    for statement in reversed(before):
        if needed & _names(statement, of=ast.Store) or _changes(statement, needed):
            kept.insert(0, statement)
            needed |= _names(statement)
    return [_without_annotations(ast.unparse(each)) for each in kept], ast.unparse(given[0])


def _makes(
    expression: ast.expr,
    before: Iterable[ast.stmt],
    module: types.ModuleType,
    model: torch.nn.Module,
) -> bool:
    """Whether an expression calls the model's class, or is a name that such a call is given."""
    if isinstance(expression, ast.Name):
        assigned = [
            each.value
            for each in before
            if isinstance(each, ast.Assign | ast.AnnAssign)
            and expression.id in _names(each, of=ast.Store)
        ]
        return len(assigned) == 1 and all(
            value is not None and _makes(value, (), module, model) for value in assigned
        )
    if not isinstance(expression, ast.Call):
        return False
    value: Any = None
    for at, part in enumerate(ast.unparse(expression.func).split(".")):
        value = getattr(value if at else module, part, None)
    return value is type(model)


def _changes(statement: ast.stmt, names: set[str]) -> bool:
    """Whether a statement that binds nothing of its own speaks of one of these names."""
    plain = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    return not plain and bool(names & _names(statement))


class _Collector:
    """Statements of modules, each behind those that it needs."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self._found: dict[tuple[str, int], str] = {}
        self._names: dict[str, str] = {}  # what is bound at the top of the script, and by which
        self._seen: set[tuple[str, int]] = set()

    def texts(self) -> Iterator[str]:
        """What was found, in order; behind it what a module does with it, such as registering."""
        registering: dict[tuple[str, int], str] = {}
        for name in dict.fromkeys(module for module, _ in self._found):
            module = importlib.import_module(name)
            own = {each for each, of in self._names.items() if of == name}
            for statement in _parsed(module).body:
                key = name, statement.lineno
                if (
                    isinstance(statement, ast.Expr)
                    and key not in self._found
                    and own & _names(statement)
                ):
                    self.need(module, _names(statement))
                    registering[key] = _text(module, statement)
        yield from self._found.values()
        yield from registering.values()

    def whole(self, module: types.ModuleType) -> None:
        """All of a module which is imported for what it registers, such as custom ops."""
        for statement in _parsed(module).body:
            if not isinstance(statement, ast.Import | ast.ImportFrom) and not _is_text(statement):
                self._take(module, statement)

    def need(self, module: types.ModuleType, names: set[str]) -> None:
        """Take what a module binds to these names, and what that needs."""
        for name, statement in _top(module).items():
            if name not in names:
                continue
            if isinstance(statement, ast.Import | ast.ImportFrom):
                self._import(statement, name)
            else:
                self._take(module, statement)

    def _take(self, module: types.ModuleType, statement: ast.stmt) -> None:
        key = module.__name__, statement.lineno
        if key in self._seen:
            return
        self._seen.add(key)
        text = _text(module, statement)
        for name in _bound(statement):
            if self._names.setdefault(name, module.__name__) != module.__name__:
                raise NoSource(f"{name} stands for two things")
        self.need(module, _names(ast.parse(text)))
        self._found[key] = text

    def _import(self, statement: ast.Import | ast.ImportFrom, name: str) -> None:
        (alias,) = [each for each in statement.names if (each.asname or each.name) == name]
        of = statement.module or "" if isinstance(statement, ast.ImportFrom) else alias.name
        if of == "__future__":
            return
        if not _is_inlined(of):
            alone = type(statement)(**{**vars(statement), "names": [alias]})
            self.imports.add(ast.unparse(alone))
            return
        if isinstance(statement, ast.Import) or alias.asname not in (None, alias.name):
            raise NoSource(f"{name} is imported from {of} as a whole or under another name")
        module = importlib.import_module(of)
        if alias.name not in _top(module):
            raise NoSource(f"{of}.{name} is a module")
        self.need(module, {name})


def _is_inlined(name: str) -> bool:
    root = name.partition(".")[0]
    if root in sys.stdlib_module_names or root == "torch":
        return False
    file = getattr(importlib.import_module(name), "__file__", None)
    return root == "corpus" or (file is not None and file in set(map(str, sources_elsewhere())))


@functools.cache
def _parsed(module: types.ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


@functools.cache
def _top(module: types.ModuleType) -> dict[str, ast.stmt]:
    """The statements of a module, by what each binds."""
    return {name: statement for statement in _parsed(module).body for name in _bound(statement)}


def _bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [(each.asname or each.name).partition(".")[0] for each in statement.names]
    return sorted(_names(statement, of=ast.Store))


def _names(tree: ast.AST, of: type[ast.expr_context] = ast.Load) -> set[str]:
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {node.id for node in found if isinstance(node.ctx, of)}


def _is_text(statement: ast.stmt) -> bool:
    """Whether it is a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _text(module: types.ModuleType, statement: ast.stmt) -> str:
    lines = inspect.getsource(module).splitlines()
    decorated = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(each.lineno for each in decorated)])
    text = "\n".join(lines[first - 1 : statement.end_lineno])
    text = "\n".join(_FOR_LINTERS.sub("", line) for line in text.splitlines())
    return _without_annotations(_OWN_NAMES.sub("", text))


def _without_annotations(text: str) -> str:
    """Code without its annotations, but for classes whose fields they are."""
    source = text.encode()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def at(line: int | None, column: int | None) -> int:
        assert line is not None
        assert column is not None
        return starts[line - 1] + column

    spans: list[tuple[int, int]] = []
    for node in _annotated(ast.parse(text)):
        if isinstance(node, ast.arg):
            assert node.annotation is not None
            start = at(node.lineno, node.col_offset) + len(node.arg.encode())
            spans.append((start, at(node.annotation.end_lineno, node.annotation.end_col_offset)))
        elif isinstance(node, ast.FunctionDef):
            assert node.returns is not None
            arrow = source.rfind(b"->", 0, at(node.returns.lineno, node.returns.col_offset))
            start = len(source[:arrow].rstrip())
            spans.append((start, at(node.returns.end_lineno, node.returns.end_col_offset)))
        elif isinstance(node, ast.AnnAssign):
            end = at(node.annotation.end_lineno, node.annotation.end_col_offset)
            if node.value is None:
                spans.append((at(node.lineno, 0), starts[node.end_lineno or node.lineno]))
            else:
                spans.append((at(node.target.end_lineno, node.target.end_col_offset), end))
    for start, end in sorted(spans, reverse=True):
        source = source[:start] + source[end:]
    plain = re.sub(r"(?m)^(class .*:\n)\n+", r"\1", source.decode())
    return re.sub(r"\n{3,}", "\n\n", plain)


def _annotated(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes whose annotations can go."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef) and (
            node.decorator_list
            or {ast.unparse(base) for base in node.bases} & {*_KEEP_THEIR_FIELDS}
        ):
            continue
        if (
            (isinstance(node, ast.arg) and node.annotation is not None)
            or (isinstance(node, ast.FunctionDef) and node.returns is not None)
            or (isinstance(node, ast.AnnAssign) and _can_go(node, tree))
        ):
            yield node
        yield from _annotated(node)


def _can_go(node: ast.AnnAssign, parent: ast.AST) -> bool:
    return node.value is not None or len(getattr(parent, "body", ())) > 1
