"""What a candidate's calls cost in lines of Python, which nothing else on a machine disturbs."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from harness.catalogue.releases import Catalogue
from harness.stats.counted import Counted
from harness.subjects.packages import whole_package
from harness.toolchain import Toolchain
from harness.toolchain.rig_client import ask_rig, package_lane
from harness.wire.records import SubjectSpec

#: The model whose calls are counted: an encoder whose softmax falls back.
COUNTED = "encoder_softmax"


def lines_by_call(
    spec: SubjectSpec,
    toolchain: Toolchain,
    catalogue: Catalogue,
    case: str = COUNTED,
    places: Sequence[str] = (),
) -> dict[str, int]:
    """The lines that each call of a whole package runs once it is warm.

    Raises:
        UsageError: the subject has no whole package, there is no such case, or a call of it raises.
        Unavailable: the package cannot be had here.
    """
    _, site = whole_package(spec, toolchain, catalogue)
    lane = package_lane(site, places)
    answers = ask_rig(toolchain.python, "work", **lane, case=case)
    return {answer["call"]: answer["lines"] for answer in answers}


def counted(
    pair: tuple[SubjectSpec, SubjectSpec],
    toolchain: Toolchain,
    catalogue: Catalogue,
    case: str = COUNTED,
    places: Sequence[str] = (),
) -> list[Counted]:
    """Each call with its lines in a baseline and in a candidate. Raises as `lines_by_call`."""
    ask = partial(lines_by_call, toolchain=toolchain, catalogue=catalogue, case=case, places=places)
    with ThreadPoolExecutor() as pool:
        before, after = pool.map(ask, pair)
    return [Counted(call, lines, after[call]) for call, lines in before.items()]
