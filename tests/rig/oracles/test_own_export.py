"""A candidate's own `export()`, which a user's save calls, is held against its parts."""

import pytest

from harness.rig.cell.prepare import PreparedCase
from harness.rig.inliners.protocol import Inliner
from harness.wire.oracles import Oracle
from harness.wire.records import Verdict
from harness.wire.vocabulary import SubjectKind
from tests.mutants import Mutant
from tests.rig.conftest import cell_record

BODY = "    patched_module = transform(\n        gm, cross"
SOUND = Mutant("sound", BODY, BODY)
RAISES = Mutant("raises", BODY, '    raise ValueError("mine")\n' + BODY)
RETURNS_NOTHING = Mutant("returns_nothing", BODY, "    return None\n" + BODY)
FORGETS_DYNAMIC_SHAPES = Mutant("forgets", BODY, "    dynamic_shapes = None\n" + BODY)
OTHER_OP = Mutant(
    "other_op",
    "    if not use_legacy_exporter:\n        args = ()\n",
    "    for node in patched_module.graph.nodes:\n"
    "        if node.target is torch.ops.aten.relu.default:\n"
    "            node.target = torch.ops.aten.sigmoid.default\n"
    "    patched_module.recompile()\n"
    "    if not use_legacy_exporter:\n        args = ()\n",
)


def verdict(
    prepared: PreparedCase, inliner: Inliner, route: str, oracle: Oracle = Oracle.STRUCTURE
) -> Verdict:
    return cell_record(prepared, inliner, route).verdict(oracle)


@pytest.mark.parametrize("route", ["legacy", "export"])
@pytest.mark.parametrize(
    ("mutant", "message"),
    [
        (RAISES, "ValueError: mine"),
        (RETURNS_NOTHING, "TypeError: export() returns a NoneType, no ExportedProgram"),
    ],
    ids=lambda value: value.name if isinstance(value, Mutant) else "",
)
def test_an_export_that_makes_no_program_is_an_error_of_the_load_mutant(
    load_mutant, prepared, mutant, message, route
):
    found = verdict(prepared("relu_four_steps"), load_mutant(mutant), route, Oracle.COMPLETION)
    assert (found.label, found.message) == ("error@export", message)


@pytest.mark.parametrize("route", ["legacy", "export"])
def test_the_program_that_export_makes_is_the_one_that_is_judged(load_mutant, prepared, route):
    case = prepared("relu_four_steps")
    assert not verdict(case, load_mutant(SOUND), route).failed
    found = verdict(case, load_mutant(OTHER_OP), route)
    assert (found.label, found.message) == (
        "wrong-structure@export",
        "export() makes another program than its parts",
    )
    assert "aten.sigmoid" in found.evidence
    assert verdict(case, load_mutant(OTHER_OP), route, Oracle.VALUES).label == "wrong-values@run"


def test_dynamic_shapes_that_export_does_not_pass_on_are_found(load_mutant, prepared):
    case = prepared("dynamic_batch")
    assert not verdict(case, load_mutant(SOUND), "export").failed
    forgets = load_mutant(FORGETS_DYNAMIC_SHAPES)
    assert verdict(case, forgets, "export").failed
    assert verdict(case, forgets, "export", Oracle.COMPLETION).label == "error@run"


def test_a_wheel_of_no_release_is_asked_as_a_file_is(load_mutant, prepared, monkeypatch):
    nightly = load_mutant(SOUND, exporter_path=None)
    monkeypatch.delattr(nightly.exporter, "export")
    found = verdict(prepared("relu_four_steps"), nightly, "legacy", Oracle.COMPLETION)
    assert "has no attribute 'export'" in found.message


@pytest.mark.parametrize(
    "fields", [{"kind": SubjectKind.RELEASE}, {"hypothetical_routes": ("legacy",)}]
)
def test_neither_a_release_nor_a_route_that_no_user_reaches_is_asked(load_mutant, prepared, fields):
    raises = load_mutant(RAISES, **fields)
    found = verdict(prepared("relu_four_steps"), raises, "legacy", Oracle.COMPLETION)
    assert not found.failed
