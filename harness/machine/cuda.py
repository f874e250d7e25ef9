"""Whether an engine could run on this machine: the CUDA driver is asked, through ctypes.

It imports the standard library alone, because `noxfile.py` asks before it installs gigabytes, when
the project's environment does not exist yet.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Final

from harness.base.errors import Unavailable

DRIVER: Final = "libcuda.so.1"

_NAME_BYTES: Final = 256
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
_NEEDS: Final = "the engine lane needs a machine with an NVIDIA GPU and its driver"


@dataclass(frozen=True)
class Device:
    """The GPU that CUDA takes unless it is told otherwise."""

    name: str
    capability: tuple[int, int]

    @property
    def architecture(self) -> str:
        """Such as ``sm_89``."""
        return "sm_" + "".join(map(str, self.capability))


def first_device(driver: str = DRIVER) -> Device:
    """CUDA's first device.

    Args:
        driver: the file name of the driver's library.

    Raises:
        Unavailable: there is no driver, it does not start, or it has no device.
    """
    try:
        library = ctypes.CDLL(driver)
    except OSError as error:
        raise Unavailable(f"no CUDA driver ({error})", _NEEDS) from error
    count, device = ctypes.c_int(), ctypes.c_int()
    _call(library, "cuInit", 0)
    _call(library, "cuDeviceGetCount", ctypes.byref(count))
    if not count.value:
        raise Unavailable("the CUDA driver has no device", _NEEDS)
    _call(library, "cuDeviceGet", ctypes.byref(device), 0)
    name = ctypes.create_string_buffer(_NAME_BYTES)
    _call(library, "cuDeviceGetName", name, _NAME_BYTES, device)
    major, minor = (_attribute(library, which, device) for which in (_MAJOR, _MINOR))
    return Device(name.value.decode(errors="replace"), (major, minor))


def _attribute(library: ctypes.CDLL, which: int, device: ctypes.c_int) -> int:
    value = ctypes.c_int()
    _call(library, "cuDeviceGetAttribute", ctypes.byref(value), which, device)
    return value.value


def _call(library: ctypes.CDLL, function: str, *arguments: Any) -> None:
    code = getattr(library, function)(*arguments)
    if code:
        told = ctypes.c_char_p()
        library.cuGetErrorString(code, ctypes.byref(told))
        why = told.value.decode() if told.value else f"error {code}"
        raise Unavailable(f"the CUDA driver does not work ({function}: {why})", _NEEDS)
