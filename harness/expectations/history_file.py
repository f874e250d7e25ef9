"""``history.toml``: upstream's fixes, read with every mistake named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.history import Fix
from harness.releases import INLINING_ROUTES
from harness.rig.vocabulary import Oracle
from harness.toml_table import TomlTable

HISTORY_FILE: Final = Path(__file__).with_name("history.toml")
HISTORY_SCHEMA: Final = 1
ANY: Final = "any"
UNKNOWN: Final = "unknown"


def read_history(releases: Sequence[str], path: Path = HISTORY_FILE) -> tuple[Fix, ...]:
    """Read a history file.

    Args:
        releases: the versions that ``first_good`` may name, oldest first.

    Raises:
        SurroundingsError: it cannot be read, or a fix is not as it should be; the message names
            the file, the fix and the key.
    """
    top = TomlTable.of_file(path, HISTORY_SCHEMA)
    tables = top.take("fix", list)
    top.nothing_else()
    fixes: list[Fix] = []
    for number, fields in enumerate(tables, start=1):
        if not isinstance(fields, dict):
            raise top.wrong(f"fix number {number} is not a table: write [[fix]] above its keys")
        name = repr(fields["id"]) if "id" in fields else f"number {number}"
        table = TomlTable(f"{path}: fix {name}", fields)
        fix = _fix(table, releases, visible="not_visible" not in fields)
        if fix.id in {earlier.id for earlier in fixes}:
            raise table.wrong("its id is taken by an earlier fix; give it another")
        fixes.append(fix)
    return tuple(fixes)


def _fix(table: TomlTable, releases: Sequence[str], *, visible: bool) -> Fix:
    fix = Fix(
        id=table.text("id"),
        pull_request=table.text("pull_request"),
        first_good=table.text("first_good"),
        what=table.text("what"),
        cases=_some(table, "cases") if visible else (),
        oracle=_oracle(table) if visible else None,
        routes=_some(table, "routes") if visible else (),
        not_visible="" if visible else table.text("not_visible"),
    )
    table.nothing_else()
    if fix.pull_request != UNKNOWN and not re.fullmatch(r"#\d+", fix.pull_request):
        raise table.wrong(f"pull_request {fix.pull_request!r}: such as #4446, or {UNKNOWN}")
    if fix.first_good not in releases[1:]:
        raise table.wrong(
            f"first_good {fix.first_good!r}: a release that has another before it; there are "
            f"{', '.join(releases[1:])}"
        )
    for route in fix.routes:
        if route not in INLINING_ROUTES:
            raise table.wrong(f"unknown route {route!r}; there are {', '.join(INLINING_ROUTES)}")
    return fix


def _oracle(table: TomlTable) -> Oracle | None:
    oracle = table.text("oracle")
    if oracle != ANY and oracle not in list(Oracle):
        raise table.wrong(f"unknown oracle {oracle!r}; there are {', '.join(Oracle)}, and {ANY}")
    return None if oracle == ANY else Oracle(oracle)


def _some(table: TomlTable, key: str) -> tuple[str, ...]:
    values = table.texts(key)
    if not values:
        raise table.wrong(
            f"key {key!r} is empty: name one, or say in not_visible why there is none"
        )
    return values
