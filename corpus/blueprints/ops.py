"""The ops that a blueprint's children are made of. Values are (rows, 8) unless said otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Run = Callable[..., Any]


def _cond(a: torch.Tensor) -> torch.Tensor:
    branches = (lambda x: (x * 2,), lambda x: (x - 3,))
    chosen = torch.ops.higher_order.cond(a.sum() > 0, *branches, (a,))
    return chosen[0]


def _while_loop(a: torch.Tensor) -> torch.Tensor:
    start = torch.zeros((), dtype=torch.int64)
    looped = torch.ops.higher_order.while_loop(
        lambda count, x: count < 3, lambda count, x: (count + 1, x * 1.5), (start, a), ()
    )
    return looped[1]


def _map(a: torch.Tensor) -> torch.Tensor:
    return torch.ops.higher_order.map_impl(lambda row: (row * 1.5,), (a,), ())[0]


# Each takes its number last, where it has one.
OPS: dict[str, Run] = {
    "relu": lambda a, n: torch.relu(a) + 0.1 * a,  # does not forget what is negative
    "sub_pair": lambda pair, n: pair[0] - 0.4 * pair[1],  # of a pair that is read whole
    "drop": lambda a, n: a[0],
    "abs": lambda a, n: torch.abs(a),
    "sigmoid": lambda a, n: torch.sigmoid(a),
    "add": lambda a, b, n: a + b,
    "sub": lambda a, b, n: a - b,
    "mul": lambda a, b, n: a * b,
    "plus": lambda a, n: a + n,
    "times": lambda a, n: a * n,
    # Keeps a long chain within bounds, and forgets no difference: it is no contraction.
    "soften": lambda a, n: torch.sin(a) * 2,
    "sum": lambda a, n: a.sum(),  # 0-d
    "mean": lambda a, n: a.mean(),  # 0-d
    "column": lambda a, n: a.sum(0),  # (8,)
    "side": lambda a, n: a.sum(-1, keepdim=True),  # (rows, 1)
    "positive": lambda a, n: a > 0,  # bool
    "pick": lambda mask, a, b, n: torch.where(mask, a, b),
    "nothing": lambda a, n: a[:0],  # (0, 8)
    "cat": lambda a, b, n: torch.cat([a, b]),  # along the rows
    "left": lambda a, n: a.chunk(2, -1)[0],  # half as wide
    "wide": lambda a, b, n: torch.cat([a, b], -1),
    "to_float": lambda a, n: a.float(),
    "rows": lambda a, n: a.shape[0],  # a size
    "ramp": lambda n: torch.arange(8, dtype=torch.float32) * n,  # (8,)
    "draw": lambda a, n: torch.randint_like(a, 3, 4),  # drawn, and 3 every time
    "flip": lambda a, n: a.unsqueeze(0),  # a view
    "write": lambda a, b, n: a.add_(b),
    "count": lambda a, n: torch.nonzero(a).sum(0)[:1] * 0.01,  # (1,), by way of a data's size
    "cond": lambda a, n: _cond(a),
    "while_loop": lambda a, n: _while_loop(a),
    "map": lambda a, n: _map(a),
}
