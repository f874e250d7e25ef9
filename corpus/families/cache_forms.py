"""Caches as models have them: in submodules, with dynamic sizes, by channels, of a library.

They go with `corpus.families.caches`, and for the same reason through the package lane alone: the
graph lane's splitter takes a buffer into every segment that reads it, as a constant. Each call
writes to another position or other numbers, so that a write that is lost shows in the next call.
"""

from __future__ import annotations

from typing import cast

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.architectures_sequential import SOFTMAX
from corpus.families.caches import HEADS, LENGTH, PACKAGE_ALONE, WIDTH, Cache, step
from corpus.inputs import DYNAMIC, floats
from corpus.models.hub import package


class Inner(Cache):
    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.keys.index_copy_(2, position, self.project(x))
        return torch.matmul(self.scores(x), self.keys)


class InSubmodules(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([Inner(), Inner()])

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x, position)) + 1
        return x


@case(
    Family.CACHES,
    catches="caches of two layers, both called `keys`: one lost, or taken for the other's",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_of_submodules() -> Program:
    return Program(step, model=InSubmodules())


class OneEngine(Cache):
    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.keys.index_copy_(2, position, self.project(x))
        return torch.relu(torch.matmul(self.scores(x), self.keys)) + 1


@case(
    Family.CACHES,
    catches="a cache whose write is left in PyTorch, between engines that read it",
    fallback=["aten.index_copy.default", "aten.index_copy_.default", "aten.index_put.default"],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_written_by_a_fallback() -> Program:
    return Program(step, model=OneEngine())


class Prefix(Cache):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = self.keys.sum(2, keepdim=True)
        self.keys[:, :, : x.shape[2]] = self.project(x)
        return torch.relu(before * self.keys.sum(2, keepdim=True)) + 1


@case(
    Family.CACHES,
    catches="a cache that is filled up to a dynamic size: its end fixed at compile",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    dynamic=True,
    state=True,
)
def cache_written_up_to_a_dynamic_size() -> Program:
    tokens = torch.export.Dim("tokens", min=1, max=LENGTH - 2)
    return Program(
        floats((1, HEADS, DYNAMIC, WIDTH)),
        model=Prefix(),
        dynamic_shapes=({2: tokens},),
        bounds=(1, LENGTH - 2),
    )


class AtAnItem(Cache):
    def forward(self, x: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        begin = cast(int, start.item())
        torch._check(begin >= 0)
        torch._check(begin + 2 <= LENGTH)
        self.keys.narrow(2, begin, 2).copy_(self.project(x))  # type: ignore[arg-type]
        return torch.relu(torch.matmul(x, self.keys.transpose(2, 3))) + 1


def _two_tokens(generator: torch.Generator, _: int | None) -> Inputs:
    tokens = torch.randn(1, HEADS, 2, WIDTH, generator=generator)
    return Inputs((tokens, torch.randint(LENGTH - 2, (), generator=generator)))


@case(
    Family.CACHES,
    catches="a cache that is written from where `.item()` says on: a bound that depends on data",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_written_from_an_item() -> Program:
    return Program(_two_tokens, model=AtAnItem())


class Frames(torch.nn.Module):
    frames: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        frames = torch.randn(1, 3, 6, 4).to(memory_format=torch.channels_last)
        self.register_buffer("frames", frames)
        self.convolve = torch.nn.Conv2d(3, 3, 1)


class ByChannels(Frames):
    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.frames.index_copy_(2, position, self.convolve(x))
        return torch.relu(self.frames * 2) + 1


def _row(generator: torch.Generator, _: int | None) -> Inputs:
    row = torch.randn(1, 3, 1, 4, generator=generator)
    return Inputs((row, torch.randint(6, (1,), generator=generator)))


@case(
    Family.CACHES,
    catches="a cache laid out by channels, written in a contiguous copy that is thrown away",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_channels_last() -> Program:
    return Program(_row, model=ByChannels())


class ReadByChannels(Frames):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.frames[:, :, 2:3] = self.convolve(x) + self.frames[:, :, 2:3]
        return torch.relu(self.frames) * 2


@case(
    Family.CACHES,
    catches="a cache laid out by channels that a fallback reads: its strides in the metadata",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_channels_last_read_by_a_fallback() -> Program:
    return Program(floats((1, 3, 1, 4)), model=ReadByChannels())


class TriedAndWritten(Frames):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tried = torch.slice_scatter(self.frames, self.convolve(x), 2, 0, 1)
        self.frames[:, :, 2:3] = torch.relu(tried.sum(2, keepdim=True)) * 2
        return self.frames.sum(2) + 1


@case(
    Family.CACHES,
    catches="a cache that one engine reads with a row exchanged, and another writes: both written",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_tried_in_one_engine_and_written_in_another() -> Program:
    return Program(floats((1, 3, 1, 4)), model=TriedAndWritten())


class WrittenAndTried(Frames):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.convolve(x)
        tried = torch.slice_scatter(self.frames, torch.relu(y), 2, 0, 1)
        self.frames[:, :, 2:3] = y * 2 + self.frames[:, :, 2:3]
        return self.frames.sum(2) + tried[:, :, 3:].sum(2)


@case(
    Family.CACHES,
    catches="a cache that one engine writes, and a later one reads with a row exchanged",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_written_in_one_engine_and_tried_in_a_later() -> Program:
    return Program(floats((1, 3, 1, 4)), model=WrittenAndTried())


class Attention(Cache):
    """Ordinary attention of one token over what came before it, with its own K/V caches."""

    values: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("values", torch.randn(1, HEADS, LENGTH, WIDTH))
        self.other = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.keys.index_copy_(2, position, self.project(x))
        self.values.index_copy_(2, position, self.other(x))
        return torch.matmul(torch.softmax(self.scores(x), -1), self.values) + x


@case(
    Family.CACHES,
    catches="ordinary K/V attention whose softmax stays in PyTorch, between two caches' readers",
    fallback=SOFTMAX,
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def attention_with_its_softmax_in_pytorch() -> Program:
    return Program(step, model=Attention())


class ReadInPyTorch(Cache):
    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.keys.index_copy_(2, position, self.project(x))
        return torch.relu(self.keys) * 2 - self.scores(x).sum()


@case(
    Family.CACHES,
    catches="a cache that an engine writes and that a fallback reads, as it was before the write",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_read_by_a_fallback() -> Program:
    return Program(step, model=ReadInPyTorch())


class Window(Cache):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.keys.copy_(torch.cat([self.keys[:, :, 1:], self.project(x)], 2))
        return torch.relu(torch.matmul(x, self.keys.transpose(2, 3))) + 1


@case(
    Family.CACHES,
    catches="a window over the last tokens that is overwritten whole, and no longer moves on",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_as_a_moving_window() -> Program:
    return Program(floats((1, HEADS, 1, WIDTH)), model=Window())


class WrittenInBoth(Cache):
    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.keys.index_copy_(2, position, self.project(x))
        read = torch.relu(torch.matmul(self.scores(x), self.keys))
        self.keys.index_copy_(2, (position + 1) % LENGTH, read)
        return read + 1


@case(
    Family.CACHES,
    catches="a cache that is written before a fallback and once more behind it: one write lost",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_written_on_both_sides() -> Program:
    return Program(step, model=WrittenInBoth())


class Static(torch.nn.Module):
    """A small Llama that decodes one token over the `StaticCache` of transformers.

    As in transformers' own modules for export, the cache's tensors are buffers of the model.
    """

    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.config = package().LlamaConfig(
            vocab_size=16,
            hidden_size=8,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=HEADS,
            max_position_embeddings=LENGTH,
            attn_implementation="eager",
        )
        self.model = package().LlamaForCausalLM(self.config).requires_grad_(False)
        self.register_buffer("keys", torch.randn(1, HEADS, LENGTH, WIDTH))
        self.register_buffer("values", torch.randn(1, HEADS, LENGTH, WIDTH))

    def forward(self, ids: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        cache = package().StaticCache(self.config, max_cache_len=LENGTH)
        cache.layers[0].keys, cache.layers[0].values = self.keys, self.values
        cache.layers[0].is_initialized = True
        logits: torch.Tensor = self.model(
            input_ids=ids,
            attention_mask=torch.zeros(1, 1, 1, LENGTH),  # every position is read in every call
            position_ids=position.unsqueeze(0),
            past_key_values=cache,
            cache_position=position,
        ).logits
        return logits


def _token(generator: torch.Generator, _: int | None) -> Inputs:
    ids = torch.randint(16, (1, 1), generator=generator)
    return Inputs((ids, torch.randint(LENGTH, (1,), generator=generator)))


@case(
    Family.CACHES,
    catches="a StaticCache of transformers that a Llama writes by position, and reads as it was",
    fallback=["aten.silu.default", "aten.sigmoid.default"],  # lowering makes one the other
    eager_tolerance=1e-4,
    requires=("transformers",),
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def static_cache_of_transformers() -> Program:
    return Program(_token, model=Static())
