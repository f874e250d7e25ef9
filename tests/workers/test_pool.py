"""The pool, with real processes that do as they are told: die, hang, break, or end well."""

import asyncio
import contextlib
import dataclasses
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from harness.base.errors import SurroundingsError
from harness.runs.costs import Cost
from harness.runs.plan import PlannedCell
from harness.wire.oracles import Oracle
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Route
from harness.workers.jobs import make_jobs
from harness.workers.launching import LOCAL, start_ready
from harness.workers.pool import all_of, run_groups, run_jobs
from harness.workers.process import LocalWorker, PackageSetup, WorkerSetup, WorkerTimeout

STUB = Path(__file__).with_name("stub_worker.py")


@pytest.fixture
def setup(tmp_path, monkeypatch):
    """A `python` that starts the stub whatever module it is asked for."""
    monkeypatch.setenv("STUB_MEMORY", str(tmp_path / "memory"))
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} {STUB}\n")
    python.chmod(0o755)
    return WorkerSetup(
        python=str(python),
        subjects=(),
        seed=0,
        log_folder=tmp_path / "logs",
        corpus_digest="digest",
        library=tmp_path / "lib.so",
    )


def plan(*cases: str, routes: tuple[str, ...] = ("legacy", "export")) -> list[PlannedCell]:
    return [
        PlannedCell(CellKey(case, "nonstrict", "2.14.0", Route(route)), route == "export", "2.14.0")
        for case in cases
        for route in routes
    ]


def run(
    setup: WorkerSetup,
    cells: list[PlannedCell],
    timeout_s: float = 30.0,
    count: int = 2,
    spent: list[Cost] | None = None,
) -> tuple[dict[tuple[str, str], CellRecord], dict[str, str]]:
    records: dict[tuple[str, str], CellRecord] = {}

    def keep(record: CellRecord) -> None:
        key = (record.key.case, record.key.route)
        assert key not in records, "a cell ended twice"
        records[key] = record

    broken: dict[str, str] = {}
    asyncio.run(
        run_jobs(
            make_jobs(cells),
            setup,
            count=count,
            timeout_s=timeout_s,
            on_record=keep,
            on_cost=(spent if spent is not None else []).append,
            broken=broken,
        )
    )
    return records, broken


def test_every_cell_ends_in_one_record(setup):
    cells = plan(*(f"case-{number}" for number in range(7)))
    records, result = run(setup, cells)
    assert set(records) == {(cell.key.case, cell.key.route) for cell in cells}
    assert result == {}


def of_a_package(setup, tmp_path: Path, executor: str) -> PackageSetup:
    return PackageSetup(
        python=setup.python,
        subjects=(),
        seed=0,
        log_folder=tmp_path / "logs",
        corpus_digest="digest",
        release="2.14.0",
        site=None,
        engines=tmp_path / "engines",
        executor=executor,
    )


def run_package(
    setup: PackageSetup, on_record: Callable[[CellRecord], None], **how: asyncio.Event | None
) -> None:
    jobs = make_jobs(plan(*(f"nap-{number}" for number in range(9))))
    kept = {"timeout_s": 30.0, "on_record": on_record, "on_cost": lambda _: None, "broken": {}}
    asyncio.run(run_groups([(jobs, setup)], count=9, **kept, **how))


@pytest.mark.parametrize(("executor", "workers"), [("emulated", 1), ("cuda", 4)])
def test_a_package_on_a_gpu_has_several_workers_since_it_waits_for_processes(
    setup, tmp_path, executor, workers
):
    records: list[CellRecord] = []
    run_package(of_a_package(setup, tmp_path, executor), records.append)
    assert len(records) == 18
    assert len((tmp_path / "left").read_text().splitlines()) == workers


@pytest.mark.parametrize(("others_end_at", "workers"), [(1, 2), (18, 1)])
def test_a_package_gets_the_workers_of_others_that_have_ended(
    setup, tmp_path, others_end_at, workers
):
    records: list[CellRecord] = []
    others_ended = asyncio.Event()

    def on_record(record: CellRecord) -> None:
        records.append(record)
        if len(records) == others_end_at:
            others_ended.set()

    run_package(of_a_package(setup, tmp_path, "emulated"), on_record, more=others_ended)
    assert len({record.key for record in records}) == len(records) == 18
    assert len((tmp_path / "left").read_text().splitlines()) == workers


def test_the_plan_s_hypothetical_cells_stay_so(setup):
    records, _ = run(setup, plan("ok"))
    assert records[("ok", "export")].hypothetical
    assert not records[("ok", "legacy")].hypothetical


def test_a_worker_that_dies_is_a_verdict_and_the_run_goes_on(setup):
    records, _ = run(setup, plan("crash", "fine"))
    verdict = records[("crash", "export")].verdict(Oracle.COMPLETION)
    assert (verdict.label, verdict.message) == ("killed@export", "worker killed by SIGKILL")
    assert records[("crash", "export")].attempts == 2
    others = [records[key].label for key in records if key != ("crash", "export")]
    assert others == ["ok", "ok", "ok"]


def test_each_worker_s_temporary_files_are_its_own_and_go_with_it_even_if_it_is_killed(
    setup, tmp_path
):
    run(setup, plan("crash", "fine"))
    left = [Path(line) for line in (tmp_path / "left").read_text().splitlines()]
    assert len({folder.parent for folder in left}) == len(left) >= 2
    assert not any(folder.parent.exists() for folder in left)


def test_a_cell_that_hangs_is_timed_out(setup):
    records, _ = run(setup, plan("hang", "fine"), timeout_s=1.0)
    verdict = records[("hang", "export")].verdict(Oracle.COMPLETION)
    assert (verdict.label, verdict.message) == ("timeout@export", "no end in 1 s")
    assert records[("fine", "export")].label == "ok"


@pytest.mark.parametrize(
    ("case", "label"), [("crash-written", "killed@save"), ("hang-written", "timeout@save")]
)
def test_where_a_worker_ended_is_the_stage_that_it_wrote_down_last(setup, case, label):
    records, _ = run(setup, plan(case), timeout_s=1.0)
    assert records[(case, "export")].label == label


def test_a_cell_that_dies_once_and_passes_then_is_flaky(setup):
    records, _ = run(setup, plan("crash-once"))
    verdict = records[("crash-once", "export")].verdict(Oracle.COMPLETION)
    assert verdict.label == "flaky@export"
    assert verdict.message == "killed@export, then ok"


def test_death_in_what_the_cells_share_is_the_verdict_on_all_of_them(setup):
    records, _ = run(setup, plan("crash-in-shared", "fine"))
    assert records[("crash-in-shared", "legacy")].label == "killed@capture"
    assert records[("crash-in-shared", "export")].label == "killed@capture"
    assert records[("fine", "legacy")].label == "ok"


def test_a_fault_of_the_harness_leaves_no_record_and_its_traceback(setup):
    records, result = run(setup, plan("broken"))
    assert set(records) == {("broken", "legacy")}
    ((cell, text),) = result.items()
    assert "export" in cell
    assert "ZeroDivisionError" in text


def test_each_job_tells_what_it_spent_and_one_that_died_tells_nothing(setup):
    spent: list[Cost] = []
    run(setup, plan("fine", "other"), spent=spent)
    assert spent == [Cost(worker_s=2.0, stages_s=1.5)] * 2
    spent.clear()
    run(setup, plan("crash-once"), spent=spent)  # died, alone again, then nothing was left
    assert len(spent) == 1


def test_a_worker_that_does_not_start_is_told_with_its_log(setup):
    with pytest.raises(SurroundingsError, match=r"did not start .*code 7.*worker-0\.log"):
        run(_seeded(setup, 13), plan("fine"), count=1)


def test_a_subject_that_does_not_load_ends_the_run(setup):
    with pytest.raises(SurroundingsError, match="subject bad: does not load"):
        run(_seeded(setup, 14), plan("fine", "other"))


def test_a_corpus_that_is_edited_while_it_runs_ends_the_run(setup):
    with pytest.raises(SurroundingsError, match="edited while it ran"):
        run(_seeded(setup, 15), plan("fine"))


@pytest.mark.parametrize("places", [1, 2])
def test_pools_beside_each_other_have_no_more_workers_than_their_places(setup, places):
    running = []

    async def beside_each_other() -> None:
        free = asyncio.Semaphore(places)
        how = {"timeout_s": 30.0, "on_cost": lambda spent: None, "broken": {}, "free": free}
        await all_of(
            run_jobs(
                make_jobs(plan(*(f"{pool}-{number}" for number in range(9)))),
                setup,
                count=2,
                on_record=lambda record: running.append(len(_children())),
                **how,
            )
            for pool in ("one", "other")
        )

    asyncio.run(beside_each_other())
    assert len(running) == 36
    assert max(running) <= places


def test_no_worker_outlives_the_pool(setup):
    async def interrupted() -> None:
        task = asyncio.create_task(
            run_jobs(
                make_jobs(plan("hang")),
                setup,
                count=1,
                timeout_s=60.0,
                on_record=lambda record: None,
                on_cost=lambda spent: None,
                broken={},
            )
        )
        async with asyncio.timeout(30):
            while not _children():
                await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
    deadline = time.monotonic() + 5
    while _children() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _children() == []


def _children() -> list[psutil.Process]:
    found = []
    for child in psutil.Process(os.getpid()).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # a zombie counts as one
            if any("stub_worker" in part for part in child.cmdline()):
                found.append(child)
    return found


def _seeded(setup: WorkerSetup, seed: int) -> WorkerSetup:
    return dataclasses.replace(setup, seed=seed)


def test_a_worker_whose_time_is_over_is_given_up_even_as_its_line_comes(setup):
    async def ask() -> None:
        worker = await start_ready(LOCAL, setup, 0, 30.0)
        assert isinstance(worker, LocalWorker)
        reader = asyncio.StreamReader()
        worker._process.stdout = reader
        try:
            waiting = asyncio.ensure_future(worker.next_event(30.0))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            reader.feed_data(b'{"event": "stage"}\n')
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        finally:
            await worker.kill()

    asyncio.run(ask())


def test_a_worker_that_reads_nothing_is_sent_more_than_a_pipe_holds_and_then_given_up(setup):
    async def ask() -> None:
        worker = await start_ready(LOCAL, setup, 0, 30.0)
        assert isinstance(worker, LocalWorker)
        os.kill(worker.pid, signal.SIGSTOP)
        try:
            async with asyncio.timeout(10):
                await worker.send({"more": "x" * 1_000_000})
            with pytest.raises(WorkerTimeout):
                await worker.next_event(0.1)
        finally:
            await worker.kill()

    asyncio.run(ask())
