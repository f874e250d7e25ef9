"""The gate: green means that every planned cell ended exactly as expected."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import ExitCode, UsageError
from harness.catalogue.environments import matched_name
from harness.gate.findings import exit_code, mistakes
from harness.gate.judge import CellClass, Finding, Gate, GateReport, first_screen, judge
from harness.register.absorb import absorb
from harness.register.facts import UNSUPPORTED
from harness.register.faults import Fault
from harness.register.table import ALL, Table
from harness.runs.commands import Places, explain_command
from harness.wire.builders import Builder
from harness.wire.oracles import Harm, Oracle, Symptom, gates
from harness.wire.record_json import TOO_OLD
from harness.wire.records import CellKey, CellRecord, SubjectSpec, Verdict, not_applicable, passed
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import CellState, Stage, SubjectKind
from tests.record_builders import (
    Row,
    by_id,
    defect,
    entry,
    failed,
    key,
    planned,
    record,
    register,
    stopped,
    subject,
    table,
    unsupported,
)


def judged(
    *records: CellRecord, rows: tuple[Row, ...] = (), faults: tuple[Fault, ...] = ()
) -> GateReport:
    """Judge records as a run whose plan is exactly they."""
    plan = [planned(each.key, each.hypothetical) for each in records]
    expected = table(*rows)
    return judge(plan, by_id(*records), expected, [subject("2.13.0")], faults=faults)


def the_finding(report: GateReport) -> Finding:
    (finding,) = report.findings
    return finding


def the_class(report: GateReport) -> CellClass:
    (cell_class,) = report.classes.values()
    return cell_class


def test_cells_that_pass_or_were_rightly_not_asked_are_green():
    plain = key(name="torch", route="plain")
    report = judged(record(plain, not_applicable(Oracle.WIRING, "no engines")))
    assert (report.gate, the_class(report), report.findings) == (Gate.GREEN, CellClass.OK, ())


def test_an_unlisted_failure_is_red_and_says_what_was_seen():
    report = judged(record(key(), failed(Oracle.VALUES, "output 0 differs")))
    finding = the_finding(report)
    assert (report.gate, the_class(report)) == (Gate.RED, CellClass.UNEXPECTED_FAILURE)
    assert (finding.case, finding.subject, finding.route) == ("a", "2.13.0", "export")
    assert (finding.oracle, finding.defects) == (Oracle.VALUES, ())
    assert finding.reason == "not expected: wrong-values@run: output 0 differs"


def test_an_entry_excuses_one_oracle_and_not_the_cell():
    both = record(key(), failed(Oracle.VALUES), failed(Oracle.METADATA))
    report = judged(both, rows=(entry(Oracle.METADATA),))
    assert (report.gate, the_finding(report).oracle) == (Gate.RED, Oracle.VALUES)


@pytest.mark.parametrize(
    "seen",
    [
        failed(Oracle.VALUES, "boom!"),
        failed(Oracle.VALUES, stage=Stage.LOAD),
        dataclasses.replace(failed(Oracle.VALUES), symptom=Symptom.FLAKY),
    ],
)
def test_another_failure_than_the_listed_one_is_red_and_both_are_named(seen):
    report = judged(record(key(), seen), rows=(entry(),))
    finding = the_finding(report)
    assert (report.gate, finding.cell_class) == (Gate.RED, CellClass.UNEXPECTED_FAILURE)
    assert "expected values wrong-values@run: boom (known)" in finding.reason
    assert f"not expected: {seen.label}: {seen.message}" in finding.reason
    assert finding.defects == ("known",)


def test_a_listed_failure_that_passes_is_red():
    report = judged(record(key()), rows=(entry(),))
    finding = the_finding(report)
    assert (report.gate, the_class(report)) == (Gate.RED, CellClass.UNEXPECTED_PASS)
    assert finding.reason == "passes, but expected values wrong-values@run: boom (known)"


@pytest.mark.parametrize("oracle", [o for o in Oracle if o is not Oracle.COMPLETION])
def test_an_oracle_that_was_not_asked_of_a_cell_that_completed_is_red(oracle):
    report = judged(record(key(), not_applicable(oracle, "not readable: a cond")))
    assert (report.gate, the_class(report)) == (Gate.RED, CellClass.UNEXPECTED_FAILURE)
    assert the_finding(report).reason == "completed, but was not asked: not readable: a cond"


@pytest.mark.parametrize("oracle", list(Oracle))
def test_a_record_without_a_verdict_of_some_oracle_counts_as_missing(oracle):
    made = record(key())
    rest = tuple(each for each in made.verdicts if each.oracle is not oracle)
    report = judged(dataclasses.replace(made, verdicts=rest))
    assert (report.gate, the_class(report)) == (Gate.FAILED, CellClass.MISSING)


def test_a_listed_failure_that_was_not_asked_is_red():
    made = record(key(), not_applicable(Oracle.VALUES, "no reference"))
    report = judged(made, rows=(entry(),))
    assert (report.gate, the_class(report)) == (Gate.RED, CellClass.UNEXPECTED_PASS)
    assert "but was not asked: no" in the_finding(report).reason


def test_each_finding_of_a_verdict_has_a_row_of_its_own():
    both = record(key(), failed(Oracle.VALUES, "bang; boom"))
    rows = entry(says="boom"), entry(says="bang", defect="other")
    assert judged(both, rows=rows).gate is Gate.GREEN
    for row in rows:
        report = judged(both, rows=(row,))
        assert (report.gate, the_class(report)) == (Gate.RED, CellClass.UNEXPECTED_FAILURE)
    less = judged(record(key(), failed(Oracle.VALUES, "bang")), rows=rows)
    assert (less.gate, the_class(less)) == (Gate.RED, CellClass.UNEXPECTED_PASS)
    assert the_finding(less).reason.startswith("fails less than expected")
    assert the_finding(less).defects == ("known",)


def test_another_harm_than_the_expected_one_is_red_and_an_unknown_one_is_not():
    seen = dataclasses.replace(failed(Oracle.VALUES), harm=Harm.SILENT)
    assert judged(record(key(), seen), rows=(entry(harm="silent"),)).gate is Gate.GREEN
    assert judged(record(key(), seen), rows=(entry(),)).gate is Gate.GREEN
    older = record(key(), failed(Oracle.VALUES))
    assert judged(older, rows=(entry(harm="silent"),)).gate is Gate.GREEN
    report = judged(record(key(), seen), rows=(entry(harm="warned"),))
    assert report.gate is Gate.RED
    assert the_finding(report).reason == "another harm than expected: boom: silent, and not warned"


def test_a_missing_cell_is_a_broken_harness_and_wins_over_red():
    plan = [planned(key("a")), planned(key("b"))]
    records = by_id(record(key("a"), failed(Oracle.VALUES)))
    report = judge(plan, records, Table(), [])
    assert report.gate is Gate.FAILED
    assert sorted(report.classes.values()) == [CellClass.MISSING, CellClass.UNEXPECTED_FAILURE]
    assert report.findings[-1].reason == "planned, but has no record"


def test_a_run_without_a_plan_proves_nothing():
    assert judge([], {}, Table(), []).gate is Gate.FAILED


@pytest.mark.parametrize(
    ("verdicts", "why"),
    [
        ((), "does not say whether it completed"),
        (tuple(not_applicable(o, "x") for o in Oracle), "does not say whether it completed"),
        ((passed(Oracle.VALUES),), "does not say whether it completed"),
        (
            (passed(Oracle.COMPLETION), passed(Oracle.VALUES), failed(Oracle.VALUES)),
            "two verdicts of one oracle: values",
        ),
    ],
)
@pytest.mark.parametrize("hypothetical", [False, True])
def test_a_record_that_says_nothing_counts_as_missing(verdicts, why, hypothetical):
    empty = CellRecord(key(), CellState.ENDED, verdicts, hypothetical=hypothetical)
    report = judged(empty)
    assert (report.gate, the_class(report)) == (Gate.FAILED, CellClass.MISSING)
    assert why in the_finding(report).reason


def test_what_could_not_be_asked_is_inconclusive_and_red_wins_over_it():
    report = judged(unsupported(key(), "no compiler"))
    assert (report.gate, the_class(report)) == (Gate.INCONCLUSIVE, CellClass.UNSUPPORTED)
    assert the_finding(report).reason == "the case cannot be asked (1 cell): no compiler"
    both = judged(unsupported(key()), record(key("b"), failed(Oracle.VALUES)))
    assert both.gate is Gate.RED


def test_not_to_be_unflattened_is_a_defect_on_direct_and_elsewhere_a_capability():
    for route in ("legacy", "export", "plain"):
        cell = record(key(route=route), failed(Oracle.UNFLATTEN))
        report = judged(cell)
        assert (report.gate, the_class(report), report.findings) == (Gate.GREEN, CellClass.OK, ())
        assert (cell.label, cell.verdict(Oracle.UNFLATTEN).failed) == ("ok", True)
    report = judged(record(key(route="direct"), failed(Oracle.UNFLATTEN)))
    assert (report.gate, the_finding(report).oracle) == (Gate.RED, Oracle.UNFLATTEN)


def test_a_record_from_before_an_oracle_is_inconclusive_whatever_the_table_demands():
    later = [oracle for oracle in Oracle if oracle.row.since_schema == 2]
    old = record(key(), *(not_applicable(oracle, TOO_OLD) for oracle in later))
    for rows in ((), (entry(Oracle.STATE),)):
        report = judged(old, rows=rows)
        assert (report.gate, the_class(report)) == (Gate.INCONCLUSIVE, CellClass.UNSUPPORTED)
        assert TOO_OLD in the_finding(report).reason
    stale = judged(old, rows=(entry(Oracle.VALUES),))
    assert (stale.gate, the_class(stale)) == (Gate.RED, CellClass.UNEXPECTED_PASS)


NOBODY = entry(UNSUPPORTED, "no such op #", route=ALL, subjects=(ALL,), defect="")


def test_what_cannot_be_asked_of_a_case_is_green_where_a_row_says_so():
    cells = [unsupported(key("a", name), "no such op 7") for name in ("2.13.0", "torch")]
    report = judged(*cells, rows=(NOBODY,))
    assert (report.gate, report.findings) == (Gate.GREEN, ())
    assert set(report.classes.values()) == {CellClass.UNSUPPORTED}
    other = judged(unsupported(key(), "a full disk"), rows=(NOBODY,))
    assert other.gate is Gate.INCONCLUSIVE


def test_what_cannot_be_asked_of_a_case_is_one_finding_about_it():
    cells = [unsupported(key("a", name), "no such op") for name in ("2.13.0", "torch")]
    report = judged(*cells, record(key("b")))
    assert report.gate is Gate.INCONCLUSIVE
    assert the_finding(report).of_case == "no such op"
    assert the_finding(report).reason == "the case cannot be asked (2 cells): no such op"
    apart = judged(cells[0], record(cells[1].key))
    assert not the_finding(apart).of_case


def test_what_is_not_at_hand_here_is_no_fact_about_a_case():
    cell = unsupported(key(), "no wheel")
    spec = subject("2.13.0", unavailable="no wheel")
    report = judge([planned(cell.key)], by_id(cell), Table(), [spec])
    assert (report.gate, the_finding(report).of_case) == (Gate.INCONCLUSIVE, "")


def test_a_case_that_cannot_be_asked_is_one_finding_beside_a_release_that_is_not_at_hand():
    lacking = unsupported(key("a", "2.14.0"), "no wheel")
    cells = [lacking, *(unsupported(key("a", n), "at split: E") for n in ("2.13.0", "torch"))]
    spec = subject("2.14.0", unavailable="no wheel")
    report = judge([planned(each.key) for each in cells], by_id(*cells), Table(), [spec])
    assert sorted(finding.of_case for finding in report.findings) == ["", "at split: E"]


OURS = Places(corpus=("ours.py",), declared={"a": "/home/ours.py:7"})


def test_a_mistake_in_a_users_own_case_is_wrong_use_told_with_its_line_and_a_way_out():
    said = "at compile: UnsupportedSegment: _run_on_acc_0: add_ writes to its input x"
    report = judged(*(unsupported(key("a", name), said) for name in ("2.13.0", "torch")))
    assert exit_code(report, OURS) is ExitCode.USAGE
    (told,) = mistakes(report, OURS)
    assert told.startswith(f"/home/ours.py:7: a cannot be asked, {said}; instead, name that op in")
    assert first_screen(report, places=OURS) == ["cells: planned 2, not asked 2"]
    assert exit_code(report, Places()) is ExitCode.INCONCLUSIVE
    assert mistakes(report, Places()) == ()


def test_sizes_that_a_model_does_not_take_are_told_with_what_to_state_instead():
    said = "at capture: UserError: Constraints violated (b_0)! - b_0 and a_0 must always be equal."
    report = judged(unsupported(key("a", "2.13.0"), said))
    (told,) = mistakes(report, OURS)
    assert told.startswith(f"/home/ours.py:7: a cannot be asked, {said}; instead, state as one")


def test_beside_a_failure_a_mistake_in_a_users_own_case_is_a_finding_of_a_red_run():
    wrong = unsupported(key("a"), "at capture: FileNotFoundError: weights.pt")
    report = judged(wrong, record(key("b"), failed(Oracle.VALUES)))
    assert exit_code(report, OURS) is ExitCode.RED
    screen = first_screen(report, places=OURS)
    assert screen[0] == "gate: red: 1 unexpected failure"
    assert any(line.startswith("  not asked: /home/ours.py:7: a cannot be") for line in screen)


def test_an_op_that_lowering_renames_is_a_mistake_told_once_however_each_release_lowers_it():
    cells = [
        unsupported(in_package(name), f"a: falls back to nothing: no op is x; lowering made {made}")
        for name, made in (("2.13.0", "y"), ("2.14.0", "z"))
    ]
    report = judged(*cells)
    assert len(report.findings) == 2, "their reasons differ"
    assert exit_code(report, OURS) is ExitCode.USAGE
    (told,) = mistakes(report, OURS)
    assert told == "/home/ours.py:7: a falls back to nothing: no op is x; lowering made y"


@pytest.mark.parametrize("without_table", [True, False])
def test_a_users_case_that_the_graph_lane_cannot_ask_and_a_package_can_is_a_note(without_table):
    said = "at compile: UnsupportedSegment: _run_on_acc_0: add_ writes to its input x"
    cells = [unsupported(key("a"), said), record(in_package("2.13.0"))]
    plan = [planned(each.key) for each in cells]
    report = judge(plan, by_id(*cells), Table(), [], without_table=without_table)
    if without_table:
        (note,) = report.notes
        assert (report.gate, note.of_case, report.findings) == (Gate.GREEN, said, ())
    else:
        assert (report.gate, report.notes) == (Gate.INCONCLUSIVE, ())


def test_a_users_case_that_neither_lane_can_ask_is_a_mistake():
    said = "at capture: GuardOnDataDependentSymNode: no"
    cells = [unsupported(key("a"), said), unsupported(in_package("2.13.0"), said)]
    plan = [planned(each.key) for each in cells]
    report = judge(plan, by_id(*cells), Table(), [], without_table=True)
    assert exit_code(report, OURS) is ExitCode.USAGE
    assert len(mistakes(report, OURS)) == 1


def in_package(name: str) -> CellKey:
    cell = key("a", name, Route.NO_RETRACE)
    return dataclasses.replace(cell, lane=Lane.PACKAGE)


def test_what_is_lacking_here_for_a_users_own_case_is_no_mistake_of_his():
    said = "the stand-in runtime lacks a class: Engine"
    report = judged(*(unsupported(key("a", name), said) for name in ("2.13.0", "torch")))
    assert the_finding(report).of_case == said
    assert exit_code(report, OURS) is ExitCode.INCONCLUSIVE
    assert first_screen(report, places=OURS)[0].startswith("gate: inconclusive")


@pytest.mark.parametrize("harm", list(Harm))
def test_where_no_table_was_written_a_cosmetic_failure_alone_is_told_and_not_red(harm):
    seen = record(key(), dataclasses.replace(failed(Oracle.METADATA), harm=harm))
    plan, cells = [planned(seen.key)], by_id(seen)
    assert judge(plan, cells, Table(), [], register=register()).gate is Gate.RED
    report = judge(plan, cells, Table(), [], register=register(), without_table=True)
    if harm is not Harm.COSMETIC:
        assert (report.gate, len(report.findings), report.notes) == (Gate.RED, 1, ())
        return
    assert (report.gate, the_class(report), report.findings) == (Gate.GREEN, CellClass.OK, ())
    (note,) = report.notes
    assert (note.oracle, note.defects) == (Oracle.METADATA, ("?known",))


@pytest.mark.parametrize("also_wrong", [True, False])
@pytest.mark.parametrize("without_table", [True, False])
def test_what_a_release_does_wrong_with_a_users_case_is_no_fault_of_a_candidate(
    also_wrong, without_table
):
    of_release = record(key("a", "2.14.0"), failed(Oracle.VALUES))
    of_file = record(key("a", "file:1a"), *([failed(Oracle.VALUES)] if also_wrong else []))
    subjects = [subject("2.14.0"), subject("file:1a", kind=SubjectKind.FILE)]
    plan = [planned(of_release.key), planned(of_file.key)]
    report = judge(
        plan,
        by_id(of_release, of_file),
        Table(),
        subjects,
        {"file:1a": "2.14.0"},
        without_table=without_table,
    )
    assert report.gate is (Gate.GREEN if without_table else Gate.RED)


def test_a_cosmetic_failure_beside_a_worse_one_is_told_apart_from_it():
    cosmetic = dataclasses.replace(failed(Oracle.METADATA), harm=Harm.COSMETIC)
    seen = record(key(), cosmetic, failed(Oracle.VALUES))
    report = judge([planned(seen.key)], by_id(seen), Table(), [], without_table=True)
    assert (report.gate, the_class(report)) == (Gate.RED, CellClass.UNEXPECTED_FAILURE)
    assert the_finding(report).oracle is Oracle.VALUES
    assert [note.oracle for note in report.notes] == [Oracle.METADATA]


def test_a_case_that_was_asked_though_a_row_says_that_it_cannot_be_is_red():
    report = judged(record(key()), rows=(NOBODY,))
    assert (report.gate, the_class(report)) == (Gate.RED, CellClass.UNEXPECTED_PASS)


@pytest.mark.parametrize(
    "more", [entry(), entry(UNSUPPORTED, "another reason", route=ALL, subjects=(ALL,), defect="")]
)
def test_a_row_of_which_a_case_that_cannot_be_asked_shows_nothing_is_red(more):
    """A row too few of what cannot be asked is inconclusive; a row too many is red."""
    report = judged(unsupported(key(), "no such op 7"), rows=(NOBODY, more))
    assert (report.gate, the_class(report)) == (Gate.RED, CellClass.UNEXPECTED_PASS)
    assert the_finding(report).reason.endswith("but could not be asked: no such op 7")


def test_what_cannot_be_asked_in_an_environment_takes_the_place_of_what_it_inherits():
    there = dataclasses.replace(key(), environment="torch-2.9.0")
    nobody = entry(UNSUPPORTED, "no op", environment="torch-2.9", subjects=(ALL,), defect="")
    assert judged(unsupported(there, "no op"), rows=(entry(), nobody)).gate is Gate.GREEN
    here = entry(environment="torch-2.9")
    assert judged(unsupported(there, "no op"), rows=(nobody, here)).gate is Gate.RED


def package(route: str) -> CellKey:
    return CellKey("a", "nonstrict", "2.13.0", Route(route), Lane.PACKAGE)


def test_a_cell_behind_a_compile_that_failed_needs_no_row_and_one_behind_none_is_unlisted():
    compiled = stopped(package("compile"), stage=Stage.COMPILE)
    saved = unsupported(package("retrace"), "compile: error@compile: boom")
    row = entry(Oracle.COMPLETION, stage=Stage.COMPILE, lane="package", route="compile")
    report = judged(compiled, saved, rows=(row,))
    assert (report.gate, report.findings) == (Gate.GREEN, ())
    assert report.classes[saved.key.cell_id] is CellClass.UNSUPPORTED
    assert judged(record(package("compile")), saved).gate is Gate.INCONCLUSIVE
    assert judged(saved).gate is Gate.INCONCLUSIVE
    behind = entry(lane="package", route="retrace")
    assert judged(compiled, saved, rows=(row, behind)).gate is Gate.RED


def test_a_release_without_rows_of_its_own_is_held_against_the_one_before_it():
    rows = (entry(subjects=("2.13.0",)), entry(says="bang", subjects=("2.14.0",)))
    for name, says in (("2.13.5", "boom"), ("2.15.0", "bang"), ("2.15.0.dev1", "bang")):
        made = record(key("a", name), failed(Oracle.VALUES, says))
        assert judged(made, rows=rows).gate is Gate.GREEN
        assert judged(record(key("a", name)), rows=rows).gate is Gate.RED


def test_a_matched_environment_inherits_what_it_does_not_say_otherwise():
    there = dataclasses.replace(key(), environment="torch-2.9.0")
    gone = entry(says="boom", environment="torch-2.9", removed=True)
    more = entry(says="bang", environment="torch-2.9")
    boom, bang = (record(there, failed(Oracle.VALUES, says)) for says in ("boom", "bang"))
    assert judged(boom, rows=(entry(),)).gate is Gate.GREEN
    assert judged(boom, rows=(entry(), gone)).gate is Gate.RED
    assert judged(bang, rows=(entry(), gone, more)).gate is Gate.GREEN
    assert judged(record(key(), failed(Oracle.VALUES)), rows=(entry(), gone)).gate is Gate.GREEN


def test_what_is_known_of_a_torch_holds_for_each_of_its_patches():
    bang = failed(Oracle.VALUES, "bang")
    more = entry(says="bang", environment="torch-2.14")
    for torch, gate in (("2.14.0", Gate.GREEN), ("2.14.1", Gate.GREEN), ("2.13.0", Gate.RED)):
        there = dataclasses.replace(key(), environment=matched_name(torch))
        assert judged(record(there, bang), rows=(more,)).gate is gate


def test_a_finding_names_the_known_defects_whose_signs_it_bears():
    seen = record(key(), failed(Oracle.VALUES))
    known = register(defect("one"), defect("fixed", fixed_in="2.12.0"), defect("other"))
    report = judge([planned(key())], by_id(seen), Table(), [], register=known)
    assert the_finding(report).defects == ("?one", "?other")
    told = first_screen(report, titles=known.titles)[2]
    assert '(looks like the known defect "It is one" or "It is other")' in told


@pytest.mark.parametrize(
    ("made", "cell_class"),
    [
        (record(key(), hypothetical=True), CellClass.OK),
        (record(key(), failed(Oracle.VALUES), hypothetical=True), CellClass.EXPECTED_FAILURE),
        (unsupported(key(), hypothetical=True), CellClass.UNSUPPORTED),
    ],
)
def test_a_hypothetical_cell_is_never_a_finding(made, cell_class):
    for rows in ((), (entry(),), (entry(Oracle.WIRING),)):
        report = judged(made, rows=rows)
        assert (report.gate, report.findings) == (Gate.GREEN, ())
        assert the_class(report) is cell_class


def test_a_hypothetical_cell_that_did_not_end_is_still_a_broken_harness():
    report = judge([planned(key(), hypothetical=True)], {}, Table(), [])
    assert report.gate is Gate.FAILED


def test_a_cell_has_the_worst_of_its_classes():
    made = record(key(), failed(Oracle.METADATA), failed(Oracle.SIGNATURE))
    metadata, values = entry(Oracle.METADATA), entry(Oracle.VALUES)
    signature = entry(Oracle.SIGNATURE)
    for rows, cell_class in [
        ((metadata, signature), CellClass.EXPECTED_FAILURE),
        ((metadata, signature, values), CellClass.UNEXPECTED_PASS),
        ((metadata, values), CellClass.UNEXPECTED_FAILURE),
    ]:
        assert the_class(judged(made, rows=rows)) is cell_class


def test_a_failure_that_plain_export_shows_too_is_marked_as_torchs_own_and_stays_red():
    plain = record(key("a", "torch", "plain"), failed(Oracle.METADATA, "torch says so"))
    same = record(key(), failed(Oracle.METADATA), failed(Oracle.VALUES))
    elsewhere = record(key("b"), failed(Oracle.METADATA))
    strict = dataclasses.replace(key(), capture="strict")
    report = judged(plain, same, elsewhere, record(strict, failed(Oracle.METADATA)))
    assert report.gate is Gate.RED
    marks = {(f.key, f.oracle): f.torchs_own for f in report.findings}
    assert [each for each, own in marks.items() if own] == [
        (key(), Oracle.METADATA),
        (plain.key, Oracle.METADATA),
    ]


def test_another_symptom_of_the_same_oracle_is_not_torchs_own():
    plain = stopped(key("a", "torch", "plain"))
    killed = dataclasses.replace(failed(Oracle.COMPLETION), symptom=Symptom.KILLED)
    report = judged(plain, record(key(), killed))
    (found,) = [finding for finding in report.findings if finding.key == key()]
    assert not found.torchs_own


def test_a_case_that_could_not_be_split_is_not_torchs_own_fault():
    ended = failed(Oracle.COMPLETION, "no such op", Stage.SPLIT)
    report = judged(record(key("a", "torch", "plain"), ended), record(key(), ended))
    assert not any(finding.torchs_own for finding in report.findings)


def test_findings_come_worst_first():
    report = judge(
        [planned(key(name)) for name in "abcde"],
        by_id(
            unsupported(key("a")),
            record(key("b"), failed(Oracle.METADATA)),
            record(key("d"), failed(Oracle.VALUES), failed(Oracle.STRUCTURE)),
            record(key("e")),
        ),
        table(entry(Oracle.WIRING, case="e")),
        [],
    )
    assert [(f.case, f.oracle) for f in report.findings] == [
        ("d", Oracle.VALUES),
        ("d", Oracle.STRUCTURE),
        ("b", Oracle.METADATA),
        ("e", Oracle.WIRING),
        ("c", None),
        ("a", None),
    ]


def test_a_file_subject_needs_a_release_to_be_held_against():
    file = subject("file:1a", kind=SubjectKind.FILE)
    cell = planned(key("a", "file:1a"))
    with pytest.raises(UsageError, match=r"file:1a has no release .*--like"):
        judge([cell], by_id(record(cell.key)), Table(), [file])


def test_a_file_subject_is_judged_against_its_release_and_not_by_the_table():
    file = subject("file:1a", kind=SubjectKind.FILE)
    other = key("a", "file:1a")
    plan = [planned(key()), planned(other)]
    rows = table(entry())

    def gate(of_file: CellRecord) -> GateReport:
        records = by_id(record(key(), failed(Oracle.VALUES)), of_file)
        return judge(plan, records, rows, [file], {"file:1a": "2.13.0"})

    same = gate(record(other, failed(Oracle.VALUES)))
    assert (same.gate, same.classes[other.cell_id]) == (Gate.GREEN, CellClass.EXPECTED_FAILURE)
    better = gate(record(other))
    assert (better.gate, better.classes[other.cell_id]) == (Gate.GREEN, CellClass.OK)
    assert [(f.subject, f.oracle) for f in better.good_news] == [("file:1a", Oracle.VALUES)]
    worse = gate(record(other, failed(Oracle.VALUES), failed(Oracle.WIRING)))
    assert (worse.gate, the_finding(worse).subject) == (Gate.RED, "file:1a")


def test_a_file_subject_whose_release_said_nothing_is_held_against_nothing():
    file = subject("file:1a", kind=SubjectKind.FILE)
    ended = record(key("a", "file:1a"))
    plan = [planned(key()), planned(ended.key)]
    for said_nothing in ([], [CellRecord(key(), CellState.ENDED)]):
        records = by_id(ended, *said_nothing)
        report = judge(plan, records, Table(), [file], {"file:1a": "2.13.0"})
        assert report.gate is Gate.FAILED
        assert report.classes[ended.key.cell_id] is CellClass.MISSING


def test_the_first_screen_names_case_oracle_reason_and_both_commands():
    report = judged(record(key(), failed(Oracle.WIRING, "engine 0 reads\ninput 1")))
    assert first_screen(report, run="RUN") == [
        "gate: red: 1 unexpected failure",
        "cells: planned 1, unexpected failure 1",
        "  wiring: a [2.13.0 export]: not expected: wrong wiring in a call: engine 0 reads input 1",
        "      evidence of engine 0 reads",
        "      python -m harness explain a --subject 2.13.0 --route export",
        "to expect what it shows: python -m harness expected --update RUN",
    ]


def test_each_finding_of_a_cell_says_which_of_its_wires_is_wrong_where_that_is_known():
    told = "relu argument 0 reads x, should read y"
    wiring = dataclasses.replace(failed(Oracle.WIRING), evidence=f"{told}\nabs reads z")
    report = judged(record(key(), failed(Oracle.VALUES), wiring))
    assert [line.strip() == told for line in first_screen(report)].count(True) == 2
    other = judged(record(key(), failed(Oracle.VALUES)))
    assert told not in "".join(first_screen(other))


def test_the_first_screen_names_where_cases_candidates_and_the_run_are():
    report = judged(record(key(), failed(Oracle.WIRING)))
    elsewhere = Places(corpus=("our cases.py",), out="../runs", candidates=frozenset({"file:1a"}))
    assert first_screen(report, run="RUN", places=elsewhere)[-1].endswith(
        "--subject 2.13.0 --route export --corpus 'our cases.py'"
    )
    proposed = first_screen(report, run="RUN", places=Places(out="../runs"))[-1]
    assert proposed.endswith("expected --update RUN --out ../runs")
    beside = Places(candidates=frozenset({"file:1a"}))
    assert "--update" not in "".join(first_screen(report, run="RUN", places=beside))
    candidate = dataclasses.replace(elsewhere, run="RUN", seed=7)
    command = explain_command(key("a", "file:1a"), candidate)
    assert command.endswith("--route export --run ../runs/RUN --seed 7")


def test_a_cell_of_real_engines_is_explained_with_them():
    of = CellKey(
        "a",
        "nonstrict",
        "2.14.0",
        Route.RETRACE,
        Lane.PACKAGE,
        builder=Builder("tensorrt-rtx-1.6.1.120"),
    )
    assert explain_command(of).endswith("--route retrace --builder tensorrt-rtx")


def test_a_cell_that_ran_on_a_gpu_is_shown_there():
    there = CellKey("a", "nonstrict", "2.14.0", Route.RETRACE, Lane.ENGINE)
    assert explain_command(there) == (
        "python -m harness run --lane engine --environment matched "
        "--releases 2.14.0 --routes retrace -k a"
    )


def test_the_first_screen_is_short_and_says_how_much_it_leaves_out():
    cells = [record(key(f"case-{n}"), failed(Oracle.VALUES, "long " * 500)) for n in range(20)]
    lines = first_screen(judged(*cells), limit=3)
    assert len(lines) == 2 + 2 * 3 + 2
    assert "and 17 more findings" in lines[-2]
    assert max(map(len, lines)) < 400


def test_the_first_screen_names_an_expected_defect_by_its_title_and_a_code_in_words():
    report = judged(record(key()), rows=(entry(),))
    (line,) = [line for line in first_screen(report, titles={"known": "It"}) if "passes" in line]
    assert line.endswith('passes, but expected wrong numbers in a call: boom ("It")')


def test_below_a_decision_the_gate_comes_last_and_says_that_it_is_not_the_answer():
    made = record(key(), failed(Oracle.VALUES))
    report = judged(made, rows=(entry(),))
    assert first_screen(report, ["2.14.0 in place of 2.13.0: do not ship"], answered=True) == [
        "2.14.0 in place of 2.13.0: do not ship",
        "gate: green: every failure is a known defect; whether to ship is answered above",
        "cells: planned 1, known failure 1",
    ]


def test_the_first_screen_tells_the_verdict_then_defects_then_cells():
    made = record(key(), failed(Oracle.VALUES))
    report = judged(made, record(key("b")), rows=(entry(),))
    assert first_screen(report, ["defects: 2.13.0 has 1 known one (1 silent)"]) == [
        "gate: green: no unknown failure",
        "defects: 2.13.0 has 1 known one (1 silent)",
        "cells: planned 2, ok 1, known failure 1",
    ]


def test_the_first_screen_names_what_contradicts_itself():
    faults = tuple(Fault(f"d{n}", f"d{n} has no row") for n in range(5))
    lines = first_screen(judged(record(key()), faults=faults), limit=3)
    assert lines[0] == "gate: red: 5 faults in the expectations"
    assert lines[2:] == [
        *(f"  expectations: d{n} has no row" for n in range(3)),
        "  and 2 more faults in the expectations",
    ]


KEYS = [key(c, s, r) for c in "ab" for s in ("2.13.0", "torch") for r in ("legacy", "export")]
verdicts = st.builds(failed, st.sampled_from(Oracle), st.sampled_from(["boom", "bang"]))
runs = st.dictionaries(st.sampled_from(KEYS), st.lists(verdicts, max_size=3), min_size=1)


def gating(cell: CellKey) -> list[Oracle]:
    return [oracle for oracle in Oracle if gates(oracle, cell.route)]


def green_run(run: dict[CellKey, list[Verdict]]) -> tuple[list[CellRecord], tuple[Row, ...]]:
    records = [record(each, *found) for each, found in run.items()]
    return records, tuple(absorb(Table(), register(), records).entries.items())


@given(runs)
def test_what_a_run_shows_makes_it_green_and_no_other_cell_red(run):
    records, rows = green_run(run)
    assert judged(*records, rows=rows).gate is Gate.GREEN


@given(runs, st.data())
def test_deleting_any_row_turns_a_green_run_red(run, data):
    records, rows = green_run(run)
    if rows:
        gone = data.draw(st.sampled_from(rows))
        rest = tuple(row for row in rows if row != gone)
        assert judged(*records, rows=rest).gate is Gate.RED


@given(runs, st.data())
def test_adding_a_false_row_turns_a_green_run_red(run, data):
    records, rows = green_run(run)
    cell = data.draw(st.sampled_from(records))
    oracle = data.draw(st.sampled_from(gating(cell.key)))
    place = {"case": cell.key.case, "route": cell.key.route}
    false = entry(oracle, "crash", subjects=(cell.key.subject,), **place)
    report = judged(*records, rows=(*rows, false))
    assert report.gate is Gate.RED
    assert {finding.cell_class for finding in report.findings} == {CellClass.UNEXPECTED_PASS}


@given(runs, st.data())
def test_losing_any_record_turns_a_green_run_failed(run, data):
    records, rows = green_run(run)
    lost = data.draw(st.sampled_from(records))
    rest = by_id(*(each for each in records if each is not lost))
    plan = [planned(each.key) for each in records]
    assert judge(plan, rest, table(*rows), []).gate is Gate.FAILED


@given(runs, st.data())
def test_any_new_failure_turns_a_green_run_red(run, data):
    records, rows = green_run(run)
    at = data.draw(st.integers(0, len(records) - 1))
    oracle = data.draw(st.sampled_from(gating(records[at].key)))
    old = records[at]
    verdicts_ = [*(v for v in old.verdicts if v.oracle is not oracle), failed(oracle, "new")]
    records[at] = dataclasses.replace(old, verdicts=tuple(verdicts_))
    assert judged(*records, rows=rows).gate is Gate.RED


def test_a_base_is_judged_by_nobody_and_a_new_route_of_its_checkout_neither():
    base, mine = key("a", "base:1"), key("a", "checkout:1")
    new = dataclasses.replace(mine, route=Route.CROSS)
    kinds = {base: SubjectKind.BASE, mine: SubjectKind.FILE}
    subjects = [
        SubjectSpec(cell.subject, kind, (cell.route,), release="2.14.0")
        for cell, kind in kinds.items()
    ]
    plan = [planned(cell) for cell in (base, mine, new)]
    records = {cell.cell_id: record(cell, failed(Oracle.VALUES)) for cell in (base, mine, new)}
    report = judge(plan, records, table(), subjects, {mine.subject: base.subject})
    assert (report.gate, report.findings) == (Gate.GREEN, ())
    del records[base.cell_id]
    assert judge(plan, records, table(), subjects, {} | {mine.subject: base.subject}).gate is (
        Gate.FAILED
    )
