"""A cell's story loads programs where no case was ever imported, as a run does."""

import dataclasses
from typing import Any

from harness.rig.questions import explain
from harness.toolchain.rig_client import package_lane


def explained_without_imports(request: dict[str, Any]) -> list[str]:
    find_case = explain.find_case
    explain.find_case = lambda name: dataclasses.replace(find_case(name), imports=())
    return list(explain.explain(request))


def test_a_container_that_the_case_does_not_import_is_unknown_to_who_loads_its_program(
    toolchain, catalogue, ask_torch
):
    site = toolchain.package_site(catalogue.get("2.9.0"))
    cell = {"case": "containers_as_outputs", "capture": "nonstrict", "routes": ["retrace"]}
    request = {**package_lane(site), "subject": "2.9.0", **cell}
    assert "2.9.0, route retrace: error@load" in ask_torch(explained_without_imports, request)
