"""What a cell's record is a function of: the key under which it is kept, each ingredient by name.

Everything that may matter is in it. What is too much costs a cell that is asked again; what is
missing would let a wrong verdict be served, which is why every run asks some kept cells again.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Final

from harness.base.errors import SurroundingsError
from harness.base.files import sha256_of
from harness.runs.plan import PlannedCell
from harness.runs.provenance import Provenance
from harness.subjects.packages import Sites
from harness.toolchain import PackageSite, Toolchain
from harness.toolchain.cache import guarded
from harness.toolchain.deciding import VARIABLES, ImportsFromElsewhere, machine_facts
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.fingerprint import FileState, digest_of_content, signature_of, states_of
from harness.toolchain.rig_client import Corpus
from harness.wire.builders import EMULATED
from harness.wire.record_json import SCHEMA, key_to_json, to_json
from harness.wire.records import SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import SubjectKind
from harness.workers.process import WARM_RIG

#: What runs and judges a cell, and what starts the process that does. Of the corpus it is what the
#: rig itself uses: a case counts for what it reaches, and need not reach that.
JUDGES: Final = (
    "harness/rig", "harness/wire", "harness/workers", "harness/base/process.py",
    "corpus/blueprints", "corpus/case.py", "corpus/elsewhere.py", "corpus/leaves.py",
    "corpus/models_file.py", "corpus/op_names.py",
    "corpus/drawn/model.py", "corpus/drawn/model_case.py", "corpus/user_model.py",
    "corpus/user_inputs.py",
)  # fmt: skip
#: Of a subject, what the rig is told of it that decides nothing, or only which cells there are.
_UNTOLD: Final = (
    "wheel_path", "exporter_path", "checkout", "held_against", "packages", "unavailable",
)  # fmt: skip
_SECRET: Final = ("AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN")


class NothingKept(Exception):
    """Why nothing can be kept of a run, nor served to it."""


@dataclass(frozen=True)
class Ingredients:
    """All that a run's cells are functions of, beside their coordinates; each value is text.

    Attributes:
        common: of all cells.
        graph: of those of the graph lane alone.
        cases: by case, its code and what that imports.
        subjects: by subject, what its inliner is made of.
        packages: by subject and builder, the package and its TensorRT.
        sources: what is read in a process of each worker, to see whether it changed meanwhile.
    """

    common: Mapping[str, str]
    graph: Mapping[str, str]
    cases: Mapping[str, str]
    subjects: Mapping[str, str]
    packages: Mapping[tuple[str, str], str]
    sources: tuple[Path, ...] = ()
    signature: str = field(default="", compare=False)

    def key(self, cell: PlannedCell) -> bytes | None:
        """SHA-256 of the key of a cell; None for one that is never kept.

        Real engines on a GPU depend on more than is known here, and so does a case of which the
        corpus does not tell its code.
        """
        key = cell.key
        case, subject = self.cases.get(key.case), self.subjects.get(key.subject)
        if not cell.executed or case is None or subject is None or key.executor != EMULATED:
            return None
        if key.lane == Lane.GRAPH:
            lane = self._of_graph
        elif key.lane == Lane.PACKAGE and (key.subject, key.builder) in self.packages:
            lane = f"{self._of_all} {self.packages[key.subject, key.builder]}"
        else:
            return None
        parts = (key_to_json(key), cell.hypothetical, case, subject, lane)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()

    @functools.cached_property
    def _of_all(self) -> str:
        return _digest(self.common)

    @functools.cached_property
    def _of_graph(self) -> str:
        return f"{self._of_all} {_digest(self.graph)}"

    @property
    def unchanged(self) -> bool:
        """Whether nobody wrote to what workers read since these ingredients were collected."""
        try:
            return self.signature == signature_of(
                chain.from_iterable(_look_at(self.sources).values())
            )
        except SurroundingsError:  # something of it is gone
            return False


def part_of(cell: PlannedCell) -> str:
    """The part of the store that a cell belongs to, which is emptied as a whole."""
    key = cell.key
    if key.lane == Lane.GRAPH:
        return f"the graph lane in {key.environment}"
    return f"{key.subject} with {key.builder} in {key.environment}"


def collect(
    toolchain: Toolchain,
    corpus: Corpus,
    subjects: Sequence[SubjectSpec],
    sites: Sites,
    *,
    seed: int,
    share: bool,
    graph: bool,
) -> Ingredients:
    """Everything that the cells of a run are functions of, as it is now.

    Args:
        graph: whether there are cells of the graph lane, which need the emulated runtime.

    Raises:
        NothingKept: something that decides cannot be known here.
    """
    if corpus.places or not corpus.case_digests:
        raise NothingKept("cases from elsewhere may read files that nobody knows of")
    if toolchain.python != sys.executable:
        raise NothingKept(f"{toolchain.python} is not the Python that this is run with")
    judges = [PROJECT_ROOT / name for name in JUDGES]
    try:
        libraries = toolchain.installed_in
    except ImportsFromElsewhere as reason:
        raise NothingKept(str(reason)) from reason
    wheels = {Path(spec.wheel_path) for spec in subjects if spec.wheel_path is not None}
    wheels = {wheel for wheel in wheels if wheel.is_file()}
    made = [folder for site in sites.values() for folder in site.folders]
    sources = [PROJECT_ROOT / "corpus", *judges, *libraries, *sorted(wheels), *made]
    looked = _look_at(sources)
    installed = toolchain.installed(looked)
    toolchain.keep_facts()
    facts = toolchain.python_env()
    common = {
        "records": str(SCHEMA),
        "seed": str(seed),
        "judges": digest_of_content(judges, toolchain.cache, looked),
        **machine_facts(facts, installed, os.environ),
    }
    native = toolchain.emulated_runtime() if graph else None
    return Ingredients(
        common=common,
        graph={
            "shared": str(share),
            "native runtime": sha256_of(native) if native else "",
        },
        cases=corpus.case_digests,
        subjects={spec.subject: _told(spec) for spec in subjects if not spec.unavailable},
        packages={of: _package(made, toolchain.cache, looked) for of, made in sites.items()},
        sources=tuple(sources),
        signature=signature_of(chain.from_iterable(looked.values())),
    )


def surroundings(provenance: Provenance) -> dict[str, str]:
    """What is known of a run and is not in the key: what the key may miss when it misses something.

    Of variables it is a digest, and those that look like secrets are left out.
    """
    facts = {
        "operating system": provenance.os,
        "processors": str(provenance.cpu_cores),
        "memory": str(provenance.memory_bytes),
        "GPU": provenance.gpu or "none",
        "harness commit": f"{provenance.harness_commit}, dirty: {provenance.harness_dirty}",
        "checkout": hashlib.sha256(str(PROJECT_ROOT).encode()).hexdigest()[:8],
        "user": str(os.getuid()),
    }
    for name, value in os.environ.items():
        known = name.startswith(VARIABLES) or name == WARM_RIG
        if not known and not any(word in name.upper() for word in _SECRET):
            facts[f"variable {name}"] = hashlib.sha256(value.encode()).hexdigest()[:8]
    return facts


def _told(spec: SubjectSpec) -> str:
    told = {name: value for name, value in to_json(spec).items() if name not in _UNTOLD}
    if spec.kind is not SubjectKind.RELEASE and spec.wheel_path is not None:
        # Not held against the catalogue's hash, as that of a release is.
        told["wheel"] = sha256_of(Path(spec.wheel_path))
    return json.dumps(told, sort_keys=True)


def _package(made: PackageSite, cache: Path, looked: Mapping[Path, list[FileState]]) -> str:
    described = {
        name: str(value) for name, value in dataclasses.asdict(made).items() if name != "folder"
    }
    described["made of"] = made.folder.name
    described["content"] = digest_of_content(made.folders, cache, looked)
    return json.dumps(described, sort_keys=True)


def _look_at(sources: Iterable[Path]) -> dict[Path, list[FileState]]:
    with guarded(PROJECT_ROOT, "what a run reads has to be readable"):
        return {source: states_of(source) for source in sources}


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=dict)
    return hashlib.sha256(text.encode()).hexdigest()
