"""What the rig's Python has. A subprocess tells, because the controller does not import torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.base.errors import SurroundingsError
from harness.base.process import TookTooLong, run
from harness.wire.record_json import decode

PROJECT_ROOT: Final = Path(__file__).resolve().parents[2]
QUESTIONS_MODULE: Final = "harness.rig.questions"
_START: Final = PROJECT_ROOT / "harness" / "rig" / "start.py"
_PROBE_TIMEOUT_S: Final = 300.0


def rig_command(python: str, module: str, *arguments: str) -> list[str]:
    """Runs a module of ours in a Python, whatever is called `harness` or `corpus` there."""
    return [python, "-P", str(_START), module, *arguments]


@dataclass(frozen=True)
class EnvironmentFacts:
    """What `harness.rig.questions.environment.probe` found; its fields are the probe's keys."""

    python_version: str
    platform: str
    torch_version: str
    torch_git_version: str
    torch_cuda: str | None  # the CUDA that torch was built with; None for a CPU build
    cxx11_abi: bool
    include_paths: tuple[str, ...]
    library_path: str
    threads: int
    cpu_capability: str = ""  # whose kernels torch takes, such as AVX2
    deciding: Mapping[str, str] = field(default_factory=dict)  # a verdict, by name
    real_tensorrt: tuple[str, ...] = ()  # what of TensorRT can be imported there

    @property
    def interpreter(self) -> str:
        """The tag of this Python in a wheel's name, such as ``cp311``."""
        return "cp" + "".join(self.python_version.split(".")[:2])

    @property
    def torch_build(self) -> str:
        """``cpu`` or, for instance, ``cuda 13.0``."""
        return f"cuda {self.torch_cuda}" if self.torch_cuda else "cpu"


def probe(python: str) -> EnvironmentFacts:
    """Ask a Python for its facts."""
    try:
        done = run(
            rig_command(python, QUESTIONS_MODULE),
            folder=PROJECT_ROOT,
            stdin=json.dumps({"question": "probe"}),
            timeout_s=_PROBE_TIMEOUT_S,
            if_missing="name a Python that has torch",
        )
    except TookTooLong as error:
        raise SurroundingsError(
            f"{python}: importing torch took over {_PROBE_TIMEOUT_S:.0f} s",
            f"run `{python} -c 'import torch'` to see why",
        ) from error
    if "No module named 'torch'" in done.complaint:
        raise SurroundingsError(
            f"{python}: torch is not installed",
            "run through nox, which installs it, or install inliner-regress[pinned]",
        )
    if done.code != 0:
        raise SurroundingsError(f"{python}: the probe of torch failed: {done.last_words}")
    return facts_in(python, done.printed)


def facts_in(python: str, stdout: str) -> EnvironmentFacts:
    """The facts that a probe printed."""
    try:
        # The last line only: an import may have printed something of its own before it.
        return decode(EnvironmentFacts, json.loads(stdout.strip().splitlines()[-1]))
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise SurroundingsError(
            f"{python}: the probe's answer cannot be read ({error!r})",
            "check whether another checkout of the harness comes first on its path",
        ) from error
