"""What a user's function returns for the calls of a model: read, sized, compared and told."""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
import torch.utils._pytree as pytree

from corpus.case import Inputs
from corpus.varying import Sizes, Varying, leaves

#: What torch says where there is no GPU, or none that it can use.
_NO_GPU: Final = ("not compiled with CUDA", "no NVIDIA driver", "No CUDA GPUs")
RETURN: Final = "return a tuple of arguments, a dict of keywords, or both as a pair"


class WrongInputs(Exception):
    """What a function returns cannot be given to a model: what, and what to write instead."""


@dataclass(frozen=True)
class InputsFunction:
    """A function of a user's own that returns what a model is given, as ``where`` names it."""

    where: str
    call: Callable[..., Any]
    takes_size: bool = False

    def example(self, seed: int, size: int | None = None) -> Inputs:
        """What it returns, of its own default size or of another one.

        Raises:
            WrongInputs: it raises, or what it returns is nothing that a model is given.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed % 2**63)
            try:
                returned = self.call() if size is None else self.call(size=size)
            except Exception as error:
                asked = "" if size is None else f" for size={size}"
                raise WrongInputs(
                    f"the function of the inputs raises {first_line(error)}{asked}; "
                    f"{instead(error) or f'mend it, and let it {RETURN}'}"
                ) from error
        if returned is None:
            raise WrongInputs(f"{self.where} returns None; let it {RETURN}")
        if isinstance(returned, Iterator):
            raise WrongInputs(
                f"{self.where} gives a {type(returned).__name__}, of which nothing can be taken "
                f"twice; let it {RETURN}, by `return` and not by `yield`"
            )
        made = as_inputs(returned)
        for _, leaf in leaves(made):
            if type(leaf).__module__ == "numpy":
                raise WrongInputs(
                    f"{self.where} returns a numpy.{type(leaf).__name__}, which "
                    "torch.export.export does not take; make a tensor of it, by torch.as_tensor"
                )
        return copy.deepcopy(made)

    def at(self, sizes: Sizes) -> Callable[[torch.Generator, int | None], Inputs]:
        """What it returns at every size that is asked, drawn by a seed.

        Raises:
            WrongInputs: it takes a size, and none that varies is as large as it is asked.
        """
        same = equal(self.example(1), self.example(2))
        varying = self._size_taken(sizes) if self.takes_size and sizes.places else None

        def inputs(generator: torch.Generator, size: int | None) -> Inputs:
            seed = generator.initial_seed()
            if size is None or sizes.is_the_example(size):
                made = self.example(seed)
                return scaled(made, generator) if same else made
            made = self._of(seed, size, sizes, varying) if varying else self.example(seed)
            return sizes.applied(scaled(made, generator) if same else made, size)

        return inputs

    def _of(self, seed: int, size: int, sizes: Sizes, varying: Varying) -> Inputs:
        """What it returns for the size that it takes; above the largest, that of the largest."""
        assert sizes.bounds is not None
        wanted = min(varying.near(size, sizes.bounds), varying.high)
        made = self.example(seed, wanted)
        self._refuse_other_sizes(made, wanted, sizes, varying)
        return made

    def _size_taken(self, sizes: Sizes) -> Varying:
        """The size that it takes: the first that is as large as it is asked, in every place."""
        wrong = []
        for varying in dict.fromkeys(place.size for place in sizes.places):
            try:
                for size in (varying.low, varying.high):
                    self._refuse_other_sizes(self.example(1, size), size, sizes, varying)
            except WrongInputs as error:
                wrong.append(error)
            else:
                return varying
        raise wrong[0]

    def _refuse_other_sizes(self, made: Inputs, size: int, sizes: Sizes, varying: Varying) -> None:
        found = dict(leaves(made))
        for place in (each for each in sizes.places if each.size == varying):
            leaf = found.get(place.path)
            shape = leaf.shape if isinstance(leaf, torch.Tensor) else ()
            has = shape[place.axis] if place.axis < len(shape) else None
            if has != place.at(size):
                raise WrongInputs(
                    f"for size={size} {self.where} returns size {has} in {place.named}, where "
                    f"{place.at(size)} is asked ({place.range} is stated); make that dimension as "
                    "large as size asks, or let the function take no size: then its inputs are "
                    "resized within what is stated"
                )


def as_inputs(given: Any) -> Inputs:
    """What a user's function returns, as the arguments of one call.

    A pair of a tuple and a dictionary is arguments and keywords, a dictionary is keywords, a tuple
    or list is arguments, and anything else is the only argument.
    """
    if isinstance(given, tuple | list) and len(given) == 2:
        first, second = given
        if isinstance(first, tuple | list) and type(second) is dict and _are_names(second):
            return Inputs(tuple(first), second)
    if type(given) is dict and _are_names(given):
        return Inputs((), given)
    if type(given) in (tuple, list):
        return Inputs(tuple(given))
    return Inputs((given,))


def scaled(inputs: Inputs, generator: torch.Generator) -> Inputs:
    """Inputs of which every floating tensor is multiplied by one drawn factor of 0.5 to 1.

    A user's function that returns the same values each time would not show a program that
    returns what it computed first. Zeros, signs and infinities stay as they are.
    """
    factor = 0.5 + 0.5 * float(torch.rand((), generator=generator))

    def scale(leaf: Any) -> Any:
        floating = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
        return leaf * factor if floating else leaf

    args, kwargs = pytree.tree_map(scale, (inputs.args, dict(inputs.kwargs)))
    return Inputs(args, kwargs)


def _are_names(given: Mapping[Any, Any]) -> bool:
    return all(isinstance(key, str) for key in given)


def equal(one: Inputs, other: Inputs) -> bool:
    """Whether two calls are given the same values, bit for bit where they are tensors."""
    ours, theirs = (pytree.tree_leaves((each.args, dict(each.kwargs))) for each in (one, other))
    return len(ours) == len(theirs) and all(map(_same, ours, theirs))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return torch.equal(one, other)
    try:
        return one is other or bool(one == other)
    except (RuntimeError, ValueError):  # an object of a user's own, which compares tensors
        return False


def told(inputs: Inputs) -> Iterator[str]:
    """Each argument in a few words, such as ``torch.float32 [4, 8]``."""
    for leaf in pytree.tree_leaves((inputs.args, dict(inputs.kwargs))):
        is_tensor = isinstance(leaf, torch.Tensor)
        yield f"{leaf.dtype} {list(leaf.shape)}" if is_tensor else kind(leaf)


def kind(value: Any) -> str:
    """`None`, or such as `the int 5` in one short line."""
    return "None" if value is None else f"the {type(value).__name__} {reprlib.repr(value)}"


def first_line(error: Exception) -> str:
    """The kind of an error, and what it says in its first line."""
    said = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def instead(error: Exception) -> str:
    """What to write instead, if the error is that there is no GPU, or no such file."""
    if any(each in str(error) for each in _NO_GPU):
        return "everything runs on the CPU here, so leave .cuda() and device='cuda' out"
    name = error.filename if isinstance(error, FileNotFoundError) else None
    if not isinstance(name, str) or Path(name).is_absolute():
        return ""
    return f'open it from where its own file lies, as Path(__file__).with_name("{name}")'
