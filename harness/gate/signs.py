"""The one sign of each harm and standing, on the console and on the page alike, and the one name
of what becomes of a defect where other defects stop its cases before it can show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from harness.wire.oracles import Harm

SIGNS: Mapping[str, str] = {
    Harm.SILENT.value: "✗",
    Harm.WARNED.value: "!",
    Harm.ERROR.value: "E",
    Harm.INTERFACE.value: "~",
    Harm.COSMETIC.value: "~",
    "ok": "✓",
    "unsupported": "?",
    "missing": "∅",
    "hidden": "?",
    "none": "·",
}

LEGEND: Sequence[tuple[str, str]] = (
    ("✗", "silently computes something else"),
    ("!", "wrong numbers, with a warning"),
    ("E", "raises an error"),
    ("~", "right numbers, in another form"),
    ("✓", "all right"),
)
"""What the signs of a table mean, in the order of harm."""

LOOKS_LIKE: Final = "looks like the known defect"
SEEN_FIRST_NOW: Final = "seen first now"
NOT_SEEN_NOW: Final = "not seen any more"
CANNOT_BE_SEEN: Final = "cannot be seen, as others stop their cases"
