"""Unpacks what a package site needs from wheels. A wheel is read as a zip and never installed."""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from harness.base.errors import SurroundingsError
from harness.base.process import run
from harness.base.zips import opened_zip

_LEFT_OUT: Final = ("torch_tensorrt/bin/", "torch_tensorrt/include/", "torch_tensorrt/lib/")


def text_in(wheel: Path, name: str) -> str:
    """A module's text; empty if the wheel has none of this name."""
    with _opened(wheel) as archive:
        return archive.read(name).decode("utf-8") if name in archive.namelist() else ""


def python_in(wheel: Path) -> dict[str, str]:
    """The text of each module of Torch-TensorRT in a wheel, by its path in the package."""
    with _opened(wheel) as archive:
        return {
            name.removeprefix("torch_tensorrt/"): archive.read(name).decode("utf-8")
            for name in archive.namelist()
            if is_of_package(name) and name.endswith(".py")
        }


def is_of_package(name: str) -> bool:
    """Whether a file of a wheel is unpacked: nothing compiled is, nor what belongs to that."""
    top = name.split("/")[0]
    if top.endswith(".dist-info"):
        # Not RECORD: it would vouch for files that are not there.
        return PurePosixPath(name).name in {"METADATA", "WHEEL", "top_level.txt"}
    compiled = re.search(r"\.so(\.|$)", PurePosixPath(name).name)
    return top == "torch_tensorrt" and not name.startswith(_LEFT_OUT) and not compiled


def unpack_release(wheel: Path, folder: Path, rtx: bool) -> None:
    """Unpack a release's Python without its compiled parts, which need CUDA and TensorRT.

    Args:
        rtx: let `importlib.metadata` find a distribution torch-tensorrt-rtx, which is how the
            package knows which TensorRT to import. The Python in the wheel of that name is the
            same, byte for byte, but for the folder `fx`, which is not imported then.
    """

    with _opened(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if is_of_package(name)])
    if rtx:
        for info in folder.glob("torch_tensorrt-*.dist-info"):
            metadata = info / "METADATA"
            text = metadata.read_text(encoding="utf-8")
            metadata.write_text(
                re.sub(r"^Name: .*$", "Name: torch-tensorrt-rtx", text, count=1, flags=re.MULTILINE)
            )
            os.replace(info, info.with_name(info.name.replace("tensorrt-", "tensorrt_rtx-", 1)))


def unpack_bindings(wheel: Path, folder: Path, package: str) -> Path:
    """`PACKAGE_bindings` of a wheel, under the name by which it is imported; its folder."""
    bindings = f"{package}_bindings"
    with _opened(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(f"{bindings}/")]
        archive.extractall(folder, names)
    os.replace(folder / bindings, folder / package)
    return folder / package


def unpack_libraries(wheel: Path, folder: Path) -> None:
    """All of a wheel that holds C libraries."""
    with _opened(wheel) as archive:
        archive.extractall(folder)


def put_under(bindings: Path, stub: Path) -> None:
    """Put a stand-in under each name of a TensorRT library that the bindings are linked to."""
    linked = re.findall(
        rb"\0(lib(?:nvinfer|nvinfer_plugin|nvonnxparser)\.so\.\d+)(?=\0)",
        (bindings / "tensorrt.so").read_bytes(),
    )
    for name in sorted(set(linked)):
        place(stub, bindings / name.decode("ascii"))


def place(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def byte_compile(folder: Path, python: str) -> None:
    """Leave the bytecode of every module beside it, as an installation by pip has it.

    Without it a process compiles what it imports, and does so each time if the user has told Python
    to write no bytecode. 2.14.0 imports a module at every save, in vain where executorch is
    missing, and that took 1.7 ms longer than in an installation.

    The bytecode is not checked by time, so that a copied folder keeps it. Its paths are relative,
    and Python corrects them on import. Modules that do not compile are left out, as pip does.
    """
    how = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "."]
    run([python, "-I", *how], folder=folder)


@contextmanager
def _opened(wheel: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with opened_zip(wheel) as archive:
            yield archive
    except zipfile.BadZipFile as error:
        raise SurroundingsError(
            f"{wheel}: cannot be read as a wheel ({error}); delete it and fetch it again"
        ) from error
