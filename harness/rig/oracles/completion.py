"""The completion oracle: every stage ends without an exception.

The verdict on an exception has its type and a normalised message.
"""

from __future__ import annotations

import linecache
import re
import traceback
from types import FrameType
from typing import Final

from harness.wire.oracles import Harm, Oracle, Symptom
from harness.wire.records import Verdict, passed
from harness.wire.vocabulary import Outcome, Stage

OURS: Final = "harness"
UPSTREAM: Final = "torch_tensorrt"
TORCH: Final = "torch"


def frames_of(error: BaseException) -> list[tuple[FrameType, int]]:
    """The frames that an exception went through, outermost first, each with its line."""
    return list(traceback.walk_tb(error.__traceback__))


def package_of(frame: FrameType) -> str:
    """The top-level package of the module that a frame's code is of, whatever file it is in."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


MAX_MESSAGE = 300  # characters
MAX_FRAMES = 6

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_PATH = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+")
_GENERATED = re.compile(r"<eval_with_key>\.\d+")
_COMPREHENSIONS = re.compile(r"(\.<locals>\.<(list|dict|set)comp>)+$")
_SPACE = re.compile(r"\s+")


def first_line(error: BaseException, *, lists: bool = False) -> str:
    """The first line of an exception's message; with ``lists`` what torch lists below it, too.

    Sizes that a model does not take are listed below a first line that tells of none.
    """
    lines = [line for line in str(error).splitlines() if line.strip()]
    told = lines[:1] + [line for line in lines[1:] if lists and line.startswith("  - ")]
    return " ".join(line.strip() for line in told)


def normalise(error: BaseException, most: int | None = MAX_MESSAGE, *, lists: bool = False) -> str:
    """The type and first line of an exception, in a form that is the same on every machine.

    With a graph dump, an address or a folder in it, one cause would look like many.

    Args:
        most: characters; all where it is None.
        lists: as `first_line`.
    """
    text = first_line(error, lists=lists)
    text = _SPACE.sub(" ", _PATH.sub("", _ADDRESS.sub("0x…", text)))
    name = type(error).__name__
    return f"{name}: {text}"[:most] if text else name


def ended_by(error: BaseException, stage: Stage) -> Verdict:
    """The verdict on a cell whose stage raised."""
    frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
    tail = [
        f"  {frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames
    ]
    return Verdict(
        Oracle.COMPLETION,
        Outcome.FAILED,
        symptom=Symptom.ERROR,
        stage=stage,
        harm=Harm.ERROR,
        message=normalise(error),
        # The number of a generated module depends on what the process generated before.
        evidence=_GENERATED.sub("<eval_with_key>", "\n".join([str(error)[:2000], *tail])),
        raised=where_raised(error),
    )


def where_raised(error: BaseException) -> str:
    """Where upstream raised: ``function (file:line): source line``.

    This is the innermost frame in torch_tensorrt's own code, or else in torch's; it is empty if
    there is neither. The file is named by its path in the distribution, whichever wheel or folder
    it was loaded from.
    """
    frames = frames_of(error)
    for package in (UPSTREAM, TORCH):
        for frame, line in reversed(frames):
            if package_of(frame) == package:
                code, module = frame.f_code, str(frame.f_globals["__name__"])
                is_package = code.co_filename.endswith("__init__.py")
                file = module.replace(".", "/") + ("/__init__.py" if is_package else ".py")
                # The frame's globals name the loader, so this reads sources in a wheel as well.
                source = linecache.getline(code.co_filename, line, frame.f_globals).strip()
                # Python 3.11 has a function for every comprehension, 3.12 has none.
                function = _COMPREHENSIONS.sub("", code.co_qualname).rpartition(".")[2]
                return f"{function} ({file}:{line}): {source}"
    return ""


def completed() -> Verdict:
    return passed(Oracle.COMPLETION)
