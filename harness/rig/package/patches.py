"""The patches of the real package where there is no CUDA, and why; `doctor` lists them.

Each patch answers one need that the package has of a GPU, and says which. Without it something
fails, and a test removes each patch to see that. Only what talks to CUDA or TensorRT is replaced,
and in this process alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from harness.rig.package import interpreters, stand_ins
from harness.rig.package.site import Site
from harness.wire.builders import BuilderKind

Version = tuple[int, int, int]


@dataclass(frozen=True)
class Patch:
    """One thing that is put in the place of another.

    Attributes:
        why: what asks for it, and when.
        since: the first release that needs it; None for the oldest.
        until: the last release that needs it; None for the newest.
        real: True if only builders that really build need it, False if only the others; None: all.
        apply: applies the patch to a site.
        imported: whether the package must have been imported before.
    """

    name: str
    why: str
    apply: Callable[[Site], None]
    since: Version | None = None
    until: Version | None = None
    real: bool | None = None
    imported: bool = False

    @property
    def builders(self) -> frozenset[BuilderKind]:
        """The kinds of builder with which it is needed."""
        kinds = [kind for kind in BuilderKind if kind.row.without_gpu]
        return frozenset(kind for kind in kinds if self.real in (None, kind.row.real))

    def needed(self, release: str, builder: str) -> bool:
        version = _numbers(release)
        return (
            builder in self.builders
            and (self.since is None or self.since <= version)
            and (self.until is None or version <= self.until)
        )

    @property
    def line(self) -> str:
        """Name, releases, builders and why."""
        since, until = (".".join(map(str, each or ())) for each in (self.since, self.until))
        releases = " ".join([f"from {since}" if since else "", f"up to {until}" if until else ""])
        return (
            f"{self.name} ({releases.strip() or 'every release'}; "
            f"builder {' and '.join(sorted(self.builders))}): {self.why}"
        )


PATCHES: tuple[Patch, ...] = (
    Patch(
        "engine-layout",
        "an engine's slots and ABI number are the release's own, and the stand-in runtime is one "
        "file for all: without it a program of any release would load in any other",
        stand_ins.lay_engines_out,
    ),
    Patch(
        "rtx-chosen",
        "up to 2.10 a variable of the environment says that tensorrt means TensorRT-RTX; later "
        "releases look for a distribution torch-tensorrt-rtx, and find one in the site",
        stand_ins.choose_rtx,
        until=(2, 10, 0),
        real=True,
    ),
    Patch(
        "current-device",
        "CompilationSettings ask for the default device while the package is imported",
        stand_ins.answer_current_device,
    ),
    Patch(
        "device-properties-type",
        "an annotation names torch._C._CudaDeviceProperties, which CPU builds of torch lack",
        stand_ins.name_device_properties,
    ),
    Patch(
        "device-properties",
        "an engine's device slot is filled with the GPU's name and capability",
        stand_ins.answer_device_properties,
    ),
    Patch(
        "device-memory",
        "compile asks how much memory the GPU has, to warn of models that do not fit",
        stand_ins.answer_memory,
        since=(2, 8, 0),
    ),
    Patch(
        "tensors-to-device",
        "TorchTensorRTModule.forward moves a number that is an engine's input to the GPU",
        stand_ins.keep_tensors_here,
    ),
    Patch(
        "compile-device",
        "compile moves the model, its inputs and the fallbacks to the GPU",
        stand_ins.keep_devices_here,
        imported=True,
    ),
    Patch(
        "plugin-registry",
        "an index_add goes into an engine if TensorRT has the plugin ScatterAdd, which the "
        "release's own runtime registers; the stand-in library has no registry at all",
        stand_ins.answer_plugins,
        since=(2, 12, 0),
        real=False,
        imported=True,
    ),
    Patch(
        "engine-build",
        "TRTInterpreter builds engines with TensorRT, of which there are the bindings alone",
        interpreters.build_segments,
        real=False,
        imported=True,
    ),
    Patch(
        "engine-held",
        "TRTInterpreter deserializes the engine that it built, which needs a CUDA driver",
        interpreters.hold_engines,
        real=True,
        imported=True,
    ),
    Patch(
        "segment-carried",
        "an engine that TensorRT-RTX built cannot run here: its segment is kept and run instead",
        interpreters.carry_segments,
        real=True,
        imported=True,
    ),
    Patch(
        "engine-run",
        "the stand-in runtime has no kernel for tensorrt::execute_engine: a segment runs in Python",
        stand_ins.run_segments,
        imported=True,
    ),
)


def patches_for(release: str, builder: str) -> tuple[Patch, ...]:
    """The patches that a release needs with a builder, in the order in which they are applied."""
    return tuple(patch for patch in PATCHES if patch.needed(release, builder))


def _numbers(release: str) -> Version:
    """A version's first three numbers: a candidate or a nightly needs what its release needs."""
    numbers = re.findall(r"\d+", re.split(r"[^\d.]", release)[0])
    major, minor, patch = [*map(int, numbers), 0, 0][:3]
    return major, minor, patch
