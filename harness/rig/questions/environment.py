"""What an environment has: its torch, its GPU, its TensorRT. It imports torch and no corpus."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import torch

_API: Final = "include/torch/csrc/api/include"
_TENSORRT: Final = ("torch_tensorrt", "tensorrt", "tensorrt_rtx")
#: The TensorRT that each distribution runs on. Where both are installed, torch_tensorrt takes the
#: second, since it looks for that distribution itself.
_PACKAGES: Final = {"torch-tensorrt": "tensorrt", "torch-tensorrt-rtx": "tensorrt_rtx"}


def deciding() -> dict[str, str]:
    """What decides a verdict beside code, inputs and the installed packages of a subject."""
    try:
        transformers = importlib.metadata.version("transformers")
    except importlib.metadata.PackageNotFoundError:
        transformers = "none"
    return {
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "architecture": platform.machine(),
        "torch": f"{torch.__version__} ({torch.version.git_version})",
        "transformers": transformers,  # whose models are cases
    }


def probe(_: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """The fields of `harness.toolchain.EnvironmentFacts`. TensorRT is looked for, not imported."""
    folder = Path(torch.__file__).parent
    yield {
        "python_version": platform.python_version(),
        "platform": platform.platform(),
        "torch_version": torch.__version__,
        "torch_git_version": torch.version.git_version,
        "torch_cuda": torch.version.cuda,
        "cxx11_abi": torch.compiled_with_cxx11_abi(),
        # As in torch.utils.cpp_extension, which imports setuptools; torch 2.9 and 2.10 do not
        # require that, and uv puts it into no environment by itself.
        "include_paths": [str(folder / path) for path in ("include", _API)],
        "library_path": str(folder / "lib"),
        "threads": torch.get_num_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "deciding": deciding(),
        "real_tensorrt": [name for name in _TENSORRT if importlib.util.find_spec(name)],
    }


def installed(_: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The fields of `harness.subjects.packages.Installed`, but for the device.

    It asks torch for the GPU, so nobody may fork this process afterwards: CUDA does not survive it.
    """
    facts: dict[str, Any] = {
        "torch": torch.__version__,
        "torch_cuda": torch.version.cuda,
        "no_gpu": _why_no_gpu(),
        "package": None,
        "release": None,
        "tensorrt": None,
        "no_tensorrt": "",
        "no_engine": "",
    }
    found = None
    for package, module in _PACKAGES.items():
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
        facts.update(package=package, release=version.partition("+")[0])
        try:
            found = importlib.import_module(module)
            facts.update(tensorrt=found.__version__, no_tensorrt="")
        except ImportError as error:
            facts.update(tensorrt=None, no_tensorrt=str(error))
    if found is not None and not facts["no_gpu"]:
        facts.update(no_engine=why_no_engine(found))
    yield facts


def patches(_: Mapping[str, Any]) -> Iterator[str]:
    """A line for each patch of the package lane, for `doctor`."""
    from harness.rig.package.patches import PATCHES  # which imports more than torch

    return (patch.line for patch in PATCHES)


def _why_no_gpu() -> str:
    """Why torch cannot use a GPU here; empty if it can."""
    if torch.version.cuda is None:
        return "it is a CPU build"
    try:
        torch.cuda.init()
    except RuntimeError as error:
        return str(error).partition("\n")[0]
    return ""


def why_no_engine(tensorrt: Any) -> str:
    """Why TensorRT cannot build an engine and run it here; empty if it can.

    An engine that doubles four numbers is built and run. What a version says of itself would not
    do: TensorRT-RTX 1.4 calls its engines invalid for an H200 (`get_engine_validity`), which
    NVIDIA's support matrix does not name, and runs them there.
    """
    try:
        logger = tensorrt.Logger(tensorrt.Logger.ERROR)
        builder = tensorrt.Builder(logger)
        network = builder.create_network(0)
        given = network.add_input("x", tensorrt.float32, (4,))
        added = network.add_elementwise(given, given, tensorrt.ElementWiseOperation.SUM)
        added.get_output(0).name = "y"
        network.mark_output(added.get_output(0))
        built = builder.build_serialized_network(network, builder.create_builder_config())
        if built is None:
            return "it builds none"
        engine = tensorrt.Runtime(logger).deserialize_cuda_engine(bytes(built))
        context = None if engine is None else engine.create_execution_context()
        if context is None:
            return "it takes none that it has built"
        x, y = torch.arange(4.0, device="cuda"), torch.zeros(4, device="cuda")
        for name, tensor in (("x", x), ("y", y)):
            context.set_tensor_address(name, tensor.data_ptr())
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        ran = context.execute_async_v3(stream.cuda_stream)
        torch.cuda.synchronize()
    except Exception as error:  # noqa: BLE001 - whatever a TensorRT does on a GPU unknown to it
        return str(error).partition("\n")[0] or type(error).__name__
    if not ran:
        return "it does not start the engine"
    return "" if torch.equal(y, x * 2) else "it computes something else"
