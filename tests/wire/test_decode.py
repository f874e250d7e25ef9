"""JSON data into dataclasses: what fits comes back, and what does not is named."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from harness.wire.record_json import decode


class Colour(enum.StrEnum):
    RED = "red"


class Shout(str):
    def __new__(cls, text: str) -> Shout:
        if not text.isupper():
            raise ValueError(f"{text} is no shout")
        return super().__new__(cls, text)


@dataclass(frozen=True)
class Wheel:
    size: float
    colour: Colour | None = None


@dataclass(frozen=True)
class Cart:
    name: str
    wheels: tuple[Wheel, ...] = ()
    pair: tuple[str, float] | None = None
    load: Mapping[str, int] = field(default_factory=dict)
    towed: Cart | None = None
    horn: Shout | None = None


GOOD: dict[str, Any] = {
    "schema": 7,
    "name": "a",
    "wheels": [{"size": 1}, {"size": 2.5, "colour": "red", "schema": 7}],
    "pair": ["x", 1.0],
    "load": {"hay": 3},
    "towed": {"name": "b"},
}


def test_records_come_back_with_all_that_is_in_them():
    wheels = (Wheel(1.0), Wheel(2.5, Colour.RED))
    assert decode(Cart, GOOD) == Cart("a", wheels, ("x", 1.0), {"hay": 3}, Cart("b"))
    assert isinstance(decode(Cart, {"name": "a", "horn": "TOOT"}).horn, Shout)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"name": 3}, r"Cart\.name is 3"),
        ({"name": None}, r"Cart\.name is None"),
        ({"nickname": "a"}, "nickname"),
        ({"wheels": "ab"}, r"Cart\.wheels is 'ab'"),
        ({"wheels": [{"size": "1"}]}, r"Cart\.wheels\.size is '1'"),
        ({"wheels": [{"size": 1, "colour": "blue"}]}, "blue"),
        ({"wheels": [{}]}, "size"),
        ({"pair": ["x"]}, "shorter|argument"),
        ({"load": {"hay": "much"}}, r"Cart\.load is 'much'"),
        ({"towed": []}, r"Cart\.towed is \[\]"),
        ({"horn": "hoo"}, "hoo is no shout"),
    ],
)
def test_what_does_not_fit_is_named(wrong, named):
    with pytest.raises((KeyError, TypeError, ValueError), match=named):
        decode(Cart, {**GOOD, **wrong})
