"""Reads what a wheel of Torch-TensorRT says of itself, as text; nothing is imported."""

from __future__ import annotations

import ast
import re
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from harness.base.errors import UsageError
from harness.base.files import sha256_of
from harness.base.zips import opened_zip

PROJECT: Final = "torch-tensorrt"

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


class WheelText:
    """A wheel's text, read once. All methods raise UsageError, and name file and place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.sha256 = sha256_of(path)
            with opened_zip(path) as archive:
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
        strings = {}
        for statement in self.tree(name).body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=bound)], value=ast.Constant(value=str(value))):
                    strings[bound] = value
                case ast.AnnAssign(target=ast.Name(id=bound), value=ast.Constant(value=str(value))):
                    strings[bound] = value
                case _:
                    continue
        return strings

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
        """A file of the wheel and those that its import loads, if the rig has no stand-in."""
        loaded: set[str] = set()
        waiting = [name]
        while waiting:
            file = waiting.pop()
            if file not in loaded:
                loaded.add(file)
                for module in _imported(self.tree(file), package=file.split("/")[:-1]):
                    waiting += [path for path in _files_of(module) if path in self.texts]
        return tuple(sorted(loaded))


def _files_of(module: str) -> tuple[str, ...]:
    """The paths in a wheel at which a module might be; none for one that has a stand-in."""
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
