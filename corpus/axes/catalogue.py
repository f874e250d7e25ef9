"""Every axis of the structure space."""

from __future__ import annotations

from corpus.axes import (
    attributes,
    calls,
    engines,
    fallbacks,
    interface,
    scale,
    shapes,
    state,
    users,
    wires,
)

AXES = (
    *wires.AXES,
    *engines.AXES,
    *fallbacks.AXES,
    *calls.AXES,
    *attributes.AXES,
    *state.AXES,
    *shapes.AXES,
    *interface.AXES,
    *scale.AXES,
    *users.AXES,
)
VALUES = {value.id: value for one in AXES for value in one.values}

# What the space has and no case can have, with the reason.
UNREACHABLE = {
    "attribute/object": "a custom object in a fallback: torch.export traces only classes that can "
    "flatten themselves, and torch alone, which is all that a case may need, has none"
}
