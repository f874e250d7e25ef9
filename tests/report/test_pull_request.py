"""A pull request's run in one comment: new, mended, broken at the base and flaky told apart."""

import pytest
from markdown_it import MarkdownIt

from harness.gate.judge import judge
from harness.register.defects import Sign
from harness.register.expected import Expectations
from harness.register.where import functions_in, lines_of, where_in
from harness.report.annotations import MOST, annotated, changed_lines
from harness.report.pages.comment_page import LIMIT_BYTES, comment, headline, not_judged
from harness.report.pull_request import PullRequest, told_of
from harness.runs.plan import PlannedCell
from harness.wire.oracles import Harm, Oracle, Symptom
from harness.wire.records import CellRecord, Verdict
from harness.wire.vocabulary import Outcome, Reach, Stage, SubjectKind
from tests.record_builders import (
    RELEASES,
    by_id,
    defect,
    entry,
    key,
    record,
    register,
    stopped,
    subject,
    table,
    unsupported,
)

MINE, BASE = "checkout:1", "base:2"
SPECS = (
    subject(BASE, kind=SubjectKind.BASE),
    subject(MINE, kind=SubjectKind.FILE, held_against=BASE),
)
OLD = defect("old", Sign("completion", "old boom"), title="Save raises")
OTHER = defect("other", Sign("completion", "other boom"), title="Load raises")
KNOWN = Expectations(
    register(OLD, OTHER),
    table(entry(Oracle.COMPLETION, "old boom", defect="old", subjects=RELEASES)),
)
NEAR = {MINE: "2.14.0", BASE: "2.14.0"}
WRONG = Verdict(
    Oracle.VALUES, Outcome.FAILED, Symptom.WRONG_VALUES, Stage.RUN, "numbers differ",
    harm=Harm.SILENT,
)  # fmt: skip


def told(*records: CellRecord, again: tuple[CellRecord, ...] = (), reach=Reach.PRODUCT):
    plan = [PlannedCell(each.key, False, each.key.subject) for each in records]
    report = judge(
        plan, by_id(*records), KNOWN.table, SPECS, {MINE: BASE}, (), KNOWN.register
    )  # fmt: skip
    return told_of(
        MINE, BASE, by_id(*records), report.findings, KNOWN, NEAR, lambda _: reach, by_id(*again)
    )


def both(case: str, *mine: Verdict, base: tuple[Verdict, ...] = ()) -> tuple[CellRecord, ...]:
    return record(key(case, BASE), *base), record(key(case, MINE), *mine)


def test_a_change_that_changes_nothing_says_that_there_is_nothing_to_do():
    text = comment(told(*both("a")))
    assert text.splitlines()[0] == "### ✓ Nothing got worse in 1 cell"
    assert "There is nothing to do." in text


def test_what_does_more_harm_is_new_and_says_who_meets_it_and_how_to_see_it():
    found = told(*both("a", WRONG), *both("b", WRONG), *both("c"))
    (kind,) = found.new
    assert (kind.title, kind.harm, kind.cases) == (
        "wrong numbers in a call",
        Harm.SILENT,
        ("a", "b"),
    )
    text = comment(found, commit="0123456789abcdef")
    assert text.splitlines()[0] == "### ✗ 2 cells of 3 compared get worse by this change"
    assert "**silently wrong**" in text
    assert "models that are compiled" in text
    assert "-k a`" in text
    assert "Commit `0123456789`." in text
    assert "There is nothing to do." not in text


def test_what_is_red_and_does_no_more_harm_is_told_apart():
    found = told(stopped(key(name=BASE), "one"), stopped(key(name=MINE), "two"))
    assert not found.new
    assert [kind.title for kind in found.otherwise] == ["an error in inlining: two"]
    assert headline(found).startswith(
        "Nothing does more harm; 1 cell of 1 compared fails otherwise"
    )


def test_a_mended_defect_and_one_of_the_base_are_told_by_their_titles():
    found = told(
        stopped(key("a", BASE), "old boom", Stage.RUN), record(key("a", MINE)),
        stopped(key("b", BASE), "other boom", Stage.RUN),
        stopped(key("b", MINE), "other boom", Stage.RUN),
    )  # fmt: skip
    assert [each.title for each in found.mended] == ["Save raises"]
    assert [each.title for each in found.at_base] == ["Load raises"]
    text = comment(found)
    assert text.startswith("### ✓ Nothing got worse in 2 cells, and 1 known defect mended")
    assert "**Mended:** Save raises." in text
    assert text.index("**Mended:**") < text.index("Broken at the merge base too")


def test_a_new_failure_that_bears_a_defects_signs_is_told_as_that_defect():
    found = told(record(key("b", BASE)), stopped(key("b", MINE), "other boom", Stage.RUN))
    (kind,) = found.new
    assert (kind.defect, kind.title, kind.where) == ("other", "Load raises", OTHER.where)


def test_a_cell_that_ends_otherwise_when_it_is_asked_again_is_flaky_and_not_new():
    records = both("a", WRONG)
    same = told(*records, again=records)
    assert same.new
    assert not same.flaky
    found = told(*records, again=(record(key("a", MINE)),))
    assert not found.new
    ((place, why),) = found.flaky
    assert place.case == "a"
    assert why == f"{MINE}: first wrong-values@run, then ok"
    assert "Flaky, and not counted: 1 cell" in comment(found)
    assert comment(found).startswith("### ? Nothing got worse beyond doubt")


def test_a_cell_that_its_worker_did_not_survive_alike_twice_is_flaky():
    flaky = Verdict(
        Oracle.COMPLETION, Outcome.FAILED, Symptom.FLAKY, Stage.RUN, "killed, then ok",
        harm=Harm.ERROR,
    )  # fmt: skip
    found = told(*both("a", flaky))
    assert not found.new
    assert [why for _, why in found.flaky] == [f"{MINE}: killed, then ok"]


def test_what_could_not_be_asked_is_told_and_is_not_green():
    found = told(record(key(name=BASE)), unsupported(key(name=MINE), "no runtime"))
    assert comment(found).startswith("### ? 1 cell could not be asked")
    assert "no runtime" in comment(found)


def many(count: int, said: str) -> PullRequest:
    """So many kinds of new errors, of the base's, and of flaky cells."""
    records = []
    for number in range(count):
        name = f"{said}{number}"
        records += [record(key(f"n{number}", BASE)), stopped(key(f"n{number}", MINE), name)]
        records += [stopped(key(f"b{number}", who), f"also {name}") for who in (BASE, MINE)]
    return told(*records)


def test_the_comment_fits_however_much_there_is_to_tell_and_says_what_it_left_out():
    text = comment(many(400, "é" * 10_000))
    assert len(text.encode()) <= LIMIT_BYTES
    assert "more kinds, in the report" in text
    assert text.startswith("### ✗ 400 cells of 800 compared")


@pytest.mark.parametrize("length", [1, 10_000])
def test_nothing_that_a_failure_says_has_a_meaning_in_the_comment(length):
    said = "<script>alert(1)</script> | `x` *y* [z](http://w) </details>\x00\x1b[31m\n# no" * length
    for text in (comment(many(2, said)), not_judged(f"error: {said}", 2)):
        shown = MarkdownIt("gfm-like", {"linkify": False}).render(text)
        assert "<script" not in shown
        assert 'href="http' not in shown
        assert "<em>" not in shown
        assert shown.count("<h1>") == 0
        assert shown.count("<details>") == shown.count("</details>") == text.count("<details>")
        assert not {"\x00", "\x1b"} & {*text}


def test_a_run_without_a_verdict_tells_its_error_and_no_more():
    text = not_judged("1/9 cells ended\nerror: f.py, line 3: not valid Python; correct it\n", 2)
    assert text.splitlines()[:3] == [
        "### ? This pull request could not be judged", "",
        "`f.py, line 3: not valid Python; correct it`",
    ]  # fmt: skip
    assert "wrong use" in text
    assert "`last words`" in not_judged("first\nlast words", 4)


BEFORE = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"
NOW = "def one():\n    return 1\n\n\ndef two():\n    x = 3\n    return x\n"


def test_changed_lines_are_those_that_are_new_and_the_one_behind_what_was_left_out():
    assert changed_lines(BEFORE, NOW) == [6, 7]
    assert changed_lines(NOW, NOW) == []
    assert changed_lines("a\nb\nc\n", "a\nc\n") == [2]
    assert changed_lines("a\nb\n", "a\n") == [1]
    assert changed_lines("", "a\n") == [1]


def test_a_defect_annotates_the_changed_lines_of_the_function_that_it_names():
    found = told(record(key("b", BASE)), stopped(key("b", MINE), "other boom", Stage.RUN))
    (kind,) = found.new
    for where, places in (
        ("two (dynamo/f.py:1)", ["py/torch_tensorrt/dynamo/f.py:6-7"]),
        ("one (dynamo/f.py:1)", []),
        ("two (dynamo/g.py:1)", []),
        ("not in a wheel: two", []),
    ):
        named = [type(kind)(**{**vars(kind), "where": (where,)})]
        sources = (
            {"dynamo/f.py": BEFORE, "dynamo/h.py": ""},
            {"dynamo/f.py": NOW, "dynamo/h.py": "x"},
        )
        assert [each.place for each in annotated(named, *sources)] == places, where


def test_what_names_no_changed_function_stands_at_the_first_change_of_the_one_changed_file():
    (kind,) = told(*both("a", WRONG)).new
    (one,) = annotated([kind], {"f.py": BEFORE}, {"f.py": NOW})
    assert one.place == "py/torch_tensorrt/f.py:6-7"
    assert one.command == (
        "::warning file=py/torch_tensorrt/f.py,line=6,endLine=7,title=Since this change silently "
        "wrong::wrong numbers in a call (1 cell, such as a by "
        "save(retrace=False, use_legacy_exporter=False))"
    )


def test_an_annotation_cannot_begin_another_command_and_there_are_ten_at_most():
    kinds = many(20, "boom\n::error::x %0A, ").new
    found = annotated(kinds, {"f.py": BEFORE}, {"f.py": NOW})
    assert len(found) == MOST
    assert all("\n" not in each.command for each in found)
    assert all("%250A" in each.command for each in found)


def test_a_place_is_read_from_the_register_and_from_what_was_raised():
    assert where_in("A.f (dynamo/x.py:3, 2.14.0)").release == "2.14.0"
    assert where_in("f (torch_tensorrt/dynamo/x.py:3): raise E(a: b)").file == "dynamo/x.py"
    assert where_in("f somewhere") is None
    source = "class A:\n    @x\n    def f(self):\n        pass\n"
    assert functions_in(source) == [("A", 1, 4), ("A.f", 2, 4)]
    assert lines_of("f", source) == lines_of("A.f", source) == [(2, 4)]
    assert lines_of("g", source) == []
