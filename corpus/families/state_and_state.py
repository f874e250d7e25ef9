"""State that is given to other state, returned as it was, or no ordinary buffer.

These go through the package lane alone, as `corpus.families.caches`. What a model writes is read
in its next call, so that a write that is lost, or done in another order, shows there.
"""

from __future__ import annotations

import torch

from corpus.case import Family, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.caches import PACKAGE_ALONE
from corpus.inputs import floats, keyword_floats


class TwoStates(torch.nn.Module):
    """Two states of one shape, which are written in another order than that of their names."""

    zeta: torch.Tensor
    alpha: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("zeta", torch.randn(1, 4))
        self.register_buffer("alpha", torch.randn(1, 4))


class OneAfterTheOther(TwoStates):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = x * 2 + self.zeta
        self.zeta.copy_(first)
        second = torch.relu(first) * 0.5 + self.alpha
        self.alpha.copy_(second)
        return torch.relu(second) + 1


@case(
    Family.CACHES,
    catches="two states of one shape, each written back in the place of the other",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def two_running_states() -> Program:
    return Program(floats((1, 4)), model=OneAfterTheOther())


class OneOfATuple(TwoStates):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor]:
        made = x * 2 + self.zeta
        self.zeta.copy_(made)
        return (torch.relu(made) + 1,)


@case(
    Family.CACHES,
    catches="a tuple of one beside running state, which comes back as a tensor",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def running_state_and_a_tuple_of_one() -> Program:
    return Program(floats((1, 4)), model=OneOfATuple())


class Before(TwoStates):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = self.zeta.clone()
        self.zeta.copy_(torch.relu(x) + 1)
        return before


@case(
    Family.CACHES,
    catches="a state that is returned as it was before the call, and overwritten in it",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def old_state_returned() -> Program:
    return Program(floats((1, 4)), model=Before())


class Delayed(TwoStates):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = torch.relu(self.zeta - x)
        self.zeta.copy_(self.alpha)
        self.alpha.copy_(x)
        return made * 3


@case(
    Family.CACHES,
    catches="a delay line: a state that takes what another one was before that one takes the input",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def state_given_to_other_state() -> Program:
    return Program(floats((1, 4)), model=Delayed())


class HandedOn(TwoStates):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = torch.relu(self.alpha - x)
        self.alpha.copy_(self.zeta)
        self.zeta.copy_(x)
        return made * 3


@case(
    Family.CACHES,
    catches="a delay line whose states a loaded program writes one after the other, in their order",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def state_handed_on_in_turn() -> Program:
    return Program(floats((1, 4)), model=HandedOn())


class Exchanged(TwoStates):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = self.zeta.clone()
        self.zeta.copy_(torch.relu(self.alpha) + x)
        self.alpha.copy_(before)
        return x * self.zeta


@case(
    Family.CACHES,
    catches="two states that change places by way of a clone of one of them",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def two_states_exchanged() -> Program:
    return Program(floats((1, 4)), model=Exchanged())


class Counted(torch.nn.Module):
    """A layer that counts what it sees."""

    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(x.abs().mean(0))
        return torch.relu(x) + self.count


class Siamese(torch.nn.Module):
    """Two branches of one layer, which therefore has two names."""

    def __init__(self) -> None:
        super().__init__()
        self.left = Counted()
        self.right = self.left

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.left(x) * self.right(y)


@case(
    Family.CACHES,
    catches="a state that has two names, since its layer stands in two branches",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def state_of_a_layer_in_two_branches() -> Program:
    return Program(floats((2, 4), (2, 4)), model=Siamese())


class Kept(TwoStates):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = torch.relu(self.zeta + x)
        self.zeta.copy_(x)
        x.mul_(2)
        return made + x


@case(
    Family.CACHES,
    catches="a state that takes its caller's tensor before the model writes to that one",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def state_from_an_input_that_is_written() -> Program:
    return Program(floats((1, 4)), model=Kept())


class KeptUnread(TwoStates):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = torch.relu(self.alpha + x)
        self.zeta.copy_(x)
        x.mul_(2)
        return made + x


@case(
    Family.CACHES,
    catches="a state that no call reads takes its caller's tensor before the model writes to that",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def unread_state_from_an_input_that_is_written() -> Program:
    return Program(floats((1, 4)), model=KeptUnread())


class Transposed(torch.nn.Module):
    state: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.randn(3, 2).t())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.mul_(0.5).add_(x)
        return torch.relu(self.state) * 2


@case(
    Family.CACHES,
    catches="a state that is laid out column by column, and written to: refused, or copied",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def transposed_state() -> Program:
    return Program(floats((2, 3)), model=Transposed())


class Teacher(torch.nn.Module):
    """A frozen teacher's weight, which decays in each call as an average over a student does."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = torch.relu(x * self.weight)
        self.weight.mul_(0.5)
        return made + 1


@case(
    Family.CACHES,
    catches="a frozen weight that the model writes to: the write done at compile, and never again",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def frozen_weight_that_is_written() -> Program:
    return Program(floats((3,)), model=Teacher())


class Summed(torch.nn.Module):
    """The sum of what it has seen, in a buffer of this name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.register_buffer(name, torch.randn(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sum_: torch.Tensor = getattr(self, self.name)
        sum_.add_(x.sum(0))
        return torch.relu(x) + sum_


class NamesAlike(torch.nn.Module):
    """Two states, a.b_c and a_b.c."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.a_b = Summed("b_c"), Summed("c")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.a(x) * 2 - self.a_b(x * 3)


@case(
    Family.CACHES,
    catches="states of two parts whose names are one where a dot becomes an underscore",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def states_whose_names_differ_by_a_dot() -> Program:
    return Program(floats((2, 4)), model=NamesAlike())


class CountedAndScaled(torch.nn.Module):
    calls: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(4))

    def forward(self, x: torch.Tensor, *, shift: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return torch.relu((x + self.calls) * scale) - shift


@case(
    Family.CACHES,
    catches="keywords beside running state, which the program takes in alphabetical order",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def keywords_beside_running_state() -> Program:
    inputs = keyword_floats([(2, 4)], shift=(2, 4), scale=(2, 4))
    return Program(inputs, model=CountedAndScaled())


class Counter(TwoStates):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.zeta.add_(x)
        return self.zeta * 2


@case(
    Family.CACHES,
    catches="state of a model that is too small for an engine, handed back as it was lowered",
    min_block_size=5,
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def state_without_an_engine() -> Program:
    return Program(floats((1, 4)), model=Counter())
