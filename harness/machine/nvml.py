"""What NVIDIA's management library says of the GPUs of a machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

# By bit of nvmlClocksThrottleReasons.
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
    """One GPU at one moment. Clocks in MHz; None where this GPU does not tell."""

    name: str
    driver: str
    compute_capability: str
    sm_clock_mhz: int | None
    memory_clock_mhz: int | None
    throttle_reasons: tuple[str, ...] | None


def read_gpus() -> tuple[Gpu, ...]:
    """Every GPU of the machine; none where the library is absent.

    Raises:
        NvmlError: the library is there, and a call of it fails.
    """
    import pynvml  # 0.1 s, which most commands need not wait for

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError_LibraryNotFound:
        return ()
    except pynvml.NVMLError as error:
        raise NvmlError(str(error)) from error
    try:
        return tuple(_gpu(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount()))
    except pynvml.NVMLError as error:
        raise NvmlError(str(error)) from error
    finally:
        pynvml.nvmlShutdown()


def _gpu(nvml: Any, index: int) -> Gpu:
    device = nvml.nvmlDeviceGetHandleByIndex(index)

    def if_supported(ask: Callable[..., int], *arguments: int) -> int | None:
        try:
            return ask(device, *arguments)
        except nvml.NVMLError_NotSupported:
            return None

    reasons = if_supported(nvml.nvmlDeviceGetCurrentClocksThrottleReasons)
    return Gpu(
        name=nvml.nvmlDeviceGetName(device),
        driver=nvml.nvmlSystemGetDriverVersion(),
        compute_capability="{}.{}".format(*nvml.nvmlDeviceGetCudaComputeCapability(device)),
        sm_clock_mhz=if_supported(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
        memory_clock_mhz=if_supported(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_MEM),
        throttle_reasons=None
        if reasons is None
        else tuple(reason for at, reason in enumerate(_REASONS) if reasons >> at & 1),
    )
