"""What a candidate does otherwise than a release, told in defects."""

from harness.gate.attribution import difference, difference_line
from harness.register.defects import Sign
from harness.wire.oracles import Oracle
from tests.record_builders import defect, entry, failed, key, record, register, table


def test_a_defect_that_was_fixed_and_shows_again_is_brought_back():
    known = register(
        defect("old", Sign("values", "boom"), fixed_in="2.13.0"),
        defect("new", Sign("structure", "boom")),
    )
    rows = table(entry(defect="old", subjects=("2.10.0",)))
    mine = record(key("a", "file:1"), failed(Oracle.VALUES), failed(Oracle.STRUCTURE))
    told = difference("file:1", "2.13.0", [record(key()), mine], rows, known)
    assert difference_line(told, "2.13.0") == (
        "brings back: old (fixed in 2.13.0) in 1 cell; breaks: new in 1 cell; all else as 2.13.0"
    )
    before = difference("file:1", "2.10.0", [record(key(name="2.10.0")), mine], rows, known)
    assert difference_line(before, "2.10.0").startswith("breaks: new in 1 cell, old in 1 cell")
