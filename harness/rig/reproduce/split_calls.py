"""What is called on a split module that was put together by hand, as lines of Python.

No user's call makes such a split: it is written as `torch.fx` graphs, and what `compile` and `save`
do with a split module is called on it.
"""

from __future__ import annotations

from typing import Final

import torch
from torch.utils._pytree import tree_leaves

from harness.rig.capture.capture import CapturedProgram
from harness.rig.reproduce.code import WHOLE, Unwritable
from harness.rig.reproduce.source import without_model
from harness.rig.reproduce.user_calls import (
    UserCalls,
    UserWriter,
    block,
    converting,
    imports_of,
    saving,
    told_apart,
    tuple_of,
    writes,
)
from harness.wire.routes import Route

_IMPORTS: Final = (
    "from torch._subclasses.fake_tensor import FakeTensorMode",
    "from torch.fx.passes.fake_tensor_prop import FakeTensorProp",
)
_VALUES: Final = '''\
class Values(FakeTensorProp):
    """Gives each node of a split module the value that torch.export would have left there."""

    def call_module(self, target, args, kwargs):
        child = Values(self.fetch_attr(target), self._mode)
        return child.propagate_dont_convert_inputs(*args, *kwargs.values())'''


def split_calls(captured: CapturedProgram, route: Route) -> UserCalls:
    """The calls on a handmade split, as `user_calls` gives those on a model.

    Raises:
        Unwritable: it is called by keywords, is saved with dynamic shapes, or holds something that
            has no plain form. Sizes that vary stand as those of the first call.
    """
    varies = captured.program.dynamic_shapes is not None
    if captured.example.kwargs or (varies and route.row.gives_shapes):
        raise Unwritable("a split put together by hand takes keywords, or dynamic shapes at save")
    writer = UserWriter()
    made = writer.graph(captured.split(), WHOLE)
    compiling = tuple(converting(captured, writer))
    given = captured.calls[:1] * 2 if varies else told_apart(captured)
    calls = [writer.value(each.args) for each in given]
    source = without_model(captured.case, writer.classes.values(), (), made)
    drawn = ["\n".join(["torch.manual_seed(0)", *writer.tensors])] if writer.tensors else []
    with torch.no_grad():
        returned = captured.split()(*captured.example.args)
    return UserCalls(
        imports=(
            *_IMPORTS,
            *source.imports,
            *(f"import {name}" for name in sorted(writer.modules)),
            *imports_of(compiling),
        ),
        definitions=(*source.definitions, *drawn, *writer.functions, _VALUES),
        model=(f"model = {made}.cuda()",),
        one=(tuple_of("inputs", captured.example.args, writer),),
        several=(block("calls = [", calls, "]"), "inputs = calls[0]"),
        keywords=False,
        stateful=writes(captured),
        dynamic=False,
        packed=not isinstance(returned, torch.Tensor),
        returns_inputs=any(x is y for x in tree_leaves(returned) for y in captured.example.args),
        export=("Values(model, FakeTensorMode(allow_non_fake_inputs=True)).propagate(*inputs)",),
        compile=("compiled = copy.deepcopy(model)", *compiling),
        save=tuple(saving(captured, route, writer)),
    )
