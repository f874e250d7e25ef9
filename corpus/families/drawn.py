"""Cases that were drawn so that values of the structure space meet in pairs, as plain data."""

from __future__ import annotations

import json
from pathlib import Path

from corpus.blueprints.cases import register
from corpus.case import Family

DRAWN_FILE = Path(__file__).parents[1] / "drawn" / "drawn.json"

# What a run tries by default; the others are for the full one.
DEFAULT = {"drawn_lone_engine", "drawn_lone_fallback"}

for _data in json.loads(DRAWN_FILE.read_text()):
    register(_data, Family.DRAWN, full=_data["name"] not in DEFAULT)
