"""Sharing changes no verdict, and whatever could change one makes two programs unequal."""

import copy
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule

from corpus.structures import NamedPair
from harness.rig.cell.sharing import Shared, graph_lines, module_identity, program_identity
from harness.rig.oracles.finding import Finding
from harness.wire.oracles import Oracle
from harness.wire.vocabulary import Outcome, Stage
from tests.chosen import quick_first
from tests.rig.conftest import Tampering, cell_record, inlined, said

# A correct one, each way for 2.13.0 to be wrong, weights, a dynamic dimension, an effect.
NAMES = [
    "relu_four_steps",
    "pr_4360",
    "named_like_an_earlier_getitem",
    "residual_over_a_fallback",
    "inputs_in_both_orders",
    "names_that_collide_without_dots",
    "dynamic_batch_weights_in_fallbacks",
    "fallback_with_an_effect_alone",
    "one_name_with_two_values",
]
DEFAULT = {"pr_4360", "inputs_in_both_orders", "fallback_with_an_effect_alone"}


@pytest.mark.parametrize("name", quick_first(NAMES, DEFAULT))
def test_sharing_changes_no_verdict(inliners, prepared, name):
    alone, sharing = (copy.copy(prepared(name)) for _ in range(2))
    sharing.shared = Shared()
    for subject, inliner in inliners.items():
        routes = {"torch": ("direct", "plain")}.get(subject, ("export",))
        for route in (*routes, "legacy") if subject[0] == "2" else routes:
            expected = cell_record(alone, inliner, route)
            assert said(cell_record(sharing, inliner, route)) == said(expected)
    assert sharing.shared.programs


def test_a_program_that_is_equal_is_not_saved_again(inliners, prepared, monkeypatch):
    case = copy.copy(prepared("relu_four_steps"))
    case.shared = Shared()
    saved: list[object] = []
    save = torch.export.save

    def counting(program: object, *args: object, **kwargs: object) -> None:
        saved.append(program)
        save(program, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(torch.export, "save", counting)
    for subject in ("2.13.0", "2.14.0"):
        record = cell_record(case, inliners[subject])
        assert {"inline-engines", "export", "save", "load", "run"} <= set(record.seconds)
        assert record.archive_bytes
    assert len(saved) == 2  # the second time to see whether the archive is the same


def test_what_differs_in_memory_alone_is_judged_before_saving_and_loaded_once(
    inliners, prepared, monkeypatch
):
    """2.6.0 leaves a placeholder its old target, which no archive holds."""

    def old_targets(program: ExportedProgram, stage: Stage) -> Iterator[Finding]:
        for node in program.graph.nodes:
            if node.op == "placeholder" and node.target != node.name:
                yield Finding(stage, "an old target", node.name)

    loaded: list[object] = []
    load = torch.export.load

    def counting(archive: Path) -> ExportedProgram:
        loaded.append(archive)
        return load(archive)

    monkeypatch.setattr("harness.rig.oracles.structure.check_program", old_targets)
    monkeypatch.setattr(torch.export, "load", counting)
    case = copy.copy(prepared("relu_once"))
    case.shared = Shared()
    labels = [
        cell_record(case, inliners[subject], "legacy").verdict(Oracle.STRUCTURE).label
        for subject in ("2.14.0", "2.6.0")
    ]
    assert labels == ["ok", "wrong-structure@export"]
    assert len(case.shared.programs) == 2
    assert len(loaded) == 1


def test_an_equal_program_has_other_ranges_to_keep_where_save_was_given_shapes_of_its_own(
    inliners, prepared, monkeypatch
):
    """Without the shapes the legacy exporter makes one program of both calls: right for one."""
    inliner = inliners["2.14.0"]
    create = inliner.exporter.create_trt_exp_program

    def forgetful(gm: GraphModule, dynamic_shapes: object = None, **keywords: object) -> object:
        return create(gm, **keywords)

    monkeypatch.setattr(inliner.exporter, "create_trt_exp_program", forgetful)
    case = copy.copy(prepared("dimension_saved_for_fewer_rows"))
    case.shared = Shared()
    without, given = (
        cell_record(case, inliner, route).verdict(Oracle.SIGNATURE)
        for route in ("legacy", "legacy-dynamic")
    )
    assert (without.label, given.label) == ("ok", "wrong-signature@export")
    assert given.message == "another upper bound; takes a size above the bound"


def rename(module: GraphModule) -> None:
    next(node for node in module.graph.nodes if node.op == "call_function").name = "renamed"


def rewire(module: GraphModule) -> None:
    linears = [node for node in module.graph.nodes if "linear" in str(node.target)]
    linears[0].args, linears[1].args = linears[1].args, linears[0].args


def other_metadata(module: GraphModule) -> None:
    node = next(node for node in module.graph.nodes if "linear" in str(node.target))
    node.meta["val"] = node.meta["val"].double()


def other_value(module: GraphModule) -> None:
    with torch.no_grad():
        module.get_parameter("first.bias")[0] += 1


def frozen(module: GraphModule) -> None:
    module.get_parameter("first.bias").requires_grad_(False)


def other_strides(module: GraphModule) -> None:
    weight = module.get_parameter("first.weight")
    weight.data = weight.data.t().contiguous().t()


def extra_metadata(module: GraphModule) -> None:
    next(iter(module.graph.nodes)).meta["nn_module_stack"] = {}


def test_what_a_second_transform_made_is_exported_by_the_next_route(
    inliners, prepared, monkeypatch
):
    case, inliner = copy.copy(prepared("relu_four_steps")), inliners["2.13.0"]
    case.shared = Shared()
    made: list[object] = []
    original = inliner.exporter.inline_torch_modules

    def counting(gm: GraphModule) -> GraphModule:
        made.append(gm)
        return original(gm)

    monkeypatch.setattr(inliner.exporter, "inline_torch_modules", counting)
    records = [cell_record(case, inliner, route) for route in ("legacy", "export")]
    assert len(made) == 2  # and not a third time
    for record in records:
        assert record.verdict(Oracle.DETERMINISM).outcome is Outcome.OK
        assert {"inline-engines", "inline-fallbacks", "clean"} <= set(record.seconds)


def test_the_next_route_makes_its_own_where_it_calls_transform_otherwise(inliners, prepared):
    case, inliner = copy.copy(prepared("relu_four_steps")), inliners["2.14.0"]
    case.shared = Shared()
    for route in ("legacy", "export"):  # 2.14.0 tells transform by which exporter it goes on
        cell_record(case, inliner, route)
    assert list(case.shared.made) == ["2.14.0"]  # made for `legacy`, and taken by nobody


@pytest.mark.parametrize(("shared", "exports"), [(Shared(), 0), (None, 1)])
def test_the_models_own_program_is_not_made_a_second_time(
    inliners, prepared, monkeypatch, shared, exports
):
    case = copy.copy(prepared("dynamic_batch"))
    case.shared = shared
    made: list[object] = []
    export = torch.export.export

    def counting(*args: object, **kwargs: object) -> object:
        made.append(args)
        return export(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(torch.export, "export", counting)
    record = cell_record(case, inliners["torch"], "plain")
    assert not record.failures
    assert len(made) == exports


@pytest.mark.parametrize(
    "change", [rename, rewire, other_metadata, other_value, frozen, other_strides, extra_metadata]
)
def test_every_change_of_a_module_makes_it_another_one(prepared, change):
    case = prepared("linears_in_two_fallbacks")
    same, changed = copy.deepcopy(inlined(case)), copy.deepcopy(inlined(case))
    assert module_identity(same) == module_identity(inlined(case))
    change(changed)
    assert module_identity(changed) != module_identity(same)


def test_every_change_of_a_program_makes_it_another_one():
    def exported() -> torch.export.ExportedProgram:
        torch.manual_seed(0)
        shapes = ({0: torch.export.Dim("n", min=1, max=8)},)
        return torch.export.export(
            torch.nn.Linear(2, 2), (torch.ones(3, 2),), dynamic_shapes=shapes
        )

    identity = program_identity(exported())
    assert program_identity(exported()) == identity
    no_range = exported()
    no_range.range_constraints.clear()
    other_spec = exported()
    spec = other_spec.graph_signature.input_specs[0]
    other_spec.graph_signature.input_specs[0] = dataclasses.replace(spec, target="bias")
    other_state = exported()
    with torch.no_grad():
        other_state.state_dict["bias"].add_(1)
    for changed in (no_range, other_spec, other_state):
        assert program_identity(changed) != identity


def test_nothing_is_shared_once_the_split_is_damaged(inliners, prepared):
    case = copy.copy(prepared("relu_once"))
    case.shared, case.fingerprint = Shared(), "another"
    cell_record(case, inliners["positional"])
    assert (case.shared.inlined, case.shared.programs) == ({}, {})


def test_an_inliner_whose_first_work_is_known_is_still_asked_for_a_second(inliners, prepared):
    case = copy.copy(prepared("linear_in_fallback"))
    case.shared = Shared()
    verdicts = {}
    for inliner in (inliners["positional"], Tampering(rename, since=2)):
        verdicts[inliner.name] = cell_record(case, inliner).verdict(Oracle.DETERMINISM)
    assert verdicts["positional"].outcome is Outcome.OK
    assert verdicts["tampering"].message == "two transforms give other graphs"


class TakesAPair(torch.nn.Module):
    def forward(self, pair: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return pair[0] - pair[1]


def identity_with(pair: tuple[torch.Tensor, torch.Tensor]) -> str:
    return program_identity(torch.export.export(TakesAPair(), (pair,)))


def test_a_named_tuple_is_told_from_a_tuple_and_from_one_that_holds_something_else():
    ones, doubles = torch.ones(2), torch.ones(2, dtype=torch.float64)
    named = identity_with(NamedPair(ones, ones))
    assert named == identity_with(NamedPair(ones, ones))
    assert named != identity_with((ones, ones))
    assert named != identity_with(NamedPair(ones, doubles))


class TimesItsRows(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sym_float(x.shape[0])


def test_a_graph_is_told_alike_in_every_process():
    """`corpus.lock` has its digest: an address in it would differ from one process to the next."""
    rows = {"x": {0: torch.export.Dim("rows")}}
    exported = torch.export.export(TimesItsRows(), (torch.ones(3, 2),), dynamic_shapes=rows)
    lines = list(graph_lines(exported.graph))
    assert any("call_function torch.sym_float" in line for line in lines)
    assert not [line for line in lines if re.search("0x[0-9a-f]{6}", line)]
