"""A run absorbed: what was decided stays, what is new is proposed, what is unclear is asked."""

import dataclasses

from harness.register.absorb import absorb, accepted
from harness.register.defects import Sign
from harness.register.facts import UNSUPPORTED, place_of
from harness.register.table import ALL, Table
from harness.register.table_files import rows_of
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import Stage, SubjectKind
from tests.record_builders import (
    defect,
    entry,
    failed,
    key,
    record,
    register,
    stopped,
    subject,
    table,
    unsupported,
)


def lines(made: Table) -> list[str]:
    """The rows, as short as can be."""
    return [
        f"{row.lane} {row.case} {row.routes} {row.releases} {row.oracle} {row.says} {row.defect}"
        for rows in rows_of(made).values()
        for row in rows
    ]


def values(name: str = "2.13.0", says: str = "boom", case: str = "a") -> CellRecord:
    return record(key(case, name), failed(Oracle.VALUES, says))


def test_what_one_sign_fits_is_proposed_and_taken_in_bulk():
    made = absorb(Table(), register(), [values("2.13.0"), values("2.14.0")])
    assert lines(made) == ["graph a export 2.13.0.. values boom ?known"]
    assert lines(accepted(made)) == ["graph a export 2.13.0.. values boom known"]


def test_what_nothing_or_several_fit_is_asked_and_not_taken_in_bulk():
    two = register(defect("one"), defect("two"))
    assert lines(accepted(absorb(Table(), two, [values()]))) == [
        "graph a export 2.13.0.. values boom ?one|two"
    ]
    made = accepted(absorb(Table(), register(), [values(says="crash")]))
    assert lines(made) == ["graph a export 2.13.0.. values crash ?"]


def test_a_decision_stays_and_holds_for_the_same_finding_of_the_case():
    two = register(defect("one"), defect("two"))
    decided = table(entry(defect="two"))
    made = absorb(decided, two, [values("2.13.0"), values("2.14.0")])
    assert lines(made) == [
        "graph a export 2.13.0 values boom two",
        "graph a export 2.14.0.. values boom ?two",
    ]


def test_a_decision_of_a_case_holds_when_its_name_loses_its_suffix():
    two = register(defect("one"), defect("two"))
    decided = table(entry(defect="two", case="a@product", lane="package", route="retrace"))
    there = CellKey("a", "nonstrict", "2.13.0", Route.RETRACE, Lane.PACKAGE)
    made = absorb(decided, two, [record(there, failed(Oracle.VALUES))])
    assert "package a retrace 2.13.0 values boom ?two" in lines(made)


def test_another_finding_of_the_cell_decides():
    one = defect("one", Sign("values", "boom"), Sign("wiring", "reads"))
    two = defect("two", Sign("values", "boom"))
    cell = record(key(), failed(Oracle.VALUES), failed(Oracle.WIRING, "reads"))
    assert "graph a export 2.13.0.. values boom ?one" in lines(
        absorb(Table(), register(one, two), [cell])
    )


def test_a_defect_that_would_show_in_a_release_that_passes_is_no_candidate():
    forever, mended = defect("forever"), defect("mended", fixed_in="2.14.0")
    records = [values("2.13.0"), record(key("a", "2.14.0"))]
    made = absorb(Table(), register(forever, mended), records)
    assert lines(made) == ["graph a export 2.13.0 values boom ?mended"]


def test_a_defect_that_is_not_alive_is_not_proposed():
    made = absorb(Table(), register(defect(fixed_in="2.13.0")), [values()])
    assert lines(made) == ["graph a export 2.13.0.. values boom ?"]


def test_a_release_that_does_as_the_last_one_changes_nothing():
    known = accepted(absorb(Table(), register(), [values("2.13.0"), values("2.14.0")]))
    again = accepted(absorb(known, register(), [values("2.15.0")]))
    assert lines(again) == lines(known)


def test_a_release_that_mends_it_ends_the_row():
    known = accepted(absorb(Table(), register(), [values("2.13.0"), values("2.14.0")]))
    again = absorb(known, register(), [record(key("a", "2.15.0"))])
    assert lines(again) == ["graph a export 2.13.0..2.14.0 values boom known"]


def test_cells_that_a_run_does_not_have_keep_their_rows():
    known = accepted(absorb(Table(), register(), [values("2.13.0"), values("2.13.0", case="b")]))
    again = absorb(known, register(), [record(key("b"))])
    assert lines(again) == ["graph a export 2.13.0.. values boom known"]


def test_a_matched_environment_holds_only_what_differs():
    there = dataclasses.replace(key(), environment="torch-2.9.0")
    same = record(there, failed(Oracle.VALUES))
    base = accepted(absorb(Table(), register(), [values()]))
    assert lines(absorb(base, register(), [same])) == lines(base)
    other = record(there, failed(Oracle.METADATA))
    made = absorb(base, register(), [other])
    assert lines(made)[:2] == [
        "-graph a export 2.13.0.. values boom known",
        "graph a export 2.13.0.. metadata boom ?known",
    ]
    # Where the ordinary environment comes to do the same, the overlay has nothing left to say.
    after = absorb(accepted(made), register(), [record(key(), failed(Oracle.METADATA))])
    assert lines(accepted(after)) == ["graph a export 2.13.0.. metadata boom known"]


def test_what_cannot_be_asked_by_one_call_alone_takes_the_place_of_what_it_inherits():
    base = accepted(absorb(Table(), register(), [values()]))
    elsewhere = dataclasses.replace(key(), builder="tensorrt-rtx-1.5")
    asked = record(dataclasses.replace(elsewhere, route=Route.LEGACY))
    made = absorb(base, register(), [asked, unsupported(elsewhere, "no engine")])
    assert lines(made) == ["graph a export 2.13.0.. unsupported no engine ", *lines(base)]
    assert [*made.expected(place_of(elsewhere), "2.13.0")] == [(UNSUPPORTED, "", "no engine")]


def test_what_nobody_can_be_asked_is_one_row_and_what_is_missing_here_is_none():
    cells = [unsupported(key("a", name), "no op 7") for name in ("2.13.0", "torch")]
    (row,) = absorb(Table(), register(), cells).entries.items()
    assert (row[0].place.route, row[1], row[0].fact.says) == (ALL, {ALL}, "no op #")
    spec = subject("2.13.0", unavailable="no wheel")
    assert not absorb(Table(), register(), [unsupported(key(), "no wheel")], [spec]).entries


def test_a_builder_that_cannot_be_asked_for_a_reason_that_it_inherits_has_no_row():
    cells = [unsupported(key("a", name), f"no op {name}") for name in ("2.13.0", "torch")]
    real = dataclasses.replace(cells[0].key, builder="tensorrt-rtx-1.5")
    made = absorb(Table(), register(), [*cells, unsupported(real, "no op 2.13.0")])
    assert lines(made) == lines(absorb(Table(), register(), cells)) != []
    other = absorb(Table(), register(), [*cells, unsupported(real, "no builder")])
    assert len(lines(other)) == len(lines(made)) + 1


def test_a_cell_behind_a_failed_compile_has_no_row():
    compiled = CellKey("a", "nonstrict", "2.13.0", Route.COMPILE, Lane.PACKAGE)
    behind = dataclasses.replace(compiled, route=Route.RETRACE)
    records = [
        stopped(compiled, stage=Stage.COMPILE),
        unsupported(behind, "compile: error@compile: boom"),
    ]
    assert lines(absorb(Table(), register(), records)) == [
        "package a compile 2.13.0.. completion boom ?known"
    ]


def test_a_candidate_is_nobody_of_whom_a_table_speaks():
    file = subject("file:1a", kind=SubjectKind.FILE)
    assert not absorb(Table(), register(), [values("file:1a")], [file]).entries


def test_harm_is_written_where_the_record_has_it():
    seen = dataclasses.replace(failed(Oracle.VALUES), harm=Harm.SILENT)
    (made,) = absorb(Table(), register(), [record(key(), seen)]).entries
    assert made.fact.harm == "silent"
