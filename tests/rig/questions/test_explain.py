"""A cell's story loads programs where no case was ever imported, as a run does."""

from __future__ import annotations

import json
import subprocess
import sys

from harness.catalogue.releases import Catalogue
from harness.toolchain import Toolchain
from harness.toolchain.rig_client import package_lane

_WITHOUT_IMPORTS = """
import dataclasses
import sys
from harness.rig.questions import __main__ as questions, explain

found = explain.find_case
explain.find_case = lambda name: dataclasses.replace(found(name), imports=())
sys.exit(questions.main())
"""


def test_a_container_that_the_case_does_not_import_is_unknown_to_who_loads_its_program(
    toolchain: Toolchain, catalogue: Catalogue
) -> None:
    site = toolchain.package_site(catalogue.get("2.9.0"))
    cell = {"case": "containers_as_outputs", "capture": "nonstrict", "routes": ["retrace"]}
    request = {"question": "explain", **package_lane(site), "subject": "2.9.0", **cell}
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_IMPORTS],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "2.9.0, route retrace: error@load" in done.stdout
