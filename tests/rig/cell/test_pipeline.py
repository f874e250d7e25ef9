"""The pipeline: what old releases do, what the newest still does, and how a cell can go wrong."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule

from corpus.case import Case, Family, Origin, Program, cases_of
from corpus.inputs import floats
from harness.register.facts import Place
from harness.register.table_files import read_table
from harness.rig.cell.prepare import PreparedCase, fingerprint, prepare
from harness.rig.clock import StageClock
from harness.rig.engines.builder import payload_digest
from harness.rig.engines.emulated import engine_payload, run_counts
from harness.rig.engines.module import engine_children
from harness.rig.inliners.builtin import BuiltinInliner
from harness.rig.oracles import structure
from harness.rig.oracles.wiring import check_inlined
from harness.wire.oracles import Oracle
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import Outcome
from tests.chosen import quick_first
from tests.rig.conftest import Tampering, cell_record

# The defects that the positional form was written against: what 2.13.0 does, and where it shows.
OLD_SYMPTOMS = {
    "pr_4360": (Oracle.COMPLETION, "error@clean", "used before it has been defined"),
    "residual_over_a_fallback": (Oracle.COMPLETION, "error@inline-fallbacks", "AssertionError"),
    "inputs_in_both_orders": (
        Oracle.STRUCTURE,
        "wrong-structure@clean",
        "an input that the model does not have",
    ),
    "named_like_an_earlier_getitem": (
        Oracle.VALUES,
        "wrong-values@inline-fallbacks",
        "numbers differ",
    ),
    "inputs_read_in_reverse": (Oracle.VALUES, "wrong-values@inline-fallbacks", "numbers differ"),
}


@pytest.mark.parametrize("name", sorted(OLD_SYMPTOMS))
@pytest.mark.parametrize("route", ["legacy", "export"])
def test_2_13_0_shows_the_symptom_and_2_14_0_is_clean(inliners, prepared, name, route):
    oracle, label, message = OLD_SYMPTOMS[name]
    old = cell_record(prepared(name), inliners["2.13.0"], route).verdict(oracle)
    assert (old.label, message in old.message) == (label, True)
    new = cell_record(prepared(name), inliners["2.14.0"], route)
    assert {failure.oracle for failure in new.failures} <= {Oracle.METADATA}


@pytest.mark.parametrize("name", ["named_like_an_earlier_getitem", "inputs_read_in_reverse"])
def test_silent_wrong_values_are_silent_but_for_values_and_wiring(inliners, prepared, name):
    record = cell_record(prepared(name), inliners["2.13.0"], "export")
    assert {failure.oracle for failure in record.failures} == {Oracle.VALUES, Oracle.WIRING}


TABLE = read_table()

# torch's non-strict export binds the keywords of a graph module in the order of the call.
WRONG_IN_TORCH = "keywords_without_pytrees"


@pytest.mark.parametrize("route", ["direct", "plain"])
def test_the_controls_show_what_torch_itself_gets_wrong(inliners, prepared, route):
    record = cell_record(prepared(WRONG_IN_TORCH), inliners["torch"], route)
    assert record.verdict(Oracle.VALUES).label == "wrong-values@run"
    assert {failure.oracle for failure in record.failures} <= {Oracle.VALUES, Oracle.UNFLATTEN}


def torch_is_known_to_fail(name: str) -> bool:
    """Whether the table has a row of torch itself: that it fails the case, or cannot be asked."""
    places = [Place(Lane.GRAPH, name, "nonstrict", route) for route in (Route.DIRECT, Route.PLAIN)]
    return any(TABLE.expected(place, "torch") for place in places)


OTHERS = [
    case.name
    for case in cases_of("graph")
    if not case.full and not torch_is_known_to_fail(case.name)
]


@pytest.mark.parametrize("name", quick_first(OTHERS))
@pytest.mark.parametrize("route", ["direct", "plain"])
def test_the_controls_pass_on_every_case_that_torch_is_not_known_to_fail(
    inliners, prepared, name, route
):
    record = cell_record(prepared(name), inliners["torch"], route)
    assert [failure.label for failure in record.failures] == []
    asked = {v.oracle for v in record.verdicts if v.outcome is Outcome.OK}
    assert asked >= set(Oracle) - ({Oracle.WIRING} if route == "plain" else set())


def swap_first_two_relus(module: GraphModule) -> None:
    first, second, *_ = [
        node for node in module.graph.nodes if str(node.target) == "aten.relu.default"
    ]
    first.args, second.args = second.args, first.args


def test_a_swapped_wire_is_wrong_by_values_and_by_wiring(prepared):
    record = cell_record(prepared("engine_two_outputs"), Tampering(swap_first_two_relus))
    assert record.verdict(Oracle.VALUES).label == "wrong-values@inline-fallbacks"
    assert record.verdict(Oracle.WIRING).label == "wrong-wiring@inline-fallbacks"
    assert "should be" in record.verdict(Oracle.VALUES).evidence


@pytest.mark.parametrize(
    "name", [case.name for case in cases_of("graph") if case.family is Family.MULTI_OUTPUT_ENGINES]
)
def test_every_engine_of_a_program_really_ran(prepared, name):
    case = prepared(name)
    before = copy.copy(run_counts)
    cell_record(case, BuiltinInliner("positional"))
    children = engine_children(case.split).values()
    digests = {payload_digest(engine_payload(child.engine)) for child in children}
    assert digests
    assert all(run_counts[digest] > before[digest] for digest in digests)


def raises(module: GraphModule) -> None:
    raise LookupError("planted")


def test_what_an_inliner_raises_is_a_verdict_at_its_stage(prepared):
    record = cell_record(prepared("relu_once"), Tampering(raises))
    verdict = record.verdict(Oracle.COMPLETION)
    assert (verdict.label, verdict.message) == ("error@clean", "LookupError: planted")
    assert record.verdict(Oracle.VALUES).outcome is Outcome.NOT_APPLICABLE
    assert "not reached" in record.verdict(Oracle.VALUES).message


def adds_nothing(weight: torch.Tensor) -> None:
    with torch.no_grad():
        weight.add_(0)


def doubles_past_autograd(weight: torch.Tensor) -> None:
    weight.data.mul_(2)  # such a write counts up no version


@pytest.mark.parametrize("write", [adds_nothing, doubles_past_autograd])
def test_an_inliner_that_changes_what_it_was_given_is_caught(prepared, write):
    class InPlace(Tampering):
        def produce(self, split: GraphModule, *args: Any, **kwargs: Any) -> ExportedProgram:
            program = super().produce(split, *args, **kwargs)
            write(next(split.parameters()))
            return program

    case = copy.copy(prepared("linear_in_fallback"))
    case.split = copy.deepcopy(case.split)
    case.fingerprint = fingerprint(case.split)
    verdict = cell_record(case, InPlace(lambda module: None)).verdict(Oracle.STRUCTURE)
    assert verdict.message == "the inliner changed the module it was given"


def test_an_oracle_that_breaks_is_not_a_verdict(prepared, monkeypatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("the harness's own fault")

    monkeypatch.setattr(structure, "check_program", broken)
    with pytest.raises(ZeroDivisionError):
        cell_record(prepared("relu_once"), BuiltinInliner("positional"))


def test_times_and_sizes_are_measured(prepared):
    record = cell_record(prepared("relu_four_steps"), BuiltinInliner("positional"))
    assert {"inline-engines", "inline-fallbacks", "clean", "export", "save", "load", "run"} <= set(
        record.seconds
    )
    assert all(seconds > 0 for seconds in record.seconds.values())
    assert record.archive_bytes is not None
    assert record.engine_bytes is not None
    assert record.archive_bytes > record.engine_bytes > 0


def prepared_model(
    model: Callable[[], torch.nn.Module], *fallback: str, **fields: Any
) -> PreparedCase:
    """A case of a test's own."""
    inputs = fields.pop("inputs", floats((3, 4)))
    case = Case(
        name=f"planted_{len(fallback)}",
        family=Family.SHARED_VALUES,
        origin=Origin.EXPORTED,
        catches="a planted fault",
        build=lambda: Program(inputs, model=model(), **fields),
        fallback=fallback,
    )
    return prepare(case, "nonstrict", 0, StageClock())


class Counter(torch.nn.Module):
    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return torch.relu(x * 2) + 1


def test_a_fallback_that_only_has_an_effect_and_is_dropped_is_seen(inliners):
    case = prepared_model(Counter, "aten.add_.Tensor")
    assert cell_record(case, inliners["torch"], "direct").label == "ok"
    for version in ("2.13.0", "2.14.0"):
        record = cell_record(case, inliners[version], "export")
        assert (
            record.verdict(Oracle.WIRING).message == "another number of mutations and random draws"
        )
        assert "state is left otherwise" in record.verdict(Oracle.VALUES).message


class OtherSize(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * 2).sum(0) * y.shape[0] + 1


def test_a_size_asked_of_the_wrong_input_is_seen():
    n, m = (torch.export.Dim(name, min=1, max=8) for name in ("n", "m"))
    case = prepared_model(
        OtherSize,
        "aten.relu.default",
        "aten.sym_size.int",
        inputs=floats((-1, 4), (-1, 4)),
        dynamic_shapes=({0: n}, {0: m}),
        bounds=(1, 8),
    )

    def swap(module: GraphModule) -> None:
        x, _ = [node for node in module.graph.nodes if node.op == "placeholder"]
        for node in module.graph.nodes:
            if node.target is torch.ops.aten.sym_size.int:
                node.args = (x, 0)

    module = BuiltinInliner("positional").transform(case.split)
    assert list(check_inlined(case.reader, case.reading, 2, module)) == []
    swap(module)
    found = list(check_inlined(case.reader, case.reading, 2, module))
    assert [finding.kind for finding in found] == ["reads another size"]


def test_eval_dropout_is_no_effect(inliners):
    class Dropout(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.dropout(x + 1, 0.5, False)
            return torch.dropout(torch.relu(y) * 2, 0.5, False)

    case = prepared_model(Dropout, "aten.dropout.default", "aten.mul.Tensor")
    assert cell_record(case, inliners["positional"]).label == "ok"


def test_a_program_whose_inlined_module_does_not_run_is_a_verdict(prepared):
    def break_getitem(module: GraphModule) -> None:
        for node in module.graph.nodes:
            if node.name == "getitem":
                node.args = (node.args[0], 7)

    class Half(Tampering):
        def produce(self, split: GraphModule, *args: Any, **kwargs: Any) -> ExportedProgram:
            program = BuiltinInliner("positional").produce(split, *args, **kwargs)
            kept = BuiltinInliner("positional").transform(split)
            break_getitem(kept)
            args[-1].keep(kept)
            return program

    record = cell_record(prepared("engine_two_outputs"), Half(break_getitem))
    assert record.verdict(Oracle.VALUES).message == "inlined module raises IndexError"


def test_what_one_cell_damages_the_next_one_does_not_see(inliners, prepared):
    case = copy.copy(prepared("linear_in_fallback"))
    case.split = copy.deepcopy(case.split)
    case.fingerprint = fingerprint(case.split)
    assert not case.look_for_damage()
    BuiltinInliner("positional").inline_trt_modules(case.split)
    assert case.look_for_damage()
