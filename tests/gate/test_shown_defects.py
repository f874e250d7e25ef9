"""The defects that a run shows, a row each."""

import dataclasses

from harness.gate.attribution import attributed
from harness.gate.shown_defects import DefectShown, shown_defects
from harness.register.defects import Sign
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CellKey, CellRecord, Verdict
from harness.wire.vocabulary import Reach
from tests.record_builders import defect, failed, key, record, register, subject, table

SUBJECTS = [subject("2.13.0"), subject("2.9.0"), subject("2.14.0")]
REGISTER = register(
    defect("values", Sign("values", "boom")),
    defect("wiring", Sign("wiring", "boom")),
    defect("ends", Sign("completion", "boom")),
    defect("told-in-its-manual", Sign("state", "boom"), documented="its manual"),
)


def reach_of(key: CellKey) -> Reach:
    return Reach.PRODUCT if key.case == "a" else Reach.HANDMADE


def shown(*records: CellRecord) -> list[DefectShown]:
    found = attributed(records, table(), REGISTER)
    return shown_defects(found, REGISTER, SUBJECTS, reach_of)


def doing(harm: Harm, oracle: Oracle) -> Verdict:
    return dataclasses.replace(failed(oracle), harm=harm)


def test_a_defect_is_told_as_the_newest_release_shows_it_with_the_cells_of_each():
    (told,) = shown(
        record(key("a", "2.9.0", "legacy"), doing(Harm.SILENT, Oracle.VALUES)),
        record(key("b", "2.13.0", "legacy"), doing(Harm.ERROR, Oracle.VALUES)),
        record(key("b", "2.13.0", "export"), doing(Harm.ERROR, Oracle.VALUES)),
        record(key("c", "2.14.0")),
    )
    calls, releases = ("legacy", "export"), {"2.9.0": 1, "2.13.0": 2}
    assert told == DefectShown("values", "It is values", "error", "handmade", calls, 2, releases)


def test_the_worst_comes_first_and_what_is_documented_warns():
    told = shown(
        record(key("a", "2.13.0"), doing(Harm.SILENT, Oracle.STATE)),
        record(key("b", "2.13.0"), doing(Harm.SILENT, Oracle.VALUES)),
        record(key("c", "2.13.0"), doing(Harm.ERROR, Oracle.WIRING)),
    )
    assert [(each.id, each.harm) for each in told] == [
        ("values", "silent"),
        ("told-in-its-manual", "warned"),
        ("wiring", "error"),
    ]


def test_a_defect_is_not_graded_where_another_one_ends_the_cell():
    (_, told) = shown(
        record(
            key("a", "2.13.0"),
            doing(Harm.ERROR, Oracle.COMPLETION),
            doing(Harm.ERROR, Oracle.WIRING),
        ),
        record(key("b", "2.13.0"), doing(Harm.INTERFACE, Oracle.WIRING)),
    )
    assert (told.id, told.harm, told.cells) == ("wiring", "interface", 2)


def test_what_bears_no_sign_of_a_known_defect_is_none():
    assert shown(record(key("a"), failed(Oracle.METADATA))) == []
