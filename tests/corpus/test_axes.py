"""Each value's predicate, on a case that has it and on one that has not."""

import dataclasses
import functools

import pytest

from corpus.axes.catalogue import AXES, UNREACHABLE, VALUES
from corpus.axes.impossible import RULES, all_pairs, impossible_pairs, reason_against
from corpus.axes.view import SplitView
from corpus.case import Inputs, find_case
from harness.rig.questions.coverage import view_of

# A value, a case that has it, and one that has not.
TABLE = {
    "readers/one-fallback": ("relu_once", "fallback_with_an_effect_alone"),
    "readers/two-fallbacks": ("only_fallbacks", "an_engine_that_nobody_reads"),
    "readers/many-fallbacks": ("value_read_by_three_fallbacks", "residual_over_a_fallback"),
    "readers/one-engine": ("one_engine_alone", "only_fallbacks"),
    "readers/two-engines": ("an_engine_that_nobody_reads", "batch_norm_in_fallback"),
    "readers/many-engines": ("fan_out_of_twelve", "relu_once"),
    "readers/both": ("constant_of_the_parent", "an_engine_that_nobody_reads"),
    "engine input/graph-input": ("one_engine_alone", "engine_without_inputs"),
    "engine input/engine-output": ("only_engines", "an_engine_that_nobody_reads"),
    "engine input/fallback-output": ("fallback_without_inputs", "an_engine_that_nobody_reads"),
    "engine input/constant": ("constant_of_the_parent", "an_engine_that_nobody_reads"),
    "engine input/same-twice": ("one_value_for_two_engine_inputs", "an_engine_that_nobody_reads"),
    "engine input/none": ("engine_without_inputs", "an_engine_that_nobody_reads"),
    "engine outputs/one": ("one_engine_alone", "containers_as_outputs"),
    "engine outputs/two": ("only_engines", "an_engine_that_nobody_reads"),
    "engine outputs/many": ("only_the_last_output_read", "an_engine_that_nobody_reads"),
    "engine output use/unused": ("an_engine_that_nobody_reads", "batch_norm_in_fallback"),
    "engine output use/out-of-order": ("second_output_read_first", "an_engine_that_nobody_reads"),
    "engine output use/twice": ("one_output_read_by_two_getitems", "an_engine_that_nobody_reads"),
    "engine output use/whole": ("outputs_read_whole", "an_engine_that_nobody_reads"),
    "engine output use/nested": ("named_like_an_earlier_getitem", "an_engine_that_nobody_reads"),
    "engine output use/returned": ("one_engine_alone", "an_engine_that_nobody_reads"),
    "engine output kind/other-dtype": ("outputs_of_two_types", "empty_output"),
    "engine output kind/scalar": ("only_the_last_output_read", "data_dependent_size"),
    "engine output kind/empty": ("empty_output", "cond_in_fallback"),
    "fallback input/graph-input": ("only_fallbacks", "an_engine_that_nobody_reads"),
    "fallback input/engine-output": ("relu_once", "fallback_with_an_effect_alone"),
    "fallback input/fallback-output": ("only_fallbacks", "an_engine_that_nobody_reads"),
    "fallback input/constant": ("engine_attribute_there_already", "an_engine_that_nobody_reads"),
    "fallback input/same-twice": ("one_value_for_two_inputs", "an_engine_that_nobody_reads"),
    "fallback input/none": ("fallback_without_inputs", "an_engine_that_nobody_reads"),
    "placeholder name/right": ("inputs_read_in_reverse", "an_engine_that_nobody_reads"),
    "placeholder name/earlier": (
        "placeholder_named_like_another_input",
        "an_engine_that_nobody_reads",
    ),
    "placeholder name/later": ("named_like_a_later_getitem", "an_engine_that_nobody_reads"),
    "placeholder name/several": ("placeholders_named_crosswise", "an_engine_that_nobody_reads"),
    "placeholder name/none": ("relu_once", "chunk_halves"),
    "argument order/as-defined": ("only_fallbacks", "constant_of_the_parent"),
    "argument order/otherwise": ("only_fallbacks", "chunk_halves"),
    "fallback output form/single": ("relu_once", "chunk_as_fallback"),
    "fallback output form/tuple": ("two_outputs", "an_engine_that_nobody_reads"),
    "fallback output form/one-tuple": ("returns_a_tuple_of_one", "an_engine_that_nobody_reads"),
    "fallback output form/list": ("returns_a_list", "two_outputs"),
    "fallback output form/nested": ("returns_a_pair_in_a_pair", "an_engine_that_nobody_reads"),
    "fallback output/passed-through": ("returns_its_own_input", "returns_a_buffer"),
    "fallback output/constant": ("returns_a_buffer", "returns_a_number_beside_tensors"),
    "fallback output/parameter": (
        "upper_case_parameter_of_a_fallback_returned",
        "returns_a_buffer",
    ),
    "fallback output/none": ("returns_none_beside_tensors", "returns_a_buffer"),
    "fallback output/int": ("returns_a_number_beside_tensors", "returns_a_buffer"),
    "fallback output/symint": ("size_into_engine", "returns_a_buffer"),
    "fallback output/same-twice": ("returns_one_value_twice", "returns_a_buffer"),
    "fallback output use/getitem": ("two_outputs", "tuple_read_whole"),
    "fallback output use/whole": ("tuple_read_whole", "two_outputs"),
    "fallback output use/both": ("tuple_read_whole_and_by_element", "chunk_as_fallback"),
    "call/other-name": ("call_named_unlike_its_child", "engine_called_twice"),
    "call/twice": ("fallback_called_twice", "call_named_unlike_its_child"),
    "call/keywords": ("fallback_with_a_keyword", "call_named_unlike_its_child"),
    "call/no-arguments": ("fallback_without_inputs", "call_named_unlike_its_child"),
    "call/nested": ("fallback_with_a_child", "call_named_unlike_its_child"),
    "parent/loose-ops": ("loose_ops_beside_children", "an_engine_that_nobody_reads"),
    "parent/only-engines": ("one_engine_alone", "an_engine_that_nobody_reads"),
    "parent/only-fallbacks": ("only_fallbacks", "an_engine_that_nobody_reads"),
    "parent/neither": ("no_child_at_all", "an_engine_that_nobody_reads"),
    "parent/both": ("relu_once", "no_child_at_all"),
    "attribute/parameter": ("integer_weight_in_fallback", "constant_in_fallback"),
    "attribute/buffer": ("fallback_with_an_effect_alone", "constant_in_fallback"),
    "attribute/non-persistent": ("non_persistent_buffer_in_fallback", "batch_norm_in_fallback"),
    "attribute/plain": ("constant_in_fallback", "batch_norm_in_fallback"),
    "attribute/integer": ("integer_weight_in_fallback", "batch_norm_in_fallback"),
    "attribute/half": ("half_weight_in_fallback", "batch_norm_in_fallback"),
    "attribute/frozen": ("frozen_weight_in_fallback", "batch_norm_in_fallback"),
    "attribute sharing/two-fallbacks": ("one_linear_in_two_fallbacks", "linears_in_two_fallbacks"),
    "attribute sharing/tied": ("tied_weights_in_two_fallbacks", "linears_in_two_fallbacks"),
    "attribute sharing/other-values": ("one_name_with_two_values", "linears_in_two_fallbacks"),
    "attribute sharing/underscores": (
        "names_that_collide_without_dots",
        "linears_in_two_fallbacks",
    ),
    "attribute name/plain": ("integer_weight_in_fallback", "batch_norm_in_fallback"),
    "attribute name/dotted": ("linear_beside_an_output", "constant_in_fallback"),
    "attribute name/upper-case": (
        "upper_case_parameter_of_a_fallback_returned",
        "batch_norm_in_fallback",
    ),
    "submodule/cond": ("cond_in_fallback", "engine_attribute_there_already"),
    "submodule/while-loop": ("while_loop_in_fallback", "cond_in_fallback"),
    "submodule/map": ("map_in_fallback", "cond_in_fallback"),
    "submodule/compiled-before": ("engine_attribute_there_already", "cond_in_fallback"),
    "state/in-place": ("fallback_with_an_effect_alone", "random_op_in_fallback"),
    "state/one-buffer": ("fallback_with_an_effect_alone", "random_op_in_fallback"),
    "state/several-buffers": ("two_mutated_buffers", "fallback_with_an_effect_alone"),
    "state/returned": ("two_mutated_buffers", "fallback_with_an_effect_alone"),
    "state/random": ("random_op_in_fallback", "fallback_with_an_effect_alone"),
    "state/aliasing": ("returns_a_view_of_its_input", "fallback_with_an_effect_alone"),
    "dimensions/static": ("no_child_at_all", "derived_dimension"),
    "dimensions/one": ("dynamic_batch", "an_engine_that_nobody_reads"),
    "dimensions/several": ("two_dynamic_dimensions", "an_engine_that_nobody_reads"),
    "sizes/bounds": ("dynamic_batch", "data_dependent_size"),
    "sizes/shared": ("dynamic_batch_of_two_inputs", "data_dependent_size"),
    "sizes/derived": ("derived_dimension", "data_dependent_size"),
    "sizes/into-engine": ("size_into_engine", "data_dependent_size"),
    "sizes/data-dependent": ("data_dependent_size", "derived_dimension"),
    "arguments/other-order": ("keywords_in_another_order", "an_engine_that_nobody_reads"),
    "arguments/keyword-only": ("keywords_in_another_order", "an_engine_that_nobody_reads"),
    "arguments/default": ("defaults_left_out", "an_engine_that_nobody_reads"),
    "model input/dict": ("nested_input", "containers_as_inputs"),
    "model input/list": ("containers_as_inputs", "nested_input"),
    "model input/tuple": ("nested_input", "containers_as_inputs"),
    "model input/namedtuple": ("containers_as_inputs", "nested_input"),
    "model input/dataclass": ("containers_as_inputs", "nested_input"),
    "model input/none": ("containers_as_inputs", "nested_input"),
    "model output/dict": ("nested_output", "an_engine_that_nobody_reads"),
    "model output/list": ("nested_output", "an_engine_that_nobody_reads"),
    "model output/tuple": ("topk_values_and_indices", "relu_once"),
    "model output/namedtuple": ("containers_as_outputs", "an_engine_that_nobody_reads"),
    "model output/dataclass": ("containers_as_outputs", "an_engine_that_nobody_reads"),
    "model output/none": ("containers_as_outputs", "an_engine_that_nobody_reads"),
    "model input use/unused": ("number_as_input", "input_returned"),
    "model input use/returned": ("input_returned", "containers_as_inputs"),
    "model outputs/one": ("no_child_at_all", "buffer_returned"),
    "model outputs/several": ("split_without_pytrees", "an_engine_that_nobody_reads"),
    "model outputs/none": ("no_output_at_all", "an_engine_that_nobody_reads"),
    "steps/one": ("one_engine_alone", "an_engine_that_nobody_reads"),
    "steps/few": ("only_engines", "one_engine_alone"),
    "steps/dozens": ("relu_twenty_steps", "relu_once"),
    "steps/hundreds": ("chain_of_a_hundred_children", "relu_twenty_steps"),
    "fan-out/one": ("one_engine_alone", "an_engine_that_nobody_reads"),
    "fan-out/few": ("only_fallbacks", "batch_norm_in_fallback"),
    "fan-out/dozens": ("fan_out_of_twelve", "relu_once"),
    "fan-in/one": ("one_engine_alone", "bool_mask"),
    "fan-in/few": ("only_engines", "an_engine_that_nobody_reads"),
    "fan-in/dozens": ("fan_in_of_twelve", "relu_once"),
    "payload/bytes": ("relu_once", "only_fallbacks"),
    "payload/kilobytes": ("diffusion_chunk", "relu_once"),
    "payload/megabytes": ("engine_of_a_megabyte", "relu_once"),
    "number at an engine/out": ("size_out_of_an_engine", "item_into_an_engine"),
    "number at an engine/into": ("item_into_an_engine", "size_out_of_an_engine"),
    "number at an engine/arithmetic": ("half_of_a_size_out", "size_out_of_an_engine"),
    "number at an engine/item": ("item_into_an_engine", "half_of_a_size_into_an_engine"),
    "number at an engine/fraction": ("fraction_into_an_engine", "item_into_an_engine"),
    "number at an engine/returned": ("sizes_returned", "relu_once"),
    "number at an engine/size-alone": ("size_of_an_input_that_is_not_read", "relu_once"),
    "number at an engine/data-dependent-out": ("nonzero_out_of_an_engine", "count_of_nonzero"),
    "number at an engine/data-dependent-into": ("masked_into_an_engine", "relu_once"),
    "write to an input/whole": ("input_written_whole", "input_slice_written"),
    "write to an input/part": ("input_slice_written", "input_written_whole"),
    "write to an input/read-later": ("input_written_whole", "input_written_last"),
    "write to an input/not-read": ("input_written_last", "input_written_whole"),
    "write to an input/fallback": ("input_written_by_a_fallback", "relu_once"),
    "write to an input/two": ("two_inputs_written", "relu_once"),
    "write to an input/returned": ("input_written_and_returned", "relu_once"),
    "cache/submodule": ("cache_of_submodules", "cache_channels_last"),
    "cache/fallback": ("cache_written_by_a_fallback", "cache_of_submodules"),
    "cache/number": ("cache_written_up_to_a_dynamic_size", "cache_of_submodules"),
    "cache/whole": ("cache_as_a_moving_window", "cache_of_submodules"),
    "cache/twice": ("cache_written_on_both_sides", "cache_of_submodules"),
    "cache/strided": ("cache_channels_last", "cache_of_submodules"),
    "cache/read-elsewhere": ("attention_with_its_softmax_in_pytorch", "cache_of_submodules"),
    "form of a call/star": ("star_arguments", "relu_once"),
    "form of a call/star-keywords": ("star_keywords", "relu_once"),
    "form of a call/keywords-alone": ("keywords_alone", "relu_once"),
    "form of a call/other-order-at-save": ("keywords_in_another_order_at_save", "keywords_alone"),
    "form of a call/optional": ("optional_tensor_left_out", "none_given_between_tensors"),
    "form of a call/none-between": ("none_given_between_tensors", "relu_once"),
    "form of a call/nothing": ("no_inputs_at_all", "relu_once"),
    "form of a call/none-out": ("none_beside_a_tensor", "numbers_beside_a_tensor"),
    "form of a call/number-out": ("numbers_beside_a_tensor", "none_beside_a_tensor"),
    "form of a call/dict-both-ways": ("dictionary_both_ways", "relu_once"),
    "form of a call/dataclass-both-ways": ("dataclass_both_ways", "relu_once"),
}


@functools.cache
def seen(case: str) -> SplitView:
    return view_of(find_case(case))


@pytest.mark.parametrize("value", TABLE)
def test_a_value_holds_where_it_is_and_nowhere_else(value):
    with_it, without = TABLE[value]
    assert VALUES[value].holds(seen(with_it)), with_it
    assert not VALUES[value].holds(seen(without)), without


def test_a_call_by_keyword_alone_is_not_positional():
    view = seen("relu_once")
    assert VALUES["arguments/positional"].holds(view)
    by_keyword = dataclasses.replace(view, inputs=Inputs((), {"x": view.inputs.args[0]}))
    assert not VALUES["arguments/positional"].holds(by_keyword)


def test_every_value_is_in_the_table():
    assert set(TABLE) | {"arguments/positional"} == set(VALUES)


def test_a_value_has_one_name_and_says_what_it_is():
    assert len(VALUES) == sum(len(axis.values) for axis in AXES)
    assert all(len(value.what) > 5 for value in VALUES.values())
    assert not set(UNREACHABLE) & set(VALUES)


def test_pairs_are_of_different_axes():
    assert all(VALUES[one].axis != VALUES[other].axis for one, other in all_pairs(AXES))


def test_of_an_axis_that_is_alone_no_pair_is_wanted():
    names = {VALUES[value].axis for pair in all_pairs(AXES) for value in pair}
    assert names == {axis.name for axis in AXES if not axis.alone}
    assert any(axis.alone for axis in AXES)


def test_an_impossible_pair_has_a_reason_whichever_way_it_is_asked():
    pair = ("parent/only-engines", "fallback output/none")
    assert reason_against(pair) == reason_against(pair[::-1]) == "there is no fallback"
    assert reason_against(("parent/only-engines", "engine outputs/two")) == ""


def test_every_rule_forbids_something():
    declared = [pair for pair, _ in impossible_pairs(AXES)]
    for rule in RULES:
        assert any(rule.forbids(pair) for pair in declared), rule.reason
        for pattern in (*rule.one, *rule.other):
            alone = dataclasses.replace(rule, one=rule.one, other=(pattern,))
            assert pattern in rule.one or any(map(alone.forbids, declared)), pattern
