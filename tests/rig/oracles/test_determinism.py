"""What comes out otherwise the second time is found, in the graph and in the archive."""

import copy
from pathlib import Path

import pytest
import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule

from harness.rig.cell.prepare import PreparedCase
from harness.rig.cell.sharing import Shared
from harness.rig.inliners.builtin import BuiltinInliner
from harness.rig.inliners.loader import NoInliner
from harness.rig.inliners.protocol import Inliner
from harness.rig.oracles.determinism import check_saves, check_transform
from harness.wire.oracles import Oracle
from harness.wire.records import Verdict
from harness.wire.routes import Route
from tests.rig.conftest import Tampering, cell_record


def rename(module: GraphModule) -> None:
    next(node for node in module.graph.nodes if node.op == "call_function").name = "renamed"


def other_weight(module: GraphModule) -> None:
    with torch.no_grad():
        next(module.parameters())[0] += 1


def raises(module: GraphModule) -> None:
    raise RuntimeError("not again")


def verdict(inliner: Inliner, case: PreparedCase) -> Verdict:
    return cell_record(case, inliner).verdict(Oracle.DETERMINISM)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (rename, "two transforms give other graphs"),
        (other_weight, "two transforms give other graphs"),
        (raises, "a second transform raises RuntimeError"),
    ],
)
@pytest.mark.parametrize("shared", [True, False])
def test_a_transform_that_comes_out_otherwise_the_second_time_is_found(
    prepared, change, message, shared
):
    case = copy.copy(prepared("linears_in_two_fallbacks"))
    case.shared = Shared() if shared else None
    found = verdict(Tampering(change, since=2), case)
    assert (found.label, found.message) == ("nondeterministic@inline-fallbacks", message)


def test_a_transform_that_comes_out_the_same_has_no_finding(prepared):
    assert (
        verdict(Tampering(lambda module: None), prepared("linears_in_two_fallbacks")).label == "ok"
    )


@pytest.fixture
def fickle(monkeypatch) -> list[str]:
    """The second save of a program writes another one; the folders that were saved to."""
    save, saved = torch.export.save, []

    def saves_otherwise(program: ExportedProgram, archive: Path) -> None:
        saved.append(archive.parent.name)
        if saved[-1] == "again":
            program = copy.deepcopy(program)
            with torch.no_grad():
                next(iter(program.state_dict.values()))[0] += 1
        save(program, archive)

    monkeypatch.setattr(torch.export, "save", saves_otherwise)
    return saved


def test_an_archive_that_comes_out_otherwise_the_second_time_is_found(prepared, fickle):
    found = verdict(BuiltinInliner("positional"), prepared("linears_in_two_fallbacks"))
    assert len(fickle) == 2
    assert found.label == "nondeterministic@save"
    assert found.message == "two saves reload to other programs"


def test_one_program_of_a_case_is_saved_twice_the_first_that_an_inliner_made(prepared, fickle):
    case = copy.copy(prepared("linears_in_two_fallbacks"))
    case.shared = Shared()
    labels = [
        cell_record(case, NoInliner(), route).verdict(Oracle.DETERMINISM).label
        for route in (Route.PLAIN, Route.DIRECT)
    ]
    labels += [
        verdict(inliner, case).label
        for inliner in (BuiltinInliner("positional"), Tampering(other_weight))
    ]
    assert labels == ["ok", "ok", "nondeterministic@save", "ok"]
    assert fickle.count("again") == 1


def test_archives_that_differ_in_bytes_alone_are_equal(prepared, monkeypatch):
    monkeypatch.setattr("filecmp.cmp", lambda *_, **__: False)
    assert verdict(BuiltinInliner("positional"), prepared("dynamic_batch")).label == "ok"


def test_the_first_line_that_differs_is_told():
    (found,) = check_transform(["a", "b"], lambda: ["a", "c"])
    assert found.detail == "line 1: c, before b"
    (found,) = check_saves(["a"], ["a", "b"])
    assert found.detail == "line 1: b, before no more"
    assert list(check_saves(["a"], ["a"])) == []
