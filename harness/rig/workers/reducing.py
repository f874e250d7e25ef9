"""A process that reduces one case: it makes candidates and tries them, and is told which to keep.

    python -m harness.rig.workers.reducing        started by harness.run.reducing

One JSON object a line. In: the setup of a lane (`harness.rig.lanes`) with ``case``, ``capture``,
``subject``, ``routes``, ``by_file`` (whether a command decides, and not a cell), ``limit_s`` (of a
try), ``folder`` (for files) and ``catches`` (of the case that is found). Then an answer for every
line out that asks for one:

    {"event": "shown", "records": [...], "lacks": [...]}      what the case does by every route, and
        what its model has not (`harness.rig.capture.capture.lacking`)
        answered by {"route": ROUTE}
    {"event": "tried", "record": {...}, "size": {...}}    a candidate, as a record or as a "file"
        answered by {"same": whether it fails as it should}
    {"event": "ended", "text": FILE'S TEXT, "size": {...}, "why_not": TEXT}    the smallest
    {"event": "refused", "why": TEXT, "anywhere": whether no lane can}   nothing can be reduced

{"stop": true} may come at any time: the smallest so far is written then.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.rig.channel import die_with_parent, private_channel, send
from harness.rig.trying import Stopped


def main() -> None:
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this is told, and says so here
    channel = private_channel()
    setup = json.loads(sys.stdin.readline())

    def tell(**message: Any) -> None:
        send(channel, **message)

    def ask(**message: Any) -> Mapping[str, Any]:
        tell(**message)
        line = sys.stdin.readline()
        answer: Mapping[str, Any] = json.loads(line) if line else {"stop": True}
        if "stop" in answer:
            raise Stopped
        return answer

    # Here and not at the top: who is interrupted while torch is imported need not wait for it.
    from harness.rig.reducing.reduction import Reduction, Refused

    try:
        tell(event="ended", **Reduction(setup, ask, Path(setup["folder"])).run())
    except Refused as error:
        tell(event="refused", why=str(error), anywhere=error.anywhere)


if __name__ == "__main__":
    main()
