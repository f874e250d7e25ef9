"""What is prepared once for all cells of a case."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.rig.prepare import PreparedCase


@pytest.mark.parametrize(
    ("case", "steps"), [("relu_once", 2), ("fan_in_of_twelve", 3), ("chain_of_nine", 18)]
)
def test_steps_are_the_engines_and_the_fallbacks_of_the_split(
    prepared: Callable[[str], PreparedCase], case: str, steps: int
) -> None:
    assert prepared(case).steps == steps
