"""summary.json: exactly these fields, and sums that come out."""

import dataclasses
import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from harness.gate.judge import judge
from harness.gate.shown_defects import DefectShown
from harness.gate.summary import summarise
from harness.runs.costs import Cost
from harness.runs.plan import PlannedCell, make_plan
from harness.toolchain.environment import PROJECT_ROOT
from harness.wire.oracles import Oracle
from harness.wire.records import CellRecord
from tests.record_builders import (
    Row,
    by_id,
    case,
    entry,
    failed,
    key,
    provenance,
    record,
    stopped,
    subject,
    table,
    unsupported,
)

CASES = [case("a", "one"), case("b", "one"), case("c", "two")]
OLD = subject("2.13.0", "legacy", "export", torch_pinned="2.13.0", tensorrt_pinned="11.0")
SAME = subject("2.13.1", "export", inliner_id="id of 2.13.0", hypothetical_routes=("export",))
SUBJECTS = [OLD, SAME]
DEFECT = DefectShown("d", "It is lost", "silent", "product", ("legacy",), 2, {"2.13.0": 2})
PLAN = make_plan(CASES, SUBJECTS, ["nonstrict"])


def summary(
    records: dict[str, CellRecord],
    *rows: Row,
    spent: Cost | None = None,
    plan: Sequence[PlannedCell] = PLAN,
) -> dict:
    return summarise(
        state="complete",
        report=judge(plan, records, table(*rows), SUBJECTS),
        plan=plan,
        records=records,
        cases=[*CASES, case("not-planned", "three")],
        provenance=provenance(*SUBJECTS),
        defects=[DEFECT],
        wall_s=12.5,
        spent=spent,
        controller_peak_bytes=2**20,
    )


COUNTED = ("by_verdict", "releases")


def shape(data: object) -> object:
    """The keys of an object and of what is in it, but for those that are names of what was seen."""
    if isinstance(data, list):
        return shape(data[0])
    if not isinstance(data, dict):
        return None
    return {key: shape(value) for key, value in data.items() if key not in COUNTED}


def test_its_fields_are_those_of_the_published_runs_and_no_others():
    made = summary({})
    published = sorted((PROJECT_ROOT / "results" / "published").glob("*-all-releases"))[-1]
    told = json.loads((published / "summary.json").read_text())
    kept = told.pop("kept", {})  # which a run has that took cells from earlier ones
    assert kept.keys() <= {"cells", "runs", "asked_again"}
    assert shape(made) == shape(told)
    assert json.loads(json.dumps(made)) == made


def test_it_says_what_a_run_showed():
    records = by_id(
        record(key("a", "2.13.0", "legacy"), failed(Oracle.VALUES), failed(Oracle.METADATA)),
        record(key("b", "2.13.0", "legacy")),
        record(key("c", "2.13.0", "legacy"), failed(Oracle.SIGNATURE)),
        unsupported(key("a", "2.13.0", "export")),
        record(key("b", "2.13.0", "export")),
        record(key("a", "2.13.1", "export")),
        stopped(key("b", "2.13.1", "export")),
    )
    listed = entry(Oracle.SIGNATURE, case="c", route="legacy")
    passes = entry(Oracle.WIRING, case="b", route="legacy")
    made = summary(records, listed, passes)
    assert made["cells"] == {
        "planned": 9,
        "ok": 2,
        "expected_failure": 2,  # the listed one, and one that no user can reach
        "unexpected_failure": 1,
        "unexpected_pass": 1,
        "unsupported": 1,
        "missing": 2,
        "ended": 7,
    }
    assert (made["cases"], made["families"], made["gate"]) == (3, 2, "failed")
    legacy, export, same = made["inliners"]
    assert legacy["by_verdict"] == {"ok": 1, "wrong-signature@run": 1, "wrong-values@run": 1}
    assert export["by_verdict"] == {"missing": 1, "ok": 1, "unsupported": 1}
    assert same["by_verdict"] == {"error@clean": 1, "missing": 1, "ok": 1}
    assert (same["measured_as"], same["hypothetical"], same["release"]) == (
        "2.13.0",
        True,
        "2.13.1",
    )
    assert legacy["torch"] == {"pinned": "2.13.0", "running": "2.13.0"}
    assert legacy["tensorrt"] == {"pinned": "11.0", "running": None}


def test_seconds_count_what_was_spent_once():
    spent = {"capture": 2.0, "split": 1.0, "save": 0.5}
    records = by_id(
        record(key("a", "2.13.0", "legacy"), seconds=spent),
        record(key("a", "2.13.0", "export"), seconds=spent),
        record(key("a", "2.13.1", "export"), seconds=spent),  # a copy
        record(key("b", "2.13.0", "export"), seconds=spent),
    )
    seconds = summary(records)["seconds"]
    assert (seconds["wall"], seconds["capture"], seconds["split"]) == (12.5, 4.0, 2.0)
    assert (seconds["save"], seconds["load"]) == (1.5, 0.0)


def test_each_environment_captures_by_itself():
    def there(cell: PlannedCell) -> PlannedCell:
        return dataclasses.replace(
            cell, key=dataclasses.replace(cell.key, environment="torch-2.13.0")
        )

    plan = [*PLAN, *map(there, PLAN)]
    records = by_id(
        *(record(cell.key, seconds={"capture": 2.0}) for cell in plan if cell.key.case == "a")
    )
    assert summary(records, plan=plan)["seconds"]["capture"] == 4.0


def test_the_share_of_stages_is_of_what_workers_spent_and_null_where_they_told_nothing():
    copies = by_id(*(record(cell.key, seconds={"save": 100.0}) for cell in PLAN))
    seconds = summary(copies, spent=Cost(worker_s=20.0, stages_s=16.0))["seconds"]
    assert (seconds["workers"], seconds["in_stages"], seconds["stage_share"]) == (20.0, 16.0, 0.8)
    untold = summary(copies)["seconds"]
    assert [untold[name] for name in ("workers", "in_stages", "stage_share")] == [None] * 3


verdicts = st.sampled_from([*Oracle]).map(failed)
ended = st.sampled_from(PLAN).flatmap(
    lambda cell: st.one_of(
        st.just(unsupported(cell.key)),
        st.lists(verdicts, max_size=2).map(lambda found: record(cell.key, *found)),
    )
)


@given(st.lists(ended).map(lambda records: by_id(*records)))
def test_the_classes_partition_the_plan_and_each_row_sums_to_its_cells(records):
    made = summary(records, *(entry(case=name) for name in "abc"))
    cells = made["cells"]
    parts = [count for name, count in cells.items() if name not in ("planned", "ended")]
    assert sum(parts) == cells["planned"] == len(PLAN)
    assert cells["ended"] == cells["planned"] - cells["missing"]
    assert sum(row["cells"] for row in made["inliners"]) == len(PLAN)
    for row in made["inliners"]:
        assert sum(row["by_verdict"].values()) == row["cells"]
        assert row["ok"] == row["by_verdict"].get("ok", 0)


def test_memory_is_each_worker_s_most_summed_and_null_where_none_told():
    told = Cost(1.0, 1.0, {"7": 300}) + Cost(1.0, 1.0, {"7": 500}) + Cost(1.0, 1.0, {"8": 100})
    assert summary({}, spent=told)["memory"] == {
        "workers_peak_bytes": 600,
        "controller_peak_bytes": 2**20,
    }
    assert summary({}, spent=Cost(1.0, 1.0))["memory"]["workers_peak_bytes"] is None


def test_cells_that_were_kept_are_counted_apart_by_the_run_that_asked_them():
    run_here, *kept = (record(cell.key) for cell in PLAN[:4])
    runs = ("earlier", "earlier", "first")
    kept = [dataclasses.replace(each, kept_from=run) for each, run in zip(kept, runs, strict=True)]
    told = summary(by_id(run_here, *kept))["kept"]
    assert told == {"cells": 3, "runs": {"earlier": 2, "first": 1}, "asked_again": 0}
    assert "kept" not in summary(by_id(run_here))
