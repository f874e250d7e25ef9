"""Records to JSON and back without loss, with the schema's number; older schemas still open.

History of ``SCHEMA``:
    1  the first: one verdict an oracle, stage seconds, archive and engine bytes.
    2  the oracles state, unflatten and determinism, and ``steps``. A record of schema 1 is read as
       one that was not asked these and does not know the other.
    3  ``harm`` and ``raised`` of a verdict, and ``logged`` of a cell; unknown of older records.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import operator
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

from harness.wire.builders import EMULATED, Builder, Environment, Executor
from harness.wire.oracles import Harm, Oracle, Symptom
from harness.wire.records import (
    CaseInfo,
    CellKey,
    CellRecord,
    PackageSpec,
    SubjectSpec,
    Verdict,
    not_applicable,
)
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import CellState, Outcome, Stage, SubjectKind

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


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)  # of an enum its text
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


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
    shared = {name: sys.intern(word) for name, word in data.items()}
    return CellKey(
        lane=Lane(shared.pop("lane")),
        route=Route(shared.pop("route")),
        builder=Builder.shared(shared.pop("builder")),
        executor=Executor(shared.pop("executor")),
        environment=Environment(shared.pop("environment")),
        **shared,
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
    )


def subject_from_json(data: Mapping[str, Any]) -> SubjectSpec:
    check_schema(data, "subject")
    fields = {name: value for name, value in data.items() if name != "schema"}
    fields["kind"] = SubjectKind(fields["kind"])
    fields["routes"] = tuple(map(Route, fields["routes"]))
    fields["hypothetical_routes"] = tuple(map(Route, fields["hypothetical_routes"]))
    fields["packages"] = tuple(_package_from_json(each) for each in fields.get("packages", ()))
    return SubjectSpec(**fields)


def _package_from_json(data: Mapping[str, Any]) -> PackageSpec:
    fields = {**data, "routes": tuple(map(Route, data["routes"]))}
    fields["builder"] = Builder.shared(data["builder"])
    fields["executor"] = Executor(data.get("executor", EMULATED))  # older runs have no other
    return PackageSpec(**fields)


def case_from_json(data: Mapping[str, Any]) -> CaseInfo:
    check_schema(data, "case")
    fields = {name: value for name, value in data.items() if name != "schema"}
    for name in ("fallback", "requires"):
        fields[name] = tuple(fields.get(name, ()))
    for name in ("lanes", "full"):
        fields[name] = tuple(map(Lane, fields.get(name, ())))
    return CaseInfo(**fields)
