"""Building a C++ library, against torch's headers or alone, once for each source and compiler."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.base.errors import SurroundingsError
from harness.base.process import Ended, how_it_ended, run
from harness.toolchain.cache import NATIVE, guarded, locked, workspace
from harness.toolchain.environment import PROJECT_ROOT, EnvironmentFacts

RUNTIME_SOURCE: Final = PROJECT_ROOT / "harness" / "rig" / "engines" / "runtime.cpp"
_COMPILE_TIMEOUT_S: Final = 600.0
_SHOWN_ERRORS: Final = 5


def compiler_version(compiler: str) -> str:
    """The first line of what the compiler says of itself."""
    done = _run(compiler, ["--version"])
    if done.code != 0:
        raise SurroundingsError(
            f"{compiler} --version {how_it_ended(done.code)}", "name a working C++ compiler"
        )
    return (done.printed.splitlines() or [""])[0].strip()


def compile_arguments(facts: EnvironmentFacts | None) -> list[str]:
    """The arguments before the source file. Without ``facts`` the library does not use torch."""
    plain = ["-shared", "-fPIC", "-std=c++20", "-O1"]
    if facts is None:
        return plain
    return [
        *plain,
        # torch's C++ types are two incompatible sets; one of the other set links, and then crashes.
        f"-D_GLIBCXX_USE_CXX11_ABI={int(facts.cxx11_abi)}",
        *(f"-I{path}" for path in facts.include_paths),
    ]


def link_arguments(facts: EnvironmentFacts | None) -> list[str]:
    """The arguments after the source file, as a linker looks up symbols of what stands before."""
    if facts is None:
        return []
    return [f"-L{facts.library_path}", "-ltorch", "-ltorch_cpu", "-lc10"]


def build_key(source: bytes, version: str, facts: EnvironmentFacts | None) -> str:
    """SHA-256, as hex, over all that the built library depends on."""
    parts = [
        version,
        *compile_arguments(facts),
        *link_arguments(facts),
        *((facts.torch_version, facts.torch_git_version) if facts else ()),
    ]
    return hashlib.sha256("\0".join(parts).encode() + b"\0" + source).hexdigest()


@dataclass(frozen=True)
class Compiler:
    """Builds shared libraries into the cache; `Toolchain` explains the fields."""

    command: str
    cache: Path
    notify: Callable[[str], None]

    def build(self, source: Path, facts: EnvironmentFacts | None) -> Path:
        """The shared library of ``source``; see `Toolchain.native_runtime`."""
        version = compiler_version(self.command)
        with guarded(source, "it belongs to the harness: restore it"):
            code = source.read_bytes()
        target = self.cache / NATIVE / f"{build_key(code, version, facts)}.so"
        with locked(self.cache, target.stem):
            if not target.exists():
                self.notify(f"building {source.name} with {version}")
                with workspace(target.parent) as folder:
                    made = folder / target.name
                    _compile(self.command, source, facts, made)
                    os.replace(made, target)
        return target


def first_errors(output: str) -> str:
    """The lines of a compiler's output that name an error, or its first lines if none does."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"error\b|undefined reference|cannot find", line)]
    return "\n".join((errors or lines)[:_SHOWN_ERRORS])


def _compile(compiler: str, source: Path, facts: EnvironmentFacts | None, made: Path) -> None:
    arguments = [*compile_arguments(facts), str(source), *link_arguments(facts), "-o", str(made)]
    done = _run(compiler, arguments)
    if done.code != 0:
        raise SurroundingsError(
            f"{source}: {compiler} {how_it_ended(done.code)}; the first errors:\n"
            f"{first_errors(done.complaint)}"
        )


def _run(compiler: str, arguments: list[str]) -> Ended:
    return run(
        [*shlex.split(compiler), *arguments],  # a compiler may be "ccache g++"
        timeout_s=_COMPILE_TIMEOUT_S,
        if_missing="install g++ 11 or newer (the package g++, or gcc-c++), or name another in CXX",
        if_late="check whether the machine is out of memory",
    )
