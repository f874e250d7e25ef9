"""What each case's program is made of, as a digest: its own code, and the corpus's that it reaches.

The code is read and not run. From a case's function one goes to every name that it mentions, in its
own module and in those that it imports from, and from there on. Where a name leads into a module
of no family, such as `corpus.models.hub`, all of that module counts and all that it imports.

What a module does when it is imported, beside giving names to functions, classes and constants,
can change any case, whoever imports it: it counts for all. So does whatever cannot be followed.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from corpus.case import Case, corpus_digest

FAMILIES = "corpus.families"
#: Whoever mentions one of these can reach code that nobody names.
_BEYOND_READING = frozenset(
    {
        "__file__", "__import__", "all_cases", "cases_of", "compile", "eval", "exec", "find_case",
        "getattr", "globals", "importlib", "inspect", "locals", "open", "runpy", "sys", "vars",
    }
)  # fmt: skip
#: Registers a case of its own and changes no other.
_REGISTERS = frozenset({"case", "vary"})
_PLAIN_DECORATORS = frozenset({"case", "dataclass", "dataclasses", "staticmethod"})


@dataclass(frozen=True, eq=False)
class Statement:
    """One statement at the top of a module."""

    module: str
    digest: str  # of its code, without comments and places
    binds: frozenset[str]
    mentions: frozenset[str]
    imports: tuple[tuple[str, str], ...]  # module and name, also inside of functions
    effect: bool  # whether it may do more than to bind its names


class Sources:
    """The corpus's modules, read."""

    def __init__(self, root: Path) -> None:
        """``root`` is the folder of the package `corpus`."""
        self.modules = {
            _module_name(root, path): _statements(_module_name(root, path), path)
            for path in sorted(root.rglob("*.py"))
        }
        self._reached: dict[tuple[str, str], frozenset[Statement] | None] = {}
        self._binding: dict[tuple[str, str], set[Statement]] = defaultdict(set)
        for name, statements in self.modules.items():
            for statement in statements:
                for bound in statement.binds:
                    self._binding[name, bound].add(statement)

    def reached_from(self, module: str, name: str) -> frozenset[Statement] | None:
        """Every statement that a name of a module leads to; None where that cannot be told."""
        if (module, name) not in self._reached:
            reached = self._reach(module, name)
            self._reached[module, name] = None if reached is None else frozenset(reached)
        return self._reached[module, name]

    def _reach(self, module: str, name: str) -> set[Statement] | None:
        found: set[Statement] = set()
        left: list[tuple[str, str]] = [(module, name)]
        seen: set[tuple[str, str]] = set()
        while left:
            at = left.pop()
            if at in seen:
                continue
            seen.add(at)
            more = self._at(*at)
            if more is None:
                return None
            for statement in more - found:
                if statement.mentions & _BEYOND_READING and _is_family(statement.module):
                    return None
                left += statement.imports
                left += ((statement.module, name) for name in statement.mentions)
            found |= more
        return found

    def _at(self, module: str, name: str) -> set[Statement] | None:
        """The statements that bind a name, or all of a module that is of no family."""
        if not module.startswith("corpus"):
            return set()
        statements = self.modules.get(module)
        if statements is None:
            return None
        if f"{module}.{name}" in self.modules:  # `from corpus.models import hub`
            return {*statements, *self.modules[f"{module}.{name}"]}
        if not _is_family(module) or name == "*":
            return set(statements)
        return self._binding[module, name] | self._binding[module, "*"]

    @cached_property
    def effects(self) -> str:
        """What the modules do when all families are imported: a digest a statement."""
        imported: set[str] = set()
        left = [name for name in self.modules if _is_family(name)]
        while left:
            name = left.pop()
            if name in imported or name not in self.modules:
                continue
            imported.add(name)
            left += _parents(name)
            for statement in self.modules[name]:
                for module, part in statement.imports:
                    left += [module, f"{module}.{part}"]
        return "\n".join(
            f"{name}: {statement.digest}"
            for name in sorted(imported)
            for statement in self.modules[name]
            if statement.effect
        )


def case_digests(cases: Iterable[Case], root: Path) -> dict[str, str]:
    """By case, SHA-256 as hex of all that its program is made of."""
    sources = Sources(root)
    by_name = {case.name: case for case in cases}
    whole = corpus_digest()
    return {name: _digest_of(case, by_name, sources, whole) for name, case in by_name.items()}


def _digest_of(case: Case, cases: Mapping[str, Case], sources: Sources, whole: str) -> str:
    declared = {
        item.name: repr(getattr(case, item.name))
        for item in dataclasses.fields(case)
        if item.name != "build"
    }
    made_of = [str(sorted(declared.items())), sources.effects]
    held = vars(case.build)
    reached = sources.reached_from(case.build.__module__, case.build.__name__)
    if "blueprint" in held:
        made_of.append(repr(held["blueprint"]))
        reached = sources.reached_from(case.build.__module__, "*")
    elif "recording" in held:
        recording = held["recording"]
        made_of.append(repr(recording))
        made_of.append(_digest_of(cases[recording.model], cases, sources, whole))
        reached = sources.reached_from(case.build.__module__, "*")
    for name in case.imports:
        more = sources.reached_from(name, "*")
        reached = None if more is None or reached is None else reached | more
    if not reached:
        made_of.append(whole)
    else:
        made_of += sorted(f"{each.module}: {each.digest}" for each in reached)
    return hashlib.sha256("\0".join(made_of).encode()).hexdigest()


def _statements(module: str, path: Path) -> tuple[Statement, ...]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return tuple(_statement(module, node) for node in tree.body)


def _statement(module: str, node: ast.stmt) -> Statement:
    within = list(ast.walk(node))
    named = [each.id for each in within if isinstance(each, ast.Name)]
    by_name = list(_imported_by_name(within))
    mentions = frozenset(named)
    if named.count("importlib") == len(by_name):
        mentions -= {"importlib"}
    return Statement(
        module=module,
        digest=hashlib.sha256(ast.dump(node).encode()).hexdigest(),
        binds=frozenset(_bound(within)),
        mentions=mentions,
        imports=(*_imports(module, within), *((name, "*") for name in by_name)),
        effect=_has_effect(node),
    )


def _imported_by_name(within: Iterable[ast.AST]) -> Iterator[str]:
    """The modules of `importlib.import_module("...")`."""
    for each in within:
        match each:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="importlib"), attr="import_module"),
                args=[ast.Constant(value=str(name))],
                keywords=[],
            ):
                yield name


def _bound(within: Iterable[ast.AST]) -> Iterator[str]:
    """The names that a statement binds in its module, with more rather than fewer."""
    for each in within:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield each.name
        elif isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            yield each.id
        elif isinstance(each, ast.alias):
            yield (each.asname or each.name).partition(".")[0]


def _imports(module: str, within: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    for each in within:
        if isinstance(each, ast.Import):
            yield from ((alias.name, "*") for alias in each.names)
        elif isinstance(each, ast.ImportFrom):
            package = module.split(".")[: -each.level] if each.level else []
            source = ".".join([*package, *([each.module] if each.module else [])])
            yield from ((source, alias.name) for alias in each.names)


def _has_effect(node: ast.stmt) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return False
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return not {_called(each) for each in node.decorator_list} <= _PLAIN_DECORATORS
        case ast.ClassDef():
            plain = {_called(each) for each in node.decorator_list} <= _PLAIN_DECORATORS
            return bool(node.keywords) or not plain or any(map(_has_effect_in_class, node.body))
        case ast.Assign() | ast.AnnAssign():
            # To write to an attribute or an item changes what somebody else has bound.
            return any(
                isinstance(each, ast.Call)
                or (isinstance(each, ast.Attribute | ast.Subscript) and _is_written(each))
                for each in ast.walk(node)
            )
        case ast.Expr(value=ast.Call() as call):
            return _called(call) not in _REGISTERS
        case _:
            return True


def _is_written(node: ast.Attribute | ast.Subscript) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _has_effect_in_class(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Pass):
        return False
    return _has_effect(node)


def _called(node: ast.expr) -> str:
    """The name at the bottom of a decorator or call: `torch` of `torch.library.custom_op(...)`."""
    while not isinstance(node, ast.Name):
        match node:
            case ast.Call(func=below) | ast.Attribute(value=below):
                node = below
            case _:
                return ""
    return node.id


def _is_family(module: str) -> bool:
    return module.startswith(f"{FAMILIES}.")


def _parents(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def _module_name(root: Path, path: Path) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
