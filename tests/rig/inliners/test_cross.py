"""The route `cross`: saved with placeholders for engines, which come back after loading."""

import dataclasses

import pytest
from torch.export import ExportedProgram

from harness.rig.cell.prepare import PreparedCase
from harness.rig.cell.sharing import Shared
from harness.rig.clock import StageClock
from harness.rig.engines.emulated import is_placeholder
from harness.rig.inliners.protocol import Inliner, Inlining
from harness.rig.inliners.release import ReleaseInliner
from harness.wire.oracles import Oracle
from harness.wire.records import CellRecord
from harness.wire.routes import Route
from harness.wire.vocabulary import Outcome
from tests.rig.conftest import cell_record

RIGHT = "2.10.0"  # all of what comes back is right, but for the place of the engines


def cell(inliner: Inliner, prepared: PreparedCase) -> CellRecord:
    return cell_record(prepared, inliner, Route.CROSS)


def failing(record: CellRecord) -> set[Oracle]:
    return {verdict.oracle for verdict in record.failures}


def test_the_saved_program_has_a_placeholder_for_each_engine_and_no_engine(inliners, prepared):
    case, result = prepared("relu_four_steps"), Inlining()
    program = inliners[RIGHT].produce(
        case.split, Route.CROSS, case.captured.example, None, StageClock(), result
    )
    calls = [node for node in program.graph.nodes if is_placeholder(node.target)]
    engines = [name for name, _ in case.split.named_children() if "_run_on_acc_" in name]
    assert (len(calls), program.constants) == (len(engines), {})
    assert result.come_back is not None


@pytest.mark.parametrize("name", ["relu_four_steps", "outputs_of_three_types"])
def test_what_comes_back_is_judged_by_the_same_oracles(inliners, prepared, name):
    record = cell(inliners[RIGHT], prepared(name))
    assert failing(record) == {Oracle.STATE}
    asked = {v.oracle for v in record.verdicts if v.outcome is not Outcome.NOT_APPLICABLE}
    assert asked == set(Oracle)


def test_two_engines_that_change_places_on_the_way_back_are_seen(inliners, prepared, monkeypatch):
    inliner = inliners[RIGHT]
    assert isinstance(inliner, ReleaseInliner)
    right = inliner.exporter.replace_execute_engine_no_op_node

    def wrong(program: ExportedProgram) -> ExportedProgram:
        first, second, *_ = [n for n in program.graph.nodes if is_placeholder(n.target)]
        first.args, second.args = (
            (first.args[0], *second.args[1:]),
            (second.args[0], *first.args[1:]),
        )
        return right(program)  # type: ignore[no-any-return]

    monkeypatch.setattr(inliner.exporter, "replace_execute_engine_no_op_node", wrong)
    record = cell(inliner, prepared("relu_four_steps"))
    assert {Oracle.VALUES, Oracle.WIRING} <= failing(record)


def test_an_inliner_that_puts_the_wrong_engine_into_a_placeholder_is_seen_before_it_is_saved(
    inliners, prepared, monkeypatch
):
    case = prepared("relu_four_steps")
    engines = [child for name, child in case.split.named_children() if "_run_on_acc_" in name]
    packed = type(engines[0])._pack_engine_info
    monkeypatch.setattr(type(engines[0]), "_pack_engine_info", lambda self: packed(engines[0]))
    verdict = cell(inliners[RIGHT], case).verdict(Oracle.WIRING)
    assert (verdict.label, verdict.message) == (
        "wrong-wiring@inline-fallbacks",
        "reads another engine",
    )


def test_one_release_s_way_back_is_not_taken_for_another_s(inliners, prepared):
    """2.6.0 and 2.10.0 save the same program, and 2.6.0 alone brings it back wrong."""
    case = prepared("relu_once")
    case.shared = Shared()
    try:
        old, new = (cell(inliners[version], case) for version in ("2.6.0", RIGHT))
    finally:
        case.shared = None
    assert (old.verdict(Oracle.VALUES).label, new.verdict(Oracle.VALUES).label) == (
        "wrong-values@run",
        "ok",
    )


def test_an_export_without_inputs_is_not_taken_for_one_with_them(inliners, prepared):
    """Without an engine both routes inline to one module, and only one of them gives inputs."""
    newest = inliners["2.14.0"]
    case = dataclasses.replace(prepared("no_child_at_all"), shared=Shared())
    assert not cell_record(case, newest).verdict(Oracle.COMPLETION).failed
    ended = cell(newest, case).verdict(Oracle.COMPLETION)
    assert ended.message == "TypeError: missing a required argument: 'x'"


@pytest.mark.parametrize("name", ["relu_once", "two_dynamic_dimensions"])
def test_who_asks_for_the_legacy_exporter_gets_a_program_that_comes_back(inliners, prepared, name):
    record = cell_record(prepared(name), inliners["2.14.0"], Route.CROSS_LEGACY)
    assert failing(record) == {Oracle.STATE}
    assert record.verdict(Oracle.VALUES).outcome is Outcome.OK


def test_what_puts_engines_back_in_the_newest_release_is_asked(inliners, prepared, monkeypatch):
    inliner = inliners["2.14.0"]
    monkeypatch.setattr(
        inliner.exporter, "replace_execute_engine_no_op_node", lambda program: program
    )
    ended = cell_record(prepared("relu_once"), inliner, Route.CROSS_LEGACY)
    assert ended.verdict(Oracle.COMPLETION).failed
