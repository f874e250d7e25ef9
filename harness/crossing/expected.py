"""``crossing.toml``: classes of expected failures, read with every mistake named."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from harness.base.toml_table import TomlTable
from harness.crossing.judge import NOT_SAVED, FailureClass, parsed_specifier
from harness.expectations import EXPECTATIONS
from harness.register.facts import parsed_version
from harness.wire.oracles import Symptom
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage

CROSSING_FILE: Final = EXPECTATIONS / "crossing.toml"
CROSSING_SCHEMA: Final = 1
_OUTCOMES: Final = (
    Symptom.WRONG_VALUES,
    NOT_SAVED,
    *(
        f"{symptom}@{stage}"
        for symptom in (Symptom.ERROR, Symptom.KILLED, Symptom.TIMEOUT)
        for stage in (Stage.LOAD, Stage.RUN)
    ),
)


def read_classes(path: Path = CROSSING_FILE) -> tuple[FailureClass, ...]:
    """Read a file of classes."""
    return tuple(map(_class, TomlTable.all_of_file(path, CROSSING_SCHEMA, "class")))


def _class(table: TomlTable) -> FailureClass:
    found = FailureClass(
        id=table.text("id"),
        savers=_versions(table, "savers"),
        loaders=_versions(table, "loaders"),
        cases=_some(table, "cases"),
        routes=_some(table, "routes"),
        outcome=table.text("outcome"),
        message=table.text("message"),
        upstream=table.text("upstream"),
        why=table.text("why"),
        loader_torch=table.text("loader_torch", _is_specifier) if "loader_torch" in table else "",
    )
    table.nothing_else()
    for route in found.routes:
        if route not in list(Route):
            raise table.wrong(f"unknown route {route!r}; there are {', '.join(Route)}")
    if found.outcome not in _OUTCOMES:
        raise table.wrong(f"unknown outcome {found.outcome!r}; there are {', '.join(_OUTCOMES)}")
    try:
        re.compile(found.message)
    except re.error as error:
        raise table.wrong(f"message is not a regular expression: {error}; escape it") from error
    return found


def _versions(table: TomlTable, key: str) -> tuple[str, ...]:
    selectors = _some(table, key)
    for selector in selectors:
        if parsed_version(selector) is None and not _is_specifier(selector):
            raise table.wrong(
                f"key {key!r}: {selector!r} is no version and no specifier such as '<2.14'"
            )
    return selectors


def _is_specifier(text: str) -> bool:
    try:
        parsed_specifier(text)
    except ValueError:
        return False
    return True


def _some(table: TomlTable, key: str) -> tuple[str, ...]:
    values = table.texts(key)
    if not values:
        raise table.wrong(f"key {key!r} is empty: name one")
    return values
