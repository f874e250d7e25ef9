"""An edit of somebody's Python: it finds code by its syntax tree, and puts other code there. Pure.

What is sought is written as Python: a statement or an expression, compared without regard to
layout and comments. `...` stands for anything, as the body of a compound statement, as an
expression or as all arguments of a call, so that an edit quotes no more of a file than it needs.
"""

from __future__ import annotations

import ast
import itertools
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.base.errors import UsageError

#: Where an edit's new code says this, the code that was found stands.
FOUND = "$found"


class DoesNotFit(UsageError):
    """The file has no such place, or more than one. The message names the function and the code."""


@dataclass(frozen=True)
class Edit:
    """In ``function``, put ``put`` in the place of ``find``, which has to be there once.

    A method is named with its class, as `Engine.forward`.

    ``put`` may hold `$found`, which stands for the code that was found; an empty one deletes a
    statement.
    """

    function: str
    find: str
    put: str


@dataclass(frozen=True)
class _Change:
    """``start`` and ``end`` are offsets into the source, in characters."""

    start: int
    end: int
    put: str


def edited(source: str, edits: Iterable[Edit], added: Sequence[str] = ()) -> str:
    """The source with all edits made, and with the functions of ``added`` at its end.

    Raises DoesNotFit where an edit finds no place or several, where two edits want the same one,
    or where the result is no Python.
    """
    tree = ast.parse(source)
    lines = _Lines(source)
    changes = sorted((_change(tree, lines, edit) for edit in edits), key=lambda each: each.start)
    for before, after in itertools.pairwise(changes):
        if after.start < before.end:
            raise DoesNotFit(f"two edits want the same place: {before.put!r} and {after.put!r}")
    result = source
    for change in reversed(changes):
        result = result[: change.start] + change.put + result[change.end :]
    for text in added:
        result = f"{result.rstrip()}\n\n\n{textwrap.dedent(text).strip()}\n"
    try:
        ast.parse(result)
    except SyntaxError as error:
        raise DoesNotFit(f"line {error.lineno} of the edited file is no Python: {error.msg}") from (
            error
        )
    return result


class _Lines:
    """Offsets of a source's lines, in characters. The syntax tree counts a line's bytes."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def offset(self, line: int, byte: int) -> int:
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:byte].decode())

    def span(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
        )


def _change(tree: ast.Module, lines: _Lines, edit: Edit) -> _Change:
    sought = _sought(edit.find)
    nodes = list(_nodes_of(tree, edit.function))
    places = [node for node in nodes if type(node) is type(sought) and _alike(sought, node)]
    if len(places) != 1:
        often = "is not there" if not places else f"is there {len(places)} times"
        raise DoesNotFit(f"{edit.function}: `{edit.find}` {often}")
    statements = {id(node.value): node for node in nodes if isinstance(node, ast.Expr)}
    place = statements.get(id(places[0]), places[0])  # an expression that is all of its statement
    assert isinstance(place, ast.stmt | ast.expr)
    start, end = lines.span(place)
    put = textwrap.dedent(edit.put).strip("\n")
    if isinstance(place, ast.stmt):
        indent = " " * place.col_offset
        put = put or "pass"
        found = textwrap.dedent(indent + lines.source[start:end])
        put = textwrap.indent(put.replace(FOUND, found), indent).lstrip(" ")
    else:
        line = lines.lines[place.lineno - 1]
        put = put.replace("\n", "\n" + line[: len(line) - len(line.lstrip())])
        put = put.replace(FOUND, lines.source[start:end])
    return _Change(start, end, put)


def _sought(find: str) -> ast.AST:
    statement = ast.parse(textwrap.dedent(find).strip()).body[0]
    return statement.value if isinstance(statement, ast.Expr) else statement


def _nodes_of(tree: ast.Module, function: str) -> Iterator[ast.AST]:
    """All nodes of a function, or of a class's method. Raises DoesNotFit if there is none."""
    body = tree.body
    for name in function.split("."):
        found = [
            each for each in body if isinstance(each, ast.FunctionDef | ast.ClassDef)
            and each.name == name
        ]  # fmt: skip
        if len(found) != 1:
            raise DoesNotFit(f"the file has {'no' if not found else 'more than one'} {function}")
        body = found[0].body
    yield from (node for part in body for node in ast.walk(part))


def _is_anything(node: object) -> bool:
    if isinstance(node, ast.Expr):
        node = node.value
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _alike(sought: object, there: object) -> bool:
    if _is_anything(sought):
        return True
    if isinstance(sought, list) and isinstance(there, list):
        if len(sought) == 1 and _is_anything(sought[0]):
            return True
        return len(sought) == len(there) and all(map(_alike, sought, there))
    if isinstance(sought, ast.Call) and isinstance(there, ast.Call):
        anything = len(sought.args) == 1 and _is_anything(sought.args[0])
        if anything and not sought.keywords:
            return _alike(sought.func, there.func)
    if isinstance(sought, ast.expr_context):
        return True
    if isinstance(sought, ast.AST):
        return type(sought) is type(there) and all(
            _alike(getattr(sought, name, None), getattr(there, name, None))
            for name in sought._fields
        )
    return sought == there
