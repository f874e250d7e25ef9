"""A selftest on the disk.

results/selftest-<run id>/run.json       provenance
                          selftest.json  how many campaigns of which kind
                          journal.jsonl  raw samples, appended and fsynced
                          selftest.md    at the end of each session: the table
results/latest-selftest                  a symbolic link to the newest one
"""

from __future__ import annotations

import dataclasses
import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from harness.base.errors import SurroundingsError, UsageError
from harness.base.files import replace_file, replace_link, written_to
from harness.bench.asking import setup_for
from harness.bench.bench import session_line
from harness.bench.machine import unlike
from harness.bench.options import BenchOptions, provenance_of, subjects_of
from harness.bench.process import Zygote
from harness.bench.selftest import Campaign, Campaigns, SelftestPlan, run_campaigns
from harness.bench.selftest_table import lines, result_of
from harness.catalogue.releases import Catalogue
from harness.runs.journal import Journal, read_journal
from harness.runs.provenance import (
    Provenance,
    provenance_from_json,
    provenance_to_json,
    resume_mismatch,
)
from harness.subjects.choosing import found_again
from harness.toolchain import Toolchain
from harness.toolchain.rig_client import read_corpus
from harness.wire.record_json import SCHEMA, check_schema
from harness.wire.records import SubjectSpec

LATEST, PREFIX = "latest-selftest", "selftest-"
Progress = Callable[[Campaign], None]


class SelftestFolder:
    """One selftest, new or found again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, out: Path, provenance: Provenance, plan: SelftestPlan) -> SelftestFolder:
        """Raises SurroundingsError if ``out`` cannot be written."""
        path = out.resolve() / f"{PREFIX}{provenance.run_id}"
        with written_to(out):
            path.mkdir(parents=True)
        folder = cls(path)
        folder.write("selftest.json", {"schema": SCHEMA, **dataclasses.asdict(plan)})
        folder.write("run.json", provenance_to_json(provenance))
        replace_link(out / LATEST, path.name)
        return folder

    @classmethod
    def open(cls, which: str, out: Path) -> SelftestFolder:
        """Raises UsageError if there is none."""
        name = LATEST if which == "latest" else which
        for candidate in (Path(name), out / name, out / f"{PREFIX}{name}"):
            if (candidate / "selftest.json").is_file():
                return cls(candidate.resolve())
        raise UsageError(f"no selftest {which!r}: give its folder, its id under {out}, or `latest`")

    def plan(self) -> SelftestPlan:
        """Raises UsageError if it is damaged."""
        data = self._read("selftest.json")
        fields = {name: value for name, value in data.items() if name != "schema"}
        for name in ("metrics", "slower_cases"):
            fields[name] = tuple(fields[name])
        return SelftestPlan(**fields)

    def provenance(self) -> Provenance:
        return provenance_from_json(self._read("run.json"), str(self.path / "run.json"))

    def campaigns(self) -> Campaigns:
        """Raises UsageError if the journal is damaged."""
        path = self.path / "journal.jsonl"
        payloads = read_journal(path).payloads if path.exists() else ()
        return Campaigns.read(self.plan(), payloads)

    def write(self, name: str, data: dict[str, Any] | str) -> Path:
        text = data if isinstance(data, str) else json.dumps(data, indent=2, allow_nan=False)
        replace_file(self.path / name, f"{text}\n".encode())
        return self.path / name

    def _read(self, name: str) -> dict[str, Any]:
        path = self.path / name
        try:
            data: dict[str, Any] = json.loads(path.read_bytes())
            check_schema(data, str(path))
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: foreign or damaged: {error}") from error
        return data


def begin(
    plan: SelftestPlan,
    out: Path,
    command_line: tuple[str, ...],
    toolchain: Toolchain,
    catalogue: Catalogue,
) -> SelftestFolder:
    """Make a new selftest's folder.

    Raises:
        UsageError: an unknown release or case.
        SurroundingsError: no wheel, or a place that cannot be written.
    """
    options = BenchOptions(
        baseline=plan.subject, candidate=plan.subject, seed=plan.seed, command_line=command_line
    )
    subjects = subjects_of(options, toolchain, catalogue)
    corpus = read_corpus(toolchain.python, cache=toolchain.cache)
    unknown = [name for name in (plan.case, *plan.slower_cases) if name not in corpus.names]
    if unknown:
        raise UsageError(f"no case is named {', '.join(unknown)}")
    return SelftestFolder.create(out, provenance_of(options, corpus, subjects[:1]), plan)


def go_on(
    folder: SelftestFolder,
    toolchain: Toolchain,
    catalogue: Catalogue,
    progress: Progress,
    session_s: float,
) -> list[str]:
    """Run what is missing for at most ``session_s`` seconds, and write the table.

    Raises:
        UsageError: it was begun with another inliner, torch, corpus or machine, or is in use.
        SurroundingsError: the zygote died.
    """
    before = folder.provenance()
    subjects = found_again(before, toolchain, catalogue)
    _refuse_mixing(folder, before, subjects, toolchain)
    end = time.monotonic() + session_s
    lock = FileLock(folder.path / "lock", thread_local=False)
    try:
        held = lock.acquire(timeout=0)
    except Timeout as error:
        raise UsageError(f"{folder.path} is being written by another process") from error
    setup = setup_for(before, subjects, folder.path / "workers", toolchain)
    with held, Journal(folder.path / "journal.jsonl") as journal, Zygote(setup) as zygote:
        if zygote.ready["corpus_digest"] != before.corpus_digest:
            raise SurroundingsError("the corpus was changed while the selftest began; start anew")
        campaigns = folder.campaigns()
        session = session_line(zygote)
        journal.append(session)
        campaigns.sessions.append(session)
        is_over = functools.partial(_is_over, end)
        for campaign in run_campaigns(campaigns, zygote, journal.append, is_over):
            progress(campaign)
    told = list(lines(campaigns, result_of(campaigns)))
    folder.write("selftest.md", "\n".join(told))
    return told


def _is_over(end: float) -> bool:
    return time.monotonic() > end


def _refuse_mixing(
    folder: SelftestFolder,
    before: Provenance,
    subjects: tuple[SubjectSpec, ...],
    toolchain: Toolchain,
) -> None:
    options = BenchOptions(baseline="", seed=before.seeds[0])
    corpus = read_corpus(toolchain.python, before.corpus, toolchain.cache)
    now = provenance_of(options, corpus, subjects)
    differs = [*resume_mismatch(before, now), *unlike(before, now)]
    if differs:
        raise UsageError(
            f"{folder.path.name} cannot go on, its samples would be mixed: {'; '.join(differs)}; "
            "start a new selftest"
        )
