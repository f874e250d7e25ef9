"""Cases of origin `product`: as the real `torch_tensorrt.dynamo.compile` lowers and splits them.

Each is one of the corpus's models, given to the package of a release instead of to the graph
lane's own splitter, or one that only a package can split (`corpus.caches`). They are few, chosen
for structure: every release compiles each one anew. A case's name is that of its model, `@`, and
how it is compiled: `pr_4360@product` as the defaults are, `relu_four_steps@blocks-of-two` with
another setting that users change.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from corpus.caches import CACHES
from corpus.case import Case, Origin, UnknownCase, find_case

DEFAULT: Final = "product"

#: Lowering computes in another order than eager: batch norm and layer norm are taken apart.
EAGER_TOLERANCE: Final = 1e-4

STATIC: Final = (
    # which wire goes where
    "pr_4360",
    "inputs_read_in_reverse",
    "residual_over_a_fallback",
    "inputs_in_both_orders",
    "read_by_engine_and_fallbacks",
    # engines' outputs
    "chunk_halves",
    "unbind_to_four_fallbacks",
    "outputs_read_out_of_order",
    "topk_values_and_indices",
    "chunk_of_chunk",
    "chunk_as_fallback",
    "relu_four_steps",
    # fallbacks' outputs and state
    "two_outputs",
    "linears_in_two_fallbacks",
    "one_linear_in_two_fallbacks",
    "batch_norm_in_fallback",
    "constant_in_fallback",
    "two_mutated_buffers",
    "cache_in_one_engine",
    "cache_read_by_two_engines",
    "cache_written_twice",
    "cache_written_after_reading",
    "cache_written_by_slice",
    "two_caches_and_a_count",
    "running_state",
    # how a program is called
    "keywords_in_another_order",
    "nested_output",
    "unused_input_between",
    "input_returned",
    "no_output_at_all",
    # real architectures
    "resnet_relu",
    "encoder_softmax",
    "lstm_cell_gates",
    "bert_softmax",
    # types
    "complex_input_into_fallback",
    "complex_input_into_engine",
    "complex_buffer",
    "complex_buffer_in_fallback",
    "complex_output",
    "complex_output_beside_a_real_one",
    "complex_double_truncated",
    "double_input",
    "double_input_truncated",
    "double_buffer_truncated",
    "double_inside_a_fallback",
    "bfloat16_model",
    "bfloat16_weight_in_fallback",
    "int64_beyond_32_bits",
    "int64_index_and_table",
    # custom ops and names of ops
    "custom_op_twice",
    "custom_op_with_two_outputs",
    "custom_op_with_a_list",
    "custom_op_with_weights",
    "custom_op_that_writes",
    "fallback_named_as_a_packet",
    "layer_norm_by_its_exported_name",
    "layer_norm_by_its_lowered_name",
    # life cycle
    "loaded_before_compile",
    "loaded_before_compile_with_buffers",
    "decomposed_before_compile",
    "unflattened_before_compile",
    "exported_twice_before_compile",
    "compiled_twice",
    "hybrid_compiled_again",
    # settings
    "engine_below_the_block_size",
    "every_engine_below_the_block_size",
    "whole_below_the_block_size",
    "global_partitioner_weights",
    "python_runtime",
    "refittable",
    "offloaded",
    "engine_from_the_cache",
    "engines_set_up_late",
)

DYNAMIC: Final = (
    "dynamic_batch",
    "dynamic_batch_chunk",
    "dynamic_batch_weights_in_fallbacks",
    "gru_linear_dynamic",
    "dimension_without_a_bound",
    "dimension_found_by_export",
    "dimension_of_rows_and_columns",
    "dimension_of_one_more",
    "dimension_that_is_even",
    "dimension_by_keyword",
    "custom_op_of_a_dynamic_batch",
    "loaded_before_compile_dynamic",
    "global_partitioner_dynamic",
)

#: Those that real engines are built for, too: one of every shape that a split can have.
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
    }
)

#: What users change, by how a case with it is called.
VARIANTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "blocks-of-two": {"min_block_size": 2},
    "global-partitioner": {"use_fast_partitioner": False},
    "full-compilation": {"require_full_compilation": True, "torch_executed_ops": set()},
}

VARIED: Final = {
    "blocks-of-two": ("relu_four_steps", "residual_over_a_fallback"),
    "global-partitioner": ("chunk_halves", "residual_over_a_fallback", "relu_four_steps"),
    "full-compilation": ("relu_once", "chunk_halves"),
}


#: For a full run alone: what they show, another case shows as well.
FULL: Final = frozenset(
    {
        "topk_values_and_indices@product",
        "unbind_to_four_fallbacks@product",
        "outputs_read_out_of_order@product",
        "inputs_in_both_orders@product",
        "one_linear_in_two_fallbacks@product",
        "cache_written_twice@product",
        "cache_written_by_slice@product",
        "two_caches_and_a_count@product",
        "unused_input_between@product",
        "input_returned@product",
        "bert_softmax@product",
        "dynamic_batch_chunk@product",
        "dynamic_batch_weights_in_fallbacks@product",
        "relu_four_steps@blocks-of-two",
        "relu_four_steps@global-partitioner",
        "chunk_halves@full-compilation",
    }
)


def product_cases() -> tuple[Case, ...]:
    """Every case of the package lane."""
    return (
        *(product_case(name, DEFAULT, dynamic=False) for name in STATIC),
        *(product_case(name, DEFAULT, dynamic=True) for name in DYNAMIC),
        *(
            product_case(name, how, dynamic=False)
            for how, names in VARIED.items()
            for name in names
        ),
    )


def find_product_case(name: str) -> Case:
    """The case of that name.

    Raises:
        UnknownCase: there is none.
    """
    for item in product_cases():
        if item.name == name:
            return item
    raise UnknownCase(name)


def model_of(name: str) -> str:
    """The case in the graph lane that has the same model."""
    return name.partition("@")[0]


def product_case(name: str, how: str = DEFAULT, *, dynamic: bool = False) -> Case:
    """A model of the corpus as the package is asked to compile it."""
    model = CACHES.get(name) or find_case(name)
    return dataclasses.replace(
        model,
        name=f"{name}@{how}",
        origin=Origin.PRODUCT,
        eager_tolerance=max(model.eager_tolerance, EAGER_TOLERANCE),
        settings=(*model.settings, *VARIANTS.get(how, {}).items()),
        dynamic=dynamic,
        capture=model.capture or "nonstrict",  # as a user exports
        full=f"{name}@{how}" in FULL,
        cross=False,
    )
