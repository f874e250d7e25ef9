"""Whether an exception comes from a limit of our stand-ins, and so says nothing about a release.

Upstream's code runs on objects of ours: an engine's module, a class in the runtime's place, and the
modules that an exporter imports when it is loaded alone. If upstream's code asks one of them for
something that it lacks, or calls it and it breaks, the release has not failed: the question could
not be asked. If one of them refuses what the real runtime refuses as well, that is a verdict.
"""

from __future__ import annotations

import sys
from types import FrameType, ModuleType
from typing import Any

import torch
from torch._library.fake_class_registry import FakeScriptObject

from harness.rig.engines.contract import EngineRefusal, SizeUnknown, UnsupportedSegment
from harness.rig.engines.module import EngineModule
from harness.rig.oracles.completion import OURS, TORCH, UPSTREAM, frames_of, package_of
from harness.wire.vocabulary import STAND_IN_RAISED

_RUNTIME = "tensorrt"  # the namespace of the runtime's ops and classes
_ANSWERS = frozenset({"__getattr__", "__getattribute__"})

_CONFORMS = (EngineRefusal, UnsupportedSegment)
#: It asserts the number of its inputs, as upstream's `TorchTensorRTModule.forward` does.
_ASSERTS_LIKE_UPSTREAM = EngineModule.forward.__code__


def not_asked(error: BaseException) -> str | None:
    """What is missing or broken in our stand-ins, or None if the exception is a verdict.

    An exception that upstream raised from another one is judged by the other one.
    """
    if isinstance(error, _CONFORMS) and not isinstance(error, SizeUnknown):
        return None
    lacking = _lacking(error) or _broken(error)
    if lacking is None and error.__cause__ is not None:
        return not_asked(error.__cause__)
    return lacking


def _lacking(error: BaseException) -> str | None:
    """What one of our objects lacks, if the exception says that."""
    frames = [frame for frame, _ in frames_of(error)]
    asking = [frame for frame in frames if frame.f_code.co_name not in _ANSWERS]
    if not asking or package_of(asking[-1]) == OURS:
        return None  # our own code asked, which is a mistake of ours and no limit
    if isinstance(error, AttributeError):
        name = getattr(error, "name", None)
        whose = _ours(getattr(error, "obj", None))
        return f"{whose} lacks {name}" if whose and name else None
    if isinstance(error, ImportError) and error.path is None and _stands_alone(error.name):
        return f"what stands around the exporter lacks a part: {error}"
    answering = frames[-1].f_locals.get("self")
    if isinstance(answering, torch._classes._ClassNamespace) and answering.name == _RUNTIME:
        return f"the stand-in runtime lacks a class: {error}" if _runtime_is_ours() else None
    return None


def _ours(thing: Any) -> str | None:
    """The name of an object that stands for one of upstream's; None for any other object."""
    if isinstance(thing, FakeScriptObject):
        return _ours(object.__getattribute__(thing, "wrapped_obj"))
    if isinstance(thing, torch.ScriptObject):
        named = thing._type().qualified_name()
        is_ours = f".{_RUNTIME}." in named and _runtime_is_ours()
        return f"the stand-in runtime's class {named.rpartition('.')[2]}" if is_ours else None
    if isinstance(thing, torch._ops._OpNamespace):
        is_ours = thing.name == _RUNTIME and _runtime_is_ours()
        return "the stand-in runtime" if is_ours else None
    if isinstance(thing, ModuleType):
        is_ours = thing.__name__.partition(".")[0] == UPSTREAM and thing.__spec__ is None
        return f"the stand-in for {thing.__name__}" if is_ours else None
    kind = thing if isinstance(thing, type) else type(thing)
    if kind.__module__.partition(".")[0] != OURS:
        return None
    return f"the emulated {kind.__name__}"


def _runtime_is_ours() -> bool:
    return hasattr(torch.ops.tensorrt, "_emulated_set_layout")


def _stands_alone(name: str | None) -> bool:
    """Whether a module belongs to a package of which only stand-ins are here."""
    package = (name or "").partition(".")[0]
    there = sys.modules.get(package)
    return package in (UPSTREAM, _RUNTIME) and (there is None or there.__spec__ is None)


def _broken(error: BaseException) -> str | None:
    """The place in our code that raised below a call of upstream's, or of torch's on its behalf."""
    frames = frames_of(error)
    if not frames or package_of(frames[-1][0]) != OURS:
        return None
    innermost, line = frames[-1]
    called_by_them = {UPSTREAM, TORCH} & {package_of(frame) for frame, _ in frames}
    if not called_by_them or _conforms(error, innermost):
        return None
    where = f"{innermost.f_globals['__name__']}, line {line}, in {innermost.f_code.co_name}"
    said = next(iter(str(error).splitlines()), "")
    return f"{STAND_IN_RAISED} {type(error).__name__}: {said} ({where})"


def _conforms(error: BaseException, innermost: FrameType) -> bool:
    """Whether upstream's own code raises the same at the same place."""
    if isinstance(error.__cause__, UnsupportedSegment):
        return True  # what stands for the builder says, by the cause, why the real one builds none
    return isinstance(error, AssertionError) and innermost.f_code is _ASSERTS_LIKE_UPSTREAM
