"""Engines that write to a cache, in the release that makes such."""

from __future__ import annotations

import pytest

from tests.rig.conftest import AskPackage
from tests.rig.package.caching import cache_written_in_one_engine


@pytest.mark.parametrize(
    "builder", ["segment", pytest.param("tensorrt-rtx", marks=pytest.mark.slow)]
)
def test_an_engine_writes_to_the_cache_that_it_is_given(
    builder: str, ask_package: AskPackage
) -> None:
    answer = ask_package("2.14.0", cache_written_in_one_engine, builder=builder)
    assert answer["outputs"] == ["output0", "output1"]
    assert answer["aliased"] == {"output1": ["buf_keys", "kv_cache_update"]}
    assert answer["written"]
    assert answer["same keys"]
    assert answer["agree"] == [True, True, True]
