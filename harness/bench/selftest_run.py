"""A selftest on the disk.

results/selftest-<run id>/run.json       provenance
                          selftest.json  how many campaigns of which kind
                          journal.jsonl  raw samples, appended and fsynced
                          selftest.md    at the end of each session: the table
results/latest-selftest                  a symbolic link to the newest one
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from harness.base.errors import SurroundingsError, UsageError
from harness.bench.bench import session_line
from harness.bench.machine import unlike
from harness.bench.options import BenchOptions, provenance_of, subjects_of
from harness.bench.process import Zygote
from harness.bench.selftest import Campaign, Campaigns, SelftestPlan, run_campaigns
from harness.bench.selftest_table import lines, result_of
from harness.bench.workers import setup_for
from harness.catalogue.releases import Catalogue
from harness.runs.provenance import Provenance
from harness.runs.run_directory import RunDirectory
from harness.subjects.choosing import found_again
from harness.toolchain import Toolchain
from harness.toolchain.rig_client import read_corpus
from harness.wire.record_json import decode, to_json

Progress = Callable[[Campaign], None]


class SelftestFolder(RunDirectory):
    """One selftest, new or found again."""

    KIND = COMMAND = "selftest"
    MARK = "selftest.json"
    PREFIX = "selftest-"
    LINK = "latest-selftest"

    @classmethod
    def create(cls, out: Path, provenance: Provenance, plan: SelftestPlan) -> SelftestFolder:
        return cls.make(out, provenance, {cls.MARK: to_json(plan)})

    def plan(self) -> SelftestPlan:
        return self.read(self.MARK, lambda data: decode(SelftestPlan, data))

    def campaigns(self) -> Campaigns:
        return Campaigns.read(self.plan(), self.journal().payloads)


def begin(
    plan: SelftestPlan,
    out: Path,
    command_line: tuple[str, ...],
    toolchain: Toolchain,
    catalogue: Catalogue,
) -> SelftestFolder:
    """Make a new selftest's folder."""
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
    """Run what is missing for at most ``session_s`` seconds, and write the table."""
    before = folder.provenance()
    subjects = found_again(before, toolchain, catalogue)
    options = BenchOptions(baseline="", seed=before.seeds[0])
    corpus = read_corpus(toolchain.python, before.corpus, toolchain.cache)
    now = provenance_of(options, corpus, subjects)
    folder.refuse_mixing(now, toolchain.notify, *unlike(before, now))
    end = time.monotonic() + session_s
    setup = setup_for(before, subjects, folder.path / "workers", toolchain)
    with folder.writing() as journal, Zygote(setup) as zygote:
        if zygote.ready["corpus_digest"] != before.corpus_digest:
            raise SurroundingsError("the corpus was changed while the selftest began; start anew")
        campaigns = folder.campaigns()
        session = session_line(zygote)
        journal.append(session)
        campaigns.sessions.append(session)
        for campaign in run_campaigns(
            campaigns, zygote, journal.append, lambda: time.monotonic() > end
        ):
            progress(campaign)
    table = list(lines(campaigns, result_of(campaigns)))
    folder.write("selftest.md", "\n".join(table) + "\n")
    return table
