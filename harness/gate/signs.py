"""The one sign of each harm and standing, on the console and on the page alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
