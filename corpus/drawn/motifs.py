"""What a drawn case is made of: a motif for each value of the space that can be drawn.

A motif adds steps to a draft, reads the current value, and leaves a new one that depends on all it
made, so that a swapped wire shows in the numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from corpus.blueprints.blueprint import (
    AttributeKind,
    Step,
    StepKind,
)
from corpus.drawn.draft import Draft

Apply = Callable[[Draft], None]

MIXED = ("plus", ("times", 0, 0.9), 0.3)
BLEND = ("add", ("times", 0, 0.6), ("times", 1, 0.4))


@dataclass(frozen=True)
class Motif:
    """``gives`` are the values it stands for; ``fatal`` says that it ends every program at once.

    ``engines`` and ``fallbacks``: which children it needs.
    """

    gives: tuple[str, ...]
    apply: Apply
    engines: bool = False
    fallbacks: bool = False
    fatal: bool = False
    dynamic: bool = False

    @property
    def name(self) -> str:
        return self.gives[0]


MOTIFS: list[Motif] = []  # filled by the modules whose names end so; see `corpus.drawn.recipes`


def motif(
    *gives: str,
    engines: bool = False,
    fallbacks: bool = False,
    fatal: bool = False,
    dynamic: bool = False,
) -> Callable[[Apply], Apply]:
    def register(apply: Apply) -> Apply:
        MOTIFS.append(Motif(gives, apply, engines, fallbacks, fatal, dynamic))
        return apply

    return register


def calm_engine(draft: Draft) -> None:
    draft.goes_on(draft.engine([draft.current], ("soften", MIXED)))


def calm_fallback(draft: Draft) -> None:
    draft.goes_on(draft.fallback([draft.current], ("soften", ("relu", MIXED))))


def constant(draft: Draft, path: str) -> Step:
    """A tensor that the parent holds under this path."""
    tensor = draft.tensor(path, AttributeKind.BUFFER)
    return Step(StepKind.CONSTANT, attributes=(tensor,))
