"""Mutants of a Python file: copies of its text with one small thing wrong in each. Pure.

Each is made of the syntax tree and written into the text as it is, so that a mutant differs from
the file in one place, and its difference is short enough to read. What cannot change what a program
computes is left alone: annotations, docstrings, messages of exceptions, and what is logged.

The operators are written here and not taken from a library: those for Python (`cosmic-ray`,
`mutmut`) change operators, numbers and conditions, and no wires. What an inliner gets wrong is a
statement that is missing, two arguments in the other order, or an item that is off by one.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final


class Operator(StrEnum):
    """What is done to the text, in a reader's words."""

    ARGUMENTS_SWAPPED = "two arguments swapped"
    CALL_LEFT_OUT = "a copy or a sort left out"
    COMPARISON = "a comparison turned around"
    CONDITION = "a condition negated"
    CONJUNCTION = "`and` for `or`, or one operand left out"
    CONSTANT = "another constant"
    INSERTION = "nodes inserted on the other side"
    ITEM = "an item off by one"
    KEYWORD = "a keyword argument left out"
    LOOP = "a loop backwards"
    ORDER = "a list in another order, or without its last item"
    RETURN = "nothing returned"
    STATEMENT = "a statement left out"


@dataclass(frozen=True)
class Mutant:
    """A file's text with one thing wrong.

    ``function`` holds it; of its statement the lines ``first`` to ``last`` are run before it can
    matter, and it is in the last of them. ``difference`` shows the lines that differ, and ``nth``
    counts the mutants of one function that have the same.
    """

    operator: Operator
    function: str
    first: int
    last: int
    before: str
    after: str
    difference: str
    nth: int = 0

    @property
    def name(self) -> str:
        """The same in every release where the function has the line; for files and lists."""
        what = f"{self.operator}\n{self.difference}\n{self.nth}".encode()
        return f"{self.function}-{hashlib.sha256(what).hexdigest()[:8]}"


_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
#: A call of these, or of a method of these names, without which a program may still seem right.
_COPIES: Final = {
    "clone",
    "copy",
    "deepcopy",
    "detach",
    "dict",
    "list",
    "reversed",
    "set",
    "sorted",
}
_SIDES: Final = {"inserting_after": "inserting_before", "inserting_before": "inserting_after"}
_SAID: Final = {"logger", "logging", "warnings"}
_SIMPLE: Final = (ast.Assign, ast.AugAssign, ast.Expr, ast.Delete, ast.Raise, ast.Assert, ast.Break,
                  ast.Continue)  # fmt: skip

Edit = tuple[Operator, ast.AST, ast.AST]


def mutants_of(source: str) -> list[Mutant]:
    """Every mutant of a file, in the order of its lines; no two have the same text.

    Raises:
        SyntaxError: ``source`` is no Python.
    """
    found: dict[str, Mutant] = {}
    for function, first, (operator, place, instead) in _edits_in(ast.parse(source), "module", 1):
        after = _replaced(source, place, ast.unparse(instead))
        if after != source and after not in found:
            last = _last_line(place)
            told = _difference(source, after, place)
            found[after] = Mutant(operator, function, first, last, source, after, told)
    alike: Counter[tuple[str, Operator, str]] = Counter()
    numbered = []
    for mutant in sorted(found.values(), key=lambda mutant: mutant.last):
        kind = mutant.function, mutant.operator, mutant.difference
        numbered.append(replace(mutant, nth=alike[kind]))
        alike[kind] += 1
    return numbered


def _edits_in(node: ast.AST, function: str, first: int) -> Iterator[tuple[str, int, Edit]]:
    """The edits of a node and of all below it, each with its function and its statement's line."""
    if isinstance(node, ast.Import | ast.ImportFrom) or _is_said(node):
        return
    if isinstance(node, ast.stmt):
        first = node.lineno
    for edit in _edits_of(node):
        yield function, first, edit
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = node.name if function == "module" else f"{function}.{node.name}"
    for name, below in ast.iter_fields(node):
        if name in ("annotation", "returns", "ctx", "decorator_list", "type_params", "msg"):
            continue
        for child in below if isinstance(below, list) else [below]:
            if isinstance(child, ast.AST):
                yield from _edits_in(child, function, first)


def _is_said(node: ast.AST) -> bool:
    """Whether it is text for people: a docstring, what is logged, an exception and its message."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.JoinedStr():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name in _SAID
        case ast.Call(func=ast.Name(id=name)):
            return name.endswith(("Error", "Exception", "Warning"))
    return False


def _edits_of(node: ast.AST) -> Iterator[Edit]:
    """What can be done to one node."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield Operator.CONDITION, test, _not(test)
        case ast.comprehension(ifs=tests):
            yield from ((Operator.CONDITION, test, _not(test)) for test in tests)
        case ast.Compare(left=left, ops=[comparison], comparators=right):
            turned = ast.Compare(left, [_COMPARISONS[type(comparison)]()], right)
            yield Operator.COMPARISON, node, turned
        case ast.BoolOp(op=conjunction, values=values):
            other = ast.Or() if isinstance(conjunction, ast.And) else ast.And()
            yield Operator.CONJUNCTION, node, ast.BoolOp(other, values)
            for index in range(len(values)):
                rest = values[:index] + values[index + 1 :]
                instead = ast.BoolOp(conjunction, rest) if len(rest) > 1 else rest[0]
                yield Operator.CONJUNCTION, node, instead
        case ast.Constant(value=bool(value)):
            yield Operator.CONSTANT, node, ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield Operator.CONSTANT, node, ast.Constant(value + 1)
        case ast.Constant(value=str(value)):
            yield Operator.CONSTANT, node, ast.Constant(f"{value}_")
        case ast.Call():
            yield from _edits_of_call(node)
        case ast.Subscript(slice=ast.Name() | ast.Attribute() as index, ctx=ast.Load()):
            yield Operator.ITEM, index, ast.BinOp(index, ast.Sub(), ast.Constant(1))
        case ast.For(iter=every) | ast.comprehension(iter=every):
            listed = ast.Call(ast.Name("list"), [every], [])
            backwards = ast.Slice(step=ast.UnaryOp(ast.USub(), ast.Constant(1)))
            yield Operator.LOOP, every, ast.Subscript(listed, backwards)
        case ast.List(elts=items, ctx=ast.Load()) | ast.Tuple(elts=items, ctx=ast.Load()):
            if len(items) > 1:
                yield Operator.ORDER, node, type(node)(items[::-1], ast.Load())
                yield Operator.ORDER, node, type(node)(items[:-1], ast.Load())
        case ast.Return(value=ast.expr() as value):
            yield Operator.RETURN, value, ast.Constant(None)
        case _ if isinstance(node, _SIMPLE):
            yield Operator.STATEMENT, node, ast.Pass()


def _edits_of_call(call: ast.Call) -> Iterator[Edit]:
    function, arguments, keywords = call.func, call.args, call.keywords
    name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
    starred = any(isinstance(each, ast.Starred) for each in arguments[:2])
    if len(arguments) > 1 and not starred and name != "isinstance":
        swapped = [arguments[1], arguments[0], *arguments[2:]]
        yield Operator.ARGUMENTS_SWAPPED, call, ast.Call(function, swapped, keywords)
    for keyword in keywords:
        rest = [each for each in keywords if each is not keyword]
        yield Operator.KEYWORD, call, ast.Call(function, arguments, rest)
    if name in _COPIES and (arguments or isinstance(function, ast.Attribute)):
        assert arguments or isinstance(function, ast.Attribute)
        instead = arguments[0] if arguments else function.value  # type: ignore[attr-defined]
        yield Operator.CALL_LEFT_OUT, call, instead
    if name in _SIDES and isinstance(function, ast.Attribute):
        other = ast.Attribute(function.value, _SIDES[name], ast.Load())
        yield Operator.INSERTION, call, ast.Call(other, arguments, keywords)


def _not(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _first_line(node: ast.AST) -> int:
    line: int = node.lineno  # type: ignore[attr-defined]
    return line


def _last_line(node: ast.AST) -> int:
    line: int = node.end_lineno  # type: ignore[attr-defined]
    return line


def _difference(before: str, after: str, place: ast.AST) -> str:
    """The lines that differ, without their surroundings, which decide how others would be told."""
    old, new = before.splitlines(), after.splitlines()
    start, end = _first_line(place) - 1, _last_line(place)
    sides = old[start:end], new[start : end + len(new) - len(old)]
    lines = difflib.unified_diff(*sides, lineterm="", n=0)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def _replaced(source: str, place: ast.AST, text: str) -> str:
    """The text with one node's replaced. Positions in a tree count bytes of UTF-8."""
    lines = source.encode().splitlines(keepends=True)
    assert isinstance(place, ast.expr | ast.stmt)
    assert place.end_lineno is not None
    assert place.end_col_offset is not None
    start = sum(map(len, lines[: place.lineno - 1])) + place.col_offset
    end = sum(map(len, lines[: place.end_lineno - 1])) + place.end_col_offset
    whole = b"".join(lines)
    instead = f"({text})" if isinstance(place, ast.expr) and not _stands_alone(text) else text
    return (whole[:start] + instead.encode() + whole[end:]).decode()


def _stands_alone(text: str) -> bool:
    """Whether an expression needs no brackets wherever it is put."""
    return isinstance(ast.parse(text, mode="eval").body, ast.Constant | ast.Name | ast.Call
                      | ast.Attribute | ast.Subscript | ast.List | ast.Dict | ast.Set)  # fmt: skip
