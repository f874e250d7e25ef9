"""A record is found under its key alone: each ingredient, changed by itself, is a miss."""

import ast
import dataclasses
import json
import os
import platform
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from harness.catalogue.releases import load_catalogue
from harness.run import kept_key
from harness.run.kept_key import NothingKept, collect, part_of, surroundings
from harness.runs.kept_store import Entry, KeptRun, KeptStore
from harness.runs.plan import PlannedCell
from harness.subjects.specs import release_subject
from harness.toolchain import EnvironmentFacts, PackageSite, deciding
from harness.toolchain.deciding import (
    ImportsFromElsewhere,
    deciding_variables,
    import_folders,
    refuse_editable,
)
from harness.toolchain.fingerprint import digest_of_content
from harness.toolchain.rig_client import Corpus
from harness.wire.builders import CUDA, Builder, Environment
from harness.wire.records import CellKey, PackageSpec, SubjectSpec
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import SubjectKind
from tests.record_builders import record

FACTS = EnvironmentFacts(
    python_version="3.11.7",
    platform="Linux",
    torch_version="2.13.0",
    torch_git_version="abc",
    torch_cuda=None,
    cxx11_abi=True,
    include_paths=(),
    library_path="",
    threads=2,
    cpu_capability="AVX2",
)


@dataclasses.dataclass
class Machine:
    """Everything that a key is made of, in a folder of its own, to be changed."""

    folder: Path
    facts: EnvironmentFacts = FACTS
    corpus: Corpus = dataclasses.field(
        default_factory=lambda: Corpus((), "whole", case_digests={"a": "code of a"})
    )
    spec: SubjectSpec = dataclasses.field(
        default_factory=lambda: dataclasses.replace(
            release_subject(load_catalogue().get("2.13.0"), None, "no wheel"), unavailable=""
        )
    )
    site: PackageSite | None = None
    seed: int = 0
    share: bool = True
    python: str = sys.executable
    cell: PlannedCell = dataclasses.field(
        default_factory=lambda: PlannedCell(
            CellKey("a", "nonstrict", "2.13.0", Route.EXPORT), False, "2.13.0"
        )
    )

    @property
    def cache(self):
        return self.folder / "cache"

    def installed(self, looked):
        return digest_of_content(self.installed_in, self.cache, looked)

    @property
    def installed_in(self):
        return [self.folder / "site-packages"]

    def keep_facts(self):
        pass

    def python_env(self):
        return self.facts

    def emulated_runtime(self):
        return self.folder / "runtime.so"

    def collected(self):
        sites = {} if self.site is None else {("2.13.0", "segment"): self.site}
        return collect(
            self,
            self.corpus,
            [self.spec],
            sites,
            seed=self.seed,
            share=self.share,
            graph=True,
        )

    @property
    def key(self):
        return self.collected().key(self.cell)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    made = Machine(tmp_path)
    for name in ("corpus", *kept_key.JUDGES):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix:
            path.write_text("source")
        else:
            path.mkdir(exist_ok=True)
            (path / "module.py").write_text("source")
    (tmp_path / "harness" / "rig" / "runtime.cpp").write_text("native source")
    (tmp_path / "runtime.so").write_bytes(b"native")
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "torch.py").write_text("torch")
    (tmp_path / "packages" / "made").mkdir(parents=True)
    (tmp_path / "packages" / "libraries").mkdir()
    (tmp_path / "packages" / "libraries" / "rtx.so").write_text("TensorRT")
    (tmp_path / "packages" / "made" / "compile.py").write_text("upstream")
    (tmp_path / "packages" / "made" / "site.json").write_text('{"libraries": "libraries"}')
    monkeypatch.setattr(kept_key, "PROJECT_ROOT", tmp_path)
    return made


@pytest.fixture
def packaged(machine):
    machine.site = PackageSite(
        machine.folder / "packages" / "made", "2.13.0", "segment", "10.13", "10.13"
    )
    machine.cell = PlannedCell(
        dataclasses.replace(machine.cell.key, lane=Lane.PACKAGE), False, "2.13.0"
    )
    return machine


def edited(*parts):
    def edit(machine, _):
        path = machine.folder.joinpath(*parts)
        path.write_text(path.read_text() + "\n# edited")

    return edit


def added(*parts):
    return lambda machine, _: machine.folder.joinpath(*parts).write_text("new")


def other(**fields):
    def change(machine, _):
        for name, value in fields.items():
            setattr(machine, name, value)

    return change


def fact(**fields):
    return lambda machine, _: setattr(
        machine, "facts", dataclasses.replace(machine.facts, **fields)
    )


def told(**fields):
    return lambda machine, _: setattr(machine, "spec", dataclasses.replace(machine.spec, **fields))


def coordinate(**fields):
    def change(machine, _):
        key = dataclasses.replace(machine.cell.key, **fields)
        machine.cell = dataclasses.replace(machine.cell, key=key)

    return change


def variable(name):
    return lambda _, monkeypatch: monkeypatch.setenv(name, "17")


def processor(_, monkeypatch):
    monkeypatch.setattr(deciding, "processor", lambda: "another")


IN_COMMON = {
    "a source of the rig": edited("harness", "rig", "module.py"),
    "native source": edited("harness", "rig", "runtime.cpp"),
    "a new source of the rig": added("harness", "rig", "more.py"),
    "a source of wire": edited("harness", "wire", "module.py"),
    "a source of the workers": edited("harness", "workers", "module.py"),
    "how a process is started": edited("harness", "base", "process.py"),
    "what the rig itself uses of the corpus": edited("corpus", "op_names.py"),
    "the case's code": other(corpus=Corpus((), "whole", case_digests={"a": "edited"})),
    "the seed": other(seed=1),
    "an installed package": edited("site-packages", "torch.py"),
    "a new package": added("site-packages", "sympy.py"),
    "torch's version": fact(torch_version="2.14.0"),
    "torch's commit": fact(torch_git_version="def"),
    "torch's build": fact(torch_cuda="13.0"),
    "what torch sees of the processor": fact(cpu_capability="AVX512"),
    "the processor": processor,
    "threads": variable("OMP_NUM_THREADS"),
    "a variable of torch": variable("TORCH_LOGS"),
    "the kernels that torch takes": variable("ATEN_CPU_CAPABILITY"),
    "a preloaded library": variable("LD_PRELOAD"),
    "how torch.fx traces": variable("FX_PATCH_GETITEM"),
    "how many processes torch_tensorrt believes in": variable("WORLD_SIZE"),
    "Python": lambda _, monkeypatch: monkeypatch.setattr(sys, "version", "3.12.1"),
    "the platform": lambda _, monkeypatch: monkeypatch.setattr(
        platform, "machine", lambda: "aarch64"
    ),
    "libc": lambda _, monkeypatch: monkeypatch.setattr(
        platform, "libc_ver", lambda: ("glibc", "2.99")
    ),
    "records' schema": lambda _, monkeypatch: monkeypatch.setattr(kept_key, "SCHEMA", 99),
    "the inliner": told(inliner_id="another"),
    "the wheel": told(wheel_sha256="another"),
    "the release": told(release="2.13.1"),
    "the kind of subject": told(kind=SubjectKind.FILE),
    "the routes": told(routes=(Route.EXPORT,)),
    "which routes are hypothetical": told(hypothetical_routes=(Route.LEGACY,)),
    "the route": coordinate(route=Route.DIRECT),
    "the capture": coordinate(capture="strict"),
    "the environment": coordinate(environment=Environment("torch-2.14.0")),
    "whether the cell is hypothetical": lambda machine, _: setattr(
        machine, "cell", dataclasses.replace(machine.cell, hypothetical=True)
    ),
}
IN_GRAPH = {
    "sharing": other(share=False),
    "the native runtime": edited("runtime.so"),
    "the exporter's file": told(exporter_sha256="another"),
}
IN_PACKAGE = {
    "a source of the package": edited("packages", "made", "compile.py"),
    "the real libraries": edited("packages", "libraries", "rtx.so"),
    "the TensorRT that runs": lambda machine, _: setattr(
        machine, "site", dataclasses.replace(machine.site, tensorrt_running="10.14")
    ),
}


def is_missed(machine, monkeypatch, change):
    store = KeptStore(machine.folder / "kept")
    before = machine.key
    found = record(machine.cell.key)
    store.keep(KeptRun("run", 1.0, {}), [Entry(before, part_of(machine.cell), found)])
    assert machine.key == before, "the key of what has not changed is not the same"
    assert store.take({machine.key: machine.cell.key}).records
    change(machine, monkeypatch)
    assert not store.take({machine.key: machine.cell.key}).records


@pytest.mark.parametrize("change", (IN_COMMON | IN_GRAPH).values(), ids=IN_COMMON | IN_GRAPH)
def test_a_changed_ingredient_of_a_cell_of_the_graph_lane_is_a_miss(machine, monkeypatch, change):
    is_missed(machine, monkeypatch, change)


IN_BOTH = {"what both lanes have": IN_COMMON["the seed"]}


@pytest.mark.parametrize("change", (IN_BOTH | IN_PACKAGE).values(), ids=IN_BOTH | IN_PACKAGE)
def test_a_changed_ingredient_of_a_cell_of_a_package_is_a_miss(packaged, monkeypatch, change):
    is_missed(packaged, monkeypatch, change)


def test_every_ingredient_that_a_key_has_is_changed_above(packaged):
    found = packaged.collected()
    assert set(found.common) == {
        "records", "seed", "judges", "Python", "platform", "torch", "installed", "processor",
        "variables",
    }  # fmt: skip
    assert set(found.graph) == {"shared", "native runtime"}
    fields = {field.name for field in dataclasses.fields(SubjectSpec)}
    assert set(json.loads(found.subjects["2.13.0"])) == fields - set(kept_key._UNTOLD) | {"schema"}


def test_what_decides_nothing_is_in_no_key(machine, monkeypatch):
    before = machine.key
    machine.spec = dataclasses.replace(
        machine.spec,
        wheel_path="/another/place.whl",
        packages=(PackageSpec(Builder("segment"), (Route.COMPILE,)),),
    )
    monkeypatch.setenv("SSH_CONNECTION", "17")
    cached = machine.folder / "site-packages" / "__pycache__"
    cached.mkdir()
    (cached / "torch.pyc").write_text("bytecode")
    os.utime(machine.folder / "site-packages" / "torch.py")
    assert machine.key == before


@pytest.mark.parametrize(
    "change",
    [
        coordinate(executor=CUDA, lane=Lane.ENGINE),
        coordinate(case="unknown"),
        coordinate(subject="unknown"),
        lambda machine, _: setattr(
            machine, "cell", dataclasses.replace(machine.cell, unsupported="no wheel")
        ),
        lambda machine, _: setattr(
            machine, "cell", dataclasses.replace(machine.cell, measured_as="2.12.1")
        ),
    ],
    ids=["on a GPU", "unknown code", "unknown subject", "unsupported", "a copy"],
)
def test_a_cell_of_which_not_everything_is_known_has_no_key(machine, monkeypatch, change):
    change(machine, monkeypatch)
    assert machine.key is None


def test_of_cases_from_elsewhere_nothing_is_kept(machine):
    machine.corpus = dataclasses.replace(machine.corpus, places=("cases.py",))
    with pytest.raises(NothingKept, match="elsewhere"):
        machine.collected()


def test_of_another_python_nothing_is_kept(machine):
    machine.python = "/another/python"
    with pytest.raises(NothingKept, match="another"):
        machine.collected()


def test_where_python_imports_from_a_place_that_may_change_nothing_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ImportsFromElsewhere, match=str(tmp_path)):
        import_folders()
    monkeypatch.delenv("PYTHONPATH")
    assert any((folder / "torch").is_dir() for folder in import_folders())


@pytest.mark.parametrize(
    ("url", "refused"),
    [("file:///elsewhere/transformers", True), (kept_key.PROJECT_ROOT.as_uri(), False)],
)
def test_a_package_that_is_installed_to_be_edited_is_no_installed_package(tmp_path, url, refused):
    info = tmp_path / "transformers-5.0.dist-info"
    info.mkdir()
    told = {"url": url, "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(told))
    if refused:
        with pytest.raises(ImportsFromElsewhere, match="is installed from file:///else"):
            refuse_editable([tmp_path])
    else:
        refuse_editable([tmp_path])


def test_the_packages_of_the_python_below_a_virtual_environment_count(monkeypatch, tmp_path):
    venv.create(tmp_path, system_site_packages=True)
    below = Path(sysconfig.get_path("stdlib")) / "site-packages"
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    assert below.resolve() in import_folders()


def test_what_the_rig_itself_uses_of_the_corpus_counts_for_every_case():
    rig = kept_key.PROJECT_ROOT / "harness" / "rig"
    judging = [
        path
        for path in rig.rglob("*.py")
        if path.relative_to(rig).parts[0] not in ("questions", "bench", "reproduce")
    ]
    used = {
        f"{node.module.replace('.', '/')}.py"
        for path in judging
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("corpus.")
    }
    assert used
    judges = set(kept_key.JUDGES)
    assert not {file for file in used if not judges & {file, str(Path(file).parent)}}


@pytest.mark.parametrize("place", ["site-packages/torch.py", "packages/made/compile.py"])
def test_a_package_that_is_installed_anew_while_cells_run_is_noticed(packaged, place):
    found = packaged.collected()
    assert found.unchanged
    path = packaged.folder / place
    path.write_text("another release")
    assert not found.unchanged
    path.unlink()
    assert not found.unchanged


def test_sources_that_were_written_to_are_noticed_even_if_they_are_as_before(machine):
    found = machine.collected()
    assert found.unchanged
    path = machine.folder / "corpus" / "module.py"
    text, times = path.read_text(), path.stat()
    path.write_text("edited")
    path.write_text(text)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert not found.unchanged
    assert machine.collected().key(machine.cell) == found.key(machine.cell)


def test_secrets_are_in_no_surroundings(monkeypatch):
    from tests.record_builders import provenance

    monkeypatch.setenv("MY_API_TOKEN", "hidden")
    monkeypatch.setenv("MY_PLACE", "shown")
    facts = surroundings(provenance())
    assert "variable MY_PLACE" in facts
    assert "shown" not in facts.values()
    assert not any("TOKEN" in name for name in facts)


def test_a_variable_that_decides_is_known_by_how_it_begins():
    assert deciding_variables({"MKL_CBWR": "AVX2", "HOME": "/home"}) == {"MKL_CBWR": "AVX2"}
