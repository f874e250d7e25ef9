"""The names that a file's code reads and that nothing gives it. Pure.

An edit's place may be there in another release, and not what the edit's code calls: an import, a
helper or a local variable of the release that it was written for. Python tells that when the line
runs, which is too late for whoever was told that the edit fits.
"""

from __future__ import annotations

import ast
import builtins
import functools
import symtable
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from symtable import SymbolTable
from typing import Final

_GIVEN: Final = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__package__"}
_PACKAGE: Final = "torch_tensorrt"


@functools.cache  # each mend is held against the same files
def unknown_names(source: str) -> frozenset[str]:
    """The names that are read somewhere in a module, and bound neither there nor by Python.

    With an `import *`, which binds nobody knows what, there are none.
    """
    if any(alias.name == "*" for node in _imports(source) for alias in node.names):
        return frozenset()
    module = symtable.symtable(source, "module", "exec")
    scopes = list(_scopes(module))
    bound = {each.get_name() for each in module.get_symbols() if _binds(each)}
    bound |= {
        each.get_name()
        for scope in scopes
        for each in scope.get_symbols()
        if each.is_declared_global() and _binds(each)
    }
    return frozenset(
        each.get_name()
        for scope in scopes
        for each in scope.get_symbols()
        if each.is_referenced()
        and (each.is_global() or (scope is module and not _binds(each)))
        and each.get_name() not in bound | _GIVEN
    )


def missing_imports(before: str, after: str, read: Callable[[str], str | None]) -> frozenset[str]:
    """What an edited module imports of the package's own modules, and these do not have.

    Args:
        read: the text of a file by its path in a wheel; None where there is none.
    """
    return frozenset(
        f"{name} of {module}"
        for module, name in _own_imports(after) - _own_imports(before)
        if not _has(module, name, read)
    )


def _has(module: str, name: str, read: Callable[[str], str | None]) -> bool:
    place = PurePosixPath(*module.split("."))
    text = read(f"{place}.py")
    if text is None:
        if read(f"{place / name}.py") or read(f"{place / name}/__init__.py"):
            return True
        text = read(f"{place}/__init__.py")
    if text is None:
        return False
    stars = any(alias.name == "*" for node in _imports(text) for alias in node.names)
    symbols = symtable.symtable(text, module, "exec").get_symbols()
    return stars or any(each.get_name() == name and _binds(each) for each in symbols)


@functools.cache
def _own_imports(source: str) -> frozenset[tuple[str, str]]:
    """What a module takes from which module of the package: both names."""
    return frozenset(
        (node.module, alias.name)
        for node in _imports(source)
        if node.module and node.module.partition(".")[0] == _PACKAGE and not node.level
        for alias in node.names
    )


@functools.cache
def _imports(source: str) -> tuple[ast.ImportFrom, ...]:
    return tuple(each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.ImportFrom))


def _scopes(table: SymbolTable) -> Iterator[SymbolTable]:
    yield table
    for inner in table.get_children():
        yield from _scopes(inner)


def _binds(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
