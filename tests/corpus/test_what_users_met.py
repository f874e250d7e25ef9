"""The cases of what users met show what they say, and so do the axes that count them."""

import copy
import functools
import operator

import pytest
import torch
import torch.utils._pytree as pytree

from corpus.axes import asked
from corpus.axes.catalogue import AXES
from corpus.axes.space import values_held
from corpus.axes.view import SplitView, op_names
from corpus.case import Case, Inputs, all_cases, find_case
from corpus.families import cache_forms, call_forms, sizes, writes_to_inputs
from harness.rig.capture.capture import capture
from harness.rig.oracles.observing import observe
from harness.rig.oracles.values import first_difference
from harness.rig.questions.coverage import values_of, view_of

#: A value of an axis, a case that has it, and one that has not.
TABLE = {
    "type/complex": ("complex_buffer", "double_input"),
    "type/double": ("double_input", "bfloat16_model"),
    "type/bfloat16": ("bfloat16_model", "complex_buffer"),
    "type/int64": ("int64_index_and_table", "complex_buffer"),
    "stated dimension/unbounded": ("dimension_without_a_bound", "dynamic_batch"),
    "stated dimension/shared": ("dimension_of_rows_and_columns", "dynamic_batch"),
    "stated dimension/derived": ("dimension_of_one_more", "dynamic_batch"),
    "stated dimension/of-save": ("dimension_saved_for_fewer_rows", "dynamic_batch"),
    "before compile/loaded": ("loaded_before_compile", "compiled_twice"),
    "before compile/decomposed": ("decomposed_before_compile", "compiled_twice"),
    "before compile/unflattened": ("unflattened_before_compile", "compiled_twice"),
    "before compile/exported": ("exported_twice_before_compile", "compiled_twice"),
    "before compile/compiled": ("compiled_twice", "hybrid_compiled_again"),
    "before compile/hybrid": ("hybrid_compiled_again", "compiled_twice"),
    "named op/custom": ("custom_op_twice", "fallback_named_as_a_packet"),
    "named op/packet": ("fallback_named_as_a_packet", "custom_op_twice"),
    "setting/block size": ("engine_below_the_block_size", "refittable"),
    "setting/whole": ("whole_below_the_block_size", "refittable"),
    "setting/partitioner": ("global_partitioner_dynamic", "refittable"),
    "setting/truncate": ("double_input_truncated", "double_input"),
    "setting/cache": ("engine_from_the_cache", "refittable"),
    "setting/runtime": ("python_runtime", "refittable"),
    "setting/refit": ("refittable", "python_runtime"),
    "setting/offload": ("offloaded", "refittable"),
    "setting/lazy": ("engines_set_up_late", "refittable"),
}


@pytest.mark.parametrize("value", TABLE)
def test_a_value_holds_where_it_is_and_nowhere_else(value):
    with_it, without = TABLE[value]
    assert value in asked.met_by(find_case(with_it)), with_it
    assert value not in asked.met_by(find_case(without)), without


def test_every_value_is_in_the_table():
    told = {f"{axis}/{met.name}" for axis, mets in asked.AXES.items() for met in mets}
    assert told == set(TABLE)


def test_a_block_size_that_is_a_setting_is_one_too():
    assert asked.met_by(find_case("relu_four_steps@blocks-of-two")) == ("setting/block size",)


@pytest.mark.parametrize(
    "name", ["hybrid_compiled_again", "compiled_twice", "chunk_halves@global-partitioner"]
)
def test_a_split_that_only_a_package_makes_is_not_counted(name):
    assert values_of(find_case(name)) == list(asked.met_by(find_case(name)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cache_written_twice", "cache/twice"),
        ("two_mutated_buffers@relu", "cache/read-elsewhere"),
        ("refittable", "readers/one-engine"),
    ],
)
def test_a_case_of_the_package_lane_alone_is_counted_with_its_split(name, value):
    case = find_case(name)
    assert case.lanes == ("package",)
    assert value in values_of(case)


OF_SIZES, OF_WRITES, OF_CACHES, OF_CALLS = (
    [item for item in all_cases() if item.build.__module__ == module.__name__]
    for module in (sizes, writes_to_inputs, cache_forms, call_forms)
)


@functools.cache
def split_of(name: str) -> SplitView:
    return view_of(find_case(name))


def axes_of(case: Case) -> set[str]:
    return {value.partition("/")[0] for value in values_held(AXES, split_of(case.name))}


def ops_of(name: str, *, engines: bool) -> set[str]:
    view = split_of(name)
    calls = view.engines if engines else view.fallbacks
    return {op for call in calls for _, op in op_names(call)}


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("complex_input_into_fallback", "aten.view_as_real.default"),
        ("complex_buffer_in_fallback", "aten.mul.Tensor"),
        ("complex_output", "aten.view_as_complex.default"),
        ("double_inside_a_fallback", "aten.cumsum.default"),
        ("bfloat16_weight_in_fallback", "aten.mul.Tensor"),
        ("int64_index_and_table", "aten.index.Tensor"),
        ("custom_op_twice", "corpus.gate.default"),
        ("custom_op_with_weights", "corpus.mix.default"),
        ("custom_op_that_writes", "corpus.remember.default"),
        ("decomposed_before_compile", "aten.addmm.default"),
        ("unflattened_before_compile", "aten.linear.default"),
    ],
)
def test_an_op_stays_in_pytorch(name, op):
    assert op in ops_of(name, engines=False)
    assert op not in ops_of(name, engines=True)


@pytest.mark.parametrize("name", ["custom_op_with_two_outputs", "custom_op_with_a_list"])
def test_what_a_fallback_returns_is_taken_apart_in_pytorch(name):
    view = split_of(name)
    items = [
        node
        for call in view.engines
        for node in call.child.graph.nodes
        if node.target is operator.getitem
    ]
    assert not items
    assert len(view.engines) == 2


def test_a_double_is_in_a_fallback_alone():
    view = split_of("double_inside_a_fallback")
    types = [
        node.meta["val"].dtype
        for call in view.engines
        for node in call.child.graph.nodes
        if isinstance(node.meta.get("val"), torch.Tensor)
    ]
    assert torch.float64 not in types


@pytest.mark.parametrize(
    ("name", "engines"),
    [
        ("fallback_named_as_a_packet", 1),
        ("engine_below_the_block_size", 1),
        ("every_engine_below_the_block_size", 0),
    ],
)
def test_a_name_or_a_size_decides_how_many_engines_there_are(name, engines):
    assert len(split_of(name).engines) == engines


@pytest.mark.parametrize(
    ("name", "upper"), [("dimension_without_a_bound", None), ("dimension_of_one_more", 8)]
)
def test_a_dimension_has_the_bound_that_its_user_states(name, upper):
    ((_, stated),) = find_case(name).build().stated_ranges
    assert stated == upper


def test_a_cut_integer_is_another_integer():
    captured = capture(find_case("int64_beyond_32_bits"), "nonstrict")
    ids, x = captured.example.args
    cut = ids.to(torch.int32).to(torch.int64)
    assert not torch.equal(captured.eager(ids, x)[0], captured.eager(cut, x)[0])


def test_a_custom_op_that_writes_is_seen_in_the_next_call():
    captured = capture(find_case("custom_op_that_writes"), "nonstrict")
    model = copy.deepcopy(captured.eager)
    first, second = (model(*captured.example.args) for _ in range(2))
    assert not torch.equal(first, second)


def test_a_program_s_own_change_comes_before_the_split():
    names = {"loaded_before_compile", "exported_twice_before_compile", "compiled_twice"}
    assert all(find_case(name).build().before_compile is not None for name in names)
    loaded = capture(find_case("loaded_before_compile"), "nonstrict").exported
    assert loaded is not None
    assert loaded.verifier is not None
    decomposed = ops_of("decomposed_before_compile", engines=False)
    assert "aten.linear.default" not in decomposed


def test_settings_are_asked_of_the_package_alone():
    for case in all_cases():
        assert not case.settings or "package" in case.lanes


@pytest.mark.parametrize("case", OF_SIZES, ids=lambda case: case.name)
def test_a_number_or_a_size_crosses_an_engine_s_boundary(case):
    assert "number at an engine" in axes_of(case)


@pytest.mark.parametrize("case", OF_WRITES, ids=lambda case: case.name)
def test_a_model_writes_to_what_it_is_given(case):
    program = case.build()
    given = program.inputs(torch.Generator().manual_seed(0), None)
    before = copy.deepcopy(given)
    assert program.model is not None
    program.model(*given.args)
    pairs = zip(given.args, before.args, strict=True)
    assert not all(torch.equal(after, untouched) for after, untouched in pairs)
    assert "write to an input" in axes_of(case)


@pytest.mark.parametrize("case", OF_CACHES, ids=lambda case: case.name)
def test_what_a_call_leaves_in_a_cache_changes_what_the_next_one_returns(case):
    captured = capture(case, "nonstrict")
    one_by_one = observe(copy.deepcopy(captured.eager), captured.calls, repeat=False)
    fresh = observe(copy.deepcopy(captured.eager), captured.calls[-1:], repeat=False)
    assert one_by_one.state, "the model writes to a buffer"
    assert first_difference(one_by_one.returned[-1], fresh.returned[0], tolerance=1e-3)


def test_a_cache_goes_through_the_package_lane_alone():
    assert all(case.lanes == ("package",) for case in OF_CACHES)


#: What is particular in their calls is no tensor, or a shape, or is what `save` alone is given.
OF_NO_AXIS = {
    *("tuple_of_one", "numbers_by_keyword", "numbers_by_keyword_of_a_dynamic_batch"),
    *("ranges_given_to_save", "temperature_by_keyword"),
}


@pytest.mark.parametrize("case", OF_CALLS, ids=lambda case: case.name)
def test_a_model_is_called_as_no_other_family_calls_one(case):
    assert "form of a call" in axes_of(case) or case.name in OF_NO_AXIS


@pytest.mark.parametrize(
    "name", ["keywords_in_another_order_at_save", "dictionary_in_another_order_at_save"]
)
def test_keys_in_another_order_are_the_same_call_and_by_position_another(name):
    captured = capture(find_case(name), "nonstrict")
    given, saved = captured.example, captured.given_to_save
    assert first_difference(_call(captured.eager, given), _call(captured.eager, saved)) is None
    one, other = (pytree.tree_leaves((each.args, dict(each.kwargs))) for each in (given, saved))
    assert not all(map(torch.equal, one, other))


def _call(model: torch.nn.Module, inputs: Inputs) -> object:
    return model(*inputs.args, **inputs.kwargs)
