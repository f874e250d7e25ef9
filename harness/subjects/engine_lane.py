"""Whether the engine lane can run here, and with what. A run asks this first.

The engine lane is the package lane with builder and executor real. It takes the one package that
is installed in its environment, on the GPU that CUDA takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from harness.base.errors import Unavailable
from harness.machine.cuda import DRIVER, Device, first_device, refuse_for_rtx
from harness.toolchain.rig_client import ask_rig
from harness.wire.builders import BUILDERS, BuilderKind

_BUILDERS: Final = {row.distribution: kind for kind, row in BUILDERS.items() if row.distribution}
_INSTALL: Final = "`nox -s engine` makes an environment that has it"
_MATCH_DRIVER: Final = "install a torch build that this driver supports, or update the driver"


@dataclass(frozen=True)
class Installed:
    """What real engines are built and run with."""

    release: str
    builder: BuilderKind
    tensorrt: str
    device: Device


def preflight(python: str, driver: str = DRIVER) -> Installed:
    """What the engine lane would run with, in the environment of ``python``.

    Raises:
        Unavailable: something is missing; says what, and what to do, in one line.
    """
    device = first_device(driver)  # first: without one, what is installed does not matter
    return installed(ask_rig(python, "installed")[0], device)


def installed(facts: Mapping[str, Any], device: Device) -> Installed:
    """`preflight` for an environment with these facts, and for this device."""
    package, release = facts["package"], facts["release"]
    if facts["no_gpu"]:
        raise Unavailable(
            f"torch {facts['torch']} cannot use the {device.name} here: {facts['no_gpu']}",
            _INSTALL if facts["torch_cuda"] is None else _MATCH_DRIVER,
        )
    if package is None:
        raise Unavailable(
            f"neither {' nor '.join(_BUILDERS)} is installed in this environment", _INSTALL
        )
    if facts["tensorrt"] is None:
        raise Unavailable(
            f"{package} {release} is installed here, and its TensorRT cannot be imported: "
            f"{facts['no_tensorrt']}",
            _INSTALL,
        )
    builder = _BUILDERS[package]
    if builder is BuilderKind.RTX:
        refuse_for_rtx(device)
    return Installed(release, builder, facts["tensorrt"], device)
