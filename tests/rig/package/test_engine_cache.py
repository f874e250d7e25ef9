"""Kept engines: found again for the same content, and for nothing else."""

import tempfile
from dataclasses import dataclass, field

import pytest
import torch
from torch.fx import GraphModule

from harness.rig.package.engine_cache import KeptEngine, content_key, keep, kept_engine


@dataclass
class Settings:
    torch_executed_ops: set[str] = field(default_factory=lambda: {"a", "b", "c"})
    min_block_size: int = 1
    timing_cache_path: str = "none"


class Scaled(torch.nn.Module):
    def __init__(self, scale: float, dtype: torch.dtype) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.full((4,), scale, dtype=dtype))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale


def segment(scale: float = 1.0, rows: int = 3, dtype: torch.dtype = torch.float32) -> GraphModule:
    x = torch.ones(rows, 4, dtype=dtype)
    return torch.export.export(Scaled(scale, dtype), (x,)).module(check_guards=False)


def key(
    module: GraphModule, settings: object = None, versions: tuple[str, ...] = ("2", "1")
) -> str:
    return content_key(module, ["Input(shape=(3, 4))"], settings or Settings(), versions)


def test_the_same_content_has_the_same_key():
    assert key(segment()) == key(segment())
    assert key(segment(dtype=torch.bfloat16)) == key(segment(dtype=torch.bfloat16))


def test_a_constant_of_one_element_is_content_whatever_its_stride():
    # `torch.quantile` leaves such constants: they count as contiguous with a stride of 0.
    def with_constant(value: float) -> str:
        module = segment()
        module.scale = torch.nn.Parameter(torch.tensor([value]).as_strided((1,), (0,)))
        return key(module)

    assert with_constant(1.0) == with_constant(1.0) != with_constant(2.0)


def test_a_worker_s_temporary_folder_is_no_content(monkeypatch):
    keys = []
    for folder in ("/elsewhere/worker-1", "/elsewhere/worker-2"):
        monkeypatch.setattr(tempfile, "tempdir", folder)
        settings = Settings(timing_cache_path=f"{tempfile.gettempdir()}/timing.bin")
        keys.append(key(segment(), settings))
    assert keys[0] == keys[1]
    assert key(segment(), Settings(timing_cache_path="/home/timing.bin")) != keys[0]


def test_the_order_of_a_set_is_no_content():
    # More names than one: two sets of equal elements may list them in different orders.
    names = [f"op{at}" for at in range(50)]
    other = names[::-1]
    assert key(segment(), Settings(set(names))) == key(segment(), Settings(set(other)))


@pytest.mark.parametrize(
    ("changed", "settings", "versions"),
    [
        ({"scale": 2.0}, Settings(), ("2", "1")),
        ({"rows": 5}, Settings(), ("2", "1")),
        ({"dtype": torch.bfloat16}, Settings(), ("2", "1")),
        ({}, Settings(min_block_size=2), ("2", "1")),
        ({}, Settings({"a"}), ("2", "1")),
        ({}, Settings(), ("2", "2")),
    ],
    ids=["a weight", "a size", "a type", "a setting", "a set", "a version"],
)
def test_other_content_has_another_key(changed, settings, versions):
    assert key(segment(**changed), settings, versions) != key(segment())


def test_what_was_kept_is_found_and_nothing_else_is(tmp_path):
    engine = KeptEngine({"input_names": ["x"]}, b"engine", 1.0, 2.0)
    folder = tmp_path / "engines"
    assert kept_engine(folder, "k") is None
    keep(folder, "k", engine)
    assert kept_engine(folder, "k") == engine
    assert kept_engine(folder, "other") is None
    assert [path.name for path in folder.iterdir()] == ["k.engine"]


@pytest.mark.parametrize("content", [b"", b"damaged", b"\x80\x05N."])
def test_a_damaged_file_is_as_good_as_none(tmp_path, content):
    (tmp_path / "k.engine").write_bytes(content)
    assert kept_engine(tmp_path, "k") is None
