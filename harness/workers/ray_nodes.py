"""The nodes of a Ray cluster, and which of them judge as the controller does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from harness.base.errors import SurroundingsError
from harness.toolchain import Toolchain
from harness.toolchain.deciding import ImportsFromElsewhere
from harness.toolchain.environment import PROJECT_ROOT
from harness.workers.node_facts import facts_of_this_machine
from harness.workers.seat import facts_of_node

_LOCKS: Final = PROJECT_ROOT / "environments"
#: What a node has instead is told up to this length.
_SHOWN: Final = 100
_FACTS_TIMEOUT_S: Final = 3600.0  # a node may make its environment first


@dataclass
class Nodes:
    """What is known of the nodes.

    Attributes:
        left_out: nodes that are asked nothing, each with why, by Ray's id.
        own: what decides verdicts on the controller's machine, where they are kept.
        keeps_for: the seed of a run whose verdicts are kept; None if none is.
    """

    toolchain: Toolchain
    left_out: dict[str, str] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    keeps_for: int | None = None

    @property
    def selector(self) -> dict[str, str] | None:
        """Keeps Ray from placing anything on a node that is left out."""
        return {"ray.io/node-id": f"!in({','.join(self.left_out)})"} if self.left_out else None

    @property
    def lock(self) -> str:
        """What an environment like the controller's is made of; empty where no lock says."""
        torch = self.toolchain.python_env().torch_version.partition("+")[0]
        lock = _LOCKS / f"torch-{torch}.txt"
        return lock.read_text(encoding="utf-8") if lock.is_file() else ""

    def unlike(self, seed: int) -> str:
        """Why no verdict of theirs may be kept; empty where all run as the controller does."""
        self.keeps_for = None
        try:
            self.own = facts_of_this_machine(self.toolchain, seed)
            asked = [node for node in working() if node["NodeID"] not in self.left_out]
            reasons = [self._asked(node, seed) for node in asked]
        except RayTaskError as error:
            return str(error.cause)
        except (ImportsFromElsewhere, SurroundingsError, RayError) as error:
            return str(error)
        if not reasons:
            return "the cluster has no node yet"
        if not any(reasons):
            self.keeps_for = seed
        return "; ".join(dict.fromkeys(filter(None, reasons)))

    def _asked(self, node: Mapping[str, Any], seed: int) -> str:
        """In what a node differs; it is asked beside what runs there."""
        there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ask = ray.remote(facts_of_node).options(num_cpus=0, scheduling_strategy=there)
        facts = ray.get(ask.remote(self.lock, seed), timeout=_FACTS_TIMEOUT_S)
        return differing(node["NodeManagerHostname"], facts, self.own)


def working() -> list[Mapping[str, Any]]:
    """The nodes that are there and have a processor."""
    return [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]


def differing(host: str, facts: Mapping[str, str], own: Mapping[str, str]) -> str:
    """In what a node differs from the controller, in words; empty if in nothing."""
    differ = [
        f"{name} {_brief(facts.get(name))}, not {_brief(own.get(name))}"
        for name in sorted({*own, *facts})
        if facts.get(name) != own.get(name)
    ]
    return f"{host} has {', '.join(differ)}" if differ else ""


def _brief(value: str | None) -> str:
    if value is None:
        return "unset"
    return value if len(value) <= _SHOWN else f"{value[:_SHOWN]}..."
