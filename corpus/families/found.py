"""Reduced counterexamples, one JSON blueprint each in `corpus/found`, as `fuzz` writes them."""

from __future__ import annotations

import json
from pathlib import Path

from corpus.blueprints.cases import register
from corpus.case import Family

FOLDER = Path(__file__).parents[1] / "found"

for _path in sorted(FOLDER.glob("*.json")):
    register(json.loads(_path.read_text()), Family.FOUND)
