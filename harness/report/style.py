"""The one style sheet: what a colour, a sign and a line mean, for the plots and for the page.

Colours are Okabe and Ito's, and three of Tol's for the mildest oracles; they stay apart for every
common kind of colour vision. No meaning
hangs on colour alone: a sign and a word stand beside each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"

INK, MUTED, RULE, PAPER = "#1a1a19", "#62625d", "#d8d7d1", "#fdfdfb"

TONES: Mapping[str, str] = {
    "values": VERMILLION,
    "wiring": PURPLE,
    "completion": ORANGE,
    "structure": YELLOW,
    "signature": BLUE,
    "state": "#332288",
    "metadata": SKY,
    "unflatten": "#999933",
    "determinism": "#882255",
    "ok": GREEN,
    "unsupported": "#9a9993",
    "missing": "#b8b7b0",
    "none": PAPER,
}
"""The colour of a matrix cell, by the worst oracle that fails in it, or by its standing."""

STRENGTH: Mapping[str, float] = {
    "structure": 0.5,
    "signature": 0.4,
    "state": 0.35,
    "metadata": 0.4,
    "unflatten": 0.35,
    "determinism": 0.3,
    "ok": 0.14,
    "unsupported": 0.22,
    "none": 0.0,
}
"""How much of its colour a tone lays on the paper; all of it where not named. The eye goes first
to what is worst, and last to what is well."""

STRENGTH_IN_THE_DARK: Mapping[str, float] = {"structure": 0.28}
"""On dark paper, where it is another: half of that yellow would leave light ink unreadable."""

SIGNS: Mapping[str, str] = {
    "values": "✗",
    "wiring": "✗",
    "completion": "!",
    "structure": "!",
    "signature": "!",
    "state": "!",
    "metadata": "!",
    "unflatten": "!",
    "determinism": "!",
    "ok": "✓",
    "unsupported": "?",
    "missing": "∅",
    "none": "·",
}
"""A cross where a program silently computes something else, an exclamation mark elsewhere."""

ROUTES: Mapping[str, tuple[str, str]] = {
    "legacy": (BLUE, "o"),
    "export": (VERMILLION, "s"),
    "direct": (GREEN, "D"),
    "plain": (MUTED, "^"),
}
"""A route's colour and marker in a plot."""

RC: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "inliner-regress",
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "axes.edgecolor": RULE,
    "axes.labelcolor": MUTED,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.grid.axis": "x",
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "text.parse_math": False,  # a case may be called $x$
    "xtick.color": MUTED,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8.5,
    "xtick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.major.size": 0,
}
"""matplotlib settings; text stays text in an SVG, and its ids do not change between runs."""
