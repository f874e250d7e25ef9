"""The wiring oracle is seen to find planted faults, and to be silent about correct programs."""

import copy

import pytest
import torch
from torch.fx import GraphModule, Node

from corpus.case import cases_of
from corpus.handmade import SplitBuilder
from harness.register.facts import Place
from harness.register.table_files import read_table
from harness.rig.cell.prepare import PreparedCase
from harness.rig.engines.module import compile_engines
from harness.rig.inliners.builtin import BuiltinInliner
from harness.rig.oracles.finding import Finding
from harness.rig.oracles.reading import GraphReader, Unreadable
from harness.rig.oracles.terms import Kind
from harness.rig.oracles.wiring import check_inlined, check_program, reference_reading
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import Stage
from tests.chosen import QUICK
from tests.rig.conftest import inlined


def findings(case: PreparedCase, module: GraphModule) -> list[Finding]:
    return list(check_inlined(case.reader, case.reading, case.user_inputs, module))


def node_of(module: GraphModule, target: str) -> Node:
    return next(node for node in module.graph.nodes if str(node.target) == target)


TABLE = read_table()


def positional_is_known_to_fail(name: str) -> bool:
    """Whether the table has a row of the positional form for the case, by torch's own export."""
    place = Place(Lane.GRAPH, name, "nonstrict", Route.EXPORT)
    return bool(TABLE.expected(place, "positional"))


# A run asks this of every case; these are the quick ones.
RIGHT = [
    case.name
    for case in cases_of("graph")
    if case.name in QUICK and not positional_is_known_to_fail(case.name)
]


@pytest.mark.parametrize("name", RIGHT)
def test_a_correct_program_raises_no_alarm_from_split_to_export(prepared, name):
    case = prepared(name)
    module = inlined(case)
    assert findings(case, module) == []
    example = case.captured.example
    program = torch.export.export(
        module,
        example.args,
        dict(example.kwargs),
        dynamic_shapes=case.captured.program.dynamic_shapes,
    )
    assert (
        list(check_program(case.reader, case.reading, case.user_inputs, program, Stage.EXPORT))
        == []
    )


def test_two_outputs_of_one_engine_that_change_places_are_seen(prepared):
    case = prepared("placeholders_named_crosswise")
    module = inlined(case)
    difference = node_of(module, "aten.sub.Tensor")
    difference.args = (difference.args[1], difference.args[0])
    found = findings(case, module)
    assert {finding.kind for finding in found} == {"reads another engine output"}
    assert "aten.sub.Tensor argument 0 reads output 0 of _run_on_acc_0_engine" in found[-1].detail
    assert "should read output 1 of _run_on_acc_0_engine" in found[-1].detail


def test_a_swap_whose_two_values_are_equal_is_seen():
    builder = SplitBuilder()
    x = builder.input("x", 2)
    engine = builder.engine(lambda a: (a * 2, a + a), x)  # the same numbers
    left, right = builder.item(engine, 0), builder.item(engine, 1)
    split = builder.finish(builder.fallback(lambda a, b: a - b, left, right))
    compile_engines(split)
    reader = GraphReader()
    expected, inputs = reference_reading(reader, split)
    module = BuiltinInliner("positional").transform(split)
    node = node_of(module, "aten.sub.Tensor")
    node.args = (node.args[1], node.args[0])
    x_value = torch.randn(2)
    module.recompile()
    assert torch.equal(module(x_value)[0], split(x_value)[0])
    assert list(check_inlined(reader, expected, inputs, module)) != []


def test_a_number_out_of_an_engine_is_its_output_even_where_torch_knows_which_size_it_is(prepared):
    case = prepared("dynamic_batch")
    module = inlined(case)
    element = node_of(module, "<built-in function getitem>")
    rows = next(iter(module.graph.nodes)).meta["val"].shape[0]
    (returned,) = module.graph.output_node().args[0]
    for node, value in ((returned, rows), (element, rows)):
        with module.graph.inserting_after(returned):
            number = module.graph.call_function(torch.ops.aten.item.default, (node,))
        number.meta["val"] = value
        module.graph.output_node().args = ((number,),)
        (read,) = case.reader.read_module(module, case.user_inputs).outputs
        assert read.kind is (Kind.ENGINE_OUTPUT if node is element else Kind.SIZE)


def test_a_wire_to_another_engine_is_seen(prepared):
    case = prepared("relu_four_steps")
    module = inlined(case)
    relus = [node for node in module.graph.nodes if str(node.target) == "aten.relu.default"]
    relus[2].args = relus[1].args
    assert [finding.kind for finding in findings(case, module)] == ["reads another engine"]


def test_another_op_and_another_literal_are_seen(prepared):
    for change in (
        lambda node: setattr(node, "target", torch.ops.aten.abs.default),
        lambda node: setattr(node, "target", torch.ops.aten.leaky_relu.default),
    ):
        case = prepared("relu_once")
        module = inlined(case)
        change(node_of(module, "aten.relu.default"))
        assert [finding.kind for finding in findings(case, module)] == ["reads another op"]


def test_another_weight_is_seen(prepared):
    case = prepared("linears_in_two_fallbacks")
    module = copy.deepcopy(inlined(case))
    with torch.no_grad():
        module.get_parameter("first.bias").add_(1)
    assert [finding.kind for finding in findings(case, module)] == [
        "reads another parameter or constant"
    ]


def test_an_input_that_the_model_does_not_have_is_seen(prepared):
    case = prepared("relu_once")
    module = inlined(case)
    relu = node_of(module, "aten.relu.default")
    with module.graph.inserting_before(next(iter(module.graph.nodes))):
        leaked = module.graph.placeholder("leaked")
    relu.args = (leaked,)
    # The leaked one stands first: what the model's own input was is now beyond its count.
    assert findings(case, module) != []


def test_a_lost_and_an_extra_output_are_seen(prepared):
    case = prepared("input_returned")
    for outputs in (lambda given: given[:1], lambda given: (*given, given[0])):
        module = inlined(case)
        output = module.graph.output_node()
        output.args = (tuple(outputs(output.args[0])),)
        assert [finding.kind for finding in findings(case, module)] == ["another number of outputs"]


def test_a_size_of_a_dimension_that_the_miswired_value_lacks_is_seen():
    class LastSize(torch.nn.Module):
        def forward(self, y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(y).expand(x.size(2), 4, 2)

    call = (torch.ones(4, 2), torch.ones(2, 3, 5))
    shapes = (None, {2: torch.export.Dim("n", min=2, max=16)})
    right = torch.export.export(LastSize(), call, dynamic_shapes=shapes)
    wrong = copy.deepcopy(right)
    size = node_of(wrong.graph_module, "aten.sym_size.int")
    size.args = (next(iter(wrong.graph.nodes)), 2)  # y, which has two dimensions
    reader = GraphReader()
    expected = reader.read_program(right, 2)
    found = list(check_program(reader, expected, 2, wrong, Stage.LOAD))
    assert [finding.kind for finding in found] == ["reads an op in place of a size"]


def test_nodes_in_the_wrong_order_are_still_read(prepared):
    case = prepared("relu_four_steps")
    module = inlined(case)
    relus = [node for node in module.graph.nodes if str(node.target) == "aten.relu.default"]
    relus[0].args = relus[3].args  # used before it has been defined
    (found,) = findings(case, module)
    assert "itself" in found.detail  # relu 0 waits for engine 3, which waits for relu 0


def test_an_attribute_that_is_not_there_is_told_and_not_passed(prepared):
    case = prepared("linear_in_fallback")
    module = inlined(case)
    del module.project.weight
    with pytest.raises(Unreadable, match="does not have"):
        findings(case, module)


def test_renaming_every_node_changes_nothing(prepared):
    case = prepared("chunk_of_chunk")
    module = inlined(case)
    for number, node in enumerate(module.graph.nodes):
        if node.op != "output":
            node.name = f"renamed_{number}"
    assert findings(case, module) == []


def test_a_reversed_call_of_a_mutating_op_is_seen():
    def build(first: float, second: float) -> GraphModule:
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        clone = graph.call_function(torch.ops.aten.clone.default, (x,))
        graph.call_function(torch.ops.aten.add_.Tensor, (clone, first))
        graph.call_function(torch.ops.aten.mul_.Tensor, (clone, second))
        graph.output((clone,))
        return GraphModule({}, graph)

    reader = GraphReader()
    expected = reader.read_module(build(1.0, 2.0), 1)
    assert list(check_inlined(reader, expected, 1, build(1.0, 2.0))) == []
    assert list(check_inlined(reader, expected, 1, build(2.0, 1.0))) != []


def test_a_declared_write_to_an_input_is_the_copy_that_it_stands_for():
    class TwoWritten(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            total = x + y
            x.copy_(torch.relu(total))
            y.copy_(torch.neg(total))
            return torch.abs(total)

    program = torch.export.export(TwoWritten(), (torch.ones(2), torch.ones(2)))
    declared = program.run_decompositions({})
    reader = GraphReader()
    expected, _ = reference_reading(reader, declared.module(check_guards=False))
    assert not any("copy_" in str(node.target) for node in declared.graph.nodes)
    assert list(check_program(reader, expected, 2, declared, Stage.EXPORT)) == []
    first, second, _ = declared.graph_signature.output_specs
    first.target, second.target = second.target, first.target
    found = list(check_program(reader, expected, 2, declared, Stage.EXPORT))
    assert "reads another model input" in {finding.kind for finding in found}


def test_a_thousand_steps_are_read_and_not_each_of_their_paths():
    graph = torch.fx.Graph()
    node = graph.placeholder("x")
    for _ in range(1000):
        node = graph.call_function(torch.ops.aten.relu.default, (node,))
        node = graph.call_function(torch.ops.aten.add.Tensor, (node, node))  # 2 ** 1000 paths
    graph.output((node,))
    module = GraphModule({}, graph)
    reader = GraphReader()
    expected = reader.read_module(module, 1)
    assert list(check_inlined(reader, expected, 1, module)) == []  # else it would never end


def test_keyword_arguments_of_a_call_are_bound_by_name():
    child = torch.fx.symbolic_trace(lambda a, b: torch.ops.aten.sub.Tensor(a, b))

    def parent(**kwargs: str) -> GraphModule:
        graph = torch.fx.Graph()
        nodes = {name: graph.placeholder(name) for name in ("x", "y")}
        graph.output(
            (graph.call_module("child", (), {key: nodes[name] for key, name in kwargs.items()}),)
        )
        return GraphModule({"child": child}, graph)

    reader = GraphReader()
    expected = reader.read_module(parent(a="x", b="y"), 2)
    assert list(check_inlined(reader, expected, 2, parent(b="y", a="x"))) == []
    assert list(check_inlined(reader, expected, 2, parent(a="y", b="x"))) != []


def _counted(x, held):
    before = x * held
    held.add_(x)
    return before, held


@pytest.fixture
def counting():
    """A fallback that reads a buffer, writes to it and returns it, and is called twice."""
    builder = SplitBuilder()
    x = builder.input("x", 2)
    first = builder.fallback(_counted, x, attributes={"held": torch.ones(2)})
    engine = builder.engine(lambda a: a * 2, builder.item(first, 0))
    second = builder.again(first, engine)
    outputs = [builder.item(call, index) for call in (first, second) for index in (0, 1)]
    split = builder.finish(*outputs)
    compile_engines(split)
    reader = GraphReader()
    expected, inputs = reference_reading(reader, split)
    program = torch.export.export(split, (torch.ones(2),))
    return program, lambda: list(check_program(reader, expected, inputs, program, Stage.EXPORT))


def test_what_a_fallback_writes_is_what_its_second_call_reads_and_its_first_one_returned(counting):
    program, findings_now = counting
    assert findings_now() == []
    writes = [node for node in program.graph.nodes if str(node.target) == "aten.add_.Tensor"]
    assert len(writes) == 2


@pytest.mark.parametrize("shared", [True, False])
def test_what_one_fallback_writes_another_one_reads_that_has_the_same_tensor(shared):
    """Which a program has under one name, as an inlined one does."""
    held = torch.ones(2)

    def written_and_read(second: torch.Tensor) -> GraphModule:
        builder = SplitBuilder()
        x = builder.input("x", 2)
        written = builder.fallback(lambda a, held: held.add_(a), x, attributes={"held": held})
        read = builder.fallback(lambda a, held: a * held, x, attributes={"held": second})
        return builder.finish(written, read)

    reader = GraphReader()
    expected, inputs = reference_reading(
        reader, written_and_read(held if shared else torch.ones(2))
    )
    inlined = torch.fx.symbolic_trace(written_and_read(held))
    assert (list(check_inlined(reader, expected, inputs, inlined)) == []) is shared


def test_a_read_that_stands_after_a_write_in_place_of_before_it_is_seen(counting):
    program, findings_now = counting
    write = node_of(program, "aten.add_.Tensor")
    read = next(user for user in write.args[0].users if str(user.target) == "aten.mul.Tensor")
    write.append(read)
    assert findings_now() != []
