"""Which lines of a package a candidate changes, by the statements that they are of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final


@dataclass(frozen=True)
class Changed:
    """A statement of a file that reads otherwise in a candidate, by its lines in the release.

    Of a function's header it is the whole function, since its decorators, names and defaults
    matter wherever that runs; of a statement of the module it is the file.
    """

    file: str
    first: int
    last: int


def changed_in(base: Path, candidate: Path, release: Path) -> tuple[Changed, ...]:
    """The statements of a release that a candidate changes and its base does not.

    Where both change the same ones, those of the candidate count: it may change them otherwise.
    A file that only the candidate has is in none, and neither is a comment.

    Args:
        base, candidate, release: folders of packages, such as ``site/torch_tensorrt``.
    """
    found: list[Changed] = []
    for path in sorted(candidate.rglob("*.py")):
        file = path.relative_to(candidate).as_posix()
        before, as_released = base / file, release / file
        now = path.read_text(encoding="utf-8")
        if not as_released.is_file() or (before.is_file() and _same(before, now)):
            continue
        text = as_released.read_text(encoding="utf-8")
        changed = changed_statements(text, now)
        if before.is_file():
            not_ours = changed_statements(text, before.read_text(encoding="utf-8"))
            changed = tuple(each for each in changed if each not in not_ours) or changed
        found += [Changed(file, *lines) for lines in changed]
    return tuple(found)


def _same(path: Path, text: str) -> bool:
    return path.read_text(encoding="utf-8") == text


def changed_statements(before: str, after: str) -> tuple[tuple[int, int], ...]:
    """The first and last lines in ``before`` of the statements that ``after`` has otherwise.

    What is put between two statements changes both, and a new function none. A text that is no
    Python changes none.
    """
    try:
        old, _ = ast.parse(before), ast.parse(after)
    except SyntaxError:
        return ()
    lines, others = before.splitlines(), after.splitlines()
    spans: dict[tuple[int, int], None] = {}
    matcher = SequenceMatcher(None, lines, others, autojunk=False)
    for kind, start, end, other_start, other_end in matcher.get_opcodes():
        if kind == "equal" or not any(
            map(_is_code, (*lines[start:end], *others[other_start:other_end]))
        ):
            continue
        for line in _of_code(lines, start, end, others[other_start:other_end]):
            span = _statement_at(old, line, len(lines))
            if span is not None:
                spans[span] = None
    return tuple(spans)


_DEFINITION: Final = re.compile(r"\s*(async def|def|class)\b")


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.strip().startswith("#")


def _of_code(lines: Sequence[str], start: int, end: int, put: Sequence[str]) -> list[int]:
    """The numbers, from one, of the lines of code in a range.

    Where it has none, they are those of what stands around the code that is ``put`` there: in
    front of it the last line that is not of a deeper block, and the next one behind it. A new
    function has none: who calls it reads otherwise, too.
    """
    inside = [number + 1 for number in range(start, end) if _is_code(lines[number])]
    if inside:
        return inside
    code = [line for line in put if _is_code(line)]
    depth = _depth(code[0])
    if any(_DEFINITION.match(line) and _depth(line) == depth for line in code):
        return []
    in_front = (
        number + 1
        for number in reversed(range(start))
        if _is_code(lines[number]) and _depth(lines[number]) <= depth
    )
    behind = (number + 1 for number in range(end, len(lines)) if _is_code(lines[number]))
    around = [next(behind, None)]
    if not code[0].lstrip().startswith("@"):  # a decorator is of what stands behind it
        around.insert(0, next(in_front, None))
    return [number for number in around if number is not None]


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _statement_at(module: ast.Module, line: int, last: int) -> tuple[int, int] | None:
    """The lines of the innermost statement that a line is of; None for a docstring or an import."""
    path = [*_down_to(module, line)]
    if not path:
        return None
    statement = path[-1]
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return statement.lineno, statement.end_lineno or statement.lineno
    if _is_docstring(statement) or isinstance(statement, ast.Import | ast.ImportFrom):
        return None
    if not any(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) for each in path):
        return 1, last
    return _own_lines(statement)


def _down_to(node: ast.AST, line: int) -> Iterator[ast.stmt]:
    """The statements around a line, the outermost first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            if _first(child) <= line <= (child.end_lineno or child.lineno):
                yield child
                yield from _down_to(child, line)
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from _down_to(child, line)


def _first(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def _own_lines(statement: ast.stmt) -> tuple[int, int]:
    """The lines of a statement; of one with a body those of its header."""
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        return statement.lineno, max(statement.lineno, _first(body[0]) - 1)
    return statement.lineno, statement.end_lineno or statement.lineno


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
