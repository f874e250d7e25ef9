"""A selftest's campaigns, their bookkeeping and their table; held against a simulated zygote."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.base.errors import UsageError
from harness.bench.selftest import (
    AA,
    Campaign,
    Campaigns,
    SelftestPlan,
    called_by_us,
    run_campaigns,
    slower,
    threshold_differs,
)
from harness.bench.selftest_run import SelftestFolder
from harness.bench.selftest_table import OURS, lines, result_of
from harness.toolchain.environment import PROJECT_ROOT
from harness.wire.bench_records import BenchCase
from tests.bench.simulated import Simulated
from tests.marked_block import block

PLAN = SelftestPlan(
    subject="2.14.0",
    case="llama_linear",
    route="legacy",
    metrics=("save", "load-warm"),
    slower_cases=("chain_of_forty", "yolo_chunk"),
    campaigns=6,
    power_campaigns=4,
    seconds=15,
    power_seconds=20,
    seed=0,
)


class Delaying(Simulated):
    """Waits what an arm is told to, as a real worker does; and tells unlike workers apart."""

    def _arm(
        self, name: str, case: BenchCase, fields: Mapping[str, Any], drawn: Any
    ) -> dict[str, Any]:
        found = super()._arm(name, case, fields, drawn)
        (arm,) = (each for each in fields["arms"] if each["name"] == name)
        for metric, calls in found["seconds"].items():
            if metric == arm["delayed"]:
                found["seconds"][metric] = [seconds + arm["delay_s"] for seconds in calls]
        return found


def run(
    plan: SelftestPlan,
    monkeypatch: pytest.MonkeyPatch,
    *,
    noise: float = 0.02,
    lines: list[dict[str, Any]] | None = None,
    most: int = 10**9,
) -> tuple[Campaigns, list[dict[str, Any]]]:
    """At most so many campaigns, over what there is already. A block takes half a second."""
    zygote = Delaying(noise=noise)
    ticks = iter(range(10**9))
    monkeypatch.setattr("harness.bench.sampling.time.perf_counter", lambda: next(ticks) * 0.5)
    written = list(lines or [])
    campaigns = Campaigns.read(plan, written)

    def write(line: Mapping[str, Any]) -> None:
        written.append(dict(line))

    for number, _ in enumerate(run_campaigns(campaigns, zygote, write), start=1):
        if number == most:
            break
    return campaigns, written


def test_identical_code_is_not_called_different_and_a_delay_is_called(monkeypatch):
    campaigns, _ = run(PLAN, monkeypatch)
    ours = result_of(campaigns).rows[0]
    assert ours.rule == OURS
    assert ours.different == (0, 6)
    assert ours.slower == (4, 4)


def test_pooling_rules_call_unlike_workers_different(monkeypatch):
    campaigns, _ = run(dataclasses.replace(PLAN, campaigns=30), monkeypatch, noise=0.06)
    rows = {row.rule: row for row in result_of(campaigns).rows}
    assert rows[OURS].different == (0, 30)
    assert rows["pooled t test, 1 %, one after the other"].different[0] > 3
    assert rows["pyperf compare, one after the other"].different[0] > 3


def test_a_campaign_has_the_delay_of_its_own_pilot_and_its_own_order(monkeypatch):
    campaigns, written = run(PLAN, monkeypatch)
    delays = [line["delay_s"] for line in written if line["kind"] == "delay"]
    assert len(set(delays)) == PLAN.power_campaigns
    assert all(delay == pytest.approx(0.05 * 0.03, rel=0.1) for delay in delays)
    assert len({campaign.plan.seed for campaign in campaigns.found.values()}) == 10
    assert all(not c.plan.delayed for c in campaigns.of(power=False))


def test_kinds_are_spread_so_that_any_beginning_is_a_fair_sample():
    kinds = list(PLAN.kinds())
    assert kinds[:4] == [AA, "save", AA, "load-warm"]
    assert (kinds.count(AA), len(kinds)) == (6, 10)


def test_a_selftest_that_was_cut_off_goes_on_where_it_was(monkeypatch):
    whole, _ = run(PLAN, monkeypatch)
    _, first = run(PLAN, monkeypatch, most=3)
    cut = first[: len(first) - 4]  # in the middle of the third campaign
    again, written = run(PLAN, monkeypatch, lines=cut)
    assert written[: len(cut)] == cut
    assert sorted(again.found) == sorted(whole.found)
    for number, campaign in whole.found.items():
        assert again.found[number].ended
        both = [found.cell.blocks for found in (campaign, again.found[number])]
        shorter = min(map(len, both))
        assert shorter >= 8
        arms = [[block["arms"] for block in blocks[:shorter]] for blocks in both]
        assert arms[0] == arms[1]


def test_a_reader_sees_every_campaign_as_it_was_judged(monkeypatch):
    campaigns, written = run(PLAN, monkeypatch)
    again = Campaigns.read(PLAN, written)
    assert list(lines(again, result_of(again))) == list(lines(campaigns, result_of(campaigns)))


def test_the_table_has_each_rule_with_intervals(monkeypatch):
    campaigns, _ = run(PLAN, monkeypatch)
    told = "\n".join(lines(campaigns, result_of(campaigns)))
    assert "| this harness | 0 of 6 (0.0% to 45.9%) | 4 of 4 (39.8% to 100.0%) |" in told
    assert told.count("one after the other") == 3
    assert "engines are emulated" in told
    assert "of `chain_of_forty`" in told


def test_the_load_that_the_campaigns_met_is_told(monkeypatch):
    campaigns, _ = run(PLAN, monkeypatch)
    for campaign in campaigns.found.values():
        for each in campaign.cell.blocks:
            each["machine"]["load"] = 1.0 if campaign.kind == AA else 3.5  # type: ignore[index]
    told = "\n".join(lines(campaigns, result_of(campaigns)))
    assert "runnable processes, A/A (median): 1.0, the bench's one among them" in told
    assert "runnable processes, with a delay (median): 3.5" in told


def test_what_was_not_measured_is_told_so():
    nothing = Campaigns(PLAN)
    told = "\n".join(lines(nothing, result_of(nothing)))
    assert "| this harness | not measured | not measured |" in told
    assert "smallest detectable change at 60 s a cell: not measured" in told


def test_a_campaign_that_could_say_nothing_is_left_out_and_told(monkeypatch):
    campaigns, _ = run(dataclasses.replace(PLAN, seconds=1.2), monkeypatch)
    result = result_of(campaigns)
    assert result.rows[0].different == (0, 0)
    assert result.rows[0].slower == (4, 4)
    assert "left out, with fewer than 3 blocks: 6 campaigns" in "\n".join(lines(campaigns, result))


def test_a_case_that_cannot_be_measured_ends_the_selftest():
    zygote = Simulated(fails="llama_linear")
    with pytest.raises(UsageError, match="llama_linear cannot be measured: KeyError"):
        list(run_campaigns(Campaigns(PLAN), zygote, lambda line: None))


def test_a_control_that_is_off_counts_as_called_different(monkeypatch):
    """The planted fault: the third worker of a block is slower."""
    zygote = Simulated({"again": 1.5})
    ticks = iter(range(10**9))
    monkeypatch.setattr("harness.bench.sampling.time.perf_counter", lambda: next(ticks) * 0.5)
    campaigns = Campaigns(dataclasses.replace(PLAN, campaigns=1, power_campaigns=0))
    (campaign,) = run_campaigns(campaigns, zygote, lambda line: None)
    assert isinstance(campaign, Campaign)
    assert called_by_us(campaign)


FOLDERS = [
    path.parent
    for path in sorted((PROJECT_ROOT / "results" / "published").glob("*/*/selftest.json"))
]
SHOWN = ("| rule |", "| this harness |", "| pooled", "| bare", "| pyperf", "- smallest detectable")


def told(folder: Path) -> str:
    return (folder / "selftest.md").read_text(encoding="utf-8").strip()


def test_there_are_campaigns_beside_a_busy_core_and_on_an_idle_machine():
    assert {folder.name for folder in FOLDERS} == {"beside-a-busy-core", "idle"}


def test_the_readme_holds_the_published_tables():
    shown = block((PROJECT_ROOT / "docs/bench.md").read_text(encoding="utf-8"), "selftest")
    for folder in FOLDERS:
        for line in told(folder).splitlines():
            assert not line.startswith(SHOWN) or line in shown, (folder.name, line)


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_published_table_is_what_its_raw_samples_say(folder):
    campaigns = SelftestFolder(folder).campaigns()
    assert told(folder) == "\n".join(lines(campaigns, result_of(campaigns))).strip()


def test_the_threshold_looks_at_medians_alone():
    assert threshold_differs([1.0] * 5, [1.06] * 5)
    assert threshold_differs([1.06] * 5, [1.0] * 5)
    assert not threshold_differs([1.0] * 5, [1.04] * 5)


def test_slower_is_of_means():
    assert slower([1.0, 1.0], [1.0, 1.2])
    assert not slower([1.0], [1.0])
