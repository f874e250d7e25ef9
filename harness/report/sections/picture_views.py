"""The picture of a split module and of what an inliner got wrong in it, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Box:
    """An input, engine, fallback, other node, or the outputs of a split module."""

    name: str
    kind: str
    says: str


@dataclass(frozen=True)
class Wire:
    """What goes from one box into another; ``output`` is None where the source has but one."""

    source: str
    output: int | None
    target: str


@dataclass(frozen=True)
class WrongWire:
    """``target`` reads ``source`` and should read ``right``; a source that is no box is empty."""

    target: str
    source: str
    output: int | None
    right: str
    right_output: int | None
    says: str


@dataclass(frozen=True)
class Picture:
    """A split module with its wires as they should be, and those that an inliner got wrong.

    ``lost`` are the boxes whose mutations or random draws are gone. ``raised`` is what the inliner
    or the export raised; ``unreadable`` why its wires were not read.
    """

    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    wrong: tuple[WrongWire, ...]
    lost: tuple[str, ...]
    raised: str
    unreadable: str
