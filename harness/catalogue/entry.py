"""A release as its wheel describes it: an entry for the catalogue, or a nightly to judge.

The wheel is read as a zip and its Python as text; nothing is imported. A table here has the only
thing that a wheel does not say, which is the engine ABI number before 2.13.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Final

from packaging.version import InvalidVersion, Version

from harness.base.errors import UsageError
from harness.catalogue.releases import (
    EXPORTER_MODULE,
    NEWER_ROUTES,
    Api,
    Catalogue,
    Pins,
    Release,
    inliner_id,
    is_linux_wheel,
    is_wheel_of,
)
from harness.catalogue.wheel_text import WheelText
from harness.wire.routes import Route
from harness.wire.vocabulary import CROSS_ARGUMENTS, REQUIRED_CALLS

SAVE_MODULE: Final = "torch_tensorrt/_compile.py"
VERSION_MODULE: Final = "torch_tensorrt/_version.py"
ABI_MODULE: Final = "torch_tensorrt/dynamo/runtime/_serialized_engine_layout.py"

# Up to 2.12 the number is in the compiled runtime only: `ABI_VERSION` in core/runtime/runtime.h,
# read there release by release. Each row holds from its version on.
OLDER_ABI: Final = (("2.3", "5"), ("2.5", "6"), ("2.7", "7"), ("2.11", "8"), ("2.12", "9"))
OLDEST: Final = Version(OLDER_ABI[0][0])
FIRST_WITH_ABI: Final = Version("2.13.dev0")
NEWEST_ABI: Final = "10"


def entry_for(version: str, wheel_path: Path) -> str:
    """The catalogue's TOML table for a release, from its wheel."""
    wanted = checked_version(version)
    wheel = WheelText(wheel_path)
    release = _release(wheel)
    if Version(release.version) != wanted:
        raise wheel.wrong(f"it is of {release.version}, not of {version}")
    if not is_wheel_of(release.wheel, version):
        raise wheel.wrong("its file name is not the released one, which is how pip finds it again")
    if not is_linux_wheel(release.wheel):
        raise wheel.wrong("it is not for Linux on x86_64, as the wheels of the catalogue are")
    return to_toml(release, _abi(release.version, wheel)[1])


def checked_version(text: str) -> Version:
    """The version of a release that can be judged."""
    try:
        version = Version(text)
    except InvalidVersion as error:
        raise UsageError(f"{text!r} is no version, such as 2.14.0") from error
    if version < OLDEST:
        raise UsageError(
            f"{text} cannot be judged: it has no torch_tensorrt.save, through which a hybrid "
            f"reaches its inliner; the oldest release that has it is 2.3.0"
        )
    return version


def subject_for_wheel(path: Path, catalogue: Catalogue) -> Release:
    """The release in a wheel, which need not be in the catalogue.

    A wheel that has a catalogued version and other bytes is not that release. Its version gets a
    local label, so that the two are two subjects.
    """
    release = _release(WheelText(path))
    for known in catalogue:
        if Version(known.version) == Version(release.version):
            if known.sha256 == release.sha256:
                return known
            joint = "." if "+" in release.version else "+"
            label = f"{joint}wheel.{release.sha256[:8]}"
            return dataclasses.replace(release, version=release.version + label)
    return release


def _release(wheel: WheelText) -> Release:
    version, torch = wheel.metadata()
    named = wheel.constants(VERSION_MODULE)
    for call in REQUIRED_CALLS:
        wheel.function(EXPORTER_MODULE, call)
    reachable = [Route.LEGACY]
    if "use_legacy_exporter" in wheel.parameters(EXPORTER_MODULE, "export"):
        reachable.append(Route.EXPORT)
    if "dynamic_shapes" in wheel.parameters(EXPORTER_MODULE, "create_trt_exp_program"):
        reachable += NEWER_ROUTES
    hypothetical = () if Route.EXPORT in reachable else (Route.EXPORT,)
    transform = wheel.parameters(EXPORTER_MODULE, "transform")[1:]
    if set(CROSS_ARGUMENTS) & set(transform):
        reachable.append(Route.CROSS)
        if Route.EXPORT in reachable:
            reachable.append(Route.CROSS_LEGACY)
    modules = wheel.loaded_with(EXPORTER_MODULE)
    return Release(
        version=version,
        wheel=wheel.path.name,
        sha256=wheel.sha256,
        abi=_abi(version, wheel)[0],
        pins=Pins(
            torch=torch,
            tensorrt=wheel.required(named, "__tensorrt_version__", VERSION_MODULE),
            tensorrt_rtx=named.get("__tensorrt_rtx_version__", ""),
            cuda=wheel.required(named, "__cuda_version__", VERSION_MODULE),
        ),
        modules=modules,
        inliner_id=inliner_id(wheel.path, modules),
        save_retraces=wheel.default(SAVE_MODULE, "save", "retrace") is True,
        reachable=tuple(reachable),
        hypothetical=hypothetical,
        api=Api(
            transform=transform,
            create_trt_exp_program=wheel.parameters(EXPORTER_MODULE, "create_trt_exp_program")[1:],
        ),
    )


def to_toml(release: Release, abi_note: str = "") -> str:
    """A release as a table of the catalogue. Strings and lists are the same in JSON and TOML."""
    pins = ", ".join(
        f"{name} = {json.dumps(value)}" for name, value in dataclasses.asdict(release.pins).items()
    )
    lines = [f"[release.{json.dumps(release.version)}]"]
    for field in dataclasses.fields(Release):
        value = getattr(release, field.name)
        if field.name == "pins":
            lines.append(f"pins = {{ {pins} }}")
        elif field.name not in ("version", "api"):
            note = f"  # {abi_note}" if field.name == "abi" and abi_note else ""
            lines.append(f"{field.name} = {json.dumps(value, ensure_ascii=False)}{note}")
    lines += ["", f"[release.{json.dumps(release.version)}.api]"]
    for name, parameters in dataclasses.asdict(release.api).items():
        lines.append(f"{name} = {json.dumps(parameters)}")
    return "\n".join(lines) + "\n"


def _abi(version: str, wheel: WheelText) -> tuple[str, str]:
    """The engine ABI number, with a note if it is a guess."""
    if ABI_MODULE in wheel.texts:
        return wheel.required(wheel.constants(ABI_MODULE), "ABI_VERSION", ABI_MODULE), ""
    if Version(version) >= FIRST_WITH_ABI:
        return NEWEST_ABI, "assumed: the wheel does not say; see core/runtime/runtime.h"
    known = [abi for first, abi in OLDER_ABI if checked_version(version) >= Version(first)]
    return known[-1], ""
