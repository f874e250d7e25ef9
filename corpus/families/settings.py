"""Settings of `torch_tensorrt.dynamo.compile` that change the split, the engines or the module."""

from __future__ import annotations

import torch

from corpus.case import Family, Program, case
from corpus.families.alternating_relu import RELU, Alternating
from corpus.families.attributes import LINEAR, TwoLinears
from corpus.families.dynamic_shapes import BOUNDS, batch
from corpus.families.sizes import ARANGE, Positions
from corpus.inputs import DYNAMIC, floats

PACKAGE = ["package"]  # the graph lane has no settings


class LongAndShort(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        short = torch.relu(x + 1) * 2
        long = (torch.relu(short) * 3 - 1) * x + short
        return torch.relu(long) - 4


@case(
    Family.SETTINGS,
    catches="an engine below the block size that becomes PyTorch, between two that stay",
    fallback=[RELU],
    min_block_size=3,
    wiring=True,
)
def engine_below_the_block_size() -> Program:
    return Program(floats((2, 8)), model=LongAndShort())


class ShortBehindLong(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        start = torch.relu(x)
        long = (start * 3 - 1) * start + 2
        return torch.relu(long) - 4


@case(
    Family.SETTINGS,
    catches="an engine below the block size behind one that stays: put ahead of what it reads",
    fallback=[RELU],
    min_block_size=3,
    wiring=True,
    lanes=PACKAGE,
)
def last_engine_below_the_block_size() -> Program:
    return Program(floats((2, 8)), model=ShortBehindLong())


@case(
    Family.SETTINGS,
    catches="the default block size of five on a small model: no engine at all, saved and loaded",
    fallback=[*LINEAR],
    min_block_size=5,
    wiring=True,
)
def every_engine_below_the_block_size() -> Program:
    return Program(floats((2, 8)), model=TwoLinears())


class FewOps(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * 2) - 1


@case(
    Family.SETTINGS,
    catches="require_full_compilation of a model below the block size, handed back as it is",
    min_block_size=5,
    wiring=True,
    settings={"require_full_compilation": True},
    lanes=PACKAGE,
)
def whole_below_the_block_size() -> Program:
    return Program(floats((2, 8)), model=FewOps())


@case(
    Family.SETTINGS,
    catches="the global partitioner on a dynamic batch, whose engines' sizes it takes for outputs",
    fallback=[RELU],
    wiring=True,
    settings={"use_fast_partitioner": False},
    lanes=PACKAGE,
    dynamic=True,
)
def global_partitioner_dynamic() -> Program:
    return Program(
        floats((DYNAMIC, 8)), model=Alternating(2), dynamic_shapes=batch(), bounds=BOUNDS
    )


class ScaledByItsSize(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * x.shape[0]) + x.shape[0]


@case(
    Family.SETTINGS,
    catches="a size that one engine computes and another one reads, by the global partitioner",
    fallback=[RELU],
    wiring=True,
    settings={"use_fast_partitioner": False},
    lanes=PACKAGE,
    dynamic=True,
)
def global_partitioner_size() -> Program:
    return Program(
        floats((DYNAMIC, 8)), model=ScaledByItsSize(), dynamic_shapes=batch(), bounds=BOUNDS
    )


@case(
    Family.SETTINGS,
    catches="weights that ops left outside of all children read, by the global partitioner",
    fallback=[*LINEAR],
    wiring=True,
    settings={"use_fast_partitioner": False},
    lanes=PACKAGE,
)
def global_partitioner_weights() -> Program:
    return Program(floats((2, 8)), model=TwoLinears())


@case(
    Family.SETTINGS,
    catches="engines that the Python runtime holds, which cannot be written to a file",
    fallback=[RELU],
    settings={"use_python_runtime": True},
    lanes=PACKAGE,
)
def python_runtime() -> Program:
    return Program(floats((2, 8)), model=Alternating(2))


@case(
    Family.SETTINGS,
    catches="refittable engines, whose map of weights has to come along",
    fallback=[*LINEAR],
    wiring=True,
    settings={"immutable_weights": False},
    lanes=PACKAGE,
)
def refittable() -> Program:
    return Program(floats((2, 8)), model=TwoLinears())


@case(
    Family.SETTINGS,
    catches="a model that is moved off the GPU while engines are built, and its fallbacks with it",
    fallback=[*LINEAR],
    wiring=True,
    settings={"offload_module_to_cpu": True},
    lanes=PACKAGE,
)
def offloaded() -> Program:
    return Program(floats((2, 8)), model=TwoLinears())


@case(
    Family.SETTINGS,
    catches="an engine taken from the cache in place of one that is built, for another model",
    fallback=[*LINEAR],
    wiring=True,
    settings={
        "immutable_weights": False,
        "cache_built_engines": True,
        "reuse_cached_engines": True,
    },
    lanes=PACKAGE,
)
def engine_from_the_cache() -> Program:
    return Program(floats((2, 8)), model=TwoLinears())


@case(
    Family.SETTINGS,
    catches="engines that are set up after all are built: saved before, or never set up",
    fallback=[RELU],
    wiring=True,
    settings={"lazy_engine_init": True},
    lanes=PACKAGE,
)
def engines_set_up_late() -> Program:
    return Program(floats((2, 8)), model=Alternating(2))


@case(
    Family.SETTINGS,
    catches="a file of the user's that is saved with the program, such as the names of classes",
    fallback=[RELU],
    wiring=True,
    save_keywords={"extra_files": {"labels.txt": "cat,dog"}},
    lanes=PACKAGE,
)
def labels_saved_with_the_program() -> Program:
    return Program(floats((2, 8)), model=Alternating(2))


@case(
    Family.DYNAMIC_SHAPES,
    catches="a size that PyTorch computes and reads, as a user names the op to get round an engine",
    fallback=[*ARANGE, "aten.sym_size.int"],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE,
)
def size_computed_in_pytorch() -> Program:
    return Program(floats((DYNAMIC, 8)), model=Positions(), dynamic_shapes=batch(), bounds=BOUNDS)


class Masked(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        causal = torch.ones(6, 6).tril()
        return self.project(x.masked_fill(causal == 0, 0.0)) + 1


@case(
    Family.SETTINGS,
    catches="a constant that lowering folds and PyTorch reads, by the global partitioner",
    fallback=["aten.where.self", "aten.masked_fill.Scalar"],
    eager_tolerance=1e-5,
    wiring=True,
    settings={"use_fast_partitioner": False},
    lanes=PACKAGE,
)
def global_partitioner_constant_in_pytorch() -> Program:
    return Program(floats((6, 6)), model=Masked())
