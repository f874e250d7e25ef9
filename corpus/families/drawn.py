"""Cases drawn so that values of the structure space meet in pairs: see `corpus.drawing`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from corpus.blueprint_build import build
from corpus.blueprints import from_json
from corpus.case import Family, Origin, Program, case
from corpus.drawing import DRAWN_FILE

# What a run tries by default; the others are for the full one.
DEFAULT = {"drawn_lone_engine", "drawn_lone_fallback"}


def _builder(data: dict[str, Any]) -> Callable[[], Program]:
    """Reads the blueprint when it is built: a process that loads the corpus needs few of them."""

    def build_it() -> Program:
        return build(from_json(data))

    build_it.__name__ = data["name"]
    return build_it


for _data in json.loads(DRAWN_FILE.read_text()):
    case(
        Family.DRAWN,
        catches=_data["catches"],
        origin=Origin.HANDMADE,
        wiring=True,
        full=_data["name"] not in DEFAULT,
    )(_builder(_data))
