"""The state of the machine while it measured. It is recorded, and no sample is dropped for it.

A value that the system does not tell is None. Two machines are alike if their runs are comparable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from harness.bench.samples import Samples
from harness.runs.provenance import Provenance

LOAD_FLAG = 0.5  # of the cores, busy with something else
STEAL_FLAG = 0.02  # of the time, taken by the host
HOT_C = 90.0
OVERHEAD_S = 5e-6  # of a timed region
TIMED_SHARE = 0.85
COLD_SHARE = 0.05  # of a file that is still in memory when it was dropped
_CPUFREQ = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


@dataclass(frozen=True)
class MachineState:
    """One moment. ``load`` is the one-minute average, ``steal_s`` grows since the machine booted;
    frequency in MHz, temperature in degrees Celsius."""

    load: float | None
    steal_s: float | None
    frequency_mhz: float | None
    temperature_c: float | None
    governor: str | None


def look() -> MachineState:
    """The state of the machine now."""
    frequency = psutil.cpu_freq()
    return MachineState(
        load=psutil.getloadavg()[0],
        steal_s=getattr(psutil.cpu_times(), "steal", None),
        frequency_mhz=frequency.current if frequency else None,
        temperature_c=_hottest(),
        governor=_CPUFREQ.read_text().strip() if _CPUFREQ.is_file() else None,
    )


def _hottest() -> float | None:
    sensors: Mapping[str, Any] = getattr(psutil, "sensors_temperatures", dict)()
    readings_c = [reading.current for readings in sensors.values() for reading in readings]
    return max(readings_c, default=None)


def flags(states: Sequence[Mapping[str, Any]], cores: int) -> list[str]:
    """Warnings for a reader of the times. ``states`` are in order of time."""
    warnings = []
    loads = [state["load"] for state in states if state["load"] is not None]
    # The bench itself keeps one core busy.
    busy = (max(loads, default=0.0) - 1) / cores
    if busy > LOAD_FLAG:
        warnings.append(
            f"the machine was loaded: {max(loads):.1f} runnable processes on {cores} cores at worst"
        )
    frequencies = [s["frequency_mhz"] for s in states if s["frequency_mhz"]]
    if frequencies and min(frequencies) < 0.9 * max(frequencies):
        warnings.append(f"its clock went from {min(frequencies):.0f} to {max(frequencies):.0f} MHz")
    hottest = max((s["temperature_c"] for s in states if s["temperature_c"] is not None), default=0)
    if hottest > HOT_C:
        warnings.append(f"it was hot: {hottest:.0f} degrees Celsius")
    if states and states[0]["governor"] not in (None, "performance"):
        warnings.append(f"its frequency governor is {states[0]['governor']}, not performance")
    return warnings


def stolen(states: Sequence[Mapping[str, Any]], wall_s: float) -> list[str]:
    """Flagged if the host took time from this machine while it measured for ``wall_s``."""
    known = [state["steal_s"] for state in states if state["steal_s"] is not None]
    if len(known) < 2 or wall_s <= 0 or (known[-1] - known[0]) / wall_s <= STEAL_FLAG:
        return []
    return [f"the host took {known[-1] - known[0]:.1f} s of {wall_s:.0f} s from it"]


def unlike(one: Provenance, other: Provenance) -> list[str]:
    """Why times of two runs cannot be compared; empty if the machines are alike."""
    return [
        f"{what}: {before} and {now}"
        for what, before, now in (
            ("processor", one.cpu_model, other.cpu_model),
            ("cores", one.cpu_cores, other.cpu_cores),
            ("memory in GiB", one.memory_bytes >> 30, other.memory_bytes >> 30),
            ("system", one.os, other.os),
            ("Python", one.python, other.python),
            ("torch", one.torch_version, other.torch_version),
            ("torch build", one.torch_build, other.torch_build),
            ("clock", one.clock_source, other.clock_source),
        )
        if before != now
    ]


def notes(provenance: Provenance, samples: Samples) -> tuple[str, ...]:
    return tuple(_notes(provenance, samples))


def _notes(provenance: Provenance, samples: Samples) -> Iterator[str]:
    yield from flags(samples.states, provenance.cpu_cores)
    yield from stolen(samples.states, samples.spent_s)
    if samples.sessions:
        ready = samples.sessions[-1]["ready"]
        if ready["cold_share"] is None or ready["cold_share"] > COLD_SHARE:
            yield (
                f"load-cold is not cold: {ready['temporary_folder']} keeps files in memory; "
                "set TMPDIR to a folder on a disk"
            )
        if ready["overhead_s"] > OVERHEAD_S:
            yield f"a timed region costs {ready['overhead_s'] * 1e6:.1f} µs of its own"
    if samples.timed_share is not None and samples.timed_share < TIMED_SHARE:
        yield f"only {samples.timed_share:.0%} of the workers' time was inside of timed regions"
