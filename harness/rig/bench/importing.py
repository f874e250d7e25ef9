"""One import of a whole package, in a fresh Python process: torch first, then the package.

    python -m harness.rig.bench.importing       started by harness.bench, never by hand

In:   {"setup": as `open_package` takes it, "arm": Arm}
Out:  what one call of a worker answers, as `harness.wire.bench_turns` says

What comes before the first import is the start of Python, and is not in it. The emulation's own
stand-ins are in the package's seconds: their modules are imported here, behind torch, because they
bring modules of torch in that the package needs as well.
"""

from __future__ import annotations

import json
import sys
import time

from harness.rig.channel import die_with_parent, private_channel, send
from harness.wire.bench_records import UserMetric, arm_of
from harness.wire.bench_turns import wait_as_told


def main() -> None:
    die_with_parent()
    channel = private_channel()
    asked = json.loads(sys.stdin.readline())
    arm = arm_of(asked["arm"])
    began = time.perf_counter()
    import torch  # noqa: F401 - that it is imported is what is asked

    wait_as_told(arm, UserMetric.IMPORT_TORCH)
    torch_s = time.perf_counter() - began
    began = time.perf_counter()
    from harness.rig.package.opening import open_package

    open_package(asked["setup"])
    wait_as_told(arm, UserMetric.IMPORT)
    package_s = time.perf_counter() - began
    send(
        channel,
        seconds={UserMetric.IMPORT_TORCH: torch_s, UserMetric.IMPORT: package_s},
        timed_s=torch_s + package_s,
        call_s=torch_s + package_s,
    )


if __name__ == "__main__":
    main()
