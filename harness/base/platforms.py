"""Where the harness runs: Linux on x86-64, with Python 3.11 or 3.12.

Nothing here needs a newer Python than the ones that are refused.
"""

from __future__ import annotations

import platform
import sys


def refusal(
    system: str = sys.platform,
    machine: str = platform.machine(),
    python: tuple[int, int] = sys.version_info[:2],
) -> str:
    """Why the harness cannot run here, in one line; empty where it can."""
    if system != "linux" or machine not in ("x86_64", "amd64"):
        what = f"this is {system} on {machine}"
    elif python not in ((3, 11), (3, 12)):
        what = f"this is Python {python[0]}.{python[1]}"
    else:
        return ""
    return f"{what}; the harness runs on Linux x86-64 with Python 3.11 or 3.12"
