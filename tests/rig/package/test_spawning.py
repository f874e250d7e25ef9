"""The loader of the engine lane starts its processes beforehand, and loses none of them."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import torch

from corpus.case import Inputs
from harness.rig.package.spawning import SpawningLoader

pytestmark = pytest.mark.slow
RELEASE = "2.14.0"


class Doubled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


@pytest.fixture
def loader(toolchain, catalogue) -> Iterator[SpawningLoader]:
    site = toolchain.package_site(catalogue.get(RELEASE))
    made = SpawningLoader({"site": str(site.folder), "release": RELEASE, "builder": "segment"})
    yield made
    made.close()


@pytest.fixture
def archive(tmp_path) -> Path:
    path = tmp_path / "program.pt2"
    torch.export.save(torch.export.export(Doubled(), (torch.ones(3),)), path)
    return path


def loads(loader: SpawningLoader, archive: Path) -> bool:
    loaded = loader.load(archive, [Inputs((torch.ones(3),))])
    assert loaded.results is not None, loaded.ended
    return bool(torch.equal(loaded.results.returned[0], torch.full((3,), 2.0)))


def test_each_archive_is_loaded_by_another_process(loader, archive):
    first = loader._next.pid
    assert loads(loader, archive)
    assert loader._next.pid != first
    assert loads(loader, archive)


def test_a_process_that_ended_before_it_was_asked_is_no_verdict_on_the_archive(loader, archive):
    os.kill(loader._next.pid, signal.SIGKILL)
    loader._next.wait()
    assert loads(loader, archive)


def test_where_no_process_begins_to_load_nothing_is_told_of_the_archive(archive):
    nobody = SpawningLoader({"site": "/no/site", "release": RELEASE, "builder": "segment"})
    with pytest.raises(RuntimeError, match="no process begins to load: exit code 1"):
        nobody.load(archive, [])
    nobody.close()


def test_the_process_that_nobody_took_ends_with_the_loader(loader):
    process = psutil.Process(loader._next.pid)
    loader.close()
    assert not process.is_running()
