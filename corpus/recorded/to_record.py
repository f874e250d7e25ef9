"""Which models are recorded as the product splits them, for `python -m harness record`.

Lowering gives some ops other names (`aten.softmax.int` becomes
`aten._softmax.default`), so that nothing falls back where a model's case names the first; these are
recorded with the name that counts.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Final

from corpus.case import Case, find_case

BATCH_NORM = "aten._native_batch_norm_legit_no_training.default"
LAYER_NORM = "aten.native_layer_norm.default"
SOFTMAX = "aten._softmax.default"


@dataclass(frozen=True)
class ToRecord:
    """A model of the corpus, how it is compiled, and what falls back.

    ``how`` is the suffix of a case with another setting (`corpus.families.variants`), empty for the
    defaults. ``fallback`` are ops by the names that they have after lowering; none for the case's
    own.
    """

    model: str
    how: str = ""
    fallback: tuple[str, ...] = ()
    full: bool = False

    @property
    def name(self) -> str:
        """That of the recorded case."""
        return f"recorded_{self.asked}".replace("@", "_").replace("-", "_")

    @property
    def asked(self) -> str:
        """The case that the package is asked to compile, but for what falls back."""
        return f"{self.model}@{self.how}" if self.how else self.model

    @property
    def case(self) -> Case:
        """What the package is asked to compile."""
        asked = find_case(self.asked)
        return dataclasses.replace(asked, fallback=self.fallback or asked.fallback)


TO_RECORD: Final = (
    # which wire goes where
    ToRecord("pr_4360"),
    ToRecord("inputs_read_in_reverse"),
    ToRecord("residual_over_a_fallback"),
    ToRecord("read_by_engine_and_fallbacks", full=True),
    # engines' outputs
    ToRecord("chunk_halves", full=True),
    ToRecord("unbind_to_four_fallbacks"),
    ToRecord("outputs_read_out_of_order", full=True),
    ToRecord("topk_values_and_indices", full=True),
    ToRecord("chunk_of_chunk"),
    ToRecord("transposed_output", full=True),
    # fallbacks' outputs and state
    ToRecord("two_outputs", full=True),
    ToRecord("linears_in_two_fallbacks", full=True),
    ToRecord("one_linear_in_two_fallbacks", full=True),
    ToRecord("constant_in_fallback", full=True),
    ToRecord("engine_without_inputs"),
    ToRecord("half_weight_in_fallback", full=True),
    ToRecord("batch_norm_in_fallback", fallback=(BATCH_NORM,)),
    ToRecord("dropout_that_trains", full=True),
    # how a program is called
    ToRecord("keywords_in_another_order", full=True),
    ToRecord("nested_output", full=True),
    ToRecord("unused_input_between", full=True),
    ToRecord("input_returned", full=True),
    # dynamic dimensions
    ToRecord("dynamic_batch", full=True),
    ToRecord("dynamic_batch_chunk"),
    ToRecord("dynamic_batch_weights_in_fallbacks", full=True),
    ToRecord("dynamic_batch_reshaped", full=True),
    # real architectures
    ToRecord("resnet_relu"),
    ToRecord("lstm_cell_gates", full=True),
    ToRecord("gru_linear_dynamic", full=True),
    ToRecord("encoder_softmax", fallback=(SOFTMAX,)),
    ToRecord("encoder_norm_dynamic", fallback=("aten.relu.default", LAYER_NORM), full=True),
    ToRecord("detector_gather", full=True),
    ToRecord("experts_topk", full=True),
    ToRecord("graph_attention_masked_dynamic", fallback=(SOFTMAX,), full=True),
    ToRecord("unet_cat", full=True),
    # other ways to split
    ToRecord("chunk_halves", "global-partitioner"),
    ToRecord("residual_over_a_fallback", "global-partitioner", full=True),
    ToRecord("relu_four_steps", "global-partitioner", full=True),
)
