"""NVIDIA's libraries as a few lines of C, built by the project's own toolchain."""

import ctypes
from pathlib import Path

import pynvml
import pytest

from harness.toolchain.native import Compiler

CUDA = """
extern "C" {{
int cuInit(unsigned) {{ return {init}; }}
int cuDeviceGetCount(int* count) {{ *count = {count}; return 0; }}
int cuDeviceGet(int* device, int index) {{ *device = 40 + index; return 0; }}
int cuDeviceGetName(char* name, int size, int device) {{
  const char* text = "Fake GPU";
  for (int i = 0; i < 9; i++) name[i] = text[i];
  return device == 40 ? 0 : 1;
}}
int cuDeviceGetAttribute(int* value, int which, int device) {{
  *value = which == 75 ? {major} : which == 76 ? {minor} : -1;
  return device == 40 ? 0 : 1;
}}
int cuGetErrorString(int code, const char** text) {{
  *text = code == 100 ? "no CUDA-capable device is detected" : 0;
  return 0;
}}
}}
"""

NVML = """
extern "C" {{
int nvmlInitWithFlags(unsigned) {{ return {init}; }}
int nvmlShutdown() {{ return 0; }}
int nvmlDeviceGetCount_v2(unsigned* count) {{ *count = 2; return 0; }}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {{
  *device = (void*)(long)(1000 + index);
  return 0;
}}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {{
  *major = 8;
  *minor = 9 - (int)((long)device - 1000);
  return 0;
}}
static int put(char* to, const char* text, unsigned size) {{
  unsigned i = 0;
  for (; text[i] && i + 1 < size; i++) to[i] = text[i];
  to[i] = 0;
  return 0;
}}
int nvmlDeviceGetName(void* device, char* name, unsigned size) {{
  return put(name, (long)device == 1000 ? "Fake L4" : "Fake A10", size);
}}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {{ return put(text, "999.1", size); }}
int nvmlDeviceGetClockInfo(void* device, int kind, unsigned* clock) {{
  *clock = kind == 1 ? 2040 : 6251;
  return (long)device == 1000 ? 0 : 3;
}}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* bits) {{
  *bits = 0x24;
  return (long)device == 1000 ? {throttle} : 3;
}}
}}
"""


def cuda(
    folder: Path, *, init: int = 0, count: int = 1, capability: tuple[int, int] = (8, 9)
) -> str:
    """A CUDA driver with these answers."""
    major, minor = capability
    return _built(folder, "cuda", CUDA.format(init=init, count=count, major=major, minor=minor))


def load_nvml(
    monkeypatch: pytest.MonkeyPatch, folder: Path | None, *, init: int = 0, throttle: int = 0
) -> None:
    """Give pynvml a library with two GPUs, the second of which tells no clocks.

    Args:
        folder: where it is built; None takes the library away.
    """
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    monkeypatch.setattr(pynvml, "nvmlLib", None)
    if folder is None:

        def not_there(name: str) -> None:
            raise OSError(f"{name}: cannot open shared object file")

        monkeypatch.setattr(pynvml, "CDLL", not_there)
    else:
        built = _built(folder, "nvml", NVML.format(init=init, throttle=throttle))
        monkeypatch.setattr(pynvml, "nvmlLib", ctypes.CDLL(built))


def _built(folder: Path, name: str, code: str) -> str:
    source = folder / f"{name}.cpp"
    source.write_text(code)
    return str(Compiler("g++", folder / "cache", lambda _: None).build(source, None))
