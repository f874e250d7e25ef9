"""Whether a candidate's `export()` is a release's, so that it calls its parts as that one does.

The harness calls the parts one by one, to tell the stages apart; tests hold that this makes what
the `export` of each release makes. A candidate whose `export` is the same code, which calls
functions of the same names with the same parameters, need not be asked in each cell as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

_EXPORT: Final = "export"
_PARTS: Final = frozenset({"transform", "create_trt_exp_program"})


def exports_alike(candidate: str, released: str) -> bool:
    """Whether two files have the same `export`, down to what each name in it is bound to.

    Of the parts that are called one by one only the parameters count.

    Args:
        candidate: the text of a file that Python has read; ``released`` likewise.
    """
    return _told(candidate) == _told(released)


def _told(text: str) -> list[str]:
    """All that decides what `export` does, but for the bodies of its parts."""
    module = ast.parse(text)
    used = {
        node.id
        for statement in module.body
        if _EXPORT in set(_bound_by(statement))
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
    }
    names = {*used, *_PARTS, _EXPORT, "*"}
    return [
        ast.dump(_without_body(statement))
        for statement in module.body
        if names & set(_bound_by(statement))
    ]


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module may bind, and some more of what it holds."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name  # what is bound inside is its own
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _without_body(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, ast.FunctionDef) and statement.name in _PARTS:
        return ast.FunctionDef(
            statement.name, statement.args, [], statement.decorator_list, statement.returns
        )
    return statement
