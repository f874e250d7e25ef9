"""The failures that a script of a user's calls shows, in a user's words."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.wire.oracles import Harm, Oracle
from harness.wire.records import Verdict
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage, exception_of

NAMES: Final = {
    "compiled": "the compiled module",
    "loaded": "the loaded program",
    "unflattened": "the unflattened program",
}
#: What a finding says of which part of what a call does; else it is about numbers.
_KINDS: Final = {
    "an input is left otherwise": "inputs",
    "an input is overwritten": "inputs",
    "state is left otherwise": "state",
    "structure differs": "structure",
    "outputs are missing": "structure",
    "became a buffer": "persistent",
}


@dataclass(frozen=True)
class Raises:
    """A user's call ends by an exception.

    ``call`` is the attribute of `UserCalls` or the name of the module that raises: "compile",
    "compiled", "save", "load", "loaded" or "unflatten". ``error`` is the exception's class.
    """

    call: str
    error: str

    @property
    def expected(self) -> str:
        """What a user expects instead, in a sentence."""
        return {
            "compile": "`torch_tensorrt.dynamo.compile` compiles the model: it runs in eager "
            "PyTorch, and torch.export takes it.",
            "compiled": "The compiled module runs, as the eager model does.",
            "save": "The compiled module is saved.",
            "load": "`torch_tensorrt.load` reads the file that `torch_tensorrt.save` has written.",
            "loaded": "The loaded program runs, as the eager model does.",
            "unflatten": "`torch.export.unflatten` takes the loaded program.",
        }[self.call]


@dataclass(frozen=True)
class Differs:
    """What a module (``compiled``, ``loaded``, ``unflattened``) does is not what eager does.

    ``what`` is "numbers", "structure", "inputs", "state", or "persistent" for which of its tensors
    are in its state dict, and "metadata" for what its nodes declare. ``leaves`` says that numbers
    are compared without how they are packed.
    """

    module: str
    what: str
    leaves: bool = False

    @property
    def expected(self) -> str:
        """What a user expects instead, in a sentence."""
        does = {
            "numbers": "returns the numbers that the eager model returns, call after call",
            "structure": "returns what the eager model returns, packed in the same way",
            "inputs": "leaves its inputs as the eager model leaves them",
            "state": "writes to its buffers what the eager model writes",
            "persistent": "has no more tensors in its state dict than the compiled module",
            "metadata": "declares of each node, in its meta, the tensors that the node returns",
        }[self.what]
        return f"{NAMES[self.module].capitalize()} {does}."


Failure = Raises | Differs
_WITHOUT_NUMBERS: Final = ("inputs", "structure", "state", "persistent")
_UNFLATTEN_RAISES: Final = re.compile(r"unflatten raises (\w+)")


def failures_of(verdict: Verdict, route: Route, says: Sequence[str] = ()) -> Iterator[Failure]:
    """The failures in a user's words that a verdict may stand for, the most likely first.

    Args:
        says: of a verdict of several findings those that are meant; any if there are none.

    Yields:
        Nothing where no call of a user shows it.
    """
    message = "; ".join(says) or verdict.message
    if route is Route.TORCH_COMPILE and verdict.oracle is Oracle.COMPLETION:
        # What the backend raises is wrapped by torch, whose user sees it in his first call.
        wrapped = verdict.stage is Stage.COMPILE
        error = "BackendCompilerFailed" if wrapped else exception_of(verdict.message)
        yield Raises("compiled", error)
        return
    if verdict.oracle is Oracle.COMPLETION:
        error = exception_of(verdict.message)
        yield from (Raises(call, _caught(error, call)) for call in _raising(verdict.stage))
        return
    if verdict.oracle is Oracle.UNFLATTEN:
        raised = _UNFLATTEN_RAISES.search(message)
        yield Raises("unflatten", raised[1]) if raised else Differs("unflattened", "numbers", True)
    elif verdict.oracle is Oracle.METADATA:
        # The file that is saved shows nothing of a cosmetic finding.
        yield from () if verdict.harm is Harm.COSMETIC else [Differs("loaded", "metadata")]
    elif verdict.oracle is not Oracle.DETERMINISM:
        in_memory = route.row.in_memory or verdict.stage is Stage.COMPILE
        yield from _differing(verdict, message, "compiled" if in_memory else "loaded")


def _differing(verdict: Verdict, message: str, module: str) -> Iterator[Failure]:
    kinds = dict.fromkeys(map(_kind, message.split("; ")))
    yield from (Differs(module, kind) for kind in _WITHOUT_NUMBERS if kind in kinds)
    if verdict.oracle is Oracle.WIRING or (verdict.oracle is Oracle.VALUES and "numbers" in kinds):
        packed = "structure" in map(_kind, verdict.message.split("; "))
        yield Differs(module, "numbers", packed)


def _kind(finding: str) -> str:
    if finding == "another number of outputs":
        return "structure"
    return next((kind for says, kind in _KINDS.items() if says in finding), "numbers")


def _raising(stage: Stage | None) -> tuple[str, ...]:
    if stage is Stage.COMPILE:
        return "compile", "compiled"
    if stage in (Stage.LOAD, Stage.RUN):
        return ("load",) if stage is Stage.LOAD else ("loaded",)
    return ("save",)


def _caught(error: str, call: str) -> str:
    """What a user sees of an exception: `torch_tensorrt.load` turns every one into this one."""
    return "ValueError" if call == "load" else error


def import_of(error: str) -> set[str]:
    """What names an exception's class, which torch may keep in a module without a public name."""
    if hasattr(builtins, error):
        return set()
    found, todo = set[str](), [Exception]
    while todo:
        for each in todo.pop().__subclasses__():
            todo.append(each)
            if each.__name__ == error and each.__module__.partition(".")[0] == "torch":
                found.add(f"from {each.__module__} import {error}")
    return {min(found)} if found else set()
