"""What changed between two tables, grouped by defect: text for a pull request."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from harness.register.defects import Register
from harness.register.facts import UNSUPPORTED
from harness.register.standing import Standings, State
from harness.register.table import UNKNOWN, Table
from harness.register.table_files import Row, rows_of

_MOST = 6


def review(before: Table, after: Table, register: Register) -> list[str]:
    """The change in lines: how many, then what each defect gained and lost."""
    old = {row for rows in rows_of(before).values() for row in rows}
    new = {row for rows in rows_of(after).values() for row in rows}
    gone, come = sorted(old - new), sorted(new - old)
    lines = [f"expected/*.csv: {len(gone)} lines out, {len(come)} in, {len(old & new)} unchanged"]
    added = [name for name in after.releases if name not in before.releases]
    if before.releases and added:
        lines.append(f"new releases: {', '.join(added)}")
    if not (gone or come):
        return [*lines, "nothing is expected otherwise"]
    by: dict[str, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for row in gone:
        by[row.defect][0].append(row)
    for row in come:
        by[row.defect][1].append(row)
    for title, wanted in (
        ("To decide: name a defect in the table, or write a [[defect]]", _undecided),
        ("Proposed: look at them, or take all by `expected --update RUN --accept`", _proposed),
    ):
        names = sorted(name for name in by if wanted(name))
        lines += _section(title, _told(by, names, register))
    decided = [name for name in by if not name.startswith(UNKNOWN) and name]
    lines += _section(
        "No row left", _told(by, [n for n in decided if not _has(n, after)], register)
    )
    lines += _section(
        "First rows", _told(by, [n for n in decided if not _has(n, before)], register)
    )
    lines += list(_by_release(before, after, register))
    both = [n for n in decided if _has(n, before) and _has(n, after)]
    lines += _section("In both; cases came or went", _told(by, sorted(both), register))
    unasked = by.get("")
    if unasked:
        lines += _section("Could not be asked", _rows(unasked[1], "+") + _rows(unasked[0], "-"))
    return lines


def _undecided(name: str) -> bool:
    return name == UNKNOWN or "|" in name


def _proposed(name: str) -> bool:
    return name.startswith(UNKNOWN) and not _undecided(name)


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", f"{title}:", *lines] if lines else []


def _told(
    by: dict[str, tuple[list[Row], list[Row]]], names: list[str], register: Register
) -> list[str]:
    lines = []
    for name in names:
        gone, come = by[name]
        defect = register.by_id.get(name.removeprefix(UNKNOWN))
        title = f"  {defect.title}" if defect else ""
        lines.append(f"  {name:34} {len(come):4} lines in, {len(gone):4} out{title}")
        if name.startswith(UNKNOWN):
            lines += _rows(come, " ")
    return lines


def _rows(rows: list[Row], sign: str) -> list[str]:
    lines = [
        f"    {sign} {row.lane} {row.case} [{row.routes}] {row.releases}: {row.fails} {row.says}"
        for row in rows[:_MOST]
    ]
    return [*lines, f"    and {len(rows) - _MOST} more"] if len(rows) > _MOST else lines


def _has(name: str, table: Table) -> bool:
    return any(e.defect == name and e.fact.oracle != UNSUPPORTED for e in table.entries)


def _by_release(before: Table, after: Table, register: Register) -> Iterator[str]:
    """What a release that is new in the table mends and brings, and what nobody can see in it."""
    standings = Standings(register, after)
    for release in after.releases:
        previous = standings.before(release)
        if release in before.releases or previous is None or not before.releases:
            continue
        shown = {standing.defect.id for standing in standings.having(release, State.SHOWN)}
        had = {standing.defect.id for standing in standings.having(previous, State.SHOWN)}
        hidden = {e.defect.id: e for e in standings.having(release, State.HIDDEN)}
        yield ""
        yield f"{previous} -> {release}:"
        for name in sorted(had - shown):
            if name in hidden:
                others = ", ".join(hidden[name].behind)
                yield f"  {name}: cannot be seen, as its cases fail by {others}"
            else:
                yield f'  {name}: no row left; set fixed_in = "{release}"'
        for name in sorted(shown - had):
            yield f"  {name}: new"
        if shown == had:
            yield "  as before"
