"""What the benches of a lane measure: stages, gating stages, cases and routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.base.errors import UsageError
from harness.wire.bench_records import PASSES, USER_PASSES, Metric, UserMetric
from harness.wire.routes import Lane


@dataclass(frozen=True)
class Measures:
    """The measures of one lane. ``routes`` are the default ones if the subjects have them, and
    ``about`` explains the figures to a reader."""

    lane: Lane
    stages: tuple[str, ...]
    passes: Mapping[str, Sequence[str]]
    gating: tuple[str, ...]
    cases: tuple[str, ...]
    routes: tuple[str, ...]
    sizes: bool  # whether bytes are asked for, too
    about: str = ""

    def choose(self, text: str) -> tuple[str, ...]:
        """Stages by name. `all`, or the name of a pass such as `load`, stands for several."""
        if not text or text == "all":
            return self.stages
        chosen: list[str] = []
        for name in (part.strip() for part in text.split(",")):
            if name in self.stages:
                chosen.append(name)
            elif name in self.passes:
                chosen += self.passes[name]
            else:
                raise UsageError(
                    f"--stages: no stage is named {name!r}; there are: {', '.join(self.stages)}"
                )
        return tuple(stage for stage in self.stages if stage in chosen)


GRAPH: Final = Measures(
    lane=Lane.GRAPH,
    stages=tuple(Metric),
    passes=PASSES,
    # A user waits for these. The others are shown and do not gate.
    gating=(Metric.INLINE, Metric.EXPORT, Metric.SAVE, Metric.LOAD_COLD, Metric.LOAD_WARM),
    cases=(
        "chain_of_forty",
        "fan_out_of_twelve",
        "resnet_relu",
        "yolo_chunk",
        "llama_linear",
        "whisper_softmax",
    ),
    routes=("legacy", "export"),
    sizes=True,
)
PACKAGE: Final = Measures(
    lane=Lane.PACKAGE,
    stages=tuple(UserMetric),
    passes=USER_PASSES,
    gating=tuple(metric for metric in UserMetric if metric is not UserMetric.IMPORT_TORCH),
    # Every release from 2.8.0 on saves and loads these by all three routes; the last is the largest
    # such case.
    cases=("linears_in_two_fallbacks", "relu_four_steps", "encoder_softmax"),
    routes=("no-retrace", "no-retrace-export", "retrace"),
    sizes=False,
    about=(
        "user-save, user-load-cold and user-load-warm are torch_tensorrt.save and load as a user "
        "calls them, nothing wrapped. import is the import of torch_tensorrt in a fresh Python "
        "process that has imported torch, the harness's stand-ins for CUDA included; import-torch "
        "is torch's own before it."
    ),
)
_LANES: Final[Mapping[str, Measures]] = {measures.lane: measures for measures in (GRAPH, PACKAGE)}
ALL_STAGES: Final = tuple(stage for measures in _LANES.values() for stage in measures.stages)


def measures_of(lane: str) -> Measures:
    """Raises UsageError for a lane that has no benches."""
    if lane not in _LANES:
        raise UsageError(f"--lane {lane!r}: a bench is of one lane, {' or '.join(_LANES)}")
    return _LANES[lane]
