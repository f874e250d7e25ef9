"""Run with a node's Python with torch: tells what of it and of the node decides every verdict."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from harness.toolchain import Toolchain
from harness.toolchain.deciding import machine_facts
from harness.workers.process import variables


def facts_of_this_machine(toolchain: Toolchain, seed: int) -> dict[str, str]:
    """What decides the verdict of a worker of this seed, which Python and machine it has.

    Raises:
        ImportsFromElsewhere: its packages cannot be told.
    """
    installed = toolchain.installed()
    toolchain.keep_facts()
    facts = machine_facts(toolchain.python_env(), installed, variables(seed))
    named = json.loads(facts.pop("variables"))
    return facts | {f"the variable {name}": value for name, value in named.items()}


if __name__ == "__main__":
    here = Toolchain(cache=Path(sys.argv[1]), python=sys.executable)
    print(json.dumps(facts_of_this_machine(here, int(sys.argv[2]))))
