import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule

from harness.rig.oracles import structure
from harness.wire.vocabulary import Stage
from tests.rig.conftest import inlined


def kinds(split: GraphModule, module: GraphModule) -> set[str]:
    return {finding.kind for finding in structure.check_inlined(split, module)}


def test_a_correct_module_has_no_finding(prepared):
    case = prepared("inputs_in_both_orders")
    assert kinds(case.split, inlined(case)) == set()


def test_a_child_that_is_still_called_is_found(prepared):
    case = prepared("relu_once")
    assert "a child is still called" in kinds(case.split, case.split)


def test_an_extra_placeholder_is_found(prepared):
    case = prepared("relu_once")
    module = inlined(case)
    with module.graph.inserting_after(next(iter(module.graph.nodes))):
        module.graph.placeholder("extra")
    assert kinds(case.split, module) == {"an input that the model does not have"}


def test_reordered_placeholders_are_found(prepared):
    case = prepared("inputs_in_both_orders")
    module = inlined(case)
    first, second = [node for node in module.graph.nodes if node.op == "placeholder"]
    second.append(first)
    assert kinds(case.split, module) == {"inputs lost or reordered"}


def test_a_node_that_reads_a_later_one_is_found(prepared):
    case = prepared("relu_four_steps")
    module = inlined(case)
    relus = [node for node in module.graph.nodes if str(node.target) == "aten.relu.default"]
    relus[0].args = (relus[3],)
    assert "lint" in kinds(case.split, module)


def exported() -> ExportedProgram:
    return torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))


def test_an_argument_twice_in_the_lifted_code_is_found():
    program = exported()
    names = [node for node in program.graph.nodes if node.op == "placeholder"]
    names[1].target = names[0].target
    found = {finding.kind for finding in structure.check_program(program, Stage.EXPORT)}
    assert found == {"its code does not compile"}


def test_a_signature_that_names_other_inputs_is_found():
    program = exported()
    names = [node for node in program.graph.nodes if node.op == "placeholder"]
    names[0].name = "somebody_else"
    found = {finding.kind for finding in structure.check_program(program, Stage.LOAD)}
    assert found == {"graph and signature name other inputs"}


def test_a_correct_program_has_no_finding():
    assert list(structure.check_program(exported(), Stage.LOAD)) == []
