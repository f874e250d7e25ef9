"""Containers of the corpus's own that torch.export can take and give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.utils._pytree as pytree


class NamedPair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


@dataclass
class DataPair:
    first: torch.Tensor
    second: torch.Tensor


pytree._register_namedtuple(NamedPair, serialized_type_name="corpus.structures.NamedPair")
torch.export.register_dataclass(DataPair, serialized_type_name="corpus.structures.DataPair")
# An archive holds the example inputs, pickled, and is loaded without trusting unknown classes.
torch.serialization.add_safe_globals([NamedPair, DataPair])
