"""What has to stay as it is while a failing model is reduced."""

from harness.gate.signature import Known, signature_of
from harness.register.defects import Sign
from harness.wire.oracles import Oracle
from tests.record_builders import defect, failed, key, record, register, table


def test_where_two_defects_have_all_signs_of_a_failure_one_that_has_a_part_is_not_taken():
    """What the cell shows beside tells several apart, but not in favour of one of a part."""
    known = register(
        defect("one", Sign("wiring", "a"), Sign("wiring", "b")),
        defect("another", Sign("wiring", "a"), Sign("wiring", "b")),
        defect("of-a-part", Sign("wiring", "a"), Sign("structure", "beside")),
    )
    cell = record(
        key(name="2.14.0"), failed(Oracle.WIRING, "a; b"), failed(Oracle.STRUCTURE, "beside")
    )
    found = signature_of([cell], Known(table(), known), oracle=Oracle.WIRING)
    assert found is not None
    assert found[0].defect == ""
