"""Imported where scripts are tried: torch, and what it imports when it exports the first time."""

import tempfile
from pathlib import Path

import torch

torch.set_num_threads(1)
with tempfile.TemporaryDirectory() as _folder:
    _archive = Path(_folder) / "program.pt2"
    torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.zeros(1),)), _archive)
    torch.export.load(_archive)
