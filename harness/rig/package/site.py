"""A package site as the rig sees it: `site.json`, which the controller wrote into its folder."""

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
    fields = json.loads((folder / SITE_FILE).read_text(encoding="utf-8"))
    return Site(
        folder=folder,
        release=fields["release"],
        builder=fields["builder"],
        tensorrt=fields["tensorrt_running"],
        slots=fields["slots"],
        abi=fields["abi"],
        libraries=folder.parent / fields["libraries"] if fields["libraries"] else None,
        engines=engines,
    )
