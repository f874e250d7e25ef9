"""The folder of failing tests, one a defect, that leaves the house for upstream's own suite."""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import version

from harness.catalogue.releases import Release
from harness.register.standing import Standing, Standings, State
from harness.report.upstream import BY_DESIGN
from harness.report.upstream_scripts import IN_MEMORY, Finding
from harness.wire.oracles import Harm
from harness.wire.routes import Lane, Route


def to_export(standings: Standings, release: Release) -> list[Standing]:
    """The defects that a release shows by a user's calls.

    What is so by design, and what nobody sees who calls the product, is left out.
    """
    return [
        each
        for each in standings.having(release.version, State.SHOWN)
        if Lane.PACKAGE in each.lanes
        and each.defect.blame != BY_DESIGN
        and each.harm != Harm.COSMETIC
    ]


def left_out(standings: Standings, release: Release) -> list[tuple[Standing, str]]:
    """The defects that a release has of which `to_export` makes no test, each with the reason."""
    exported = {each.defect.id for each in to_export(standings, release)}

    def why(each: Standing) -> str:
        if each.defect.blame == BY_DESIGN:
            return "it is so by design"
        if each.harm == Harm.COSMETIC:
            return IN_MEMORY
        if not release.package_routes:
            return f"no whole package of {release.version} is asked, but its inliner alone"
        if all(Route(route).row.crosses for route in each.routes):
            return "to compile for Windows takes TensorRT's library for it; --issue has a script"
        return "no model that was compiled shows it, but splits of a module made otherwise"

    return [
        (each, why(each))
        for each in standings.having(release.version, State.SHOWN)
        if each.defect.id not in exported
    ] + [
        (each, "other defects end its models first")
        for each in standings.having(release.version, State.HIDDEN)
    ]


def files_of_tests(
    found: Collection[Finding], without: Collection[tuple[Standing, str]], release: Release
) -> dict[str, str]:
    """A test a defect, by the name of its file, and a README that says what they are.

    Args:
        without: the defects that have no test, each with the reason.
    """
    files = {
        f"test_{each.standing.defect.id.replace('-', '_')}.py": each.script.test
        for each in found
        if each.script.test
    }
    return {**files, "README.md": _readme(len(files), without, release)}


def _readme(tests: int, without: Collection[tuple[Standing, str]], release: Release) -> str:
    left = "\n".join(f"- {each.defect.title}: {why}." for each, why in without)
    return (
        f"# {tests} known defects of torch-tensorrt {release.version}\n\n"
        "Each test makes a user's calls of one known defect and is expected to fail, strictly.\n"
        "When the defect is fixed the test turns red, and its reason says which defect is gone.\n"
        "They need torch, torch_tensorrt, pytest and a GPU: put them into `tests/py/dynamo/`.\n"
        "Some are skipped, and say so, where no TensorRT is installed that builds engines.\n"
        f"They were tried with torch {version('torch')}, the release's own Python and emulated "
        "engines on a CPU,\nthose that may be skipped with engines that TensorRT-RTX built; no GPU "
        "has run them.\n"
    ) + (f"\n## Known defects without a test here\n\n{left}\n" if left else "")
