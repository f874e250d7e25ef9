"""Any nested JSON data as rows of text: run.json may grow without the report changing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.report.views import Provenance

_SHORT_LIST = 4


def flatten(data: Mapping[str, Any]) -> Provenance:
    """One fact a leaf, named by its path; lists of more than a few items apart."""
    facts: list[tuple[str, str]] = []
    lists: list[tuple[str, tuple[str, ...]]] = []
    for path, value in _leaves(data, ()):
        name = " ".join(path).replace("_", " ")
        if isinstance(value, list | tuple):
            items = tuple(_line(item) for item in value)
            if len(items) > _SHORT_LIST or any(isinstance(item, Mapping) for item in value):
                lists.append((name, items))
            else:
                facts.append((name, " ".join(items) or "none"))
        else:
            facts.append((name, _line(value)))
    return Provenance(tuple(facts), tuple(lists))


def _leaves(
    data: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in data.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*path, str(name)))
        else:
            yield (*path, str(name)), value


def _line(value: Any) -> str:
    if value is None or value == "" or value == {}:
        return "not recorded"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_line(item)}" for name, item in value.items())
    return str(value)
