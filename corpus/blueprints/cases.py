"""Cases that are blueprints: registered from JSON, and found again as data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from corpus.blueprints.blueprint import Blueprint, from_json
from corpus.blueprints.build import build
from corpus.case import Case, Family, Origin, Program, case


def register(data: dict[str, Any], family: Family, *, full: bool = False) -> None:
    """A blueprint's JSON as a handmade case of its name."""
    case(
        family,
        catches=data["catches"],
        origin=Origin.HANDMADE,
        wiring=True,
        full=full,
        dynamic=any(isinstance(size, str) for item in data["inputs"] for size in item["shape"]),
    )(_builder(data))


def case_of(blueprint: Blueprint) -> Case:
    """A case of no registry, as it would be registered."""
    return Case(
        name=blueprint.name,
        family=Family.FOUND,
        origin=Origin.HANDMADE,
        catches=blueprint.catches,
        build=lambda: build(blueprint),
        wiring=True,
        dynamic=any(isinstance(size, str) for item in blueprint.inputs for size in item.shape),
    )


def _builder(data: dict[str, Any]) -> Callable[[], Program]:
    """Reads the blueprint when it is built: a process that loads the corpus needs few of them."""

    def build_it() -> Program:
        return build(from_json(data))

    build_it.__name__ = data["name"]
    vars(build_it)["blueprint"] = data
    return build_it
