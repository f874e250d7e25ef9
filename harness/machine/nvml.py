"""What NVIDIA's management library tells of the GPUs of a machine, through ctypes.

Where the library is absent there is no GPU to tell of. Where it is there and fails, that is told.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Final

LIBRARY: Final = "libnvidia-ml.so.1"

_NOT_SUPPORTED: Final = 3  # NVML_ERROR_NOT_SUPPORTED: this GPU does not tell this
_TEXT_BYTES: Final = 96
_SM_CLOCK, _MEMORY_CLOCK = 1, 2  # nvmlClockType_t
# nvmlClocksThrottleReasons, by bit.
_REASONS: Final = (
    "idle",
    "applications clocks setting",
    "software power cap",
    "hardware slowdown",
    "sync boost",
    "software thermal slowdown",
    "hardware thermal slowdown",
    "hardware power brake",
    "display clock setting",
)


class NvmlError(Exception):
    """The library is there, and does not answer."""


@dataclass(frozen=True)
class Gpu:
    """One GPU at one moment. Clocks in MHz; None: this GPU does not tell."""

    name: str
    driver: str
    compute_capability: str
    sm_clock_mhz: int | None
    memory_clock_mhz: int | None
    throttle_reasons: tuple[str, ...] | None


def read_gpus(library: str = LIBRARY) -> tuple[Gpu, ...]:
    """Every GPU of the machine; none where the library is absent.

    Raises:
        NvmlError: the library is there, and a call of it fails.
    """
    try:
        nvml = ctypes.CDLL(library)
    except OSError:
        return ()
    _call(nvml, "nvmlInit_v2")
    try:
        count = ctypes.c_uint()
        _call(nvml, "nvmlDeviceGetCount_v2", ctypes.byref(count))
        return tuple(_gpu(nvml, index) for index in range(count.value))
    finally:
        nvml.nvmlShutdown()


def _gpu(nvml: ctypes.CDLL, index: int) -> Gpu:
    device = ctypes.c_void_p()
    _call(nvml, "nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(device))
    major, minor = ctypes.c_int(), ctypes.c_int()
    _call(
        nvml,
        "nvmlDeviceGetCudaComputeCapability",
        device,
        ctypes.byref(major),
        ctypes.byref(minor),
    )
    return Gpu(
        name=_text(nvml, "nvmlDeviceGetName", device),
        driver=_text(nvml, "nvmlSystemGetDriverVersion"),
        compute_capability=f"{major.value}.{minor.value}",
        sm_clock_mhz=_clock_mhz(nvml, device, _SM_CLOCK),
        memory_clock_mhz=_clock_mhz(nvml, device, _MEMORY_CLOCK),
        throttle_reasons=_throttle_reasons(nvml, device),
    )


def _text(nvml: ctypes.CDLL, function: str, *arguments: Any) -> str:
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    _call(nvml, function, *arguments, text, ctypes.c_uint(_TEXT_BYTES))
    return text.value.decode(errors="replace")


def _clock_mhz(nvml: ctypes.CDLL, device: ctypes.c_void_p, kind: int) -> int | None:
    clock = ctypes.c_uint()
    told = _told(nvml, "nvmlDeviceGetClockInfo", device, ctypes.c_int(kind), ctypes.byref(clock))
    return clock.value if told else None


def _throttle_reasons(nvml: ctypes.CDLL, device: ctypes.c_void_p) -> tuple[str, ...] | None:
    bits = ctypes.c_ulonglong()
    function = "nvmlDeviceGetCurrentClocksThrottleReasons"
    if not _told(nvml, function, device, ctypes.byref(bits)):
        return None
    return tuple(reason for at, reason in enumerate(_REASONS) if bits.value >> at & 1)


def _told(nvml: ctypes.CDLL, function: str, *arguments: Any) -> bool:
    """Call a function that not every GPU supports; False where this one does not."""
    code: int = _function(nvml, function)(*arguments)
    if code not in (0, _NOT_SUPPORTED):
        describe = _function(nvml, "nvmlErrorString")
        describe.restype = ctypes.c_char_p
        raise NvmlError(f"{function}: {describe(code).decode()} ({code})")
    return code == 0


def _call(nvml: ctypes.CDLL, function: str, *arguments: Any) -> None:
    if not _told(nvml, function, *arguments):
        raise NvmlError(f"{function}: not supported")


def _function(nvml: ctypes.CDLL, name: str) -> Any:
    try:
        return getattr(nvml, name)
    except AttributeError as error:
        raise NvmlError(f"{nvml._name} has no {name}") from error
