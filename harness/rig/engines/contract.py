"""What an engine promises about its inputs and outputs: shapes, types and an optimization profile.

A real engine is built for one type and one range of sizes per input, and refuses anything else
(`setup_input_tensors` in core/runtime/execute_engine.cpp of pytorch/TensorRT: the type check, and
`setInputShape`, which fails outside the profile). An emulation that forgets this turns errors into
silent wrong values, so the contract travels with the engine, in its metadata slot.
"""

from __future__ import annotations

import base64
import math
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy
import torch
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis

# The types of nvinfer1::DataType that torch has too (util::TRTDataTypeToScalarType). There is no
# double and no complex: Torch-TensorRT truncates or falls back.
ENGINE_DTYPES = frozenset(
    {
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.int8,
        torch.uint8,
        torch.int32,
        torch.int64,
        torch.bool,
    }
)


class UnsupportedSegment(ValueError):
    """A segment that no TensorRT engine could be built from."""


class EngineRefusal(RuntimeError):
    """An engine was called with inputs that it was not built for."""


class SizeUnknown(EngineRefusal):
    """A trace asks for an output's size that the contract cannot tell, though a release may."""


@dataclass(frozen=True)
class Dim:
    """One dimension: a sympy expression over the segment's symbols, and its profile's range."""

    expr: sympy.Expr
    low: float  # -math.inf for a number that has no bound
    high: float  # math.inf where the program states no bound


@dataclass(frozen=True)
class Binding:
    """One input or output: its type and its dimensions.

    ``number`` is what a size or a fraction may be, where the binding stands for one. TensorRT has
    tensors for sizes (`is_shape_tensor`): the runtime takes a number's value out of whatever holds
    it, and gives one back as a tensor of one element, where the segment has an integer. A fraction
    is a float32 of one element (`construct_submodule_inputs`, 2.10.0 to 2.14.0). ``inside`` is the
    type that the segment has, where the engine has another.
    """

    dtype: torch.dtype
    dims: tuple[Dim, ...]
    number: Dim | None = None
    inside: torch.dtype | None = None

    def within(self, profile: Profile) -> Binding:
        """The same, with the ranges of a profile that a release made of its own.

        For a fraction that profile is the shape of the tensor that holds it, and says nothing.

        Raises:
            ValueError: the profile has another number of dimensions.
        """
        if self.number is not None and self.dtype is torch.float32:
            return self
        whole = self.dims if self.number is None else (self.number,)
        ranges = zip(whole, profile.smallest, profile.largest, strict=True)
        dims = tuple(Dim(dim.expr, low, high) for dim, low, high in ranges)
        return replace(self, dims=dims) if self.number is None else replace(self, number=dims[0])

    def into_segment(self, tensor: torch.Tensor) -> torch.Tensor | float:
        """What the segment is called with for a tensor that is bound here."""
        if self.number is not None:
            return tensor.item()
        return tensor.to(self.inside or self.dtype)

    def out_of_segment(self, value: torch.Tensor | float) -> torch.Tensor:
        """What the engine returns for what the segment returned: fresh, contiguous memory."""
        if not isinstance(value, torch.Tensor):
            return torch.tensor([value], dtype=self.dtype)
        returned = torch.empty(value.shape, dtype=self.dtype, device=value.device)
        return returned.copy_(value.detach())


@dataclass(frozen=True)
class Profile:
    """The smallest, usual and largest size of each dimension of an input, or of a number's value.

    Of an input that is called with one shape alone the three are equal.
    """

    smallest: tuple[int, ...]
    usual: tuple[int, ...]
    largest: tuple[int, ...]

    @property
    def is_valid(self) -> bool:
        """Whether TensorRT takes it: MIN <= OPT <= MAX (`IOptimizationProfile::isValid`)."""
        return all(
            low <= usual <= high
            for low, usual, high in zip(self.smallest, self.usual, self.largest, strict=True)
        )


@dataclass(frozen=True)
class Contract:
    inputs: tuple[Binding, ...]
    outputs: tuple[Binding, ...]

    def encode(self) -> str:
        """The contract as text for an engine's metadata slot."""
        return base64.b64encode(pickle.dumps(self)).decode("ascii")

    @staticmethod
    def decode(text: str) -> Contract:
        contract = pickle.loads(base64.b64decode(text))
        if not isinstance(contract, Contract):
            raise TypeError(f"the metadata slot holds a {type(contract).__name__}, not a Contract")
        return contract


def _dim(size: int | torch.SymInt) -> Dim:
    if isinstance(size, int):
        return Dim(sympy.Integer(size), size, size)
    bounds = size.node.shape_env.bound_sympy(size.node.expr)
    high = math.inf if not bounds.upper.is_number or bounds.upper > 2**31 else int(bounds.upper)
    # Export specialises 0 and 1, so a shape environment says "at least 2" of a dimension that the
    # user declared from 1; torch_tensorrt's extract_var_range_info makes that 1 again.
    low = -math.inf if bounds.lower < -(2**31) else int(bounds.lower)
    return Dim(size.node.expr, 1 if low == 2 else low, high)


def binding_of(value: Any, what: str, *, doubles_as_floats: bool = False) -> Binding:
    """The binding for a node's `meta["val"]`.

    Args:
        doubles_as_floats: bind a float64 as a float32, as `dtype.to(..., use_default=True)` does in
            a release's `TRTInterpreter`, with or without `truncate_double`.

    Raises:
        UnsupportedSegment: the value is neither tensor nor size, or of a type that TensorRT lacks.
    """
    if isinstance(value, int | torch.SymInt) and not isinstance(value, bool):
        return Binding(torch.int64, (), number=_dim(value))
    if not isinstance(value, torch.Tensor):
        raise UnsupportedSegment(f"{what} is a {type(value).__name__}, an engine takes tensors")
    dims = tuple(_dim(size) for size in value.shape)
    if doubles_as_floats and value.dtype is torch.float64:
        return Binding(torch.float32, dims, inside=torch.float64)
    if value.dtype not in ENGINE_DTYPES:
        raise UnsupportedSegment(f"{what} is of type {value.dtype}, which TensorRT lacks")
    return Binding(value.dtype, dims)


def fraction_binding(value: torch.SymFloat) -> Binding:
    """The binding for a fraction that is an engine's input: any float32."""
    return Binding(torch.float32, (), number=Dim(value.node.expr, -math.inf, math.inf))


def check_inputs(contract: Contract, inputs: Sequence[torch.Tensor], name: str) -> None:
    """Raise EngineRefusal unless a real engine of this contract would take ``inputs``."""
    if len(inputs) != len(contract.inputs):
        raise EngineRefusal(
            f"engine {name}: expected {len(contract.inputs)} inputs, got {len(inputs)}"
        )
    for index, (tensor, binding) in enumerate(zip(inputs, contract.inputs, strict=True)):
        where = f"engine {name}: input {index}"
        if tensor.dtype != binding.dtype:
            raise EngineRefusal(
                f"{where} expected to have type {binding.dtype}, got {tensor.dtype}"
            )
        if binding.number is not None:
            _check_number(tensor, binding.number, where)
            continue
        if tensor.dim() != len(binding.dims):
            raise EngineRefusal(
                f"{where} expected {len(binding.dims)} dimensions, got {tensor.dim()}"
            )
        for axis, (size, dim) in enumerate(zip(tensor.shape, binding.dims, strict=True)):
            if not dim.low <= size <= dim.high:
                raise EngineRefusal(
                    f"{where} dimension {axis} is {size}, outside its profile "
                    f"[{dim.low}, {dim.high}]"
                )


def _check_number(tensor: torch.Tensor, number: Dim, where: str) -> None:
    # Its shape is nobody's matter: setup_input_tensors copies what is in it to the host.
    if not number.low <= tensor.item() <= number.high:
        raise EngineRefusal(
            f"{where} is {tensor.item()}, outside its profile [{number.low}, {number.high}]"
        )


def output_shapes(
    contract: Contract, inputs: Sequence[torch.Tensor]
) -> tuple[tuple[int | torch.SymInt, ...], ...]:
    """Output shapes for these input shapes, symbols kept: what the meta kernel answers with.

    The rule is the runtime's (`_apply_symbolic_shape_expressions`): every input dimension binds its
    compile-time expression; an output dimension that is such an expression is that size, and any
    other is computed from the symbols.

    Raises:
        EngineRefusal: there are other inputs than the engine takes, or of another rank.
        SizeUnknown: an output dimension has a symbol that no input dimension binds.
    """
    if len(inputs) != len(contract.inputs):
        raise EngineRefusal(f"expected {len(contract.inputs)} inputs, got {len(inputs)}")
    bound: dict[sympy.Expr, int | torch.SymInt] = {}
    for index, (tensor, binding) in enumerate(zip(inputs, contract.inputs, strict=True)):
        if binding.number is not None:  # Its shape is nobody's matter, and binds nothing.
            continue
        if tensor.dim() != len(binding.dims):
            raise EngineRefusal(
                f"input {index} expected {len(binding.dims)} dimensions, got {tensor.dim()}"
            )
        for size, dim in zip(tensor.shape, binding.dims, strict=True):
            bound.setdefault(dim.expr, size)
    return tuple(
        tuple(_evaluate(dim.expr, bound) for dim in binding.dims) for binding in contract.outputs
    )


def _evaluate(
    expr: sympy.Expr, bound: Mapping[sympy.Expr, int | torch.SymInt]
) -> int | torch.SymInt:
    if expr.is_number:
        return int(expr)
    if expr in bound:
        return bound[expr]
    missing = [symbol for symbol in expr.free_symbols if symbol not in bound]
    if missing:
        raise SizeUnknown(f"output size {expr}: no input dimension binds {missing}")
    symbols = {symbol: bound[symbol] for symbol in expr.free_symbols}
    size: int | torch.SymInt = sympy_interp(PythonReferenceAnalysis, symbols, expr)
    return size
