"""What a release is known to have in defects: by harm, by who meets them, and what is new."""

import dataclasses

from harness.gate.known import changes_in, known_in, known_lines
from harness.register.defects import Sign
from harness.register.expected import Expectations
from harness.register.standing import Standings
from harness.wire.oracles import Oracle
from harness.wire.records import CellKey
from harness.wire.routes import Lane
from harness.wire.vocabulary import Reach
from tests.record_builders import RELEASES, Row, defect, entry, register, table

OLD, MIDDLE, NEW = RELEASES
ALL = {"subjects": RELEASES}
NAMES = ("silent-one", "error-one", "handmade-one", "fixed", "new")
REGISTER = register(
    *(defect(name, Sign("values", "boom")) for name in NAMES[:-1]),
    defect("new", Sign("values", "boom"), since=NEW),
)


def reach_of(key: CellKey) -> Reach:
    if key.lane != Lane.GRAPH:
        return Reach.PRODUCT
    return Reach.HANDMADE if key.case == "handmade" else Reach.EXPORTED


def lines(release: str, *rows: Row) -> list[str]:
    return known_lines(known_in(release, Standings(REGISTER, table(*rows)), reach_of))


ROWS = (
    entry(case="a", defect="silent-one", harm="silent", lane="package", route="no-retrace", **ALL),
    entry(case="b", defect="silent-one", harm="silent", **ALL),
    entry(Oracle.COMPLETION, case="c", defect="error-one", harm="error", **ALL),
    entry(Oracle.COMPLETION, case="handmade", defect="handmade-one", harm="error", **ALL),
    entry(case="d", defect="fixed", harm="silent", subjects=(OLD, MIDDLE)),
    entry(case="e", defect="new", harm="interface", subjects=(NEW,)),
)


def test_defects_are_counted_by_harm_and_by_the_widest_split_that_meets_them():
    assert lines(NEW, *ROWS) == [
        f"defects: {NEW} has 4 known ones (1 silent, 2 errors, 1 interface)",
        "  1 in splits by compile (1 silent), "
        "2 in splits without compile alone (1 error, 1 interface), "
        "1 in splits by hand alone (1 error)",
        f"  against {MIDDLE}: 1 fixed, 1 new",
    ]


def test_a_release_that_the_table_does_not_know_is_told_as_the_one_before():
    assert lines("2.15.0rc1", *ROWS) == lines(NEW, *ROWS)


def test_a_defect_is_not_graded_by_a_cell_that_another_one_ends():
    ended = entry(Oracle.COMPLETION, case="e", defect="error-one", harm="error", **ALL)
    beside = entry(case="e", defect="new", harm="error", subjects=(NEW,))
    alone = entry(case="f", defect="new", harm="interface", subjects=(NEW,))
    standings = Standings(REGISTER, table(ended, beside, alone))
    assert standings.of("new", NEW).harm == "interface"


def test_the_oldest_release_is_held_against_none_and_one_that_changes_nothing_says_so():
    assert not any("against" in line for line in lines(OLD, *ROWS))
    assert lines(MIDDLE, *ROWS)[-1] == f"  against {OLD}: the same ones"


def test_a_release_without_defects_says_so_too():
    rows = (entry(subjects=(OLD,), defect="fixed"),)
    assert lines(NEW, *rows)[0] == f"defects: {NEW} has no known ones"


def test_a_run_of_a_few_cases_tells_the_defects_alone_that_these_can_meet():
    known = Expectations(REGISTER, table(*ROWS)).met_by({("graph", "c"), ("graph", "d")})
    standings = Standings(known.register, known.table)
    assert known_lines(known_in(NEW, standings, reach_of), "2 of 9 cases") == [
        f"defects that 2 of 9 cases can meet: {NEW} has 1 known one (1 error)",
        "  1 in splits without compile alone (1 error)",
        f"  against {MIDDLE}: 1 fixed",
    ]


def test_what_nobody_could_ask_of_a_release_is_fixed_in_it_only_if_the_register_says_so():
    names = ("known-fixed", "unasked")
    asked_before = [
        entry(case=name, defect=name, lane="package", route="compile", subjects=(MIDDLE,))
        for name in names
    ]
    known = table(*asked_before)
    asked = {key: (OLD, MIDDLE) if key[0] == "package" else of for key, of in known.asked.items()}
    defects = register(defect("known-fixed", fixed_in=NEW), defect("unasked"))
    changes = changes_in(Standings(defects, dataclasses.replace(known, asked=asked)), NEW)
    assert changes is not None
    assert [each.defect.id for each in changes.fixed] == ["known-fixed"]
