"""What decides how a process of the rig computes: what is installed, the processor, variables.

All of it is told without importing torch, which takes as long as all else of a short command.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import site
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from harness.base.files import digest_of
from harness.base.process import run
from harness.toolchain.environment import PROJECT_ROOT, EnvironmentFacts

#: How the names of variables begin that may decide what Python, torch and its libraries compute.
VARIABLES: Final = (
    "ACL_", "AOT", "ATEN_", "BLIS_", "CI_BUILD", "CPU_", "CUBLAS", "CUDA", "CUDNN", "DNNL_",
    "FAKE_", "FLEXIBLAS", "FORCE_", "FX_", "GLIBC_", "GOMP_", "GOTO_", "HF_", "INDUCTOR",
    "KINETO", "KMP_", "LANG", "LC_", "LD_", "MALLOC_", "MKL_", "MPMATH", "NCCL", "NNPACK", "NPY",
    "NUMEXPR", "NUMPY", "NVIDIA", "OMP_", "ONEDNN", "OPENBLAS", "PARTITIONER", "PYTHON",
    "PYTORCH", "RANK", "SAFETENSORS", "SLEEF", "SYMPY", "TBB_", "TENSORIFY", "TENSORRT",
    "TOKENIZERS", "TORCH", "TRANSFORMERS", "TRITON", "TRT", "TZ", "USE_", "VECLIB", "WORLD_SIZE",
    "XNNPACK", "_SPLITTER",
)  # fmt: skip
_IN_PROCESSOR: Final = ("vendor_id", "cpu family", "model", "model name", "flags", "Features")


class ImportsFromElsewhere(Exception):
    """A Python imports from where nobody says whether it has changed."""


def deciding_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those variables that may decide what is computed."""
    return {name: environment[name] for name in environment if name.startswith(VARIABLES)}


def machine_facts(
    facts: EnvironmentFacts, installed: str, environment: Mapping[str, str]
) -> dict[str, str]:
    """The facts about this machine and this Python that decide every verdict, each as text.

    Args:
        installed: the digest of what is in `import_folders`.
        environment: the variables that count.
    """
    return {
        "Python": f"{sys.implementation.name} {sys.version}",
        "platform": f"{sys.platform} {platform.machine()} {' '.join(platform.libc_ver())}",
        "torch": f"{facts.torch_version} {facts.torch_git_version} {facts.torch_build}",
        "installed": installed,
        "processor": f"{facts.cpu_capability} {processor()}",
        "variables": json.dumps(deciding_variables(environment), sort_keys=True),
    }


def import_folders() -> list[Path]:
    """The folders of installed packages that a process of the rig imports from.

    Raises:
        ImportsFromElsewhere: it imports from elsewhere, and nobody says whether that has changed.
    """
    asked = [sys.executable, "-P", "-c", "import json, sys; print(json.dumps(sys.path))"]
    done = run(asked, folder=PROJECT_ROOT)
    if done.code != 0:
        raise ImportsFromElsewhere(f"{sys.executable} does not tell where it imports from")
    paths = [Path(entry).resolve() for entry in json.loads(done.printed)]
    places = {name: Path(sysconfig.get_path(name)).resolve() for name in _PLACES}
    pythons_own = {places["stdlib"], places["platstdlib"]}
    installed = {places["purelib"], places["platlib"]}
    if site.ENABLE_USER_SITE:
        installed.add(Path(site.getusersitepackages()).resolve())
    # A virtual environment may see the packages of the Python that it was made with.
    installed |= {path for path in paths if path.name in ("site-packages", "dist-packages")}
    for path in paths:
        known = path in installed or path == PROJECT_ROOT or path in pythons_own
        if path.exists() and not known and path.parent not in pythons_own:
            raise ImportsFromElsewhere(
                f"Python imports from {path}, too, and what is there may change"
            )
    found = [path for path in dict.fromkeys(paths) if path in installed and path.exists()]
    refuse_editable(found)
    return found


def refuse_editable(folders: Iterable[Path]) -> None:
    """Raises ImportsFromElsewhere where pip only points to a package's code, by no path either."""
    for told in (path for folder in folders for path in folder.glob("*.dist-info/direct_url.json")):
        where = json.loads(told.read_text(encoding="utf-8"))
        editable = where.get("dir_info", {}).get("editable", False)
        if editable and where["url"].rstrip("/") != PROJECT_ROOT.as_uri():
            raise ImportsFromElsewhere(
                f"{told.parent.stem} is installed from {where['url']} to be edited"
            )


def facts_key(installed: str) -> str:
    """SHA-256, as hex, of all that the answer to `probe` can depend on.

    Args:
        installed: the digest of what is in `import_folders`.
    """
    parts = (
        installed,
        sys.executable,
        sys.version,
        processor(),
        str(sorted(deciding_variables(os.environ).items())),
        str([str(folder) for folder in import_folders()]),
        str(os.cpu_count()),
        digest_of([PROBE]),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


PROBE: Final = PROJECT_ROOT / "harness" / "rig" / "questions"
_PLACES: Final = ("stdlib", "platstdlib", "purelib", "platlib")


def processor() -> str:
    """What libraries ask of the processor when they choose how to compute."""
    found: dict[str, str] = {}
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in _IN_PROCESSOR:
            found.setdefault(name.strip(), " ".join(sorted(value.split())))
    return json.dumps(found, sort_keys=True)
