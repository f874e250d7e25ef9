"""The table of defects by releases says what register and expected table say, and no more."""

import functools

import pytest

from harness.catalogue.releases import load_catalogue
from harness.gate.defect_table import (
    ABSENT,
    HIDDEN,
    NOT_ASKED,
    DefectTable,
    Part,
    defect_table,
    own_torch_in_cases,
    own_torch_words,
)
from harness.register.expected import read_expectations
from harness.register.standing import Standings, State
from harness.wire.oracles import Harm, Oracle
from harness.wire.vocabulary import Reach
from tests.record_builders import case, defect, entry, register
from tests.record_builders import table as expected_table

NEWEST = "2.14.0"


@functools.cache
def standings() -> Standings:
    known = read_expectations()
    return Standings(known.register, known.table)


def made(newest: str = NEWEST, reach: Reach = Reach.PRODUCT) -> DefectTable:
    inliners = {release.version: release.inliner_id for release in load_catalogue().releases}
    return defect_table(standings(), newest, inliners, lambda key: reach, {})


@pytest.fixture(scope="module")
def table():
    return made()


def test_every_defect_has_one_row_in_one_part(table):
    names = [row.defect.id for part in Part for row in table.of(part)]
    assert sorted(names) == sorted(standings().register.by_id)


def test_in_each_part_the_worst_harm_stands_first_and_of_what_is_gone_the_latest_fix(table):
    assert [row.part for row in table.rows] == [row.part for part in Part for row in table.of(part)]
    for part in (Part.PRODUCT, Part.EXPORTED, Part.HANDMADE):
        harms = [row.severity for row in table.of(part)]
        assert harms == sorted(harms)
    gone = [
        max(n for n, each in enumerate(row.standings) if each.state is State.SHOWN)
        for row in table.of(Part.GONE)
        if any(each.state is State.SHOWN for each in row.standings)
    ]
    assert gone == sorted(gone, reverse=True)
    assert len(set(gone)) > 1


def test_releases_of_one_inliner_share_a_column(table):
    assert len(table.columns) == 8
    assert ("2.7.0", "2.8.0", "2.9.0", "2.10.0") in [each.releases for each in table.columns]
    assert table.releases == standings().releases


def test_a_mark_is_what_the_worst_release_of_its_column_shows(table):
    states = {ABSENT: State.ABSENT, NOT_ASKED: State.NOT_ASKED}
    for row in table.rows:
        for column, mark in zip(table.columns, row.marks, strict=True):
            of = {name: standings().of(row.defect.id, name) for name in column.releases}
            having = mark.only or [name for name in of if of[name].state is not State.NOT_ASKED]
            for name in having if mark.tone != NOT_ASKED else of:
                if mark.tone == HIDDEN:
                    assert of[name].state is State.HIDDEN or of[name].broken_by
                else:
                    shown = states.get(mark.tone, State.SHOWN)
                    assert of[name].state is shown, (row.defect.id, name)
            if mark.tone in list(Harm):
                worst = min(Harm(each.harm).severity for each in of.values() if each.harm)
                assert Harm(mark.tone).severity == worst


def test_a_mark_that_holds_for_some_releases_of_its_column_names_them(table):
    (row,) = [row for row in table.rows if row.defect.id == "shared-views-copied"]
    (mark,) = [mark for mark in row.marks if mark.only]
    assert mark.only == ("2.7.0",)
    assert row.shown_in == ("2.7.0",)


def test_an_older_newest_release_leaves_out_what_came_later(table):
    old = made("2.13.0")
    assert old.columns == table.columns[:-1]
    gone = {row.defect.id for row in table.of(Part.GONE)}
    back = {row.defect.id for row in old.of(Part.PRODUCT)} & gone
    assert "names-differ-by-a-dot" in back, back  # what 2.14.0 mended is alive in 2.13.0


def test_who_makes_the_splits_decides_the_part_of_what_is_alive():
    by_hand = made(reach=Reach.HANDMADE)
    alive = [row for row in by_hand.rows if row.last == NEWEST and row.part is Part.HANDMADE]
    assert alive
    assert not by_hand.of(Part.EXPORTED)
    # A cell of a whole package is the product's, whoever makes the split of the graph lane.
    assert by_hand.of(Part.PRODUCT)


def test_a_defect_that_no_cell_shows_is_in_a_part_of_its_own(table):
    unseen = {row.defect.id for row in table.of(Part.UNSEEN)}
    assert unseen == {row.defect.id for row in table.rows if row.defect.not_visible}
    assert not any(row.shown_in for row in table.of(Part.UNSEEN))


def test_calls_are_those_of_the_newest_release_that_shows_it(table):
    (row,) = [row for row in table.rows if row.defect.id == "strided-cache-copied"]
    assert row.calls == ("compile",)
    assert row.last == NEWEST


def by_call(name: str) -> dict[str, str]:
    """What each call makes of a defect's cases, which are asked of the graph lane alone here."""
    known = standings()
    shown = known.shown_by(name, NEWEST)
    cases = {entry.place.case: case(entry.place.case) for entry in shown}
    table = defect_table(known, NEWEST, {}, lambda key: Reach.PRODUCT, cases)
    return dict(next(row for row in table.rows if row.defect.id == name).by_call)


def test_a_call_that_does_not_meet_a_defect_is_right_or_meets_others():
    assert by_call("rows-for-outputs") == {
        "compile": NOT_ASKED,  # of the package lane
        "save(m, f)": ABSENT,
        "save(dynamic_shapes)": "error",
        "save(retrace=False)": "error",
        "save(retrace=False, use_legacy_exporter=False)": "error",
        "save(torch.export.export(m), f)": NOT_ASKED,
        "cross_compile": NOT_ASKED,
        "torch.compile": NOT_ASKED,
    }


def test_a_save_of_what_compile_returns_in_another_form_has_that_form_too():
    tones = by_call("tuple-for-a-tensor")
    assert tones["compile"] == "interface"
    assert ABSENT not in tones.values()


def test_no_way_to_save_is_right_for_what_compile_gets_wrong():
    tones = by_call("strided-cache-copied")
    assert tones.pop("compile") == "silent"
    assert set(tones.values()) == {NOT_ASKED}


def test_a_mark_names_the_releases_that_have_it_where_the_register_frees_the_others(table):
    (row,) = [row for row in table.rows if row.defect.id == "rtx-dtype-setter"]
    assert [mark.only for mark in row.marks if mark.tone == "error"] == [("2.12.0", "2.12.1")]


def test_where_all_cells_of_a_defect_fail_by_others_its_absence_is_not_told_as_right(table):
    (row,) = [row for row in table.rows if row.defect.id == "strided-cache-copied"]
    # Up to 2.13.0 every cache is taken for a constant, this one too.
    assert [mark.tone for mark in row.marks[-4:]] == [HIDDEN, HIDDEN, HIDDEN, "silent"]
    assert row.marks[-2].behind
    (fixed,) = [row for row in table.rows if row.defect.id == "names-differ-by-a-dot"]
    assert fixed.marks[-1].tone == ABSENT


def test_a_way_to_save_what_compile_gets_wrong_does_not_show_that_a_defect_is_not_there(table):
    (row,) = [row for row in table.rows if row.defect.id == "copy-back-as-output"]
    # Up to 2.13.0 compile makes a constant of the state, so nothing is saved that could show it.
    assert [mark.tone for mark in row.marks[-3:]] == [HIDDEN, HIDDEN, "warned"]


THERE = "torch-2.14"
SILENT_HERE = entry(harm="silent", subjects=("2.14.0",))
GONE_THERE = entry(harm="silent", subjects=("2.14.0",), environment=THERE, removed=True)
RAISES_THERE = entry(Oracle.COMPLETION, harm="error", subjects=("2.14.0",), environment=THERE)
OTHER_CASE = entry(harm="silent", subjects=("2.14.0",), case="b")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([SILENT_HERE, GONE_THERE], "not with torch 2.14.0, which 2.14.0 pins"),
        (
            [SILENT_HERE, GONE_THERE, RAISES_THERE],
            "an error with torch 2.14.0, which 2.14.0 pins",
        ),
        ([SILENT_HERE, GONE_THERE, OTHER_CASE], ""),
        ([SILENT_HERE, RAISES_THERE], ""),
        ([SILENT_HERE], ""),
    ],
    ids=["gone", "raises", "gone-in-one-of-two-cases", "as-silent", "nobody-asked"],
)
def test_what_does_less_harm_with_the_torch_that_a_release_pins_says_so(rows, says):
    known = Standings(register(defect()), expected_table(*rows))
    shown = known.of("known", "2.14.0")
    assert own_torch_words(known, shown, {"2.14.0": "2.14.0"}) == says
    assert own_torch_words(known, shown, {}) == ""


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            [SILENT_HERE, GONE_THERE],
            "in no case of this project with torch 2.14.0, which 2.14.0 pins",
        ),
        (
            [SILENT_HERE, GONE_THERE, RAISES_THERE],
            "in this project's cases at most an error with torch 2.14.0, which 2.14.0 pins",
        ),
        ([SILENT_HERE, RAISES_THERE], ""),
    ],
    ids=["gone", "raises", "as-silent"],
)
def test_of_a_users_model_the_torch_that_a_release_pins_is_told_as_what_cases_show(rows, says):
    known = Standings(register(defect()), expected_table(*rows))
    shown = known.of("known", "2.14.0")
    assert own_torch_in_cases(known, shown, {"2.14.0": "2.14.0"}) == says


def test_a_save_meets_what_compile_makes_wrong_unless_the_register_says_that_it_avoids_it(table):
    rows = {row.defect.id: row for row in table.rows}
    cache = rows["buffers-folded"]
    assert cache.calls == ("compile",)
    assert {"compile", "save(m, f)", "save(retrace=False)"} <= set(cache.met_by)
    in_memory = rows["copy-back-in-memory"]
    assert "compile" in in_memory.met_by
    assert not {"save(m, f)", "save(retrace=False)"} & set(in_memory.met_by)
    assert by_call("copy-back-in-memory")["save(m, f)"] != "silent"


def test_a_release_with_its_own_version_of_tensorrt_rtx_answers_what_another_version_shows():
    known = standings()
    rows = {row.defect.id: row for row in made().rows}
    assert rows["slice-without-an-end"].marks[-2].tone == ABSENT  # 2.13.0, which brings 1.5.0
    assert known.of("slice-without-an-end", "2.12.0").state is State.NOT_ASKED  # nobody asked
