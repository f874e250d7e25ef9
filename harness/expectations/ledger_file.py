"""``ledger.toml``: read with every mistake named, and written ready to paste."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.expectations.ledger import (
    NAMED_SUBJECTS,
    OPTIONAL_FIELDS,
    UNSUPPORTED,
    Entry,
    Ledger,
    parsed_specifier,
    parsed_version,
)
from harness.rig.vocabulary import Oracle, Route, Stage, Symptom, gates

LEDGER_FILE = Path(__file__).with_name("ledger.toml")
LEDGER_SCHEMA = 1
UNEXPLAINED = "UNEXPLAINED"  # how a proposed `why` starts

_TEXTS = ("id", "oracle", "symptom", "message", "upstream", "why")
_LISTS = ("cases", "subjects", "routes")
_ORDER = (
    *("id", "oracle", "symptom", "stage", "message", "cases", "subjects", "routes"),
    *OPTIONAL_FIELDS,
    *("upstream", "why"),
)


def read_ledger(path: Path = LEDGER_FILE) -> Ledger:
    """Read a ledger file.

    Raises:
        UsageError: it cannot be read, or as `parse_ledger`.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the ledger {path}: {error}") from error
    return parse_ledger(text, str(path))


def parse_ledger(text: str, where: str) -> Ledger:
    """Read a ledger from TOML; ``where`` names the file in messages.

    Raises:
        UsageError: not TOML, an unknown schema, or an entry with a mistake: the message names the
            file, the entry and what to do.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where}: not TOML: {error}") from error
    if data.get("schema") != LEDGER_SCHEMA:
        raise UsageError(
            f"{where}: schema {data.get('schema')!r}, but this harness reads {LEDGER_SCHEMA}: "
            f"write `schema = {LEDGER_SCHEMA}` above the entries, or use the harness it is from"
        )
    tables = data.get("entry", [])
    if set(data) - {"schema", "entry"} or not _is_list_of(tables, dict):
        raise UsageError(f"{where}: only `schema` and `[[entry]]` tables belong here")
    entries = []
    seen: set[str] = set()
    for number, table in enumerate(tables, start=1):
        try:
            entry = _entry(table)
            if entry.id in seen:
                raise ValueError("its id is taken by an earlier entry; give it another")
        except ValueError as error:
            name = repr(table["id"]) if "id" in table else f"number {number}"
            raise UsageError(f"{where}: entry {name}: {error}") from error
        seen.add(entry.id)
        entries.append(entry)
    return Ledger(tuple(entries))


def to_toml(entries: Iterable[Entry]) -> str:
    """The entries as ``[[entry]]`` tables; `parse_ledger` reads them back the same."""
    return "\n".join(_table(entry) for entry in entries)


def _entry(table: Mapping[str, Any]) -> Entry:
    """Raises ValueError that says what is wrong and what to do."""
    _check_keys(table)
    for name in (*_TEXTS, *OPTIONAL_FIELDS):
        if name in table and not _is_text(table[name], may_be_empty=name == "message"):
            raise ValueError(f"{name} must be a string that is not empty")
    for name in _LISTS:
        if not _is_list_of(table[name], str) or not table[name]:
            raise ValueError(f"{name} must be a list of strings that is not empty")
    if table["why"].startswith(UNEXPLAINED):
        raise ValueError("it is not explained; write its cause into why, in one line")
    if "\n" in table["why"]:
        raise ValueError("why must be one line")
    _check_message(table["message"])
    _check_subjects(table["subjects"])
    for route in table["routes"]:
        _check_known("route", route, [*map(str, Route)])
    oracle = Oracle(_check_known("oracle", table["oracle"], [*map(str, Oracle)]))
    idle = [route for route in table["routes"] if not gates(oracle, route)]
    if idle:
        raise ValueError(
            f"{oracle.value} is no defect on route {', '.join(idle)}, but a capability that the "
            "report counts; take the route out"
        )
    return Entry(
        id=table["id"],
        oracle=oracle,
        symptom=_check_known("symptom", table["symptom"], [*map(str, Symptom), UNSUPPORTED]),
        stage=_stage(table),
        message=table["message"],
        cases=tuple(table["cases"]),
        subjects=tuple(table["subjects"]),
        routes=tuple(table["routes"]),
        upstream=table["upstream"],
        why=table["why"],
        capture=table.get("capture"),
        lane=table.get("lane"),
        builder=table.get("builder"),
        environment=table.get("environment"),
        origin=table.get("origin"),
    )


def _check_keys(table: Mapping[str, Any]) -> None:
    unknown = sorted(set(table) - set(_ORDER))
    if unknown:
        raise ValueError(f"unknown key {', '.join(unknown)}; there are {', '.join(_ORDER)}")
    missing = [name for name in (*_TEXTS, *_LISTS) if name not in table]
    if missing:
        raise ValueError(f"add the missing key {', '.join(missing)}")


def _stage(table: Mapping[str, Any]) -> Stage | None:
    stage = table.get("stage")
    if table["symptom"] == UNSUPPORTED:
        if stage is not None or table["oracle"] != Oracle.COMPLETION.value:
            raise ValueError(f'{UNSUPPORTED} goes with oracle = "completion" and without a stage')
        return None
    if stage is None:
        raise ValueError("add the missing key stage")
    return Stage(_check_known("stage", stage, [*map(str, Stage)]))


def _check_known(what: str, value: object, known: list[str]) -> str:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"unknown {what} {value!r}; there are {', '.join(known)}")
    return value


def _check_message(pattern: str) -> None:
    try:
        re.compile(pattern, re.DOTALL)
    except re.error as error:
        raise ValueError(f"message is not a regular expression: {error}; escape it") from error


def _check_subjects(selectors: list[str]) -> None:
    for selector in selectors:
        if selector in NAMED_SUBJECTS or parsed_version(selector) is not None:
            continue
        try:
            parsed_specifier(selector)
        except ValueError as error:
            raise ValueError(
                f"subjects: {selector!r} is no version, no PEP 440 specifier such as '<2.14', "
                f"and none of {', '.join(NAMED_SUBJECTS)}"
            ) from error


def _is_text(value: object, may_be_empty: bool) -> bool:
    # An empty message pattern is as exact as any: it matches the empty message alone.
    return isinstance(value, str) and (may_be_empty or bool(value.strip()))


def _is_list_of(value: object, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _table(entry: Entry) -> str:
    lines = ["[[entry]]"]
    for name in _ORDER:
        value = getattr(entry, name)
        if isinstance(value, tuple):
            lines.append(f"{name} = [{', '.join(_quoted(item) for item in value)}]")
        elif value is not None:
            lines.append(f"{name} = {_quoted(value)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    # Single quotes spare a regular expression's backslashes, but cannot hold control characters.
    if "\\" in text and "'" not in text and all(map(_plain, text)):
        return f"'{text}'"
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if _plain(character) else f"\\u{ord(character):04X}"


def _plain(character: str) -> bool:
    return ord(character) >= 0x20 and ord(character) != 0x7F
