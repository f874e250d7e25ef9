"""The unflatten oracle: whether a program can be unflattened, and computes the same afterwards.

`torch.export.unflatten` goes by the `nn_module_stack` of the nodes. Inliners drop it, so an inlined
hybrid mostly has no modules to restore. On the `direct` route, which inlines nothing, the children
of the split module have to come back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule

from corpus.case import Inputs
from harness.rig.oracles.completion import normalise
from harness.rig.oracles.finding import Finding
from harness.rig.oracles.observing import observe
from harness.rig.oracles.values import Observed
from harness.wire.vocabulary import Stage

CHILD_PREFIX = "_run_on_"


def called_children(split: GraphModule) -> frozenset[str]:
    """The children that a split module calls."""
    return frozenset(str(node.target) for node in split.graph.nodes if node.op == "call_module")


def check_program(
    program: ExportedProgram,
    calls: Sequence[Inputs],
    expected: Observed,
    tolerance: float | None = None,
    children: frozenset[str] | None = None,
    *,
    first_call_only: bool = False,
) -> Iterator[Finding]:
    """Findings in the module that a loaded program is unflattened to.

    Args:
        expected: what the calls should do.
        tolerance: see `Observed.difference`.
        children: the names that its children should have; None if any will do.
        first_call_only: make one call only, for routes where the verdict is reported but does not
            gate.
    """
    try:
        module = torch.export.unflatten(program)
    except Exception as error:  # noqa: BLE001 - torch's own, and the answer to the question
        yield Finding(Stage.LOAD, f"unflatten raises {type(error).__name__}", normalise(error))
        return
    # The module has other children as well: the branches of a cond or a loop.
    names = frozenset(name for name, _ in module.named_children() if name.startswith(CHILD_PREFIX))
    if children is not None and names != children:
        detail = f"{sorted(names)}, should be {sorted(children)}"
        yield Finding(Stage.LOAD, "unflattened: other children", detail)
    try:
        if first_call_only:
            results = observe(module, calls[:1], repeat=False).of_first_call()
            expected = expected.of_first_call()
        else:
            results = observe(module, calls)
    except Exception as error:  # noqa: BLE001 - as above
        yield Finding(Stage.RUN, f"unflattened: raises {type(error).__name__}", normalise(error))
        return
    found = expected.difference(results, tolerance)
    if found is not None:
        yield Finding(Stage.RUN, f"unflattened: {found.kind}", found.detail)
