"""A cache that an engine writes to, through a release's real package."""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any

import torch

from corpus.case import find_case
from harness.rig.capture.capture import capture
from harness.rig.package.compiling import compile_like_a_user


def cache_written_in_one_engine(package: ModuleType) -> dict[str, Any]:
    captured = capture(find_case("cache_in_one_engine"), "nonstrict")
    eager = copy.deepcopy(captured.eager)
    compiled = compile_like_a_user(package, captured)
    before = compiled.get_buffer("keys").clone()
    (writer,) = [child for child in compiled.children() if getattr(child, "aliased_io", {})]
    agree = []
    with torch.no_grad():
        for call in captured.calls:
            (returned,) = compiled(*call.args)
            agree.append(torch.allclose(returned, eager(*call.args), atol=1e-5))
    keys = compiled.get_buffer("keys")
    return {
        "aliased": writer.aliased_io,
        "outputs": writer.output_binding_names,
        "agree": agree,
        "same keys": torch.allclose(keys, eager.get_buffer("keys"), atol=1e-5),
        "written": not torch.equal(keys, before),
    }
