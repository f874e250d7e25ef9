"""A run on a cluster of four nodes, of which one is killed, as its driver is: as a run at home."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from ray._private.node import Node
from ray.cluster_utils import Cluster

from harness.base.errors import SurroundingsError
from harness.cli.clusters import workers_on
from harness.runs.run_folder import RunFolder
from harness.toolchain.cache import KEPT
from harness.toolchain.environment import PROJECT_ROOT
from harness.workers.ray_cluster import CACHE, PYTHON
from tests.commands import python
from tests.test_end_to_end import harness, table

SMALL = {"object_store_memory": 80 * 2**20}
CASES = "no_child or size_into or only_the_last or half_of_a or star_arguments or outputs_of_three"
#: Some cases, for two of the four nodes at a time: each node's first worker imports torch.
ASKED = ("run", "--quick", "--releases", "2.14.0", "-k", CASES, "--jobs", "2")
#: A test that waits longer has found a wait without an end.
MOST_S = 240.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Four nodes of one processor; what each starts workers with is the Python of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PYTHON, sys.executable)
        patch.setenv(CACHE, str(PROJECT_ROOT / ".cache"))
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")
        head = {"num_cpus": 0, "include_dashboard": False, **SMALL}
        made = Cluster(initialize_head=True, head_node_args=head)
        for _ in range(4):
            made.add_node(num_cpus=1, **SMALL)
        yield made
        made.shutdown()


def start(*arguments: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "harness", *map(str, arguments)],
        cwd=PROJECT_ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ),
    )


def ended(out: Path) -> int:
    """How many cells of the newest run have ended."""
    journal = out / "latest" / "journal.jsonl"
    return len(journal.read_bytes().splitlines()) if journal.exists() else 0


def wait_until(happened: Callable[[], object], driver: subprocess.Popen[bytes]) -> None:
    """Wait until something is true, which has to be while the driver runs."""
    deadline = time.monotonic() + MOST_S
    while not happened():
        assert driver.poll() is None, driver.stderr.read().decode()
        assert time.monotonic() < deadline
        time.sleep(0.1)


def node_at_work(cluster: Cluster) -> Node:
    """A node under whose raylet a worker of ours runs."""
    for node in cluster.worker_nodes:
        (raylet,) = node.all_processes["raylet"]
        for process in psutil.Process(raylet.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # it just ended
                if any("harness/rig" in part for part in process.cmdline()):
                    return node
    raise AssertionError("no worker runs")


def test_a_driver_that_is_killed_and_a_node_that_dies_leave_the_table_of_a_run_at_home(
    cluster, tmp_path
):
    there, here = tmp_path / "there", tmp_path / "here"
    on = ("--on", f"ray://{cluster.address}")
    with start(*ASKED, *on, "--out", there) as driver:
        try:
            wait_until(lambda: ended(there) >= 4, driver)
        finally:
            driver.send_signal(signal.SIGKILL)
    before = ended(there)

    with start("run", "--resume", "latest", *on, "--out", there) as driver:
        try:
            wait_until(lambda: ended(there) > before, driver)
            cluster.remove_node(node_at_work(cluster), allow_graceful=False)
            printed, complaint = driver.communicate(timeout=MOST_S)
        finally:
            driver.kill()
    assert driver.returncode == 0, complaint.decode()

    code, said, _ = harness(*ASKED, "--out", here)
    assert code == 0
    assert table(there / "latest") == table(here / "latest")
    first = said.splitlines()[0]
    assert printed.decode().splitlines()[0] == first
    journal = RunFolder.open("latest", there).journal().payloads
    asked = [tuple(line["key"].values()) for line in journal]
    assert len(asked) == len(set(asked)), "a cell ended twice"


@pytest.fixture
def cache(tmp_path) -> Path:
    """All of the project's cache, but for a store of kept verdicts that is empty."""
    made = tmp_path / "cache"
    made.mkdir()
    for place in (PROJECT_ROOT / ".cache").iterdir():
        if place.name != KEPT:
            (made / place.name).symlink_to(place)
    return made


@pytest.mark.slow  # three runs
def test_what_nodes_like_the_controllers_machine_ended_is_kept_and_of_another_node_nothing(
    cluster, cache, tmp_path, monkeypatch
):
    def told(out: str) -> str:
        on = ("--on", f"ray://{cluster.address}", "--out", tmp_path / out)
        own = {"INLINER_REGRESS_KEPT": "", "INLINER_REGRESS_CACHE": str(cache)}
        done = python("-m", "harness", *ASKED, *on, **own)
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert "kept" not in told("first")
    assert re.search(r"cells kept from 1 run; \d+ of them asked again", told("second"))
    assert table(tmp_path / "first" / "latest") == table(tmp_path / "second" / "latest")
    records = RunFolder.open("latest", tmp_path / "second").records()
    assert any(record.kept_from for record in records.values())

    monkeypatch.setenv("TORCH_OF_ANOTHER", "yes")  # nobody knows what it decides
    other = cluster.add_node(num_cpus=1, **SMALL)
    monkeypatch.delenv("TORCH_OF_ANOTHER")
    try:
        unlike = "no verdict is kept or taken: .* has the variable TORCH_OF_ANOTHER yes, not unset"
        assert re.search(unlike, told("third"))
    finally:
        cluster.remove_node(other)


def test_without_ray_one_line_says_what_installs_it(toolchain, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "harness.workers.ray_cluster")
    with (
        pytest.raises(SurroundingsError, match=r"^--on ray: ray is not installed; `pip"),
        workers_on("ray", toolchain),
    ):
        pass


@pytest.mark.parametrize("on", ["slurm", "ray:8", "ray://"])
def test_a_place_that_is_no_cluster_is_wrong_use(on, tmp_path):
    code, _, complaint = harness(*ASKED, "--on", on, "--out", tmp_path)
    assert code == 2
    assert f"--on {on}: give ray, or ray://ADDRESS" in complaint
