"""Records to JSON and back without loss, with the schema's number; older schemas still open.

History of ``SCHEMA``:
    1  the first: one verdict an oracle, stage seconds, archive and engine bytes.
    2  the oracles state, unflatten and determinism, and ``steps``. A record of schema 1 is read as
       one that was not asked these and does not know the other.
    3  ``harm`` and ``raised`` of a verdict, and ``logged`` of a cell; unknown of older records.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import operator
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from harness.wire.builders import Builder, Environment, Executor
from harness.wire.oracles import Harm, Oracle, Symptom
from harness.wire.records import (
    CaseInfo,
    CellKey,
    CellRecord,
    SubjectSpec,
    Verdict,
    not_applicable,
)
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import CellState, Outcome, Stage

T = TypeVar("T")


def decode(kind: type[T], data: Any) -> T:
    """``data`` as a dataclass, with all that is in it; `to_json` encodes.

    A field that ``data`` lacks has its default. The key ``schema``, which says which version of a
    record this is, is no field and may stand in any record.

    Raises:
        KeyError, TypeError, ValueError: a field is missing, unknown, of another type, or is an
            unknown member of its enum.
    """
    decoded: T = _value(kind, data, kind.__name__)
    return decoded


def _value(kind: Any, data: Any, where: str) -> Any:
    if kind is Any:
        return data
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):  # all that is used is `X | None`
        (one,) = (part for part in parts if part is not types.NoneType)
        return None if data is None else _value(one, data, where)
    if origin is tuple and isinstance(data, Sequence) and not isinstance(data, str):
        kinds = [parts[0]] * len(data) if parts[-1] is Ellipsis else parts
        return tuple(_value(part, item, where) for part, item in zip(kinds, data, strict=True))
    if origin is not None and issubclass(origin, Mapping) and isinstance(data, Mapping):
        return {
            _value(parts[0], key, where): _value(parts[1], item, where)
            for key, item in data.items()
        }
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and isinstance(data, Mapping):
        hints = _hints(kind)
        return kind(
            **{
                name: _value(hints[name], item, f"{where}.{name}") if name in hints else item
                for name, item in data.items()
                if name != "schema"
            }
        )
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(data)
    if isinstance(kind, type) and issubclass(kind, str) and isinstance(data, str):
        return kind(data)  # text of a kind that checks itself
    wanted = (int, float) if kind is float else kind
    if origin is not None or not isinstance(data, wanted):
        raise TypeError(f"{where} is {data!r}, and not of type {kind}")
    return data


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


SCHEMA = 3
READABLE = frozenset({1, 2, SCHEMA})


class UnknownSchema(ValueError):
    """A record was written by a schema that this reader does not know."""


TOO_OLD = "not asked: recorded before this oracle existed"


def with_later_oracles(verdicts: tuple[Verdict, ...], schema: int) -> tuple[Verdict, ...]:
    """A cell's verdicts as this schema has them: what was not asked at the time is n/a."""
    if schema == SCHEMA or not verdicts:
        return verdicts
    later = [oracle for oracle in Oracle if oracle.row.since_schema > schema]
    return (*verdicts, *(not_applicable(oracle, TOO_OLD) for oracle in later))


def to_json(record: Any) -> dict[str, Any]:
    """A record as JSON data, with its schema's number."""
    return {"schema": SCHEMA, **_plain(record)}


#: What JSON has as it is. Most values of a record are that, and a run has a million records.
_ATOMS: Final = frozenset({str, int, float, bool, type(None)})


def _plain(value: Any) -> Any:
    if type(value) in _ATOMS:
        return value
    if isinstance(value, str):
        return str(value)  # of an enum its text
    if isinstance(value, Verdict):
        return _plain_verdict(value)
    if dataclasses.is_dataclass(value):
        kind: Any = type(value)
        names, values_of = _fields(kind)
        return {
            name: each if type(each) in _ATOMS else _plain(each)
            for name, each in zip(names, values_of(value), strict=True)
        }
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


@functools.cache
def _plain_verdict(verdict: Verdict) -> dict[str, Any]:
    """One for all that are equal, as few of a run's differ; nobody changes what this gives."""
    names, values_of = _fields(Verdict)
    return {name: _plain(each) for name, each in zip(names, values_of(verdict), strict=True)}


@functools.cache
def _fields(kind: Any) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """The names of a dataclass's fields, and what gives their values."""
    names = tuple(field.name for field in dataclasses.fields(kind))
    if len(names) > 1:
        return names, operator.attrgetter(*names)
    return names, lambda value: tuple(getattr(value, name) for name in names)


def check_schema(data: Mapping[str, Any], where: str) -> None:
    """Raise UnknownSchema unless ``data`` is of a schema that this module reads."""
    found = data.get("schema")
    if found not in READABLE:
        readable = ", ".join(map(str, sorted(READABLE)))
        raise UnknownSchema(
            f"{where}: schema {found!r}, but this harness reads schema {readable}; "
            "read it with the harness version that wrote it"
        )


KEY: Final = tuple(field.name for field in dataclasses.fields(CellKey))

_coordinates = operator.attrgetter(*KEY)  # ten times as fast as dataclasses.astuple


def key_words(key: CellKey) -> tuple[str, ...]:
    """A cell's coordinates as text, in the order of `KEY`."""
    return tuple(map(str, _coordinates(key)))


def key_to_json(key: CellKey) -> dict[str, str]:
    return dict(zip(KEY, key_words(key), strict=True))


def key_from_json(data: Mapping[str, str]) -> CellKey:
    """A CellKey that shares its few different words with all others."""
    case, *others = _words_of(data)
    return CellKey(sys.intern(case), *_setting(*others))


_words_of = operator.itemgetter(*KEY)


@functools.cache
def _setting(
    capture: str,
    subject: str,
    route: str,
    lane: str,
    builder: str,
    executor: str,
    environment: str,
) -> tuple[str, str, Route, Lane, Builder, Executor, Environment]:
    """All coordinates of a key but its case: of a run's million keys few differ in these."""
    return (
        sys.intern(capture),
        sys.intern(subject),
        Route(route),
        Lane(lane),
        Builder.shared(builder),
        Executor(executor),
        Environment(environment),
    )


_told = operator.itemgetter("oracle", "outcome", "symptom", "stage", "message", "evidence")


def verdict_from_json(data: Mapping[str, Any]) -> Verdict:
    return _verdict(*_told(data), data.get("harm"), data.get("raised", ""))


@functools.cache
def _verdict(
    oracle: str,
    outcome: str,
    symptom: str | None,
    stage: str | None,
    message: str,
    evidence: str,
    harm: str | None,
    raised: str,
) -> Verdict:
    """One object for all that are equal: of a run's million verdicts few differ."""
    return Verdict(
        oracle=Oracle(oracle),
        outcome=Outcome(outcome),
        symptom=Symptom(symptom) if symptom else None,
        stage=Stage(stage) if stage else None,
        message=message,
        evidence=evidence,
        harm=Harm(harm) if harm else None,
        raised=raised,
    )


def cell_from_json(data: Mapping[str, Any], where: str = "record") -> CellRecord:
    """A CellRecord from its JSON form.

    Raises:
        UnknownSchema: written by another schema.
        KeyError, ValueError: a field is missing or has an unknown value.
    """
    check_schema(data, where)
    return _cell(data, _verdicts(data["verdicts"], data["schema"]), key_from_json(data["key"]))


def cell_from_text(text: bytes, where: str, keys: Mapping[tuple[str, ...], CellKey]) -> CellRecord:
    """As `cell_from_json`, of JSON text whose keys are sorted.

    What oracles say comes last, is most of the text, and is word for word the same of many cells:
    it is read once for all of them.

    Args:
        keys: those that are there already, by their `words`, to be shared.
    """
    head, _, told = text.rpartition(_VERDICTS)
    data = json.loads(head + b"}")
    check_schema(data, where)
    key = keys.get(tuple(data["key"].values())) or key_from_json(data["key"])
    return _cell(data, _verdicts_in(told[:-1], data["schema"]), key)


def cell_to_text(record: CellRecord) -> bytes:
    """The JSON text of `to_json` of a record, for `cell_from_text`; nothing in it breaks a line.

    What oracles say is made into text once for all cells of which it is the same.

    Raises:
        ValueError: a number in it is not finite, which JSON cannot say.
    """
    names, values_of = _fields(CellRecord)
    data = dict(zip(names, values_of(record), strict=True)) | {
        "schema": SCHEMA,
        "key": key_to_json(record.key),
        "seconds": dict(record.seconds),
    }
    verdicts = data.pop("verdicts")
    saying = tuple(map(id, verdicts))
    if saying not in _texts_of:
        # The verdicts are kept beside their text: so no other object ever has their ids.
        _texts_of[saying] = verdicts, _to_text(_plain(verdicts))
    told = _texts_of[saying][1]
    return b"".join((_to_text(data)[:-1].encode(), _VERDICTS, told.encode(), b"}"))


_to_text = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
_texts_of: dict[tuple[int, ...], tuple[tuple[Verdict, ...], str]] = {}
_VERDICTS = b',"verdicts":'

words = operator.attrgetter(*sorted(field.name for field in dataclasses.fields(CellKey)))
"""A key's words, as they stand in JSON."""


@functools.cache
def _verdicts_in(text: bytes, schema: int) -> tuple[Verdict, ...]:
    return _verdicts(json.loads(text), schema)


def _verdicts(data: Iterable[Mapping[str, Any]], schema: int) -> tuple[Verdict, ...]:
    return with_later_oracles(tuple(map(verdict_from_json, data)), schema)


def _cell(data: Mapping[str, Any], verdicts: tuple[Verdict, ...], key: CellKey) -> CellRecord:
    return CellRecord(
        key=key,
        state=CellState(data["state"]),
        verdicts=verdicts,
        reason=data["reason"],
        hypothetical=data["hypothetical"],
        measured_as=data["measured_as"],
        seconds={sys.intern(stage): seconds for stage, seconds in data["seconds"].items()},
        archive_bytes=data["archive_bytes"],
        engine_bytes=data["engine_bytes"],
        carried_bytes=data.get("carried_bytes"),
        steps=data.get("steps"),
        logged=tuple(data.get("logged", ())),
        attempts=data["attempts"],
        ended_at_unix_s=data["ended_at_unix_s"],
        kept_from=data.get("kept_from", ""),
        program=data.get("program", ""),
    )


def subject_from_json(data: Mapping[str, Any]) -> SubjectSpec:
    check_schema(data, "subject")
    return decode(SubjectSpec, data)


def case_from_json(data: Mapping[str, Any]) -> CaseInfo:
    check_schema(data, "case")
    return decode(CaseInfo, data)
