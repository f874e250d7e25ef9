"""A cache that an engine writes to, through one release's real package: run as a program.

    python tests/rig/package/caching.py SITE

What became of it is one JSON object, on the last line of stdout.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import torch

from corpus.case import find_case
from harness.rig.capture.capture import capture
from harness.rig.package.compiling import compile_like_a_user
from harness.rig.package.opening import import_package
from harness.rig.package.site import read_site


def told(site: Path) -> dict[str, Any]:
    said = read_site(site)
    package = import_package(site, said.release, said.builder)
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


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    stdout = os.dup(1)
    os.dup2(2, 1)  # the package prints; stdout has the answer alone
    answer = told(Path(sys.argv[1]))
    os.write(stdout, json.dumps(answer).encode() + b"\n")
