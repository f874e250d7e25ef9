"""The ledger's entries: what each one covers, and which failure it expects there.

An entry's scope is the whole product of its cases, subjects and routes, narrowed by the optional
fields. It excuses one oracle, and it demands as much as it excuses: in every cell of its scope
that oracle must fail with this symptom, at this stage, with a message that the pattern matches
whole. An entry for ``unsupported`` only permits: whether a question can be asked depends on the
machine, so a machine that can ask it breaks no expectation.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from harness.rig.records import CaseInfo, CellKey, CellRecord, Verdict
from harness.rig.vocabulary import CellState, Lane, Oracle, Stage

UNSUPPORTED = CellState.UNSUPPORTED.value
# What is known of whole packages holds whoever runs their engines.
_ALSO = {Lane.ENGINE.value: Lane.PACKAGE.value}
NAMED_SUBJECTS = ("name-matching", "positional", "torch")
OPTIONAL_FIELDS = ("capture", "lane", "builder", "environment", "origin")


@dataclass(frozen=True)
class Entry:
    """One expected failure. ``symptom`` is a `Symptom`'s value, or ``unsupported``."""

    id: str
    oracle: Oracle
    symptom: str
    stage: Stage | None
    message: str
    cases: tuple[str, ...]
    subjects: tuple[str, ...]
    routes: tuple[str, ...]
    upstream: str
    why: str
    capture: str | None = None
    lane: str | None = None
    builder: str | None = None
    environment: str | None = None
    origin: str | None = None

    @property
    def permits_unsupported(self) -> bool:
        return self.symptom == UNSUPPORTED

    @property
    def expectation(self) -> str:
        """What it expects, for a sentence."""
        where = f"@{self.stage.value}" if self.stage else ""
        return f"{self.symptom}{where} /{self.message}/"

    def covers(self, key: CellKey, origin: str | None) -> bool:
        """Whether a cell is in its scope; ``origin`` is that of the cell's case, if known."""
        return self.fits(key) and self.asks(key.subject) and self.names(key.case, origin)

    def fits(self, key: CellKey) -> bool:
        """Whether a cell is in its scope, whatever its case and its subject."""
        return (
            key.route in self.routes
            and self.capture in (None, key.capture)
            and self.lane in (None, key.lane, _ALSO.get(key.lane))
            and (self.builder is None or selects_name(self.builder, key.builder))
            and (self.environment is None or selects_name(self.environment, key.environment))
        )

    def asks(self, subject: str) -> bool:
        """Whether a subject is in its scope."""
        return any(selects_subject(selector, subject) for selector in self.subjects)

    def names(self, case: str, origin: str | None) -> bool:
        """Whether a case is in its scope."""
        return self.origin in (None, origin) and any(
            selects_case(selector, case) for selector in self.cases
        )

    def expects(self, verdict: Verdict) -> bool:
        """Whether a verdict of a covered cell is the failure that it expects."""
        return (
            verdict.failed
            and verdict.oracle is self.oracle
            and verdict.symptom == self.symptom
            and verdict.stage is self.stage
            and _fullmatches(self.message, verdict.message)
        )

    def permits(self, record: CellRecord) -> bool:
        """Whether a covered cell may end as unsupported for this record's reason."""
        return (
            self.permits_unsupported
            and record.state is CellState.UNSUPPORTED
            and _fullmatches(self.message, record.reason)
        )


@dataclass(frozen=True)
class Ledger:
    """All entries."""

    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class EntryUse:
    """How an entry fared in one run: its cells that fail as listed, and those that do not."""

    entry: Entry
    matched: tuple[CellKey, ...]
    unmatched: tuple[CellKey, ...]

    @property
    def obsolete(self) -> bool:
        """It was put to the test, and nothing fails as listed: remove it."""
        return bool(self.unmatched) and not self.matched

    @property
    def too_wide(self) -> bool:
        """Some of its cells do not fail as listed: narrow it."""
        return bool(self.unmatched) and bool(self.matched)


def uses(
    records: Iterable[CellRecord], ledger: Ledger, cases: Iterable[CaseInfo]
) -> tuple[EntryUse, ...]:
    """How each entry fared. Hypothetical cells, of which nothing is expected, do not count."""
    origins = origins_of(cases)
    counts = [_Count(entry) for entry in ledger.entries]
    of_case: dict[str, list[_Count]] = {}
    for record in records:
        if record.hypothetical:
            continue
        key = record.key
        if key.case not in of_case:  # most entries speak of other cases: not asked for each cell
            origin = origins.get(key.case)
            of_case[key.case] = [count for count in counts if count.entry.names(key.case, origin)]
        for count in of_case[key.case]:
            if count.entry.covers(key, origins.get(key.case)):
                count.add(record)
    return tuple(
        EntryUse(count.entry, tuple(count.matched), tuple(count.unmatched)) for count in counts
    )


def obsolete(
    records: Iterable[CellRecord], ledger: Ledger, cases: Iterable[CaseInfo]
) -> list[Entry]:
    """The entries to remove: covered by this run, and matched nowhere in it."""
    return [use.entry for use in uses(records, ledger, cases) if use.obsolete]


def origins_of(cases: Iterable[CaseInfo]) -> dict[str, str]:
    return {case.name: case.origin for case in cases}


@functools.cache
def selects_name(patterns: str, name: str) -> bool:
    """Whether one of several patterns fits, such as ``pinned,torch-2.1?.*``."""
    return any(fnmatchcase(name, pattern) for pattern in patterns.split(","))


@functools.cache
def selects_case(selector: str, name: str) -> bool:
    """Whether a case name or fnmatch glob selects a case."""
    return selector == name or fnmatchcase(name, selector)


@functools.cache
def selects_subject(selector: str, subject: str) -> bool:
    """Whether a version, a PEP 440 specifier or a named subject selects a subject.

    Versions and specifiers select releases only: the subjects whose name is a version.
    """
    if selector in NAMED_SUBJECTS:
        return selector == subject
    version = parsed_version(subject)
    if version is None:
        return False
    exact = parsed_version(selector)
    if exact is not None:
        return exact == version
    # Pre-releases are named by nobody by accident: a catalogue that has one means it.
    return parsed_specifier(selector).contains(version, prereleases=True)


def parsed_version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def parsed_specifier(text: str) -> SpecifierSet:
    """Raises ValueError unless ``text`` is a PEP 440 specifier that restricts something."""
    try:
        specifier = SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(str(error)) from error
    if not len(specifier):
        raise ValueError("an empty specifier")
    return specifier


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


def _fullmatches(pattern: str, text: str) -> bool:
    return _compiled(pattern).fullmatch(text) is not None


@dataclass
class _Count:
    """An `EntryUse` in the making."""

    entry: Entry
    matched: list[CellKey] = field(default_factory=list)
    unmatched: list[CellKey] = field(default_factory=list)

    def add(self, record: CellRecord) -> None:
        """Put a cell of the entry's scope where it belongs."""
        if self.entry.permits_unsupported:
            # A cell that could be asked proves nothing against a permission.
            if record.state is CellState.UNSUPPORTED:
                (self.matched if self.entry.permits(record) else self.unmatched).append(record.key)
        elif record.state is CellState.ENDED:
            as_listed = self.entry.expects(record.verdict(self.entry.oracle))
            (self.matched if as_listed else self.unmatched).append(record.key)
