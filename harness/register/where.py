"""The places in upstream's source that the register and records name, read. Pure."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Final

_PLACE: Final = re.compile(
    r"(?P<function>[A-Za-z_][\w.]*) "
    r"\((?P<file>[\w/]+\.py):(?P<line>\d+)(?:, (?P<release>\d+\.\d+\.\d+))?\)(?:: .*)?"
)
PACKAGE: Final = "torch_tensorrt"
#: The torch whose lines the register names: that of the tests.
TORCH: Final = "2.13.0"
_TENSORRT: Final = "https://github.com/pytorch/TensorRT/blob"
_TORCH: Final = "https://github.com/pytorch/pytorch/blob"
#: What the register says of a file of an older torch, of which no line was read.
_OLDER_TORCH: Final = re.compile(r"\((?P<file>torch/[\w/]+\.py), torch (?P<version>\d+\.\d+)\)")


@dataclass(frozen=True)
class Where:
    """A function and a line of it.

    Attributes:
        file: by its path in the package of Torch-TensorRT; of another package it begins with its
            name.
        release: which has the function at that line; empty for the newest.
    """

    function: str
    file: str
    line: int
    release: str


def where_in(text: str) -> Where | None:
    """A defect's ``where``, or what a verdict says of where upstream ``raised``; else None."""
    found = _PLACE.fullmatch(text)
    if found is None:
        return None
    file = found["file"].removeprefix(f"{PACKAGE}/")
    return Where(found["function"], file, int(found["line"]), found["release"] or "")


def source_url(where: str, lines_of: str) -> str:
    """Where upstream's repository has a place of the register; empty for what is not Python.

    Args:
        lines_of: the release of a place that names none.
    """
    older = _OLDER_TORCH.search(where)
    if older:
        return f"{_TORCH}/v{older['version']}.0/{older['file']}"
    place = where_in(where)
    if place is None:
        return ""
    if place.file.startswith("torch/"):
        return f"{_TORCH}/v{TORCH}/{place.file}#L{place.line}"
    release = place.release or lines_of
    return f"{_TENSORRT}/v{release}/py/{PACKAGE}/{place.file}#L{place.line}"


def functions_in(source: str) -> list[tuple[str, int, int]]:
    """Every function and class of a source, by its dotted name, with its first and last line."""
    return _functions_in(ast.parse(source), "")


def lines_of(function: str, source: str) -> list[tuple[int, int]]:
    """The first and last lines of the functions that a place may mean by a name."""
    return [
        (first, last)
        for name, first, last in functions_in(source)
        if f".{name}".endswith(f".{function}")
    ]


def _functions_in(tree: ast.AST, above: str) -> list[tuple[str, int, int]]:
    found = []
    for node in ast.iter_child_nodes(tree):
        name = above
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{above}.{node.name}" if above else node.name
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            found.append((name, first, node.end_lineno or first))
        found += _functions_in(node, name)
    return found
