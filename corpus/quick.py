"""The cases of a quick run: the fewest that still find every planted mutant of an inliner.

One or more of each family, the cheapest that show what the family is for. A test sends mutants of
a real exporter through these alone, and each has to be found.
"""

from __future__ import annotations

QUICK = frozenset(
    {
        # which wire goes where
        "pr_4360",
        "named_like_an_earlier_getitem",
        "inputs_read_in_reverse",
        "residual_over_a_fallback",
        "one_value_for_two_inputs",
        "fan_in_of_twelve",
        # engines' outputs
        "engine_two_outputs",
        "outputs_read_out_of_order",
        "outputs_of_three_types",
        "relu_four_steps",
        # fallbacks' outputs
        "two_outputs",
        "outputs_read_backwards",
        "chunk_as_fallback",
        # state
        "linears_in_two_fallbacks",
        "names_that_collide_without_dots",
        "batch_norm_in_fallback",
        "integer_weight_in_fallback",
        "fallback_with_an_effect_alone",
        "buffer_returned",
        # how a program is called
        "dynamic_batch_weights_in_fallbacks",
        "keywords_in_another_order",
        "nested_input",
        "encoder_softmax",
    }
)
