"""Releases of a few bytes: real zip files, real hashes, nothing of Torch-TensorRT in them."""

import dataclasses
import hashlib
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from harness.catalogue.releases import EXPORTER_MODULE, Api, Pins, Release, inliner_id

EXPORTER = b"""\
def transform(gm): ...
def inline_trt_modules(gm): ...
def inline_torch_modules(gm): ...
def create_trt_exp_program(gm): ...
"""


FULL_EXPORTER = b"""\
from torch_tensorrt.dynamo.runtime._TorchTensorRTModule import ENGINE_IDX
def export(gm, *, arg_inputs=None, use_legacy_exporter=False): ...
def transform(gm, cross_compile_module=False): ...
def inline_trt_modules(gm): ...
def inline_torch_modules(gm): ...
def create_trt_exp_program(gm, *, arg_inputs=None): ...
"""


def full_wheel(version: str = "9.1.0") -> dict[str, bytes]:
    """What a wheel says of itself beside its exporter."""
    return {
        f"torch_tensorrt-{version}.dist-info/METADATA": (
            f"Metadata-Version: 2.1\nName: torch_tensorrt\nVersion: {version}\n"
            "Requires-Dist: torch<9.2.0,>=9.1.0\n\nAbout it\n"
        ).encode(),
        "torch_tensorrt/_version.py": (
            b'__version__ = "9"\n__cuda_version__ = "13.0"\n__tensorrt_version__ = "99.0"\n'
            b'__tensorrt_rtx_version__ = "9.0"\n'
        ),
        "torch_tensorrt/_compile.py": b"def save(module, path='', *, retrace: bool = True): ...\n",
        "torch_tensorrt/dynamo/runtime/_serialized_engine_layout.py": b'ABI_VERSION = "9"\n',
    }


def make_release(
    folder: Path,
    version: str = "9.1.0",
    exporter: bytes = EXPORTER,
    others: Mapping[str, bytes] | None = None,
) -> Release:
    """Write a wheel into ``folder``; the catalogue's entry for it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"torch_tensorrt-{version}-cp311-cp311-manylinux_2_28_x86_64.whl"
    contents = {EXPORTER_MODULE: exporter, **(others or {})}
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in contents.items():
            wheel.writestr(zipfile.ZipInfo(name), data)
    return Release(
        version=version,
        wheel=path.name,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        abi="9",
        pins=Pins(torch="9.1.0", tensorrt="99.0", tensorrt_rtx="9.0", cuda="13.0"),
        modules=tuple(contents),
        inliner_id=inliner_id(path, contents),
        save_retraces=True,
        reachable=("legacy", "export"),
        hypothetical=(),
        api=Api(("cross_compile_module",), ()),
    )


def with_changes(release: Release, **changes: object) -> Release:
    return dataclasses.replace(release, **changes)  # type: ignore[arg-type]


def script(path: Path, body: str, interpreter: str = sys.executable) -> str:
    """An executable script; its path, for where a Python or a compiler is wanted."""
    path.write_text(f"#!{interpreter}\n{body}", encoding="utf-8")
    path.chmod(0o755)
    return str(path)
