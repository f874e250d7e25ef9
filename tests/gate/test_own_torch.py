"""Releases with the torch that they pin: what users get, and what is unlike the pinned one."""

import dataclasses

from harness.gate.attribution import attributed
from harness.gate.own_torch import OwnTorch, own_torch_lines, own_torches
from harness.gate.qualify import qualify
from harness.gate.qualify_words import decision_words, evidence_words, tally_lines
from harness.register.facts import UNSUPPORTED
from harness.wire.builders import Builder, Environment
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CellKey, CellRecord, Verdict
from harness.wire.routes import Lane
from harness.wire.vocabulary import Reach
from tests.record_builders import (
    Row,
    case,
    defect,
    entry,
    failed,
    key,
    record,
    register,
    subject,
    table,
    unsupported,
)

OLD, NEW = subject("2.13.0"), subject("2.14.0")
KNOWN = register(defect("known"), defect("other"))


def with_torch(version: str, name: str, case_name: str = "a", lane: Lane = Lane.PACKAGE) -> CellKey:
    environment = Environment(f"torch-{version}")
    return dataclasses.replace(key(case_name, name), lane=lane, environment=environment)


def call(name: str, *verdicts: Verdict, case_name: str = "a") -> CellRecord:
    """A user's call in a release's own environment."""
    return record(with_torch(name, name, case_name), *verdicts)


def reach_of(cell: CellKey) -> Reach:
    return Reach.HANDMADE if cell.case == "by-hand" else Reach.PRODUCT


def seen(*records: CellRecord, rows: tuple[Row, ...] = ()) -> tuple[OwnTorch, ...]:
    expected = table(*rows)
    shown = attributed(records, expected, KNOWN)
    return own_torches(records, [OLD, NEW], expected, shown, reach_of)


def lines(
    *records: CellRecord, rows: tuple[Row, ...] = ()
) -> list[tuple[str, str, tuple[str, ...]]]:
    return own_torch_lines(seen(*records, rows=rows), KNOWN.titles)


def test_what_is_right_here_and_raises_in_the_pinned_environment_is_better():
    raising = entry(Oracle.COMPLETION, lane="package", subjects=("2.14.0",))
    assert lines(call("2.14.0"), rows=(raising,)) == [
        (
            "2.14.0 with torch 2.14.0",
            "1 user call: 1 right, 0 silently wrong",
            ("1 user call better than in the pinned environment: It is known",),
        )
    ]


def test_what_is_silently_wrong_here_alone_is_worse_and_what_is_new_is_named():
    wrong = failed(Oracle.VALUES)
    here = dataclasses.replace(wrong, harm=Harm.SILENT)
    rows = (
        entry(Oracle.METADATA, lane="package", defect="known", harm="interface"),
        entry(lane="package", defect="other", harm="silent", environment="torch-2.13"),
    )
    ((_, told, unlike),) = lines(call("2.13.0", here, failed(Oracle.METADATA)), rows=rows)
    assert told == "1 user call: 0 right, 1 silently wrong"
    assert unlike == ("1 user call worse than in the pinned environment: It is other",)


def test_numbers_that_are_right_count_as_right_however_they_are_packed():
    repacked = dataclasses.replace(failed(Oracle.STRUCTURE), harm=Harm.INTERFACE)
    ((_, told, unlike),) = lines(call("2.14.0", repacked))
    assert told == "1 user call: 1 right, 0 silently wrong"
    assert unlike == ("as in the pinned environment, cell by cell",)


def test_what_the_pinned_environment_cannot_ask_is_no_difference():
    unasked = entry(UNSUPPORTED, lane="package", subjects=("2.14.0",))
    error = call("2.14.0", failed(Oracle.COMPLETION))
    assert seen(error)[0].unlike
    assert not seen(error, rows=(unasked,))[0].unlike
    assert not seen(unsupported(error.key), rows=())[0].unlike


def test_splits_by_hand_and_cells_of_the_pinned_environment_and_of_no_release_are_left_out():
    wrong = failed(Oracle.VALUES)
    pinned = record(key("a", "2.14.0"), wrong)
    by_hand = record(with_torch("2.14.0", "2.14.0", "by-hand"), wrong)
    built_in = record(with_torch("2.14.0", "positional"), wrong)
    expected = table()
    specs = [OLD, NEW, subject("positional", kind="builtin")]
    assert own_torches([pinned, by_hand, built_in], specs, expected, (), reach_of) == ()


def test_two_releases_are_held_against_each_other_each_with_the_torch_that_it_pins():
    records = [call("2.13.0", failed(Oracle.COMPLETION)), call("2.14.0")]
    q = qualify(records, [case("a")], OLD, NEW)
    assert dict(tally_lines(q)) == {"1 user call": "0 regressed, 1 fixed, 0 broken before, 0 right"}
    assert decision_words(q) == "2.14.0 in place of 2.13.0: ship"
    assert evidence_words(q).startswith("each with the torch that it pins, on CPU evidence")


def test_where_one_torch_was_asked_of_both_releases_their_own_are_not_held_against_each_other():
    shared = [record(key("a", name)) for name in ("2.13.0", "2.14.0")]
    own = [call("2.13.0", failed(Oracle.COMPLETION)), call("2.14.0")]
    q = qualify([*shared, *own], [case("a")], OLD, NEW)
    assert (q.compared, q.own_torch) == (1, False)
    assert "pins" not in evidence_words(q)


def test_a_tensorrt_rtx_that_the_pinned_environment_does_not_ask_is_held_against_nothing_there():
    asked = entry(Oracle.METADATA, lane="package", harm="interface", subjects=("2.14.0",))
    with_another = dataclasses.replace(
        with_torch("2.14.0", "2.14.0"), builder=Builder("tensorrt-rtx-1.4.0.76")
    )
    error = record(with_another, failed(Oracle.COMPLETION))
    ((_, _, unlike),) = lines(error, rows=(asked,))
    assert unlike == (
        "as in the pinned environment, cell by cell",
        "1 user call not right with a TensorRT-RTX that the pinned environment does not ask: "
        "no known defect",
    )
    assert not seen(record(with_another), rows=(asked,))[0].unlike


def test_a_call_with_engines_of_two_builders_is_one_call_and_the_worst_of_them_counts():
    rtx = dataclasses.replace(with_torch("2.14.0", "2.14.0"), builder=Builder("tensorrt-rtx-1.6"))
    ((_, told, _),) = lines(call("2.14.0"), record(rtx, failed(Oracle.COMPLETION)))
    assert told == "1 user call: 0 right, 1 raise, 0 silently wrong"
