"""What a run leaves for other tools, read by these tools: OSV's schema, junitparser, pandas.

`osv-schema.json` is `validation/schema.json` of github.com/ossf/osv-schema, under the Apache
License 2.0.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pyarrow.parquet as parquet
import pytest
from jsonschema import Draft202012Validator
from junitparser import Failure, JUnitXml

from harness.report.osv import osv_text
from harness.report.pages.junit import junit
from harness.toolchain.environment import PROJECT_ROOT
from harness.wire.oracles import Oracle
from tests.gate.test_defect_table import made

PUBLISHED = max((PROJECT_ROOT / "results" / "published").glob("*-all-releases"))
SCHEMA = json.loads(Path(__file__).with_name("osv-schema.json").read_text())


@pytest.fixture(scope="module")
def defects():
    return json.loads((PUBLISHED / "defects.json").read_text())


def test_every_record_of_todays_register_and_of_a_published_run_is_valid_by_osvs_own_schema(
    defects,
):
    validator = Draft202012Validator(SCHEMA)
    today = json.loads(osv_text(made(), datetime.now(UTC)))
    assert min(len(defects), len(today)) > 60
    wrong = [
        f"{each['id']}: {e.message}"
        for each in (*defects, *today)
        for e in validator.iter_errors(each)
    ]
    assert wrong == []


def test_junitparser_reads_as_many_cases_and_failures_as_there_are(red, planted, tmp_path):
    file = tmp_path / "junit.xml"
    told = [("one", "It <fails>", "2 cells", ""), ("two", "So does it", "no cell", "passes")]
    file.write_text(
        junit(
            red.plan, red.records, red.cases, red.subjects, red.classes, red.provenance,
            defects=told,
        )
    )  # fmt: skip
    read = JUnitXml.fromfile(str(file))
    suites = {suite.name: suite for suite in read}
    cases = [case for suite in suites.values() for case in suite]
    assert len(cases) == len(red.plan) + len(told)
    assert next(case.name for case in suites["defects"]) == "one: It <fails>"
    failures = [result for case in cases for result in case.result if isinstance(result, Failure)]
    assert {failure.message for failure in failures} == {f"wrong-values@run: {planted}", "passes"}
    assert (read.tests, read.failures) == (len(cases), len(failures))


def test_pandas_and_pyarrow_read_a_published_runs_records_and_count_what_its_summary_counts():
    summary = json.loads((PUBLISHED / "summary.json").read_text())
    frame = pd.read_parquet(PUBLISHED / "records.parquet")
    table = parquet.read_table(PUBLISHED / "records.parquet")
    assert table.num_rows == len(frame)
    place = ["case", "capture", "subject", "route", "lane", "builder", "executor", "environment"]
    cells = frame.drop_duplicates(place)
    assert len(cells) == summary["cells"]["ended"]
    ended = cells[cells["state"] == "ended"]
    assert len(cells) - len(ended) == summary["cells"]["unsupported"]
    assert set(frame["oracle"].dropna()) == set(map(str, Oracle))
