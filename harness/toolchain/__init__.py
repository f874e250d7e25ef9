"""Wheels, hashes, native builds and their cache: injected where they are needed, never reached for.

Whoever needs a wheel or a compiler is handed a `Toolchain`. It is the only part of the controller
that starts pip and compilers, so a test gives another Python or compiler and no network is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.releases import Release
from harness.toolchain import native
from harness.toolchain.cache import clean
from harness.toolchain.environment import EnvironmentFacts, probe
from harness.toolchain.released import released_wheel
from harness.toolchain.wheels import WheelSource

__all__ = ["EnvironmentFacts", "Toolchain", "clean"]


def _silent(_: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Toolchain:
    """What the harness builds and fetches with.

    Attributes:
        cache: folder for what can be made again; made on first use.
        python: the rig's Python: it has torch, and pip.
        wheelhouse: a folder of wheels that takes the place of cache and registry.
        offline: ask no registry.
        compiler: the C++ compiler's command.
        notify: told, in one line, of what takes long.
    """

    cache: Path
    python: str
    wheelhouse: Path | None = None
    offline: bool = False
    compiler: str = "g++"
    notify: Callable[[str], None] = _silent

    def wheel(self, release: Release) -> Path:
        """A release's wheel, its SHA-256 as in the catalogue.

        From the wheelhouse if there is one; else from the cache, fetched into it on first use. A
        corrupt cached file is fetched once again.

        Raises:
            Unavailable: the wheelhouse lacks it, or no registry gave it.
            UsageError: there is no such wheelhouse.
            SurroundingsError: a file with a wrong hash, a cache that cannot be written, no pip.
        """
        return self._wheels.wheel(release)

    def released_wheel(self, version: str) -> Path:
        """The wheel of a version that is in no catalogue, unverified: there is no hash for it yet.

        Raises:
            UsageError: there is no such version, or no such wheelhouse.
            SurroundingsError: no registry can be reached, or the cache cannot be written.
        """
        return released_wheel(self._wheels, version)

    def wheel_at_hand(self, release: Release) -> Path | None:
        """The wheel, unverified, if it would not have to be fetched."""
        return self._wheels.at_hand(release)

    def python_env(self) -> EnvironmentFacts:
        """What the rig's Python has; asked once.

        Raises:
            SurroundingsError: it cannot be run, or has no torch.
        """
        return self._facts

    def native_runtime(self, source: Path, facts: EnvironmentFacts) -> Path:
        """The shared library of a C++ source, built against torch on first use.

        Raises:
            SurroundingsError: no compiler, a source that does not compile (with the compiler's
                first errors), a cache that cannot be written.
        """
        return native.build(
            source, facts, cache=self.cache, compiler=self.compiler, notify=self.notify
        )

    def compiler_version(self) -> str:
        """The compiler's own name and version.

        Raises:
            SurroundingsError: there is none.
        """
        return native.compiler_version(self.compiler)

    @property
    def _wheels(self) -> WheelSource:
        return WheelSource(self.cache, self.wheelhouse, self.python, self.offline, self.notify)

    # cached_property writes to __dict__, which `frozen` leaves open; an answer is not a field.
    @cached_property
    def _facts(self) -> EnvironmentFacts:
        return probe(self.python)
