"""Any nested JSON data as rows of text: run.json may grow without the report changing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.report.sections.views import Provenance

_SHORT_LIST = 4


_TOLD_OF_A_SOURCE = ("torch_version", "python", "cpu_model", "gpu", "harness_commit")


def with_sources(data: Mapping[str, Any]) -> Provenance:
    """run.json as rows; of a merged run a line for each source, and apart all that is known of it.

    What only a merged run has is left out of any other.
    """
    sources = data.get("sources") or ()
    only_merged = [name for name in ("sources", "mismatches") if name in data and not data[name]]
    whole = flatten({k: data[k] for k in data if k not in ("sources", *only_merged)})
    facts, lists = list(whole.facts), list(whole.lists)
    for source in sources:
        run = {name: value for name, value in source["run"].items() if name != "subjects"}
        brief = {"environment": source["environments"]}
        brief |= {name: run[name] for name in _TOLD_OF_A_SOURCE if run[name]}
        told = flatten(run)
        name = f"source {run['run_id']}"
        facts.append((name, "; ".join(f"{what} {how}" for what, how in flatten(brief).facts)))
        lists.append((name, tuple(f"{what}: {how}" for what, how in told.facts)))
        lists += [(f"{name}, {what}", lines) for what, lines in told.lists]
    return Provenance(tuple(facts), tuple(lists))


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
