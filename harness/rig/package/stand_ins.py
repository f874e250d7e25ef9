"""What stands in for CUDA under the real package: each function undoes one want of a GPU.

They are the `apply` of the patches in `patches.py`, which says why each is needed. They change
modules of this process alone, and nothing on disk.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import torch

from harness.rig.engines.emulated import register_kernels
from harness.rig.package.site import Site

_MEMORY_BYTES = 80 * 1024**3


class DeviceProperties:
    """A GPU as the package asks for it; slots of an engine name it as the graph lane's do."""

    name = "emulated"
    major = 9
    minor = 0
    total_memory = _MEMORY_BYTES
    multi_processor_count = 132


def lay_engines_out(site: Site) -> None:
    """Load the stand-in runtime and give it the release's slots and ABI number."""
    torch.ops.load_library(str(site.runtime))
    torch.ops.tensorrt._emulated_set_layout(site.slots, site.abi)


def answer_current_device(_: Site) -> None:
    _set(torch.cuda, "current_device", lambda: 0)


def answer_device_properties(_: Site) -> None:
    _set(torch.cuda, "get_device_properties", lambda *_, **__: DeviceProperties())


def name_device_properties(_: Site) -> None:
    if not hasattr(torch._C, "_CudaDeviceProperties"):
        _set(torch._C, "_CudaDeviceProperties", DeviceProperties)


def answer_memory(_: Site) -> None:
    _set(torch.cuda, "mem_get_info", lambda *_, **__: (_MEMORY_BYTES, _MEMORY_BYTES))


def keep_tensors_here(_: Site) -> None:
    _set(torch.Tensor, "cuda", lambda tensor, *_, **__: tensor)


def keep_devices_here(_: Site) -> None:
    device = importlib.import_module("torch_tensorrt._Device").Device
    _set(device, "to", lambda *_: torch.device("cpu"))


class PluginRegistry:
    """TensorRT's registry, with the plugin that `libtorchtrt_runtime.so` brings, and no other."""

    def get_creator(self, name: str, version: str, namespace: str = "") -> object | None:
        its_own = (name, version, namespace) == ("ScatterAdd", "1", "torch_tensorrt")
        return object() if its_own else None


def answer_plugins(_: Site) -> None:
    _set(sys.modules["tensorrt"], "get_plugin_registry", PluginRegistry)


def run_segments(_: Site) -> None:
    register_kernels()


def choose_rtx(_: Site) -> None:
    os.environ["USE_TRT_RTX"] = "true"


def _set(owner: Any, name: str, value: Any) -> None:
    setattr(owner, name, value)
