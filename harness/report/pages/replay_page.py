"""A replay as a page in markdown, and as a table in JSON, a row a commit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from harness.base.words import plural
from harness.report.pages.rendering import UPSTREAM, render
from harness.run.replayed import Replayed
from harness.wire.record_json import to_json


def replay_headline(replayed: Sequence[Replayed]) -> str:
    """How many commits there are of each verdict, and of those that touched the exporter."""
    of_exporter = [each for each in replayed if each.on_exporter]
    told = f"{plural(len(replayed), 'commit')}: {_counts(replayed)}"
    return f"{told}; {len(of_exporter)} touched the exporter: {_counts(of_exporter)}"


def _counts(replayed: Sequence[Replayed]) -> str:
    counts = Counter(sorted((each.verdict for each in replayed), key=_place))
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def _place(verdict: str) -> tuple[bool, ...]:
    """Sorts what was seen before what was not."""
    return tuple(word not in verdict for word in ("fix", "breakage", "false", "neither", "could"))


def replay_files(replayed: Sequence[Replayed], models: str) -> Sequence[tuple[str, bytes]]:
    """The contents of the files, by their names.

    Args:
        models: those of the package lane, or the expression that chose the cases.
    """
    rows = [
        {
            "verdict": each.verdict,
            "release": each.release,
            **to_json(each.commit),
            "lanes": [to_json(lane) for lane in each.lanes],
            "kind": each.kind,
            "reason": each.reason,
        }
        for each in replayed
    ]
    page = render(
        "replay.md",
        headline=replay_headline(replayed),
        groups=[
            (verdict, [each for each in replayed if each.verdict == verdict])
            for verdict in sorted({each.verdict for each in replayed}, key=_place)
        ],
        models=models,
        upstream=UPSTREAM,
    )
    table = "[\n" + ",\n".join(json.dumps(row, sort_keys=True) for row in rows) + "\n]\n"
    return (("replay.md", page.encode()), ("replay.json", table.encode()))
