"""Engines that write to a cache, in the release that makes such."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.catalogue.releases import Catalogue
from harness.toolchain import Toolchain

PROGRAM = Path(__file__).with_name("caching.py")


def seen(site: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(site)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.parametrize(
    "builder", ["segment", pytest.param("tensorrt-rtx", marks=pytest.mark.slow)]
)
def test_an_engine_writes_to_the_cache_that_it_is_given(
    builder: str, toolchain: Toolchain, catalogue: Catalogue
) -> None:
    answer = seen(toolchain.package_site(catalogue.get("2.14.0"), builder).folder)
    assert answer["outputs"] == ["output0", "output1"]
    assert answer["aliased"] == {"output1": ["buf_keys", "kv_cache_update"]}
    assert answer["written"]
    assert answer["same keys"]
    assert answer["agree"] == [True, True, True]
