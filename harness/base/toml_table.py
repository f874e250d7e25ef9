"""A TOML table that is read key by key, so that no key goes unread and none is guessed.

The project's committed files are edited by hand, where a misspelt key would otherwise go unnoticed.
Every complaint names the file, the table and the key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.base.errors import SurroundingsError


class TomlTable:
    """Each ``take`` removes its key; `nothing_else` then refuses what is left.

    All methods raise SurroundingsError.
    """

    def __init__(self, where: str, fields: Mapping[str, Any]) -> None:
        self._where = where
        self._fields = dict(fields)

    @classmethod
    def of_file(cls, path: Path, schema: int) -> TomlTable:
        """The top table of a file, whose key ``schema`` must be the one given."""
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SurroundingsError(f"{path}: cannot be read: {error}") from error
        table = cls(f"{path}: top level", data)
        found = table.take("schema", int)
        if found != schema:
            raise table.wrong(f"schema {found}, but this harness reads {schema}")
        return table

    @classmethod
    def all_of_file(cls, path: Path, schema: int, name: str) -> Iterator[TomlTable]:
        """The tables of a file that lists only ``[[name]]``; no two have the same ``id``."""
        top = cls.of_file(path, schema)
        listed = top.take(name, list)
        top.nothing_else()
        taken: set[str] = set()
        for number, fields in enumerate(listed, start=1):
            if not isinstance(fields, dict):
                raise top.wrong(
                    f"{name} number {number} is not a table: write [[{name}]] above its keys"
                )
            known = repr(fields["id"]) if "id" in fields else f"number {number}"
            table = cls(f"{path}: {name} {known}", fields)
            if known in taken:
                raise table.wrong(f"its id is taken by an earlier {name}; give it another")
            taken.add(known)
            yield table

    def __contains__(self, key: str) -> bool:
        return key in self._fields

    @property
    def where(self) -> str:
        """This table's place, for the tables in it."""
        return self._where

    def wrong(self, what: str) -> SurroundingsError:
        """The complaint, with this table's place before it."""
        return SurroundingsError(f"{self._where}: {what}")

    def take(self, key: str, kind: type) -> Any:
        if key not in self._fields:
            raise self.wrong(f"key {key!r} is missing")
        value = self._fields.pop(key)
        if not isinstance(value, kind):
            raise self.wrong(f"key {key!r} is not a {kind.__name__}")
        return value

    def text(self, key: str, valid: Callable[[str], object] = bool) -> str:
        """A string that is ``valid``; by default, one that is not empty."""
        value = str(self.take(key, str))
        if not valid(value):
            raise self.wrong(f"key {key!r}: {value!r} is not valid")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings, all different."""
        values = self.take(key, list)
        if not all(isinstance(value, str) for value in values) or len(set(values)) < len(values):
            raise self.wrong(f"key {key!r} is not a list of different strings")
        return tuple(values)

    def table(self, key: str) -> TomlTable:
        return TomlTable(f"{self._where}, {key}", self.take(key, dict))

    def tables(self) -> dict[str, TomlTable]:
        """What is left, every value of it a table."""
        return {key: self.table(key) for key in tuple(self._fields)}

    def nothing_else(self) -> None:
        if self._fields:
            raise self.wrong(f"unknown key {min(self._fields)!r}")
