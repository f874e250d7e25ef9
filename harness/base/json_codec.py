"""JSON data into dataclasses, by the type hints of their fields."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def decode(kind: type[T], data: Any) -> T:
    """``data`` as a dataclass, with all that is in it; `harness.wire.record_json.to_json` encodes.

    A field that ``data`` lacks has its default. The key ``schema``, which says which version of a
    record this is, is no field and may stand in any record.

    Raises:
        KeyError, TypeError, ValueError: a field is missing, unknown, of another type, or is an
            unknown member of its enum.
    """
    decoded: T = _value(kind, data, kind.__name__)
    return decoded


def _value(kind: Any, data: Any, where: str) -> Any:
    if kind is Any:
        return data
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):  # all that is used is `X | None`
        (one,) = (part for part in parts if part is not types.NoneType)
        return None if data is None else _value(one, data, where)
    if origin is tuple and isinstance(data, Sequence) and not isinstance(data, str):
        kinds = [parts[0]] * len(data) if parts[-1] is Ellipsis else parts
        return tuple(_value(part, item, where) for part, item in zip(kinds, data, strict=True))
    if origin is not None and issubclass(origin, Mapping) and isinstance(data, Mapping):
        return {
            _value(parts[0], key, where): _value(parts[1], item, where)
            for key, item in data.items()
        }
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and isinstance(data, Mapping):
        hints = _hints(kind)
        return kind(
            **{
                name: _value(hints[name], item, f"{where}.{name}") if name in hints else item
                for name, item in data.items()
                if name != "schema"
            }
        )
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(data)
    if isinstance(kind, type) and issubclass(kind, str) and isinstance(data, str):
        return kind(data)  # text of a kind that checks itself
    wanted = (int, float) if kind is float else kind
    if origin is not None or not isinstance(data, wanted):
        raise TypeError(f"{where} is {data!r}, and not of type {kind}")
    return data


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)
