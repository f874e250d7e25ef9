"""Cuts this process off from every network, by namespaces of its own. For Linux, without root.

Who is in a new network namespace has no interface but a loopback that is down. A process may make
one in a user namespace of its own, in which it keeps its user and group.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Final

#: The variable that asks for it; `harness.rig.start` and `harness.rig.workers.warm` read it.
ISOLATED: Final = "INLINER_REGRESS_ISOLATED"
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000  # linux/sched.h


def isolate() -> None:
    """Leave the network. This process has to have one thread.

    Raises:
        OSError: the system does not allow it.
    """
    user, group = os.getuid(), os.getgid()
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_USER | _NEW_NET):
        number = ctypes.get_errno()
        raise OSError(number, f"unshare: {os.strerror(number)}")
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny")  # the kernel asks for it before a group is mapped
    (own / "uid_map").write_text(f"{user} {user} 1")
    (own / "gid_map").write_text(f"{group} {group} 1")


def isolate_if_asked() -> None:
    """As `isolate`, where the variable asks for it; what this process starts is cut off, too."""
    if os.environ.pop(ISOLATED, ""):
        isolate()


if __name__ == "__main__":
    isolate()
