"""Whether an exception is one of our stand-ins' limits, and says nothing of what was asked.

Upstream's code is run on objects of ours: an engine's module, a class in the runtime's place, and
modules that stand around an exporter which is loaded alone. What they lack, and what goes wrong in
them below a call of upstream's, is no failure of a release: nobody could ask. What they refuse as
the real runtime refuses it is a verdict like any other.
"""

from __future__ import annotations

import sys
from types import FrameType, ModuleType
from typing import Any

import torch
from torch._library.fake_class_registry import FakeScriptObject

from harness.rig.engines.contract import EngineRefusal, SizeUnknown, UnsupportedSegment
from harness.rig.engines.module import EngineModule
from harness.rig.frames import OURS, TORCH, UPSTREAM, frames_of, package_of

_RUNTIME = "tensorrt"  # the namespace of the runtime's ops and classes
_ANSWERS = frozenset({"__getattr__", "__getattribute__"})

_CONFORMS = (EngineRefusal, UnsupportedSegment)
#: As `TorchTensorRTModule.forward` does, it asserts that it is given as many inputs as it takes.
_ASSERTS_LIKE_UPSTREAM = EngineModule.forward.__code__


def not_asked(error: BaseException) -> str | None:
    """What of ours is missing or broken, if that is what was raised; None for a verdict.

    An exception that upstream raised from another is what that one is.
    """
    if isinstance(error, _CONFORMS) and not isinstance(error, SizeUnknown):
        return None
    lacking = _lacking(error) or _broken(error)
    if lacking is None and error.__cause__ is not None:
        return not_asked(error.__cause__)
    return lacking


def _lacking(error: BaseException) -> str | None:
    """What one of our objects lacks, if that is what an exception says."""
    frames = [frame for frame, _ in frames_of(error)]
    asking = [frame for frame in frames if frame.f_code.co_name not in _ANSWERS]
    if not asking or package_of(asking[-1]) == OURS:
        return None  # what we ask of our own objects is our mistake, and not a limit
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
    """What an object is called, if it stands for one of upstream's."""
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
    """Whether a module is of a package that only stand-ins are here of."""
    package = (name or "").partition(".")[0]
    there = sys.modules.get(package)
    return package in (UPSTREAM, _RUNTIME) and (there is None or there.__spec__ is None)


def _broken(error: BaseException) -> str | None:
    """What of our code raised, below a call of upstream's, or of torch's on its behalf."""
    frames = frames_of(error)
    if not frames or package_of(frames[-1][0]) != OURS:
        return None
    innermost, line = frames[-1]
    called_by_them = {UPSTREAM, TORCH} & {package_of(frame) for frame, _ in frames}
    if not called_by_them or _conforms(error, innermost):
        return None
    where = f"{innermost.f_globals['__name__']}, line {line}, in {innermost.f_code.co_name}"
    said = next(iter(str(error).splitlines()), "")
    return f"what stands in for upstream's raised {type(error).__name__}: {said} ({where})"


def _conforms(error: BaseException, innermost: FrameType) -> bool:
    """Whether it is what upstream's own module raises at the same place."""
    return isinstance(error, AssertionError) and innermost.f_code is _ASSERTS_LIKE_UPSTREAM
