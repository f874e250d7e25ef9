"""Workers on a cluster of several nodes on this machine: Ray's own test cluster, real processes."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from ray.cluster_utils import Cluster

from harness.base.errors import SurroundingsError
from harness.toolchain import EnvironmentFacts, Toolchain
from harness.wire.records import CellRecord
from harness.workers import ray_cluster
from harness.workers.jobs import make_jobs
from harness.workers.launching import LOCAL, Launcher
from harness.workers.pool import run_jobs
from harness.workers.process import WorkerSetup
from harness.workers.ray_cluster import CACHE, PYTHON, RayLauncher, joined
from tests.workers.test_pool import STUB, plan

#: A test that waits longer has found a wait without an end.
MOST_S = 240.0
SMALL = {"object_store_memory": 80 * 2**20, "include_dashboard": False}


class StubToolchain(Toolchain):
    """The controller's Python, as the stub tells of its own."""

    def python_env(self) -> EnvironmentFacts:
        return EnvironmentFacts(
            "3.11", "", "0", "", None, True, (), "", 1, deciding={"torch": "2.13.0"}
        )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")  # other tests run beside these
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **SMALL})
        yield made
        made.shutdown()


@contextmanager
def nodes(cluster: Cluster, *each: dict[str, str]) -> Iterator[list[object]]:
    """Nodes with one processor, each with these variables from whoever started Ray there."""
    made = []
    for variables in each:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            made.append(cluster.add_node(num_cpus=1, **SMALL))
    try:
        yield made
    finally:
        for node in made:
            remove(cluster, node)


def remove(cluster: Cluster, node: object) -> None:
    """End a node where it is not ended yet; Ray offers a dead one for a while, and it is tried."""
    if node in cluster.list_all_nodes():
        cluster.remove_node(node, allow_graceful=False)


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """The variables of a node: a `python` that starts the stub whatever module it is asked for."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} {STUB}\n")
    python.chmod(0o755)
    return {
        PYTHON: str(python),
        CACHE: str(tmp_path / "node"),
        "STUB_MEMORY": str(tmp_path / "memory"),
    }


@pytest.fixture
def setup(tmp_path: Path, variables: dict[str, str]) -> WorkerSetup:
    library = tmp_path / "controller" / "lib.so"
    library.parent.mkdir()
    library.write_bytes(b"what a worker reads")
    return WorkerSetup(
        python=variables[PYTHON],
        subjects=(),
        seed=0,
        log_folder=tmp_path / "logs",
        corpus_digest="digest",
        library=library,
    )


@contextmanager
def launcher_on(
    cluster: Cluster, tmp_path: Path, tell: Callable[[str], None] = lambda _: None
) -> Iterator[RayLauncher]:
    cache = tmp_path / "controller-cache"
    toolchain = StubToolchain(cache=cache, python=sys.executable, notify=tell)
    with joined(cluster.address, toolchain) as launcher:
        yield launcher


Ended = dict[tuple[str, str], CellRecord]


def run(
    launcher: Launcher,
    setup: WorkerSetup,
    cases: list[str],
    timeout_s: float = 30.0,
    after: Callable[[int], None] = lambda _: None,
) -> tuple[Ended, dict[str, str]]:
    records: Ended = {}

    def keep(record: CellRecord) -> None:
        key = (record.key.case, record.key.route)
        assert key not in records, "a cell ended twice"
        records[key] = record
        after(len(records))

    broken: dict[str, str] = {}
    jobs = run_jobs(
        make_jobs(plan(*cases)),
        setup,
        count=4,
        timeout_s=timeout_s,
        on_record=keep,
        on_cost=lambda _: None,
        broken=broken,
        launcher=launcher,
    )
    asyncio.run(asyncio.wait_for(jobs, MOST_S))
    return records, broken


def labels(records: Ended) -> dict[tuple[str, str], str]:
    return {key: record.label for key, record in records.items()}


def test_a_node_that_dies_in_the_middle_loses_no_cell_and_doubles_none(
    cluster, variables, setup, tmp_path
):
    told: list[str] = []
    cases = [f"nap-{number}" for number in range(60)]
    with (
        nodes(cluster, *[variables] * 3) as made,
        launcher_on(cluster, tmp_path, told.append) as launcher,
    ):

        def kill_one(ended: int) -> None:
            if ended == 8:
                works = next(iter(launcher._hosts.values()))[0]  # the node that began first
                (node,) = (each for each in made if each.node_id == works)
                remove(cluster, node)

        records, broken = run(launcher, setup, cases, after=kill_one)
    assert broken == {}
    assert labels(records) == {(case, route): "ok" for case in cases for route in ROUTES}
    assert {record.attempts for record in records.values()} == {1}
    assert any(line.startswith("a node was lost, ") for line in told)


ROUTES = ("legacy", "export")


def test_a_cell_that_hangs_dies_or_breaks_on_a_node_ends_as_on_this_machine(
    cluster, variables, setup, tmp_path, monkeypatch
):
    cases = ["ok", "crash", "hang", "broken", "crash-in-shared"]
    with nodes(cluster, variables, variables), launcher_on(cluster, tmp_path) as launcher:
        there = run(launcher, setup, cases, timeout_s=3.0)
    monkeypatch.setenv("STUB_MEMORY", variables["STUB_MEMORY"])
    here = run(LOCAL, setup, cases, timeout_s=3.0)
    assert labels(there[0]) == labels(here[0])
    assert there[1] == here[1]
    assert "hang" in dict(here[0])[("hang", "export")].key.case


def test_a_node_with_another_torch_is_told_and_asked_nothing(
    cluster, variables, setup, tmp_path, monkeypatch
):
    monkeypatch.setattr(ray_cluster, "_TOLD_EVERY_S", 0.5)
    told: list[str] = []
    other = {**variables, "STUB_TORCH": "2.14.0"}
    with nodes(cluster, other), launcher_on(cluster, tmp_path, told.append) as launcher:
        with pytest.raises(SurroundingsError, match=r"no node .* torch 2\.14\.0, not 2\.13\.0"):
            run(launcher, setup, ["ok"])
        with nodes(cluster, variables):
            records, _ = run(launcher, setup, [f"nap-{number}" for number in range(8)])
    assert len(records) == 16
    assert sum(line.startswith("a node is left out: ") for line in told) == 1


def test_a_cluster_that_shrinks_to_nothing_and_comes_back_goes_on(
    cluster, variables, setup, tmp_path, monkeypatch
):
    monkeypatch.setattr(ray_cluster, "_TOLD_EVERY_S", 0.5)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    told: list[str] = []
    back: list[object] = []

    def come_back(line: str) -> None:
        told.append(line)
        if not back and line.endswith("waiting for one"):
            back.append(cluster.add_node(num_cpus=1, **SMALL))

    with nodes(cluster, variables) as made, launcher_on(cluster, tmp_path, come_back) as launcher:

        def shrink(ended: int) -> None:
            if ended == 5:
                remove(cluster, made[0])

        records, _ = run(launcher, setup, [f"nap-{i}" for i in range(30)], after=shrink)
    remove(cluster, back[0])
    assert len(records) == 60
    assert any(line.endswith("; waiting for one") for line in told)


def test_a_run_whose_nodes_die_before_a_worker_starts_and_none_comes_ends_and_says_so(
    cluster, variables, setup, tmp_path, monkeypatch
):
    monkeypatch.setattr(ray_cluster, "_TOLD_EVERY_S", 0.5)
    monkeypatch.setattr(ray_cluster, "_PATIENCE_S", 2.0)
    told: list[str] = []
    with nodes(cluster, variables) as made, launcher_on(cluster, tmp_path, told.append) as launcher:
        opened = launcher._open

        async def killed_before(seat: object) -> None:
            remove(cluster, made[0])
            await opened(seat)

        monkeypatch.setattr(launcher, "_open", killed_before)
        with pytest.raises(SurroundingsError, match="the cluster has no node with a "):
            run(launcher, setup, ["ok"])
    assert any(line.endswith("; waiting for one") for line in told)


def test_a_node_may_die_at_each_step_of_a_workers_start(
    cluster, variables, setup, tmp_path, monkeypatch
):
    with (
        nodes(cluster, *[variables] * 4) as made,
        launcher_on(cluster, tmp_path) as launcher,
    ):
        killed: list[str] = []

        def kill_under(seat: object, step: str) -> None:
            """Kill the node of a seat, once in each step; what it ran ends a moment later."""
            (node,) = (each for each in made if each.node_id == launcher._hosts[seat][0])
            if step not in killed and node in cluster.list_all_nodes():
                killed.append(step)
                (raylet,) = node.all_processes["raylet"]
                ran = psutil.Process(raylet.process.pid).children()
                remove(cluster, node)
                _, left = psutil.wait_procs(ran, timeout=60)
                assert not left

        answer, send = ray_cluster._answer, launcher._send
        ready = ray_cluster._RayWorker.until_ready

        async def opened(asked: object, timeout_s: float | None) -> object:
            if timeout_s == ray_cluster._TRAVEL_TIMEOUT_S and launcher._hosts:
                kill_under(next(iter(launcher._hosts)), "opens")
            return await answer(asked, timeout_s)

        async def sent(seat: object, parcels: object) -> None:
            kill_under(seat, "is sent what it reads")
            await send(seat, parcels)

        async def until_ready(worker: object, timeout_s: float) -> object:
            kill_under(worker._seat, "becomes ready")
            return await ready(worker, timeout_s)

        monkeypatch.setattr(ray_cluster, "_answer", opened)
        monkeypatch.setattr(launcher, "_send", sent)
        monkeypatch.setattr(ray_cluster._RayWorker, "until_ready", until_ready)
        records, broken = run(launcher, setup, ["nap-1", "nap-2"])
    assert killed == ["opens", "is sent what it reads", "becomes ready"]
    assert [r.verdicts[0].message for r in records.values() if r.label != "ok"] == []
    assert len(records) == 4
    assert {record.attempts for record in records.values()} == {1}
    assert broken == {}
