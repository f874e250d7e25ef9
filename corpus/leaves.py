"""Buffers that were computed with gradients, which `copy.deepcopy` does not take."""

from __future__ import annotations

import torch


def cut_off(model: torch.nn.Module) -> None:
    """Cut each buffer off from what it was computed from; no number changes.

    HuggingFace computes caches with gradients, and `torch.export` takes them. It leaves such a
    history itself in a buffer that takes rows of what needs gradients (index_copy_, torch 2.13).
    """
    for buffer in model.buffers():
        if not buffer.is_leaf and not buffer._is_view():
            buffer.detach_()
