"""What users saw on their own GPUs: one small file for each check, which they may contribute.

A file says which package ran on which GPU, how each call of a model ended, and which known defects
showed. Of the model it holds a digest of its graph's structure, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from harness.base.errors import UsageError
from harness.base.files import replace_file

SCHEMA: Final = 1
#: Where contributed files lie, from the project's root.
CONTRIBUTED: Final = Path("results") / "evidence"


@dataclass(frozen=True)
class GpuEvidence:
    """What one check on a GPU showed.

    Attributes:
        structure: a digest of the ops and wires of the model's graph.
        calls: by the user's call, how it ended.
        defects: the ids of the known defects that showed, each with the calls that showed it.
    """

    release: str
    torch: str
    tensorrt: str
    gpu: str
    driver: str
    day: str
    structure: str
    calls: Mapping[str, str]
    defects: Mapping[str, list[str]]

    @property
    def told(self) -> str:
        """Such as ``NVIDIA L4, torch_tensorrt 2.14.0 with TensorRT 10.13``."""
        return f"{self.gpu}, torch_tensorrt {self.release} with TensorRT {self.tensorrt}"


def write_evidence(place: Path, evidence: GpuEvidence) -> None:
    """Write one file."""
    data = json.dumps({"schema": SCHEMA, **asdict(evidence)}, indent=1, ensure_ascii=False)
    replace_file(place, f"{data}\n".encode())


def contributed(folder: Path) -> tuple[GpuEvidence, ...]:
    """The files of a folder, in the order of their names; none where there is no such folder.

    Raises:
        UsageError: a file is damaged, or of another schema.
    """
    return tuple(_read(file) for file in sorted(folder.glob("*.json")))


def _read(file: Path) -> GpuEvidence:
    try:
        data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if data.pop("schema") != SCHEMA:
            raise UsageError(f"{file}: is of another schema than {SCHEMA}")
        return GpuEvidence(**data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{file}: no evidence of a check, or damaged: {error}") from error


def seen_on_gpus(evidence: tuple[GpuEvidence, ...], defect: str) -> Iterator[str]:
    """Where a defect was seen, each once."""
    yield from dict.fromkeys(each.told for each in evidence if defect in each.defects)
