"""What each release gets wrong: counted from records, and true in `docs/standing.md`."""

import dataclasses
import json

from harness.report.sections.standing import HEADS, standing
from harness.toolchain.environment import PROJECT_ROOT
from harness.wire.oracles import Oracle
from harness.wire.records import CellKey, SubjectSpec
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import Reach, SubjectKind
from tests.marked_block import block
from tests.record_builders import failed, key, record

OLD = SubjectSpec("2.12.0", SubjectKind.RELEASE, (Route.LEGACY, Route.EXPORT))
SAME = dataclasses.replace(OLD, subject="2.13.0")
NEW = dataclasses.replace(OLD, subject="2.14.0", hypothetical_routes=("export",))
BUILTIN = SubjectSpec("positional", SubjectKind.BUILTIN, (Route.EXPORT,))


def product(_: CellKey) -> Reach:
    return Reach.PRODUCT


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("| 2")]


def test_each_failure_counts_as_what_a_user_meets():
    records = [
        record(key("a", "2.14.0", "legacy"), failed(Oracle.VALUES), failed(Oracle.METADATA)),
        record(key("b", "2.14.0", "legacy"), failed(Oracle.COMPLETION)),
        record(key("c", "2.14.0", "legacy"), failed(Oracle.METADATA)),
        record(key("d", "2.14.0", "legacy")),
    ]
    assert rows(standing(records, [NEW], product)) == [
        "| 2.14.0 | legacy | product | 1 of 4 | 1 | 0 | 1 | 1 |"
    ]


def test_handmade_splits_have_rows_of_their_own_behind_all_others():
    def reach_of(key: CellKey) -> Reach:
        return Reach.HANDMADE if key.case == "a" else Reach.EXPORTED

    records = [record(key(name, "2.14.0", "legacy")) for name in ("a", "b")]
    assert [row.split(" | ")[2] for row in rows(standing(records, [NEW], reach_of))] == [
        "exported",
        "handmade",
    ]


def test_neighbours_that_are_alike_share_a_row_and_builtin_inliners_have_none():
    records = [record(key("a", name, "legacy")) for name in ("2.12.0", "2.13.0", "positional")]
    text = standing(records, [OLD, SAME, NEW, BUILTIN], product)
    assert rows(text) == [
        "| 2.12.0 to 2.13.0 | legacy and export | product | 1 of 1 | 0 | 0 | 0 | 0 |",
        "| 2.14.0 | legacy | product | not asked | | | | |",
    ]


def test_a_package_has_a_table_of_its_own_call_by_call():
    inliner = record(key("a", "2.14.0", "legacy"), failed(Oracle.VALUES))
    saved = record(dataclasses.replace(key("a", "2.14.0", "no-retrace"), lane=Lane.PACKAGE))
    traced = record(
        dataclasses.replace(key("a", "2.14.0", "retrace"), lane=Lane.PACKAGE),
        failed(Oracle.COMPLETION),
    )
    graph, package = standing([inliner, saved, traced], [NEW], product).split("\n\n")[:2]
    assert rows(graph) == ["| 2.14.0 | legacy | product | 0 of 1 | 1 | 0 | 0 | 0 |"]
    assert rows(package) == [
        "| 2.14.0 | `save(retrace=False)` | 1 of 1 | 0 | 0 | 0 | 0 |",
        "| 2.14.0 | `save(m, f)` | 0 of 1 | 0 | 0 | 1 | 0 |",
    ]
    alone = standing([saved], [OLD, NEW], product)
    assert alone.startswith(HEADS[Lane.PACKAGE][0])
    assert len(rows(alone)) == 1


def test_packages_stand_in_one_order_whatever_ended_first():
    mine = dataclasses.replace(key("a", "2.14.0", "retrace"), lane=Lane.PACKAGE)
    found = [
        record(dataclasses.replace(mine, builder=builder))
        for builder in ("tensorrt-rtx-1.6.1.120", "segment", "tensorrt-rtx-1.4.0.76")
    ]
    one, other = (standing(each, [NEW], product) for each in (found, found[::-1]))
    assert one == other
    assert rows(one)[0].startswith("| 2.14.0 to 2.14.0 tensorrt-rtx-1.6.1.120 |")


def test_the_page_on_the_standing_holds_the_table_of_the_newest_published_run():
    runs = (PROJECT_ROOT / "results" / "published").glob("*/standing.md")
    newest = max(
        runs, key=lambda path: json.loads((path.parent / "run.json").read_text())["run_id"]
    )
    table = block((PROJECT_ROOT / "docs/standing.md").read_text(), "standing")
    assert table.strip() == newest.read_text().strip()
    assert table.strip().startswith(HEADS[Lane.GRAPH][0])
