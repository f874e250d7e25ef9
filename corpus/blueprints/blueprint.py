"""Split programs as plain data: the same module on every machine, and JSON both ways.

Values are numbered: in the parent first the input leaves, then the steps, one value each; in a
child first its inputs, then its attributes, then its ops. A `Ref` names a value and the getitems
that lead to what is meant of it.

History of ``VERSION``:
    1  the first.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
from dataclasses import dataclass
from typing import Any

VERSION = 1


class BadBlueprint(ValueError):
    """JSON that is no blueprint, or of a version that this reader does not know."""


class StepKind(enum.StrEnum):
    ENGINE = "engine"
    FALLBACK = "fallback"
    AGAIN = "again"  # another call of an earlier step's child
    LOOSE = "loose"  # an op of the parent's own
    CONSTANT = "constant"  # a tensor that the parent holds


class Naming(enum.StrEnum):
    """How a child's placeholders are called."""

    OWN = "own"  # as tracing calls them: no node of the parent has such a name
    RIGHT = "right"  # after the node that each one reads
    EARLIER = "earlier"  # the first one after a wrong node that stands before the call
    LATER = "later"  # the first one after the next call
    SEVERAL = "several"  # all of them after wrong nodes


class FormKind(enum.StrEnum):
    VALUE = "value"
    NONE = "none"
    NUMBER = "number"
    TUPLE = "tuple"
    LIST = "list"
    DICT = "dict"
    NAMED_PAIR = "named pair"
    DATA_PAIR = "data pair"


class AttributeKind(enum.StrEnum):
    PARAMETER = "parameter"
    FROZEN = "frozen parameter"
    INTEGER = "integer parameter"
    HALF = "half parameter"
    BUFFER = "buffer"
    NON_PERSISTENT = "non-persistent buffer"
    PLAIN = "plain tensor"


@dataclass(frozen=True)
class Ref:
    """A value, or an element of it."""

    at: int
    path: tuple[int, ...] = ()


@dataclass(frozen=True)
class Form:
    """Values in containers. A dictionary's keys are a, b, c, ...; pairs have two items."""

    kind: FormKind
    ref: Ref | None = None
    number: int = 0
    items: tuple[Form, ...] = ()


@dataclass(frozen=True)
class Input:
    """A float32 input leaf. A size is a number, a dimension's name, or "2*" and a name."""

    shape: tuple[int | str, ...]


@dataclass(frozen=True)
class Keyword:
    name: str
    form: Form


@dataclass(frozen=True)
class Op:
    """One op of a child: a name of `corpus.blueprints.ops.OPS`, what it reads, and a number."""

    name: str
    reads: tuple[int, ...]
    number: float = 0.0


@dataclass(frozen=True)
class Attribute:
    """A tensor under a path. Those of one seed are one tensor."""

    path: str
    kind: AttributeKind
    shape: tuple[int, ...]
    seed: int


@dataclass(frozen=True)
class KeywordRef:
    name: str
    ref: Ref


@dataclass(frozen=True)
class Step:
    """One node of the parent. ``again`` is the value number of the call whose child is meant."""

    kind: StepKind
    reads: tuple[Ref, ...] = ()
    keywords: tuple[KeywordRef, ...] = ()
    ops: tuple[Op, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    returns: Form | None = None
    naming: Naming = Naming.OWN
    name: str = ""
    nested: bool = False
    again: int = -1


@dataclass(frozen=True)
class Blueprint:
    """A whole split program. ``keyword_order`` is how the call gives the keywords."""

    name: str
    catches: str
    inputs: tuple[Input, ...]
    arguments: tuple[Form, ...]
    keywords: tuple[Keyword, ...]
    keyword_order: tuple[str, ...]
    steps: tuple[Step, ...]
    returns: Form


def value(at: int, *path: int) -> Form:
    return Form(FormKind.VALUE, Ref(at, path))


def packed(kind: FormKind, *items: Form) -> Form:
    return Form(kind, items=items)


def to_json(blueprint: Blueprint) -> dict[str, Any]:
    """Plain data; fields at their default are left out."""
    return {"version": VERSION, **_plain(blueprint)}


def from_json(data: Any) -> Blueprint:
    """The blueprint that `to_json` wrote.

    Raises:
        BadBlueprint: another version, an unknown or missing field, or a value of another type.
    """
    if not isinstance(data, dict) or data.get("version") != VERSION:
        found = data.get("version") if isinstance(data, dict) else data
        raise BadBlueprint(f"a blueprint of version {VERSION} is read here, not {found!r}")
    fields = {key: item for key, item in data.items() if key != "version"}
    read: Blueprint = _read(Blueprint, fields, "blueprint")
    return read


def _plain(item: Any) -> Any:
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return {
            field.name: _plain(getattr(item, field.name))
            for field in dataclasses.fields(item)
            if getattr(item, field.name) != field.default
        }
    if isinstance(item, tuple):
        return [_plain(part) for part in item]
    return item.value if isinstance(item, enum.Enum) else item


def _read(kind: Any, data: Any, where: str) -> Any:
    """``data`` as a value of the annotated type ``kind``."""
    if typing.get_origin(kind) is tuple:
        if not isinstance(data, list):
            raise BadBlueprint(f"{where}: a list is wanted, not {data!r}")
        part = typing.get_args(kind)[0]
        return tuple(_read(part, item, f"{where}[{at}]") for at, item in enumerate(data))
    if isinstance(kind, types.UnionType):
        for option in typing.get_args(kind):
            if _fits(option, data):
                return _read(option, data, where)
        raise BadBlueprint(f"{where}: {kind} is wanted, not {data!r}")
    if dataclasses.is_dataclass(kind):
        return _read_record(kind, data, where)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        try:
            return kind(data)
        except ValueError as error:
            raise BadBlueprint(f"{where}: {error}") from error
    if not _fits(kind, data):
        raise BadBlueprint(f"{where}: {kind.__name__} is wanted, not {data!r}")
    return kind(data)


def _fits(kind: Any, data: Any) -> bool:
    if dataclasses.is_dataclass(kind):
        return isinstance(data, dict)
    if kind is float:
        return isinstance(data, int | float) and not isinstance(data, bool)
    return isinstance(data, kind) and (kind is bool or not isinstance(data, bool))


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _read_record(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise BadBlueprint(f"{where}: an object is wanted, not {data!r}")
    hints = _hints(kind)
    unknown = sorted(set(data) - set(hints))
    required = {f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING}
    missing = sorted(required - set(data))
    if unknown or missing:
        raise BadBlueprint(f"{where}: unknown {unknown}, missing {missing}")
    return kind(**{key: _read(hints[key], item, f"{where}.{key}") for key, item in data.items()})
