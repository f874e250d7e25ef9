"""A release as its wheel describes it: an entry for the catalogue, or a nightly to judge.

The wheel is read as a zip and its Python as text; nothing of it is imported. What a wheel does not
say, which before 2.13 is the engine ABI number alone, comes from a table here.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from harness.errors import UsageError
from harness.releases import (
    EXPORTER_MODULE,
    Api,
    Catalogue,
    Pins,
    Release,
    inliner_id,
    is_wheel_of,
)
from harness.rig.records import REQUIRED_CALLS, Route
from harness.toolchain.cache import sha256_of

PROJECT: Final = "torch-tensorrt"
SAVE_MODULE: Final = "torch_tensorrt/_compile.py"
VERSION_MODULE: Final = "torch_tensorrt/_version.py"
ABI_MODULE: Final = "torch_tensorrt/dynamo/runtime/_serialized_engine_layout.py"

# Up to 2.12 the number is in the compiled runtime only: `ABI_VERSION` in core/runtime/runtime.h,
# read there release by release. Each row holds from its version on.
OLDER_ABI: Final = (("2.3", "5"), ("2.5", "6"), ("2.7", "7"), ("2.11", "8"), ("2.12", "9"))
FIRST_WITH_ABI: Final = Version("2.13.dev0")
NEWEST_ABI: Final = "10"

# What the rig has stand-ins for (harness/rig/inliners/surroundings.py; a test holds the two equal).
# The stand-in for `partitioning` leans on one module of the wheel; the others on none.
STAND_INS: Final = frozenset(
    {
        "torch_tensorrt",
        "torch_tensorrt._Input",
        "torch_tensorrt._features",
        "torch_tensorrt.dynamo",
        "torch_tensorrt.dynamo._defaults",
        "torch_tensorrt.dynamo.partitioning",
        "torch_tensorrt.dynamo.runtime",
        "torch_tensorrt.dynamo.runtime._TorchTensorRTModule",
        "torch_tensorrt.dynamo.utils",
    }
)
LEANS_ON: Final = {
    "torch_tensorrt.dynamo.partitioning": "torch_tensorrt/dynamo/partitioning/common.py"
}

# The machine that the catalogue's wheels are for; requirements with another in mind do not count.
_MACHINE: Final = {
    "platform_machine": "x86_64",
    "platform_release": "",
    "platform_system": "Linux",
    "sys_platform": "linux",
    "python_version": "3.11",
    "python_full_version": "3.11.0",
    "extra": "",
}


def entry_for(version: str, wheel_path: Path) -> str:
    """The catalogue's TOML table for a release, from its wheel.

    Raises:
        UsageError: the file is no wheel of this version of Torch-TensorRT, or one whose exporter
            this harness cannot drive.
    """
    wheel = _Wheel(wheel_path)
    release = _release(wheel)
    try:
        if Version(release.version) != Version(version):
            raise wheel.wrong(f"it is of {release.version}, not of {version}")
    except InvalidVersion as error:
        raise UsageError(f"{version!r} is no version, such as 2.14.0") from error
    if not is_wheel_of(release.wheel, version):
        raise wheel.wrong("its file name is not the released one, which is how pip finds it again")
    return to_toml(dataclasses.replace(release, version=version), _abi(version, wheel)[1])


def subject_for_wheel(path: Path, catalogue: Catalogue) -> Release:
    """The release that a wheel is, in the catalogue or not.

    A wheel that calls itself by a catalogued version and has other bytes is not that release; its
    version gets a local label, so that the two are two subjects.

    Raises:
        UsageError: as `entry_for`.
    """
    release = _release(_Wheel(path))
    for known in catalogue:
        if Version(known.version) == Version(release.version):
            if known.sha256 == release.sha256:
                return known
            joint = "." if "+" in release.version else "+"
            label = f"{joint}wheel.{release.sha256[:8]}"
            return dataclasses.replace(release, version=release.version + label)
    return release


def _release(wheel: _Wheel) -> Release:
    version, torch = wheel.metadata()
    named = wheel.constants(VERSION_MODULE)
    for call in REQUIRED_CALLS:
        wheel.function(EXPORTER_MODULE, call)
    reachable = [Route.LEGACY.value]
    if "use_legacy_exporter" in wheel.parameters(EXPORTER_MODULE, "export"):
        reachable.append(Route.EXPORT.value)
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
        hypothetical=() if len(reachable) == 2 else (Route.EXPORT.value,),
        api=Api(
            transform=wheel.parameters(EXPORTER_MODULE, "transform")[1:],
            create_trt_exp_program=wheel.parameters(EXPORTER_MODULE, "create_trt_exp_program")[1:],
        ),
    )


def to_toml(release: Release, abi_note: str = "") -> str:
    """A release as a table of the catalogue. JSON's strings and lists of them are TOML's too."""
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


def _abi(version: str, wheel: _Wheel) -> tuple[str, str]:
    """The engine ABI number, and a note on it where it is a guess."""
    if ABI_MODULE in wheel.texts:
        return wheel.required(wheel.constants(ABI_MODULE), "ABI_VERSION", ABI_MODULE), ""
    if Version(version) >= FIRST_WITH_ABI:
        return NEWEST_ABI, "assumed: the wheel does not say; see core/runtime/runtime.h"
    known = [abi for first, abi in OLDER_ABI if Version(version) >= Version(first)]
    if not known:
        raise wheel.wrong(f"{version} is older than any release that can be judged")
    return known[-1], ""


class _Wheel:
    """A wheel's text, read once. All methods raise UsageError, and name file and place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.sha256 = sha256_of(path)
            with zipfile.ZipFile(path) as archive:
                self.texts = {
                    name: archive.read(name).decode("utf-8")
                    for name in archive.namelist()
                    if re.fullmatch(r"torch_tensorrt/.*\.py|[^/]*\.dist-info/METADATA", name)
                }
        except (OSError, zipfile.BadZipFile, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: cannot be read as a wheel ({error})") from error

    def wrong(self, what: str) -> UsageError:
        return UsageError(f"{self.path}: {what}; give a wheel of Torch-TensorRT, 2.3.0 or later")

    def text(self, name: str) -> str:
        if name not in self.texts:
            raise self.wrong(f"no {name} in it")
        return self.texts[name]

    def metadata(self) -> tuple[str, str]:
        """The version, and the lowest torch that it takes."""
        files = [name for name in self.texts if name.endswith("/METADATA")]
        if len(files) != 1:
            raise self.wrong("no METADATA in it" if not files else "more than one METADATA in it")
        fields = HeaderParser().parsestr(self.text(files[0]))
        name, version = str(fields["Name"]), str(fields["Version"])
        if canonicalize_name(name) != PROJECT:
            raise self.wrong(f"it is of the project {name}")
        try:
            Version(version)
            wanted = [Requirement(str(line)) for line in fields.get_all("Requires-Dist", [])]
        except (InvalidVersion, InvalidRequirement) as error:
            raise self.wrong(f"its METADATA does not read: {error}") from error
        bounds = [
            specifier.version
            for requirement in wanted
            if canonicalize_name(requirement.name) == "torch"
            and (requirement.marker is None or requirement.marker.evaluate(_MACHINE))
            for specifier in requirement.specifier
            if specifier.operator in (">=", "==", "~=")
        ]
        if len(bounds) != 1:
            raise self.wrong(f"its METADATA gives {len(bounds)} lower bounds for torch")
        return version, bounds[0]

    def tree(self, name: str) -> ast.Module:
        try:
            return ast.parse(self.text(name))
        except SyntaxError as error:
            raise self.wrong(f"{name}, line {error.lineno}: {error.msg}") from error

    def constants(self, name: str) -> dict[str, str]:
        """The strings that a module binds at its top level."""
        found = {}
        for statement in self.tree(name).body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=bound)], value=ast.Constant(value=str(value))):
                    found[bound] = value
                case ast.AnnAssign(target=ast.Name(id=bound), value=ast.Constant(value=str(value))):
                    found[bound] = value
                case _:
                    continue
        return found

    def required(self, constants: dict[str, str], bound: str, name: str) -> str:
        if bound not in constants:
            raise self.wrong(f"{name} does not bind {bound} to a string")
        return constants[bound]

    def function(self, name: str, function: str) -> ast.FunctionDef:
        for statement in self.tree(name).body:
            if isinstance(statement, ast.FunctionDef) and statement.name == function:
                return statement
        raise self.wrong(f"{name} does not define {function}")

    def parameters(self, name: str, function: str) -> tuple[str, ...]:
        arguments = self.function(name, function).args
        listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        return tuple(argument.arg for argument in listed)

    def default(self, name: str, function: str, parameter: str) -> object:
        """A keyword-only parameter's default, which must be a constant."""
        arguments = self.function(name, function).args
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if argument.arg == parameter and isinstance(default, ast.Constant):
                return default.value
        raise self.wrong(f"{function} in {name} has no default for {parameter}")

    def loaded_with(self, name: str) -> tuple[str, ...]:
        """A file of the wheel and those that its import loads, where the rig has no stand-in."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            file = waiting.pop()
            if file not in found:
                found.add(file)
                for module in _imported(self.tree(file), package=file.split("/")[:-1]):
                    waiting += [path for path in _files_of(module) if path in self.texts]
        return tuple(sorted(found))


def _files_of(module: str) -> tuple[str, ...]:
    """Where in a wheel a module might be; nowhere for one that has a stand-in."""
    if module in LEANS_ON:
        return (LEANS_ON[module],)
    path = module.replace(".", "/")
    return () if module in STAND_INS else (f"{path}.py", f"{path}/__init__.py")


def _imported(tree: ast.Module, package: list[str]) -> Iterator[str]:
    """Modules of Torch-TensorRT that a top level imports, and names that might be some."""
    for statement in tree.body:
        names: list[str] = []
        match statement:
            case ast.Import(names=aliases):
                names = [alias.name for alias in aliases]
            case ast.ImportFrom(module=source, names=aliases, level=level):
                around = package[: len(package) - level + 1] if level else []
                base = ".".join([*around, *([source] if source else [])])
                names = [base, *(f"{base}.{alias.name}" for alias in aliases)]
            case _:
                continue
        yield from (name for name in names if name.split(".")[0] == "torch_tensorrt")
