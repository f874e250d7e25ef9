"""What the campaigns of a selftest showed, as a table with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from harness.bench.judging import judge_bench
from harness.bench.selftest import (
    LEAST_BLOCKS,
    RIVALS,
    SLOWER_STAGES,
    Campaign,
    Campaigns,
    called_by_rival,
    called_by_us,
)
from harness.stats.blocks import percent
from harness.stats.intervals import Estimate, clopper_pearson
from harness.stats.sequential import smallest_detectable

CONFIDENCE = 0.95
CELL_S = 60.0  # at which the smallest detectable change is told
OURS = "this harness"


@dataclass(frozen=True)
class RuleRow:
    """How many A/A campaigns a rule called different, and how many with a delay slower."""

    rule: str
    different: tuple[int, int]  # calls, campaigns
    slower: tuple[int, int]


@dataclass(frozen=True)
class SelftestResult:
    """The results of a selftest.

    ``detectable`` has a log-ratio for each minute of A/A samples and stage. ``loads`` are the
    median one-minute averages of A/A and of delayed campaigns. The last three fields are None if
    nothing was measured.
    """

    rows: tuple[RuleRow, ...]
    detectable: tuple[float, ...]
    power_by_stage: tuple[tuple[str, int, int], ...]
    loads: tuple[float | None, float | None]
    overhead_s: float | None
    start_s: float | None
    timed_share: float | None


def result_of(campaigns: Campaigns) -> SelftestResult:
    same, delayed = campaigns.of(power=False), campaigns.of(power=True)
    rows = [RuleRow(OURS, _counted(same, called_by_us), _counted(delayed, called_by_us))]
    for name, rule in RIVALS.items():
        for in_turn, how in ((False, "one after the other"), (True, "taken in turn")):

            def says(campaign: Campaign, rule: Any = rule, in_turn: bool = in_turn) -> bool:
                return called_by_rival(campaign, rule, in_turn=in_turn)

            rows.append(RuleRow(f"{name}, {how}", _counted(same, says), _counted(delayed, says)))
    shares = [share for c in (*same, *delayed) if (share := c.samples.timed_share) is not None]
    ready = campaigns.sessions[-1] if campaigns.sessions else None
    return SelftestResult(
        rows=tuple(rows),
        detectable=tuple(_detectable(same)),
        power_by_stage=tuple(
            (stage, *_counted([c for c in delayed if c.kind == stage], called_by_us))
            for stage in SLOWER_STAGES
        ),
        loads=(_load(same), _load(delayed)),
        overhead_s=ready["ready"]["overhead_s"] if ready else None,
        start_s=ready["start_s"] if ready else None,
        timed_share=median(shares) if shares else None,
    )


def _load(campaigns: Sequence[Campaign]) -> float | None:
    """Median system-wide load; other cores contend for cache and memory."""
    loads = [block["machine"]["load"] for campaign in campaigns for block in campaign.cell.blocks]
    return median(known) if (known := [load for load in loads if load is not None]) else None


def _counted(campaigns: Sequence[Campaign], says: Callable[[Campaign], bool]) -> tuple[int, int]:
    return sum(map(says, campaigns)), len(campaigns)


def _detectable(campaigns: Sequence[Campaign]) -> Iterator[float]:
    """The smallest detectable change for each minute of consecutive A/A samples and stage."""
    taken: list[Campaign] = []
    for campaign in campaigns:
        taken.append(campaign)
        if sum(one.samples.spent_s for one in taken) < CELL_S:
            continue
        plan = campaign.plan
        level = plan.alpha / 2 / len(plan.gating)  # the share of the last look
        for metric in plan.metrics:
            effects = [block.effect for one in taken for block in one.cell.of(metric)]
            yield smallest_detectable(effects, level)
        taken = []


def lines(campaigns: Campaigns, result: SelftestResult) -> Iterator[str]:
    """The result as markdown."""
    plan = campaigns.plan
    yield "## Selftest of the latency measurement"
    yield ""
    yield (
        f"{plan.subject} against itself in `{plan.case}` by {plan.route} "
        f"({', '.join(plan.metrics)}; {plan.seconds:g} s a campaign at most), and with a real delay"
        f" of 5 % in {' of `{}` and '.join(SLOWER_STAGES).format(plan.slower_cases[0])} of "
        f"`{plan.slower_cases[1]}` ({plan.power_seconds:g} s); engines are emulated. "
        "Shares with 95 % intervals (Clopper-Pearson)."
    )
    yield ""
    yield "| rule | identical code called different | +5 % called slower |"
    yield "|---|---|---|"
    for row in result.rows:
        yield f"| {row.rule} | {_share(*row.different)} | {_share(*row.slower)} |"
    yield ""
    for stage, called, of in result.power_by_stage:
        yield f"- +5 % in {stage} called regressed: {_share(called, of)}"
    yield f"- smallest detectable change at {CELL_S:.0f} s a cell: {_smallest(result.detectable)}"
    for what, load in zip(("A/A", "with a delay"), result.loads, strict=True):
        if load is not None:
            yield f"- runnable processes, {what} (median): {load:.1f}, the bench's one among them"
    if result.overhead_s is not None and result.start_s is not None:
        yield (
            f"- a timed region costs {result.overhead_s * 1e6:.1f} µs of its own; "
            f"start and imports took {result.start_s:.1f} s"
        )
    if result.timed_share is not None:
        yield f"- inside of timed regions: {result.timed_share:.0%} of the workers' time"
    undecided = sum(
        not any(stage.effect.change.decided for stage in judge_bench(c.plan, c.samples).stages)
        for c in campaigns.of(power=False)
    )
    yield f"- A/A campaigns that ended inconclusive in every stage: {undecided}"
    if campaigns.silent:
        yield (
            f"- left out, with fewer than {LEAST_BLOCKS} blocks: {campaigns.silent} campaigns "
            "(the machine was too slow for their seconds)"
        )


def share(called: int, of: int) -> Estimate | None:
    return clopper_pearson(called, of, CONFIDENCE) if of else None


def _share(called: int, of: int) -> str:
    estimate = share(called, of)
    if estimate is None:
        return "not measured"
    return f"{called} of {of} ({estimate.low:.1%} to {estimate.high:.1%})"


def _smallest(detectable: Sequence[float]) -> str:
    known = [value for value in detectable if math.isfinite(value)]
    if not known:
        return "not measured"
    return f"{percent(median(known)):.1f} % (median of {len(known)} minutes and stages)"
