"""What a site folder says of itself, in `site.json`, which the controller wrote into it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

SITE_FILE = "site.json"


@dataclass(frozen=True)
class Site:
    """A `PackageSite`, as the rig sees it."""

    folder: Path
    release: str
    builder: str
    tensorrt: str  # the version that is in it
    slots: int
    abi: str
    libraries: Path | None  # a second folder for sys.path; None where stand-ins do
    engines: Path | None = None  # where built engines are kept; None to keep none

    @property
    def runtime(self) -> Path:
        return self.folder / "torch_tensorrt" / "lib" / "libtorchtrt_runtime.so"


def read_site(folder: Path, engines: Path | None = None) -> Site:
    """Raises OSError or KeyError if the folder is no site."""
    said = json.loads((folder / SITE_FILE).read_text(encoding="utf-8"))
    return Site(
        folder=folder,
        release=said["release"],
        builder=said["builder"],
        tensorrt=said["tensorrt_running"],
        slots=said["slots"],
        abi=said["abi"],
        libraries=folder.parent / said["libraries"] if said["libraries"] else None,
        engines=engines,
    )
