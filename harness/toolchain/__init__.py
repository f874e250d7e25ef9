"""Wheels, hashes, native builds and their cache.

Whoever needs a wheel or a compiler is handed a `Toolchain`, the only part of the controller that
starts pip and compilers. A test hands over another Python or compiler and needs no network.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from harness.base.errors import UsageError
from harness.base.files import replace_file
from harness.catalogue.bindings import Bindings, choose, load_bindings
from harness.catalogue.releases import Release
from harness.toolchain import native
from harness.toolchain.cache import CHOOSE, ENGINES, FACTS, clean, guarded
from harness.toolchain.deciding import ImportsFromElsewhere, facts_key, import_folders
from harness.toolchain.environment import EnvironmentFacts, facts_in, probe
from harness.toolchain.fingerprint import FileState, digest_of_content, remembered_digest
from harness.toolchain.package_site import PackageSite, package_site, pinned_tensorrt
from harness.toolchain.released import released_wheel
from harness.toolchain.wheels import HashedWheel, WheelSource
from harness.wire.builders import SEGMENT, BuilderKind
from harness.wire.record_json import to_json

__all__ = ["EnvironmentFacts", "PackageSite", "Toolchain", "clean"]


def _silent(_: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Toolchain:
    """What the harness builds and fetches with.

    Attributes:
        cache: the folder for what can be made again; it is created on first use.
        python: the rig's Python, which has torch and pip.
        wheelhouse: a folder of wheels that replaces cache and registry.
        offline: whether the registry must not be asked.
        compiler: the C++ compiler's command.
        notify: receives a line before anything that takes long.
    """

    cache: Path
    python: str
    wheelhouse: Path | None = None
    offline: bool = False
    compiler: str = "g++"
    notify: Callable[[str], None] = _silent

    def wheel(self, release: Release) -> Path:
        """A release's wheel, verified by the SHA-256 in the catalogue.

        It comes from the wheelhouse if there is one, and otherwise from the cache, into which it is
        fetched on first use. A corrupt cached file is fetched once more.

        Raises:
            Unavailable: the wheelhouse lacks it, or no registry gave it.
            UsageError: there is no such wheelhouse.
            SurroundingsError: a file with a wrong hash, a cache that cannot be written, no pip.
        """
        return self._wheels.wheel(release)

    def released_wheel(self, version: str) -> Path:
        """The wheel of a version that no catalogue has; it is unverified, without a known hash."""
        return released_wheel(self._wheels, version)

    def keep_wheel(self, path: Path) -> None:
        """Put a copy of a wheel that no registry has into the cache, where `wheel` finds it."""
        self._wheels.keep(path)

    def bindings(
        self, release: Release, builder: str = SEGMENT, tensorrt: str | None = None
    ) -> Bindings:
        """Which TensorRT `package_site` would take. Nothing is fetched.

        Raises:
            Unavailable: there is none for the rig's Python, or the release names none.
            UsageError: there is no version ``tensorrt``, or no such builder.
        """
        kinds = {kind: kind.row for kind in BuilderKind if kind.row.without_gpu}
        row = kinds.get(BuilderKind(builder)) if builder in set(BuilderKind) else None
        if row is None:
            raise UsageError(f"no builder {builder!r} here; known: {', '.join(kinds)}")
        pinned = pinned_tensorrt(release, builder)
        return choose(load_bindings()[row.bindings], pinned, self._facts.interpreter, tensorrt)

    def wheel_at_hand(self, release: HashedWheel) -> Path | None:
        """The unverified wheel if it is here already, and None if it would have to be fetched."""
        return self._wheels.at_hand(release)

    def python_env(self) -> EnvironmentFacts:
        """What the rig's Python has. It is asked only once."""
        return self._facts

    def emulated_runtime(self) -> Path:
        """The stand-in for Torch-TensorRT's runtime library, in which emulated engines run."""
        return self.native_runtime(native.RUNTIME_SOURCE, self.python_env())

    def native_runtime(self, source: Path, facts: EnvironmentFacts) -> Path:
        """The shared library of a C++ source, built against torch on first use."""
        return self._compiler.build(source, facts)

    def package_site(
        self,
        release: Release,
        builder: str = SEGMENT,
        tensorrt: str | None = None,
        wheel: Path | None = None,
    ) -> PackageSite:
        """A folder from which the release's whole package is imported without CUDA.

        It is put together on first use, out of hashed downloads and two native builds, and kept in
        the cache. Two processes may ask for one at once.

        Args:
            builder: what builds the engines: `segment`, or `tensorrt-rtx`, which really does.
            tensorrt: this version of TensorRT, in place of the one the release names.
            wheel: of a candidate, which no catalogue has a hash of.

        Raises:
            Unavailable: a wheel cannot be had, or a real TensorRT is installed.
            UsageError: there is no such version of TensorRT, or no such wheelhouse.
            SurroundingsError: a file with a wrong hash, no compiler, a cache that cannot be
                written.
        """
        return package_site(
            release,
            wheels=self._wheels,
            compiler=self._compiler,
            facts=self._facts,
            bindings=self.bindings(release, builder, tensorrt),
            builder=builder,
            released=wheel,
        )

    @property
    def engines(self) -> Path:
        """The folder that keeps engines which TensorRT built, for `import_package`."""
        return self.cache / ENGINES

    def compiler_version(self) -> str:
        """The compiler's own name and version."""
        return native.compiler_version(self.compiler)

    @property
    def _compiler(self) -> native.Compiler:
        return native.Compiler(self.compiler, self.cache, self.notify)

    @property
    def _wheels(self) -> WheelSource:
        return WheelSource(self.cache, self.wheelhouse, self.python, self.offline, self.notify)

    def installed(self, looked: Mapping[Path, list[FileState]] = MappingProxyType({})) -> str:
        """The digest of all installed packages that a process of the rig imports from, by content.

        Args:
            looked: what `states_of` has found just now; whatever is not in it is looked at.

        Raises:
            ImportsFromElsewhere: it imports from elsewhere, too.
        """
        known: str | None = vars(self).get("_installed")  # as `cached_property` keeps an answer
        if known is None:
            known = digest_of_content(self.installed_in, self.cache, looked)
            vars(self)["_installed"] = known
        return known

    # cached_property writes to __dict__, which `frozen` leaves open; an answer is not a field.
    @cached_property
    def installed_in(self) -> list[Path]:
        """The folders of these packages.

        Raises:
            ImportsFromElsewhere: as `installed`.
        """
        return import_folders()

    @cached_property
    def _facts(self) -> EnvironmentFacts:
        """Asked of torch, which takes seconds to import, or known since all is as it was then."""
        place = self._facts_file() if (self.cache / FACTS).is_dir() else None
        if place is None or not place.is_file():
            return probe(self.python)
        return facts_in(self.python, place.read_text(encoding="utf-8"))

    def keep_facts(self) -> None:
        """Spare later commands to ask for `python_env`, until anything changes that it tells of."""
        place = self._facts_file()
        if place is not None and not place.is_file():
            with guarded(place):
                place.parent.mkdir(parents=True, exist_ok=True)
            replace_file(place, json.dumps(to_json(self._facts)).encode(), CHOOSE)

    def _facts_file(self) -> Path | None:
        """Where they are kept; None if nobody has read all yet that they depend on."""
        if self.python != sys.executable:
            return None
        try:
            known = vars(self).get("installed")  # looked at already, by this command
            installed = known or remembered_digest(self.installed_in, self.cache)
        except ImportsFromElsewhere:
            return None
        return self.cache / FACTS / facts_key(installed) if installed else None
