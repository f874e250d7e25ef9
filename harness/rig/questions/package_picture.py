"""Pictures of cells of the package lane; a request as JSON is on stdin.

The answer is a JSON list on stdout, as that of `harness.rig.questions.picture`. One process asks
one release.
"""

from __future__ import annotations

import json
import sys
import tempfile
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from corpus import elsewhere
from corpus.case import find_case
from harness.rig.cell.disk import CameBack
from harness.rig.channel import private_channel
from harness.rig.clock import StageClock
from harness.rig.inliners.protocol import Inlining
from harness.rig.package.compiling import prepare_with
from harness.rig.package.opening import open_package
from harness.rig.package.saving import save_like_a_user
from harness.rig.questions.picture import picture
from harness.wire.vocabulary import Route


def pictures(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One picture for each of the wanted cells, as the package splits and saves it.

    Args:
        request: ``site``, ``release``, ``builder``, ``seed``, ``corpus``, and ``wanted``: a list of
            ``case``, ``capture`` and ``route``.

    Raises:
        NotPrepared: a case cannot be captured, or the package does not compile it.
    """
    package = open_package(request)
    elsewhere.load(request.get("corpus", ()))
    for wanted in request["wanted"]:
        yield _picture(package, wanted, int(request["seed"]))


def _picture(package: types.ModuleType, wanted: Mapping[str, Any], seed: int) -> dict[str, Any]:
    case = find_case(wanted["case"])
    prepared = prepare_with(package, case, wanted["capture"], seed, StageClock())
    inlining, back, said = Inlining(), CameBack(), ""
    with tempfile.TemporaryDirectory(prefix="picture-") as folder:
        archive = Path(folder) / "program.pt2"
        route = Route(wanted["route"])
        try:
            save_like_a_user(package, prepared, route, archive, StageClock(), inlining, back)
        except Exception as error:  # noqa: BLE001 - what the cell's verdict tells
            said = f"{type(error).__name__}: {error}".splitlines()[0]
    return {**picture(prepared, inlining.inlined, back.exported), "raised": said}


def main() -> int:
    request = json.loads(sys.stdin.read())
    answer = private_channel()  # what the package prints when it is imported is no part of it
    answer.write(json.dumps(list(pictures(request))))
    answer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
