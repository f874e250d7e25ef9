"""The one style sheet: what a colour, a sign and a line mean, for the plots and for the page.

Colours are Okabe and Ito's, which stay apart for every common kind of colour vision. No meaning
hangs on colour alone: a sign and a word stand beside each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from harness.gate import signs
from harness.wire.oracles import Harm

ORANGE, SKY, GREEN = "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"

INK, MUTED, RULE, PAPER = "#1a1a19", "#62625d", "#d8d7d1", "#fdfdfb"

TONES: Mapping[str, str] = {
    Harm.SILENT.value: VERMILLION,
    Harm.WARNED.value: PURPLE,
    Harm.ERROR.value: ORANGE,
    Harm.INTERFACE.value: SKY,
    Harm.COSMETIC.value: YELLOW,
    "ok": GREEN,
    "unsupported": "#9a9993",
    "missing": "#b8b7b0",
    "hidden": "#c3c2bb",
    "none": PAPER,
}
"""The colour of a cell or tag: by the worst harm, or by the standing where nothing fails."""

STRENGTH: Mapping[str, float] = {
    Harm.INTERFACE.value: 0.4,
    Harm.COSMETIC.value: 0.4,
    "ok": 0.14,
    "unsupported": 0.22,
    "hidden": 0.35,
    "none": 0.0,
}
"""How much of its colour a tone lays on the paper, 1.0 where it is not named. The eye goes first to
what harms most, and last to what is well."""

STRENGTH_IN_THE_DARK: Mapping[str, float] = {Harm.COSMETIC.value: 0.28}
"""The strength on dark paper where it differs: more yellow would leave light ink unreadable."""

SIGNS: Final = signs.SIGNS
LEGEND: Final = signs.LEGEND

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
