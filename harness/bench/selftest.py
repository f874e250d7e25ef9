"""The test of the measurement: campaigns whose right verdicts are known.

An A/A campaign is a small bench of a release against itself: whatever it calls different is wrong.
A power campaign is the same with a real delay inside of the candidate's timed region: whatever it
does not call regressed is missed. Raw samples are kept, so that other rules can be asked about the
same ones, and a selftest that was cut off goes on where it was. These other rules are used in the
field; they take two plain lists of seconds, and so pool the calls of all workers as if each were
evidence of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any

from harness.base.errors import UsageError
from harness.bench.judging import BenchReport, judge_bench
from harness.bench.plan import BASELINE, CANDIDATE, Bands, BenchCell, BenchPlan
from harness.bench.samples import CellSamples, Samples, pooled, read_samples
from harness.bench.sampling import Asked, Sampling
from harness.stats.intervals import Change
from harness.wire.bench_records import BenchCase
from harness.wire.record_json import SCHEMA

BARE_THRESHOLD = 0.05
POOLED_ALPHA = 0.01
PYPERF_ALPHA = 0.05


def pooled_t_differs(one: Sequence[float], other: Sequence[float]) -> bool:
    """Student's t test on all calls, at 1 %."""
    return _p_value(one, other) < POOLED_ALPHA


def threshold_differs(one: Sequence[float], other: Sequence[float]) -> bool:
    """Medians more than 5 % apart, either way."""
    return not 1 / (1 + BARE_THRESHOLD) <= median(other) / median(one) <= 1 + BARE_THRESHOLD


def pyperf_differs(one: Sequence[float], other: Sequence[float]) -> bool:
    """As `pyperf compare_to` decides: a pooled two-sample t test at 95 %."""
    return _p_value(one, other) <= PYPERF_ALPHA


def slower(one: Sequence[float], other: Sequence[float]) -> bool:
    return mean(other) > mean(one)


def _p_value(one: Sequence[float], other: Sequence[float]) -> float:
    from scipy import stats  # here: its import takes longer than most commands

    return float(stats.ttest_ind(one, other).pvalue)


AA = "A/A"
INJECTED = 0.05  # of the stage's median
SLOWER_STAGES = ("save", "load-warm")
LEAST_BLOCKS = 3  # of a campaign that could say anything at all


@dataclass(frozen=True)
class SelftestPlan:
    """How many campaigns of which kind. ``slower_cases`` has the case of each delayed stage."""

    subject: str
    case: str
    route: str
    metrics: tuple[str, ...]
    slower_cases: tuple[str, ...]
    campaigns: int
    power_campaigns: int
    seconds: float
    power_seconds: float
    seed: int

    def kinds(self) -> Iterator[str]:
        """Every campaign's kind, spread evenly, so that any part of them is a fair sample."""
        total = max(self.campaigns, self.power_campaigns)
        for number in range(total):
            if number < self.campaigns:
                yield AA
            if number < self.power_campaigns:
                yield SLOWER_STAGES[number % len(SLOWER_STAGES)]

    def bench(self, number: int, kind: str) -> BenchPlan:
        """The bench of a campaign."""
        if kind == AA:
            case, metrics, budget_s = self.case, self.metrics, self.seconds
        else:
            case = self.slower_cases[SLOWER_STAGES.index(kind)]
            metrics, budget_s = (kind,), self.power_seconds
        return BenchPlan(
            baseline=self.subject,
            candidate=self.subject,
            cells=(BenchCell(BenchCase(case), self.route),),
            metrics=metrics,
            gating=metrics,
            bands=Bands(),
            budget_s=budget_s,
            seed=self.seed * 1_000_003 + number,
            sizes=False,
        )


@dataclass
class Campaign:
    """One campaign as far as it got."""

    number: int
    kind: str
    plan: BenchPlan
    samples: Samples
    ended: bool = False

    @property
    def cell(self) -> CellSamples:
        (cell,) = self.samples.cells.values()
        return cell


@dataclass
class Campaigns:
    """A selftest's journal. Each line is a bench's, and names the ``campaign`` it belongs to."""

    plan: SelftestPlan
    found: dict[int, Campaign] = field(default_factory=dict)
    sessions: list[Mapping[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, plan: SelftestPlan, lines: Sequence[Mapping[str, Any]]) -> Campaigns:
        campaigns = cls(plan)
        kinds = list(plan.kinds())
        for line in lines:
            if line["kind"] == "session":
                campaigns.sessions.append(line)
                continue
            number = int(line["campaign"])
            campaign = campaigns.begin(number, kinds[number])
            if line["kind"] == "ended":
                campaign.ended = True
            elif line["kind"] == "delay":
                campaign.plan = _delayed(campaign, float(line["delay_s"]))
            else:
                campaign.samples.add(line)
        return campaigns

    def begin(self, number: int, kind: str) -> Campaign:
        """The campaign of that number, begun now if it was not."""
        if number not in self.found:
            plan = self.plan.bench(number, kind)
            self.found[number] = Campaign(number, kind, plan, read_samples(plan, ()))
        return self.found[number]

    def of(self, power: bool) -> list[Campaign]:
        """The campaigns that ended and could say something, A/A or with a delay."""
        return [
            campaign
            for campaign in self.found.values()
            if campaign.ended
            and (campaign.kind != AA) is power
            and len(campaign.cell.blocks) >= LEAST_BLOCKS
        ]

    @property
    def silent(self) -> int:
        """How many ended with too few blocks to be evidence that a rule is right."""
        return sum(
            campaign.ended and len(campaign.cell.blocks) < LEAST_BLOCKS
            for campaign in self.found.values()
        )


def run_campaigns(
    campaigns: Campaigns,
    zygote: Asked,
    write: Callable[[Mapping[str, Any]], None],
    enough: Callable[[], bool] = lambda: False,
) -> Iterator[Campaign]:
    """Run what is missing, one campaign after the other; yields each as it ended."""
    for number, kind in enumerate(campaigns.plan.kinds()):
        if enough():
            return
        campaign = campaigns.begin(number, kind)
        if campaign.ended:
            continue
        _run(campaign, zygote, lambda line, n=number: write({**line, "campaign": n}))  # type: ignore[misc]
        yield campaign


def _run(campaign: Campaign, zygote: Asked, write: Callable[[Mapping[str, Any]], None]) -> None:
    """Run a campaign in two parts, because its pilot comes before the delay is known."""
    if campaign.cell.pilot is None:
        next(_sampling(campaign, zygote, write))
    if campaign.cell.pilot is None:
        (case,) = (cell.case.name for cell in campaign.plan.cells)
        raise UsageError(f"{case} cannot be measured: {campaign.cell.failed}; choose another case")
    if campaign.kind != AA and not campaign.plan.delayed:
        calls = [
            seconds
            for arm in campaign.cell.pilot["arms"].values()
            for seconds in arm["seconds"][campaign.kind]
        ]
        delay_s = INJECTED * median(calls)
        write({"schema": SCHEMA, "kind": "delay", "delay_s": delay_s})
        campaign.plan = _delayed(campaign, delay_s)
    for _ in _sampling(campaign, zygote, write):
        pass
    write({"schema": SCHEMA, "kind": "ended"})
    campaign.ended = True


def _delayed(campaign: Campaign, delay_s: float) -> BenchPlan:
    return dataclasses.replace(campaign.plan, delayed=campaign.kind, delay_s=delay_s)


def _sampling(
    campaign: Campaign, zygote: Asked, write: Callable[[Mapping[str, Any]], None]
) -> Iterator[BenchCell]:
    return Sampling(campaign.plan, campaign.samples, zygote, write, lambda: 1 << 62).run()


def verdict_of(campaign: Campaign) -> BenchReport:
    return judge_bench(campaign.plan, campaign.samples)


def called_by_us(campaign: Campaign) -> bool:
    """Whether our rule calls a campaign: for A/A anything different, otherwise regressed."""
    stages = verdict_of(campaign).stages
    if campaign.kind == AA:
        wrong = (Change.REGRESSED, Change.IMPROVED)
        return any(stage.control_off or stage.effect.change in wrong for stage in stages)
    return any(
        stage.effect.change is Change.REGRESSED and not stage.control_off for stage in stages
    )


Rule = Callable[[Sequence[float], Sequence[float]], bool]
RIVALS: Mapping[str, Rule] = {
    "pooled t test, 1 %": pooled_t_differs,
    "bare threshold, 5 %": threshold_differs,
    "pyperf compare": pyperf_differs,
}


def called_by_rival(campaign: Campaign, rule: Rule, *, in_turn: bool) -> bool:
    """Whether a pooling rule calls the same samples different.

    Args:
        in_turn: take all samples. Otherwise take them as most benchmarks are run, one side after
            the other: the baseline's of the first half of the time, the candidate's of the second.
    """
    blocks = campaign.cell.blocks
    half = len(blocks) // 2
    first, second = (blocks, blocks) if in_turn else (blocks[:half], blocks[half:])
    for metric in campaign.plan.metrics:
        one = pooled(first, metric, [BASELINE])
        other = pooled(second, metric, [CANDIDATE])
        if len(one) < 2 or len(other) < 2 or not rule(one, other):
            continue
        if campaign.kind == AA or slower(one, other):
            return True
    return False
