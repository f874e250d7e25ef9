"""Writing: every form of the report, each whole or not at all."""

import json

import pytest

from harness.base.errors import SurroundingsError
from harness.report.model import ReportModel
from harness.report.write import write_report
from tests.gate.test_defect_table import made

NAMES = ["cells", "verdicts", "timings", "matrix", "summary", "defects"]
FILES = [
    "report.html", "report.md", "latency.svg",
    "version-matrix.csv", "version-matrix.svg",
    *(f"frames/{name}.{kind}" for name in NAMES for kind in ("csv", "parquet")),
    "version-matrix.png",
]  # fmt: skip


def test_every_form_is_written_and_nothing_else_is_left(model, tmp_path):
    written = write_report(tmp_path, model)
    assert [str(path.relative_to(tmp_path)) for path in written] == FILES
    left = (path for path in tmp_path.rglob("*") if path.is_file())
    assert sorted(str(path.relative_to(tmp_path)) for path in left) == sorted(FILES)
    assert all(path.stat().st_size for path in written)


def test_a_run_of_known_cases_has_the_register_as_records_and_as_a_picture(run, tmp_path):
    run.provenance = {"started_at": "2026-01-02T03:04:05+02:00"}
    known = ReportModel(run.reported(defect_table=made()))
    written = {path.name for path in write_report(tmp_path, known)}
    assert {"defects.json", "defects.png"} <= written
    assert len(json.loads((tmp_path / "defects.json").read_text())) == len(made().rows)
    records = json.loads((tmp_path / "defects.json").read_text())
    assert {each["modified"] for each in records} == {"2026-01-02T01:04:05Z"}, (
        "a report that is written again has other bytes"
    )


def test_a_folder_that_cannot_be_written_is_told_in_words(model, tmp_path):
    with pytest.raises(SurroundingsError, match="cannot write"):
        write_report(tmp_path / "absent", model)


def test_an_unasked_and_an_empty_run_are_written_too(run, tmp_path):
    run.unsupported("no wheel")
    run.gate = "inconclusive"
    assert len(write_report(tmp_path, run.model())) == len(FILES)
    assert len(write_report(tmp_path, type(run)(gate="inconclusive").model())) == len(FILES)
