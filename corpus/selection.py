"""Which cases a run takes: models through whole packages, and real engines.

Every case that has a model goes through both lanes under one name in a full run. They are too many
for every run, since every release compiles each one anew: those of `CHOSEN` are chosen for
structure. A case that goes through the package lane alone says itself whether it is for a full run.
"""

from __future__ import annotations

from typing import Final

from corpus.case import Case, is_from_elsewhere

#: The models that every run takes through the package lane.
CHOSEN: Final = frozenset(
    {
        # which wire goes where
        "pr_4360",
        "inputs_read_in_reverse",
        "residual_over_a_fallback",
        # engines' outputs
        "relu_four_steps",
        # fallbacks' outputs and state
        "linears_in_two_fallbacks",
        "batch_norm_in_fallback",
        "parameter_of_a_class_of_its_own",
        # how a program is called
        "keywords_in_another_order",
        "nested_output",
        "unused_input_between",
        # real architectures
        "resnet_relu",
        "encoder_softmax",
        # dynamic dimensions
        "dynamic_batch",
        "gru_linear_dynamic",
        # numbers and sizes at engines' boundaries
        "size_out_of_an_engine",
        "item_into_an_engine",
        "fraction_into_an_engine",
        "nonzero_out_of_an_engine",
        # writes to inputs, and caches
        "input_written_whole",
        "cache_written_by_a_fallback",
        "cache_channels_last",
        # how users call
        "star_arguments_of_a_dynamic_batch",
        "star_arguments_of_one",
        "keywords_in_another_order_at_save",
        "no_inputs_at_all",
        "none_beside_a_tensor",
        "dictionary_both_ways",
        # types
        "complex_input_into_engine",
        "complex_output",
        "double_input_truncated",
        # dimensions
        "dimension_without_a_bound",
        "dimension_saved_for_fewer_rows",
        # custom ops and names of ops
        "custom_op_with_weights",
        # life cycle
        "saved_twice",
    }
)

#: Those that real engines are built for, too: one of every shape that a split can have, and what
#: the release's converters decide.
REAL_ENGINES: Final = frozenset(
    {
        "pr_4360",
        "inputs_read_in_reverse",
        "residual_over_a_fallback",
        "relu_four_steps",
        "linears_in_two_fallbacks",
        "batch_norm_in_fallback",
        "cache_in_one_engine",
        "cache_read_by_two_engines",
        "keywords_in_another_order",
        "nested_output",
        "dynamic_batch",
        "resnet_relu",
        "encoder_softmax",
        # sizes that converters and lowering read
        "token_repeated_for_each_of_a_batch",
        "image_padded_by_its_width",
        "selected_of_a_stated_number",
        "range_without_the_example",
        # complex values made of reals, and ops with their defaults
        "loudness_of_a_spectrum",
        "sorted_by_the_last_dimension",
        # parts of a tensor that are written
        "band_painted_over_a_cloned_image",
        "rows_scattered_into_an_input",
        "row_copied_into_an_input",
        "row_copied_into_a_cloned_input",
        "residual_around_gated_rows",
        "cache_handed_in_and_out",
        "cache_written_with_a_step",
        "positions_written_by_an_index",
        "every_second_row_scattered",
        "columns_written_to_the_end",
        "window_shifted_at_each_call",
        "columns_set_to_a_number",
        "last_column_written",
        "integers_scattered_into_an_input",
        "input_scattered_twice",
        "rows_scattered_by_a_negative_dimension",
    }
)


def only_when_full(case: Case) -> tuple[str, ...]:
    """The lanes that no run but a full one takes a case through."""
    return tuple(lane for lane in case.lanes if _only_when_full(case, lane))


def _only_when_full(case: Case, lane: str) -> bool:
    alone = case.lanes == (lane,)
    if lane == "graph" or alone or is_from_elsewhere(case):
        return case.full
    return case.name not in CHOSEN
