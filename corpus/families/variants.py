"""Models of other families, compiled with a setting that users change or with another fallback.

They go through the package lane alone.
"""

from __future__ import annotations

from typing import Any

from corpus.case import vary
from corpus.families.alternating_relu import RELU, relu_four_steps, relu_once
from corpus.families.attributes import two_mutated_buffers
from corpus.families.branches import cond_in_fallback
from corpus.families.interfaces import no_output_at_all
from corpus.families.multi_output_engines import chunk_halves
from corpus.families.old_state import old_rows_read_by_a_later_piece
from corpus.families.settings import global_partitioner_size
from corpus.families.shared_values import residual_over_a_fallback
from corpus.families.writes_to_inputs import input_read_before_a_fallback_writes_it

# Lowering leaves no op that writes in place, so another one falls back.
vary(two_mutated_buffers, "relu", fallback=(RELU,))
vary(no_output_at_all, "relu", fallback=(RELU,))

vary(relu_four_steps, "blocks-of-two", {"min_block_size": 2}, full=True)
vary(residual_over_a_fallback, "blocks-of-two", {"min_block_size": 2})

GLOBAL = {"use_fast_partitioner": False}
vary(chunk_halves, "global-partitioner", GLOBAL)
vary(residual_over_a_fallback, "global-partitioner", GLOBAL)
vary(relu_four_steps, "global-partitioner", GLOBAL, full=True)
vary(input_read_before_a_fallback_writes_it, "global-partitioner", GLOBAL)
vary(cond_in_fallback, "global-partitioner", GLOBAL)
vary(old_rows_read_by_a_later_piece, "by-pytorch", fallback=("aten.sin.default", "aten.mul.Tensor"))
vary(global_partitioner_size, "read-by-pytorch", fallback=(RELU, "aten.sym_size.int"))

EVERYTHING: dict[str, Any] = {"require_full_compilation": True, "torch_executed_ops": set()}
vary(relu_once, "full-compilation", EVERYTHING)
vary(chunk_halves, "full-compilation", EVERYTHING, full=True)
vary(relu_once, "full-compilation-of-the-global-partitioner", GLOBAL | EVERYTHING)
