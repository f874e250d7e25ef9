"""What is silent and what is announced is said in one place, and so the same in every view."""

import csv
import dataclasses
import io

import pandas as pd
import pytest

from harness.report.frames.tables import Harms, harms_of
from harness.report.sections.version_csv import version_csv
from harness.report.sections.version_matrix import VERSIONS
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CellRecord
from harness.wire.routes import Lane
from tests.report.conftest import Run, full_run, verdicts
from tests.report.whole_packages import with_packages


def test_announced_wrong_numbers_are_not_silent_and_a_cosmetic_failure_is_no_harm():
    cells = pd.DataFrame(
        {"harm": ["silent", "warned", "warned", "error", "interface", "cosmetic", None]}
    )
    assert harms_of(cells) == Harms(silent=1, announced=2, error=1, interface=1)
    assert harms_of(cells[:0]) == Harms()


@pytest.fixture
def announcing() -> Run:
    """2.14.0's save(retrace=False) computes something else in one case, and warns of it."""
    run = with_packages(full_run())
    run.records = [_announced(record) for record in run.records]
    return run


def _announced(record: CellRecord) -> CellRecord:
    key = record.key
    if (key.case, key.subject, key.route) != ("one", "2.14.0", "no-retrace"):
        return record
    told = (
        dataclasses.replace(verdict, harm=Harm.WARNED) if verdict.failed else verdict
        for verdict in verdicts({Oracle.VALUES: "numbers differ"})
    )
    return dataclasses.replace(record, verdicts=tuple(told))


def test_the_version_matrix_and_the_first_screen_tell_alike_what_is_announced(announcing):
    model = announcing.model()
    (block,) = [block for block in model[VERSIONS] if block.lane is Lane.PACKAGE]
    old, new = block.rows
    assert (old.harms.silent, old.harms.announced) == (1, 0)
    assert (new.harms.silent, new.harms.announced) == (0, 1)
    told = {line.asked: line.answer for line in model.headline.answers}
    assert "1 silent before, now raised or warned of" in told["4 user calls"]
    rows = list(csv.DictReader(io.StringIO(version_csv(model[VERSIONS]))))
    (row,) = [row for row in rows if (row["lane"], row["release"]) == ("package", "2.14.0")]
    assert (row["silent"], row["announced"]) == ("0", "1")
