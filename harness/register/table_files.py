"""The files of the expected table: a machine writes them and reads them back exactly.

A row is one fact about a case by some routes over a range of releases, and the defect that causes
it. A range without an end holds for future releases, until a run of one says otherwise. For other
builders and environments, only those rows are written that differ from the plain settings; a row
that begins with a dash takes an inherited one away.

If no subject can be asked about a case, that is one row, ``unsupported``, with ``*`` for all routes
and releases.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.base.errors import SurroundingsError
from harness.base.program import PROGRAM
from harness.expectations import EXPECTATIONS
from harness.register.facts import (
    NAMED_SUBJECTS,
    UNSUPPORTED,
    Fact,
    Place,
)
from harness.register.table import ALL, UNKNOWN, Entries, Entry, Table
from harness.wire.builders import PINNED, SEGMENT
from harness.wire.oracles import Harm, Oracle
from harness.wire.routes import Lane

EXPECTED_FOLDER: Final = EXPECTATIONS / "expected"
ASKED_FILE: Final = "asked.csv"
WITHOUT_ROWS_FILE: Final = "defects-without-rows.csv"
_ASKED_COLUMNS: Final = ("lane", "builder", "environment", "routes", "subjects")
_DASH: Final = "-"


@dataclass(frozen=True, order=True)
class Row:
    """A line of a file, in the order in which lines are sorted."""

    lane: str
    case: str
    capture: str
    routes: str
    builder: str
    environment: str
    releases: str
    oracle: str
    fails: str
    says: str
    harm: str
    defect: str


_COLUMNS: Final = tuple(field.name for field in dataclasses.fields(Row))


def rows_of(table: Table) -> dict[str, list[Row]]:
    """The rows of each file, by its name without ``.csv``."""
    rows = {
        Row(
            lane=(_DASH if entry.removed else "") + entry.place.lane,
            case=entry.place.case,
            capture=entry.place.capture,
            routes=entry.place.route,
            builder=entry.place.builder,
            environment=entry.place.environment,
            releases=ranges(subjects, table.releases),
            **dataclasses.asdict(entry.fact),
            defect=entry.defect,
        )
        for entry, subjects in table.entries.items()
    }
    for column in ("routes", "builder", "environment"):
        rows = _joined(rows, column)
    files: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        files[_file_of(row)].append(row)
    return {name: sorted(files[name], key=_shown_order) for name in sorted(files)}


def _joined(rows: Iterable[Row], column: str) -> set[Row]:
    """Merge the rows that differ in one column alone."""
    alike: dict[Row, set[str]] = defaultdict(set)
    for row in rows:
        alike[dataclasses.replace(row, **{column: ""})].add(getattr(row, column))
    return {
        dataclasses.replace(row, **{column: "+".join(sorted(values))})
        for row, values in alike.items()
    }


def _shown_order(row: Row) -> tuple[object, ...]:
    return row.lane.lstrip(_DASH), row.case, row


def _file_of(row: Row) -> str:
    if row.builder != SEGMENT:
        return "builders"
    if row.environment != PINNED:
        return "environments"
    return row.lane.lstrip(_DASH)


def table_texts(table: Table) -> dict[str, str]:
    """The content of each file, by its name."""
    texts = {f"{name}.csv": _csv(_COLUMNS, map(dataclasses.astuple, rows))
             for name, rows in rows_of(table).items()}  # fmt: skip
    routes: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (*where, route), names in sorted(table.asked.items()):
        routes[*where, " ".join(names)].append(route)
    asked = sorted((*where, "+".join(of), names) for (*where, names), of in routes.items())
    defects = [[name] for name in sorted(table.without_rows)]
    more = {WITHOUT_ROWS_FILE: _csv(["defect"], defects)} if defects else {}
    return {**texts, ASKED_FILE: _csv(_ASKED_COLUMNS, asked), **more}


def _csv(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return stream.getvalue()


def write_table(table: Table, folder: Path = EXPECTED_FOLDER) -> None:
    """Write every file; one that has no rows any more goes."""
    folder.mkdir(exist_ok=True)
    texts = table_texts(table)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    for path in folder.glob("*.csv"):
        if path.name not in texts:
            path.unlink()


def read_table(folder: Path = EXPECTED_FOLDER, *, undecided: bool = False) -> Table:
    """Read a table.

    Args:
        undecided: accept rows whose defect is not decided yet, as a run has just proposed them.
    """
    asked = {
        (*where, route): tuple(subjects.split())
        for _, (*where, routes, subjects) in _lines(folder / ASKED_FILE, _ASKED_COLUMNS)
        for route in routes.split("+")
    }
    known = Table({}, asked)
    entries: Entries = {}
    for path in sorted(folder.glob("*.csv")):
        if path.name not in (ASKED_FILE, WITHOUT_ROWS_FILE):
            for number, fields in _lines(path, _COLUMNS):
                row = Row(*fields)
                try:
                    _read_row(row, known.releases, entries, path.stem, undecided=undecided)
                except ValueError as error:
                    raise SurroundingsError(
                        f"{path}, line {number}: {error}; or write the table anew: "
                        f"{PROGRAM} expected --update RUN"
                    ) from error
    without = folder / WITHOUT_ROWS_FILE
    named = _lines(without, ["defect"]) if without.is_file() else ()
    return Table(entries, asked, frozenset(name for _, (name,) in named))


def _lines(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            lines = list(csv.reader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SurroundingsError(f"{path}: cannot be read: {error}") from error
    if not lines or lines[0] != list(columns):
        raise SurroundingsError(f"{path}: its first line has to be {','.join(columns)}")
    for number, fields in enumerate(lines[1:], start=2):
        if len(fields) != len(columns):
            raise SurroundingsError(
                f"{path}, line {number}: {len(fields)} fields, but there are {len(columns)} columns"
            )
        yield number, fields


def _read_row(
    row: Row, releases: Sequence[str], entries: Entries, file: str, *, undecided: bool
) -> None:
    """Take a row apart into ``entries``. Raises ValueError with what is wrong."""
    lane = row.lane.removeprefix(_DASH)
    if lane not in (Lane.GRAPH, Lane.PACKAGE):
        raise ValueError(f"unknown lane {row.lane!r}; write graph or package")
    if row.oracle != UNSUPPORTED and row.oracle not in list(Oracle):
        raise ValueError(f"unknown oracle {row.oracle!r}; there are {', '.join(Oracle)}")
    if row.harm and row.harm not in list(Harm):
        raise ValueError(f"unknown harm {row.harm!r}; there are {', '.join(Harm)}")
    if row.defect.startswith(UNKNOWN) and not undecided:
        raise ValueError(
            f"{row.case}: the defect of {row.says!r} is not decided ({row.defect}); write the id "
            "of a defect of defects.toml, and a new [[defect]] there if it is none of those"
        )
    if not row.defect and row.oracle != UNSUPPORTED:
        raise ValueError(f"{row.case}: a row without a defect; write its id")
    if file != _file_of(row):
        raise ValueError(f"this row belongs in {_file_of(row)}.csv")
    subjects = _subjects(row.releases, releases)
    fact = Fact(row.oracle, row.fails, row.says, row.harm)
    for route, builder, environment in itertools.product(
        row.routes.split("+"), row.builder.split("+"), row.environment.split("+")
    ):
        place = Place(lane, row.case, row.capture, route, builder, environment)
        entry = Entry(place, fact, row.defect, row.lane.startswith(_DASH))
        if entries.get(entry, frozenset()) & subjects:
            raise ValueError(f"{row.case}: another row says the same; delete one")
        entries[entry] = entries.get(entry, frozenset()) | subjects


def ranges(subjects: Collection[str], releases: Sequence[str]) -> str:
    """Subjects as ranges over the known releases: ``2.3.0..2.10.0 2.12.0.. torch``."""
    if ALL in subjects:
        return ALL
    parts, start = [], -1
    for at, release in enumerate((*releases, "")):
        if release in subjects and start < 0:
            start = at
        elif release not in subjects and start >= 0:
            end = "" if at == len(releases) else releases[at - 1]
            parts.append(end if end == releases[start] else f"{releases[start]}..{end}")
            start = -1
    return " ".join([*parts, *(name for name in NAMED_SUBJECTS if name in subjects)])


def _subjects(text: str, releases: Sequence[str]) -> frozenset[str]:
    if text == ALL:
        return frozenset((ALL,))
    subjects: set[str] = set()
    for part in text.split(" "):
        first, dots, last = part.partition("..")
        if part in NAMED_SUBJECTS:
            subjects.add(part)
        elif first in releases and (last in releases or not last):
            start = releases.index(first)
            end = (releases.index(last) if last else len(releases) - 1) if dots else start
            subjects.update(releases[start : end + 1])
        else:
            raise ValueError(
                f"releases {part!r}: a release, a range of two such as 2.3.0..2.10.0, one without "
                f"an end such as 2.11.0.., or one of {', '.join(NAMED_SUBJECTS)}"
            )
    if ranges(subjects, releases) != text:
        raise ValueError(f"releases {text!r}: write {ranges(subjects, releases)!r}")
    return frozenset(subjects)
