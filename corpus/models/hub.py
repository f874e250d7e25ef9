"""Models of the `transformers` package at small size, with random weights.

The package is looked up when a model is built: the corpus has to load without it. Attention is
"eager" and masks are explicit, because masks that the package makes itself are captured as ops of
nested vmaps, which no split survives.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import nn

WIDTH, HEADS, INNER, VOCABULARY = 16, 2, 32, 32


def package() -> Any:
    return importlib.import_module("transformers")


class Bert(nn.Module):
    """BERT (Devlin et al., 2018), its last token hidden as if it were padding."""

    def __init__(self, tokens: int = 6) -> None:
        super().__init__()
        config = package().BertConfig(
            vocab_size=VOCABULARY,
            hidden_size=WIDTH,
            num_hidden_layers=1,
            num_attention_heads=HEADS,
            intermediate_size=INNER,
            max_position_embeddings=tokens,
            attn_implementation="eager",
        )
        self.bert = package().BertModel(config)
        mask = torch.ones(1, tokens, tokens)
        mask[..., -1] = 0
        self.register_buffer("mask", mask)

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        result = self.bert(input_ids=ids, attention_mask=self.get_buffer("mask"))
        return result.last_hidden_state, result.pooler_output


class Vit(nn.Module):
    """A vision transformer (Dosovitskiy et al., 2020) over four patches and a class token."""

    def __init__(self, classes: int = 5) -> None:
        super().__init__()
        config = package().ViTConfig(
            hidden_size=WIDTH,
            num_hidden_layers=1,
            num_attention_heads=HEADS,
            intermediate_size=INNER,
            image_size=8,
            patch_size=4,
            num_labels=classes,
            attn_implementation="eager",
        )
        self.vit = package().ViTForImageClassification(config)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.vit(image).logits


def _t5_config() -> Any:
    return package().T5Config(
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        d_kv=WIDTH // HEADS,
        num_heads=HEADS,
        d_ff=INNER,
        num_layers=1,
        num_decoder_layers=1,
        use_cache=False,
    )


class T5(nn.Module):
    """T5 (Raffel et al., 2019), encoder and decoder. Its relative positions are weights."""

    def __init__(self) -> None:
        super().__init__()
        self.t5 = package().T5Model(_t5_config())

    def forward(self, ids: torch.Tensor, decoder_ids: torch.Tensor) -> torch.Tensor:
        return self.t5(input_ids=ids, decoder_input_ids=decoder_ids).last_hidden_state


class T5Encoder(nn.Module):
    """T5's encoder alone."""

    def __init__(self) -> None:
        super().__init__()
        self.t5 = package().T5EncoderModel(_t5_config())

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.t5(input_ids=ids).last_hidden_state


class Llama(nn.Module):
    """Llama (Touvron et al., 2023): rotary positions, two query heads to a key head, causal."""

    def __init__(self, tokens: int = 6) -> None:
        super().__init__()
        config = package().LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=WIDTH,
            num_hidden_layers=1,
            num_attention_heads=4,
            num_key_value_heads=2,
            intermediate_size=INNER,
            max_position_embeddings=tokens,
            use_cache=False,
            attn_implementation="eager",
        )
        self.llama = package().LlamaForCausalLM(config)
        future = torch.full((1, 1, tokens, tokens), torch.finfo(torch.float32).min).triu(1)
        self.register_buffer("future", future)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.llama(input_ids=ids, attention_mask=self.get_buffer("future")).logits
