"""Ops that lowering writes anew in other ops, which then compute something else.

They are for the package lane alone: the graph lane lowers nothing.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from corpus.case import Family, Inputs, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.caches import PACKAGE_ALONE
from corpus.families.dynamic_shapes import BOUNDS
from corpus.inputs import DYNAMIC, floats

NODES, EDGES, WIDTH = 3, 7, 4


class LogProbabilities(torch.nn.Module):
    """Logits so far apart that the probability of most classes is 0 in float32."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(torch.relu(x) * 200, dim=-1) + 1


@case(
    Family.TYPES,
    catches="the logarithm of a probability that is 0 in float32, and of a log_softmax that is not",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def log_probabilities_of_the_unlikely() -> Program:
    return Program(floats((2, 8)), model=LogProbabilities())


class LogProbabilitiesOfChosen(torch.nn.Module):
    """The data choose the rows. Lowering must not ask how many there are."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(torch.relu(x[x[:, 0] > 0]) * 2, dim=-1)


@case(
    Family.DYNAMIC_SHAPES,
    catches="a log_softmax of as many rows as the data choose, whose number lowering asks",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def log_probabilities_of_chosen_rows() -> Program:
    return Program(floats((6, 8)), model=LogProbabilitiesOfChosen())


class Gathered(torch.nn.Module):
    """The messages of each node, reduced beside what the node holds, or in its place."""

    def __init__(self, reduce: str, *, include_self: bool = True) -> None:
        super().__init__()
        self.reduce, self.include_self = reduce, include_self

    def forward(self, nodes: torch.Tensor, edges: torch.Tensor, to: torch.Tensor) -> torch.Tensor:
        return torch.scatter_reduce(
            nodes, 0, to, torch.relu(edges), self.reduce, include_self=self.include_self
        )


def _messages(generator: torch.Generator, _: int | None) -> Inputs:
    nodes, edges = (torch.randn(rows, WIDTH, generator=generator) for rows in (NODES, EDGES))
    to = torch.randint(NODES, (EDGES, WIDTH), generator=generator)
    return Inputs((nodes, edges, to))


@case(
    Family.TYPES,
    catches="a mean of messages that is rounded to a whole number",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def mean_of_the_messages() -> Program:
    return Program(_messages, model=Gathered("mean"))


@case(
    Family.TYPES,
    catches="messages that take the place of what a node holds: include_self=False",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def messages_without_the_node() -> Program:
    return Program(_messages, model=Gathered("sum", include_self=False))


class FirstRows(torch.nn.Module):
    """The index has fewer rows than what is added, of which the others are left out."""

    def forward(self, nodes: torch.Tensor, edges: torch.Tensor, to: torch.Tensor) -> torch.Tensor:
        return nodes.scatter_add(0, to[: EDGES - 2], torch.relu(edges)) * 2


@case(
    Family.TYPES,
    catches="scatter_add by an index that has fewer rows than what is added",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def messages_by_fewer_indices() -> Program:
    return Program(_messages, model=FirstRows())


class Loudness(torch.nn.Module):
    """A signal of any length, each channel over its standard deviation."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) / x.std(dim=1, keepdim=True)


def _of_any_length(model: torch.nn.Module, *others: tuple[int, ...]) -> Program:
    """A model of a signal whose length varies, and of tensors of these shapes beside it."""
    length = {1: torch.export.Dim("length", min=BOUNDS[0], max=BOUNDS[1])}
    return Program(
        floats((4, DYNAMIC), *others),
        model=model,
        dynamic_shapes=(length, *(None for _ in others)),
        bounds=BOUNDS,
    )


@case(
    Family.DYNAMIC_SHAPES,
    catches="a standard deviation over a size that varies, by the example's number of samples",
    fallback=[RELU],
    eager_tolerance=1e-5,
    dynamic=True,
    lanes=PACKAGE_ALONE,
)
def signal_over_its_deviation() -> Program:
    return _of_any_length(Loudness())


class VarianceAndBias(torch.nn.Module):
    def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return x.var(dim=1) - torch.tanh(bias)


@case(
    Family.DYNAMIC_SHAPES,
    catches="the same, of a variance that PyTorch computes, so that no engine refuses the size",
    fallback=[
        "aten.mean.dim",
        "aten.sub.Tensor",
        "aten.mul.Tensor",
        "aten.sum.dim_IntList",
        "aten.div.Tensor",
    ],
    eager_tolerance=1e-5,
    dynamic=True,
    lanes=PACKAGE_ALONE,
)
def variance_left_in_pytorch() -> Program:
    return _of_any_length(VarianceAndBias(), (4,))


class PaddedAttention(torch.nn.Module):
    """Attention with a query that may look at nothing, as a padded one."""

    mask: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        mask = torch.ones(4, 4, dtype=torch.bool)
        mask[1] = False
        self.register_buffer("mask", mask)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = functional.scaled_dot_product_attention(x, x, torch.relu(x), attn_mask=self.mask)
        return made + 1


@case(
    Family.TYPES,
    catches="a query that may look at nothing, whose attention PyTorch defines as 0",
    fallback=[RELU],
    eager_tolerance=1e-5,
    settings={"decompose_attention": True},
    lanes=PACKAGE_ALONE,
)
def attention_that_looks_at_nothing() -> Program:
    return Program(floats((1, 2, 4, 8)), model=PaddedAttention())


class OverItsChannels(torch.nn.Module):
    """InstanceNorm in training, beside the rest of a model that is in evaluation."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.InstanceNorm1d(3, track_running_stats=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean, variance = self.norm.running_mean, self.norm.running_var
        made = functional.instance_norm(x, mean, variance, use_input_stats=True)
        return torch.relu(made) * 2


@case(
    Family.CACHES,
    catches="the running statistics of an InstanceNorm, which nothing updates any more",
    fallback=[RELU],
    eager_tolerance=1e-5,
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def statistics_of_an_instance_norm() -> Program:
    return Program(floats((2, 3, 6)), model=OverItsChannels())


class CountedOverItsChannels(OverItsChannels):
    """The same, with a state that is updated in saved programs."""

    calls: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return super().forward(x) + self.calls


@case(
    Family.CACHES,
    catches="running statistics that a saved program does not update, beside state that it does",
    fallback=[RELU],
    eager_tolerance=1e-5,
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def statistics_of_an_instance_norm_beside_a_counter() -> Program:
    return Program(floats((2, 3, 6)), model=CountedOverItsChannels())


class Ensemble(torch.nn.Module):
    """Members that vmap runs, whose mean is cast."""

    def __init__(self) -> None:
        super().__init__()
        self.members = torch.nn.Parameter(torch.randn(3, 4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def one(member: torch.Tensor) -> torch.Tensor:
            return torch.relu(x @ member)

        return torch.vmap(one)(self.members).mean(0).float() * 2


@case(
    Family.TYPES,
    catches="vmap beside a cast, whose assertion goes and takes the layers of vmap along",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def vmap_beside_a_cast() -> Program:
    return Program(floats((2, 4)), model=Ensemble())


class Grouped(torch.nn.Module):
    """Attention of four heads, each two of which share keys and values."""

    def forward(self, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        made = functional.scaled_dot_product_attention(query, key, torch.relu(key), enable_gqa=True)
        return made + 1


@case(
    Family.TYPES,
    catches="heads that share keys and values, as Llama's, when attention is written anew",
    fallback=[RELU],
    eager_tolerance=1e-5,
    settings={"decompose_attention": True},
    lanes=PACKAGE_ALONE,
)
def grouped_attention_written_anew() -> Program:
    return Program(floats((1, 4, 3, 8), (1, 2, 3, 8)), model=Grouped())


class RowAtAnIndex(torch.nn.Module):
    def forward(self, x: torch.Tensor, row: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        table = x + 1
        table[at.item()] = row  # type: ignore[index]
        return torch.relu(table) * 2


def _row_and_index(generator: torch.Generator, _: int | None) -> Inputs:
    x, row = torch.randn(4, 3, generator=generator), torch.randn(3, generator=generator)
    return Inputs((x, row, torch.randint(1, 4, (), generator=generator)))


@case(
    Family.SLICE_WRITES,
    catches="a row that is written at an index of data, whose sign nobody knows",
    fallback=["aten.slice_scatter.default"],
    wiring=True,
    lanes=PACKAGE_ALONE,
)
def row_written_at_an_index_of_data() -> Program:
    return Program(_row_and_index, model=RowAtAnIndex())


class WholeInStrides(torch.nn.Module):
    """Whole numbers beyond what float32 holds, in memory that is made for them."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = torch.empty_strided((2, 8), (1, 2), dtype=torch.int64)
        made.copy_(torch.relu(x).to(torch.int64) + 2**24 + 1)
        return made // 2


@case(
    Family.TYPES,
    catches="an empty tensor of whole numbers, made as one of floats",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
)
def whole_numbers_in_an_empty_tensor() -> Program:
    return Program(floats((2, 8)), model=WholeInStrides())
