"""More models of the `transformers` package at small size, with random weights.

As in `corpus.models.hub`: attention is "eager", and masks that the package would make itself are
given.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from corpus.models.hub import HEADS, INNER, VOCABULARY, WIDTH, package


def _future(tokens: int) -> torch.Tensor:
    """A causal mask to add to scores: the lowest number where a token would look ahead."""
    return torch.full((1, 1, tokens, tokens), torch.finfo(torch.float32).min).triu(1)


class Gpt2(nn.Module):
    """GPT-2 (Radford et al., 2019), its head tied to its token embedding."""

    def __init__(self, tokens: int = 6) -> None:
        super().__init__()
        config = package().GPT2Config(
            vocab_size=VOCABULARY,
            n_embd=WIDTH,
            n_layer=1,
            n_head=HEADS,
            n_inner=INNER,
            n_positions=tokens,
            use_cache=False,
            attn_implementation="eager",
        )
        self.gpt2 = package().GPT2LMHeadModel(config)
        self.register_buffer("future", _future(tokens))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.gpt2(input_ids=ids, attention_mask=self.get_buffer("future")).logits


_CLIP_LAYER = {
    "hidden_size": WIDTH,
    "intermediate_size": INNER,
    "num_hidden_layers": 1,
    "num_attention_heads": HEADS,
    "attn_implementation": "eager",
}
_CLIP_VISION = {**_CLIP_LAYER, "image_size": 8, "patch_size": 4}


class Clip(nn.Module):
    """CLIP (Radford et al., 2021): how alike texts and images are, and what it compared."""

    def __init__(self, tokens: int = 6) -> None:
        super().__init__()
        words = {"vocab_size": VOCABULARY, "max_position_embeddings": tokens, "eos_token_id": 1}
        config = package().CLIPConfig(
            text_config={**_CLIP_LAYER, **words},
            vision_config=_CLIP_VISION,
            projection_dim=WIDTH // 2,
        )
        self.clip = package().CLIPModel(config)

    def forward(
        self, ids: torch.Tensor, image: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        result = self.clip(input_ids=ids, pixel_values=image)
        return result.logits_per_text, result.text_embeds, result.image_embeds


class ClipVision(nn.Module):
    """CLIP's image tower alone: all its patches, and its class token once more, normalised."""

    def __init__(self) -> None:
        super().__init__()
        config = package().CLIPVisionConfig(**_CLIP_VISION)
        self.vision = package().CLIPVisionModel(config)

    def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        result = self.vision(pixel_values=image)
        return result.last_hidden_state, result.pooler_output


def _whisper_config(frames: int) -> Any:
    return package().WhisperConfig(
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        num_mel_bins=4,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=INNER,
        decoder_ffn_dim=INNER,
        max_source_positions=frames // 2,  # its second convolution halves the frames
        max_target_positions=4,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        use_cache=False,
        attn_implementation="eager",
    )


class Whisper(nn.Module):
    """Whisper (Radford et al., 2022): a spectrogram is encoded and read by a causal decoder."""

    def __init__(self, frames: int = 8, tokens: int = 4) -> None:
        super().__init__()
        self.whisper = package().WhisperModel(_whisper_config(frames))
        self.register_buffer("future", _future(tokens))

    def forward(self, spectrogram: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        result = self.whisper(
            input_features=spectrogram,
            decoder_input_ids=ids,
            decoder_attention_mask=self.get_buffer("future"),
        )
        return result.last_hidden_state


class WhisperEncoder(nn.Module):
    """Whisper's encoder alone."""

    def __init__(self, frames: int = 8) -> None:
        super().__init__()
        self.encoder = package().WhisperModel(_whisper_config(frames)).encoder

    def forward(self, spectrogram: torch.Tensor) -> torch.Tensor:
        return self.encoder(spectrogram).last_hidden_state
