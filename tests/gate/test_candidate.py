"""A candidate against a release: red is worse on any oracle; better is good news."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.gate.candidate import Comparison, judge_candidate
from harness.gate.findings import CellClass
from harness.gate.pairs import Pair
from harness.wire.oracles import Oracle, gates
from harness.wire.records import CellKey, CellRecord, Verdict, not_applicable, passed
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import LEFT_TO_PYTORCH, NOT_COMPILED, STAND_IN_RAISED, Stage
from tests.record_builders import failed, key, record, stopped, unsupported

FILE, LIKE = key("a", "file:1a"), key("a", "2.14.0")
UNASKED = "no program"


STATIC = "other inputs; the dynamic dimension became static"


def compare(file: CellRecord, like: CellRecord | None) -> Comparison:
    return judge_candidate(Pair(like, file))


def against(like: list[Verdict], file: list[Verdict]) -> Comparison:
    return compare(record(FILE, *file), record(LIKE, *like))


def test_a_capability_that_is_lost_is_noted_and_no_finding():
    result = against([], [failed(Oracle.UNFLATTEN, "off")])
    assert (result.cell_class, result.findings) == (CellClass.OK, ())
    assert [note.oracle for note in result.notes] == [Oracle.UNFLATTEN]
    other = against([failed(Oracle.UNFLATTEN)], [failed(Oracle.UNFLATTEN, "off")])
    assert other == Comparison(CellClass.OK)


@pytest.mark.parametrize("oracle", [o for o in Oracle if gates(o, FILE.route)])
def test_a_new_failure_of_any_oracle_is_worse(oracle):
    result = against([], [failed(oracle, "off")])
    assert result.cell_class is CellClass.UNEXPECTED_FAILURE
    (finding,) = result.findings
    assert finding.oracle is oracle
    assert finding.reason.startswith("worse than 2.14.0: ")
    assert finding.reason.endswith(": off, but 2.14.0 is ok")


def test_the_same_failure_is_not_worse():
    result = against([failed(Oracle.METADATA)], [failed(Oracle.METADATA)])
    assert result == Comparison(CellClass.EXPECTED_FAILURE)


@pytest.mark.parametrize(
    "other", [failed(Oracle.METADATA, "else"), failed(Oracle.METADATA, stage=Stage.LOAD)]
)
def test_another_failure_of_the_same_oracle_fails_differently(other):
    (finding,) = against([failed(Oracle.METADATA)], [other]).findings
    assert finding.reason == (
        f"fails differently: {other.label}: {other.message}, "
        "but 2.14.0 has wrong-metadata@run: boom"
    )


def test_a_failure_that_is_gone_is_good_news():
    result = against([failed(Oracle.METADATA)], [])
    assert (result.cell_class, result.findings) == (CellClass.OK, ())
    assert [good.oracle for good in result.good_news] == [Oracle.METADATA]


def test_fewer_kinds_of_the_same_failure_are_good_news():
    both, one = failed(Oracle.METADATA, "a list; a shape"), failed(Oracle.METADATA, "a shape")
    result = against([both], [one])
    assert (result.cell_class, result.findings) == (CellClass.EXPECTED_FAILURE, ())
    assert [good.reason for good in result.good_news] == [
        "fails less: wrong-metadata@run: a shape, but 2.14.0 has wrong-metadata@run: "
        "a list; a shape"
    ]


@pytest.mark.parametrize("message", ["a list; a shape", "a dtype", "a list; a dtype"])
def test_a_kind_that_the_release_does_not_have_is_no_good_news(message):
    result = against(
        [failed(Oracle.METADATA, "a list; a size")], [failed(Oracle.METADATA, message)]
    )
    assert len(result.findings) == 1
    assert result.good_news == ()


def test_part_of_an_errors_text_is_another_error():
    like, file = failed(Oracle.COMPLETION, "E: a; b"), failed(Oracle.COMPLETION, "E: a")
    assert len(against([like], [file]).findings) == 1


@pytest.mark.parametrize(
    ("before", "after", "findings"),
    [(Stage.EXPORT, Stage.RUN, 0), (Stage.EXPORT, Stage.EXPORT, 1), (Stage.EXPORT, Stage.CLEAN, 1)],
)
def test_the_error_behind_one_that_was_mended_is_a_note_and_any_other_new_one_a_finding(
    before, after, findings
):
    like = failed(Oracle.COMPLETION, "KeyError: a", before)
    result = against([like], [failed(Oracle.COMPLETION, "TypeError: b", after)])
    assert (len(result.findings), len(result.notes)) == (findings, 1 - findings)


def test_what_shows_before_an_error_that_comes_later_was_hidden_by_the_one_that_was_mended():
    before = failed(Oracle.COMPLETION, "KeyError: a", Stage.EXPORT)
    unseen = not_applicable(Oracle.SIGNATURE, "not reached: ended at export")
    after = failed(Oracle.COMPLETION, "TypeError: b", Stage.RUN)
    result = against([before, unseen], [after, failed(Oracle.SIGNATURE)])
    (seen,) = result.findings
    assert seen.reason.startswith("newly visible: ")


def serialize_error(node: str, target: str = "relu", number: int = 1) -> Verdict:
    text = (
        f"SerializeError: Failed serializing node {node} in graph: %{node} : [num_users=1] = "
        f"call_function[target=torch.ops.aten.{target}.default](args = (%x_{number}, {number}))"
    )
    return failed(Oracle.COMPLETION, text[:300], Stage.SAVE)


def test_other_node_names_in_what_could_not_be_saved_are_the_same_failure():
    result = against([serialize_error("relu_1")], [serialize_error("relu_default_20")])
    assert result == Comparison(CellClass.EXPECTED_FAILURE)


def test_a_guard_of_an_input_by_another_name_is_the_same_failure_and_of_another_size_another():
    given, counted, other = (
        failed(Oracle.COMPLETION, f"AssertionError: Guard failed: {guard}", Stage.RUN)
        for guard in ("left.size()[0] == 4", "arg_0.size()[0] == 4", "left.size()[1] == 4")
    )
    assert against([given], [counted]) == Comparison(CellClass.EXPECTED_FAILURE)
    assert len(against([given], [other]).findings) == 1


@pytest.mark.parametrize(
    "other", [serialize_error("relu_1", "abs"), serialize_error("relu_1", number=2)]
)
def test_another_node_that_could_not_be_saved_is_another_failure(other):
    assert len(against([serialize_error("relu_1")], [other]).findings) == 1


def test_a_question_that_was_lost_is_worse():
    (finding,) = against([], [not_applicable(Oracle.WIRING, UNASKED)]).findings
    assert finding.reason == "not asked (no program), but 2.14.0 is ok"


def test_a_question_that_was_lost_to_a_failure_is_its_consequence():
    result = compare(stopped(FILE), record(LIKE))
    assert [finding.oracle for finding in result.findings] == [Oracle.COMPLETION]
    assert Oracle.VALUES in {note.oracle for note in result.notes}


def test_where_the_release_stopped_the_candidate_may_stop_likewise():
    assert compare(stopped(FILE), stopped(LIKE)) == Comparison(CellClass.EXPECTED_FAILURE)


@pytest.mark.parametrize(
    "oracle", [o for o in Oracle if o not in (Oracle.COMPLETION, Oracle.UNFLATTEN)]
)
def test_a_failure_that_only_getting_further_shows_is_red_but_for_metadata(oracle):
    result = compare(record(FILE, failed(oracle)), stopped(LIKE))
    red = oracle is not Oracle.METADATA
    (seen,) = result.findings if red else result.notes
    assert seen.reason.startswith("newly visible: ")
    assert bool(result.findings) is red
    expected = CellClass.UNEXPECTED_FAILURE if red else CellClass.EXPECTED_FAILURE
    assert result.cell_class is expected
    assert [good.oracle for good in result.good_news] == [Oracle.COMPLETION]


@pytest.mark.parametrize(
    "oracle", [o for o in Oracle if o not in (Oracle.COMPLETION, Oracle.VALUES)]
)
def test_what_only_right_numbers_show_is_red_but_for_metadata_and_unflattening(oracle):
    def retraced(subject: str, *verdicts: Verdict) -> CellRecord:
        return record(key("a", subject, "direct"), *verdicts)

    wrong = failed(Oracle.VALUES, "numbers differ")
    lesser = (Oracle.METADATA, Oracle.UNFLATTEN)
    result = compare(retraced("file:1a", failed(oracle)), retraced("2.14.0", wrong))
    assert [each.oracle for each in result.good_news] == [Oracle.VALUES]
    assert [each.oracle for each in result.findings] == ([] if oracle in lesser else [oracle])
    assert [each.oracle for each in result.notes] == ([oracle] if oracle in lesser else [])
    both = compare(retraced("file:1a", wrong, failed(oracle)), retraced("2.14.0", wrong))
    assert [each.oracle for each in both.findings] == [oracle]


def test_a_failure_where_the_release_was_not_asked_for_another_reason_is_worse():
    unasked = not_applicable(Oracle.METADATA, "no reference")
    (finding,) = against([unasked], [failed(Oracle.METADATA)]).findings
    assert finding.reason.startswith("worse than 2.14.0")


def test_a_known_failure_that_is_no_longer_asked_is_a_note():
    result = against([failed(Oracle.METADATA)], [not_applicable(Oracle.METADATA, UNASKED)])
    assert (result.cell_class, result.findings) == (CellClass.OK, ())
    assert [note.oracle for note in result.notes] == [Oracle.METADATA]


@pytest.mark.parametrize(
    ("file", "like", "cell_class", "findings"),
    [
        (record(FILE), None, CellClass.MISSING, 1),
        (record(FILE), unsupported(LIKE), CellClass.UNSUPPORTED, 1),
        (unsupported(FILE), record(LIKE), CellClass.UNSUPPORTED, 1),
        (unsupported(FILE), unsupported(LIKE), CellClass.UNSUPPORTED, 0),
        (unsupported(FILE), unsupported(LIKE, "other"), CellClass.UNSUPPORTED, 1),
        (unsupported(FILE), None, CellClass.MISSING, 1),
    ],
)
def test_what_cannot_be_compared_is_never_a_pass(file, like, cell_class, findings):
    result = compare(file, like)
    assert (result.cell_class, len(result.findings)) == (cell_class, findings)


def any_record(cell: object) -> st.SearchStrategy[CellRecord]:
    def verdict(oracle: Oracle) -> st.SearchStrategy[Verdict]:
        return st.sampled_from(
            [passed(oracle), not_applicable(oracle, UNASKED), failed(oracle), failed(oracle, "x")]
        )

    return st.tuples(*map(verdict, Oracle)).map(lambda found: record(cell, *found))  # type: ignore[arg-type]


@given(any_record(FILE))
def test_whatever_a_release_does_a_candidate_that_does_the_same_is_not_worse(file):
    like = record(LIKE, *file.verdicts)
    result = compare(file, like)
    assert (result.findings, result.notes, result.good_news) == ((), (), ())


@given(any_record(FILE), any_record(LIKE))
def test_a_candidate_that_is_not_worse_fails_nothing_that_the_release_passes(file, like):
    result = compare(file, like)
    lost = [
        o
        for o in Oracle
        if gates(o, FILE.route) and like.verdict(o).label == "ok" and file.verdict(o).label != "ok"
    ]
    assert bool(result.findings) >= bool(lost)
    assert (result.cell_class is CellClass.UNEXPECTED_FAILURE) is bool(result.findings)


NOTHING_TO_SAVE = unsupported(LIKE, "compile: ends in IndexError: 1")


@pytest.mark.parametrize(
    "like", [NOTHING_TO_SAVE, unsupported(LIKE, f"{STAND_IN_RAISED} AttributeError: dim")]
)
def test_a_cell_that_is_right_where_the_release_did_not_come_so_far_is_good_news(like):
    result = compare(record(FILE), like)
    assert (result.cell_class, result.findings) == (CellClass.OK, ())
    (good,) = result.good_news
    assert good.reason == f"passes, but 2.14.0 did not come so far ({like.reason})"


def test_a_save_that_raises_behind_a_compile_that_raised_before_is_a_note():
    raises = failed(Oracle.COMPLETION, "Guard failed", Stage.RUN)
    result = compare(record(FILE, raises, failed(Oracle.SIGNATURE)), NOTHING_TO_SAVE)
    assert (result.cell_class, result.findings) == (CellClass.EXPECTED_FAILURE, ())
    assert {note.oracle for note in result.notes} == {Oracle.COMPLETION, Oracle.SIGNATURE}
    assert all("2.14.0 did not get so far" in note.reason for note in result.notes)


@pytest.mark.parametrize(
    ("static", "wire", "red"),
    [
        (STATIC, "reads another size", False),
        (STATIC, "reads another op; reads another size", True),
        ("output structure differs", "reads another size", True),
    ],
)
def test_a_size_that_both_made_static_is_read_as_a_constant_and_is_a_note(static, wire, red):
    like = [failed(Oracle.SIGNATURE, static)]
    result = against(like, [*like, failed(Oracle.WIRING, wire)])
    assert bool(result.findings) is red
    assert bool(result.notes) is not red


@pytest.mark.parametrize("like", [NOTHING_TO_SAVE, unsupported(LIKE, "no wheel")])
def test_a_save_that_fails_or_that_the_release_lacks_otherwise_is_held_against_nothing(like):
    wrong = record(FILE, *([failed(Oracle.VALUES)] if like is NOTHING_TO_SAVE else []))
    result = compare(wrong, like)
    assert result.cell_class is CellClass.UNSUPPORTED
    assert "held against nothing" in result.findings[0].reason


@pytest.mark.parametrize(
    ("mine", "theirs", "alike"),
    [
        ("no wheel", "no wheel", True),
        ("no wheel", "no engine", False),
        (f"{STAND_IN_RAISED} SizeUnknown: u0", f"{STAND_IN_RAISED} AttributeError: device", True),
        (f"{STAND_IN_RAISED} SizeUnknown: u0", "no wheel", False),
    ],
)
def test_what_neither_could_be_asked_for_a_like_reason_is_no_difference(mine, theirs, alike):
    result = compare(unsupported(FILE, mine), unsupported(LIKE, theirs))
    assert result.cell_class is CellClass.UNSUPPORTED
    assert bool(result.findings) is not alike


def test_a_save_that_was_wrong_and_is_as_wrong_as_its_module_now_has_lost_nothing():
    unasked = unsupported(FILE, f"{NOT_COMPILED} it computes something else in memory")
    wrong = compare(unasked, record(LIKE, failed(Oracle.VALUES, "structure differs")))
    assert wrong == Comparison(CellClass.UNSUPPORTED)
    (lost,) = compare(unasked, record(LIKE)).findings
    assert lost.reason.startswith("could not be asked: ")


def of_torch_compile(subject: str) -> CellKey:
    """A cell of a module in memory, which is held against eager."""
    return dataclasses.replace(key("a", subject), lane=Lane.PACKAGE, route=Route.TORCH_COMPILE)


LEFT = f"{LEFT_TO_PYTORCH}: RuntimeError: no converter"


def test_a_module_in_memory_that_is_right_needs_no_release_beside_it():
    candidate, release = of_torch_compile("file:1a"), of_torch_compile("2.14.0")
    result = compare(record(candidate), unsupported(release, LEFT))
    assert (result.cell_class, result.findings) == (CellClass.OK, ())
    assert len(result.good_news) == 1
    wrong = compare(record(candidate, failed(Oracle.VALUES)), unsupported(release, LEFT))
    assert "held against nothing" in wrong.findings[0].reason


def test_a_model_that_is_left_to_pytorch_is_a_loss_where_the_release_had_it_right_alone():
    candidate, release = of_torch_compile("file:1a"), of_torch_compile("2.14.0")
    left = unsupported(candidate, LEFT)
    assert compare(left, record(release, failed(Oracle.VALUES))).findings == ()
    (finding,) = compare(left, record(release)).findings
    assert finding.reason == f"could not be asked: {LEFT}"
