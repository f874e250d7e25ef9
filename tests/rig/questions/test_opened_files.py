"""What a user's model opens while it is built is one of its files, as what it imports is."""

import sys

import pytest
import torch

from harness.toolchain.rig_client import read_corpus

MODEL = """
import torch
from pathlib import Path

BESIDE = Path(__file__).parent
open(BESIDE / "written.log", "w").close()

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.load(BESIDE / "data" / "weights.pt")
        (BESIDE / ".cache" / "hidden").read_text()

    def forward(self, x):
        import late
        return late.scaled(x, self.scale)

def example():
    return (torch.ones(2),)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    for folder in ("data", ".cache"):
        (home / folder).mkdir()
    torch.save(torch.ones(2), home / "data" / "weights.pt")
    (home / ".cache" / "hidden").touch()
    (home / "unread.bin").touch()
    (home / "net.py").write_text(MODEL)
    (home / "late.py").write_text("def scaled(x, scale):\n    return x * scale\n")
    (home / "net.toml").write_text('[net]\nmodel = "net.py:Net"\n')
    return home


def test_weights_and_what_is_imported_late_are_files_of_a_model_and_what_it_writes_is_not(home):
    names = ("data/weights.pt", "late.py", "net.py", "net.toml")
    for _ in range(2):  # late.py is compiled by then, and opened as its source all the same
        corpus = read_corpus(sys.executable, [str(home / "net.toml")])
        assert corpus.files == tuple(str(home / name) for name in names)
