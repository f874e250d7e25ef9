"""One process with torch for all workers of a run, which are forks of it: torch is imported once.

`harness.rig.workers.warm` is that process, and says which workers cannot be its forks. They start
by themselves, as all do where it cannot start; what keeps torch from being imported, they tell.
Why one had no fork stands in the file `SAID` of the server's folder, for who looks for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Iterable, Iterator
from tempfile import TemporaryDirectory
from typing import Final

from harness.toolchain.deciding import VARIABLES
from harness.toolchain.environment import PROJECT_ROOT, rig_command
from harness.workers.process import WARM_RIG, variables

#: The file beside the socket with all that the server has printed.
SAID: Final = "said"
#: What every lane imports, and no case or release.
_IMPORTS: Final = ("harness.rig.lanes", "torch._dynamo", "torch._inductor", "torch.export._trace")
#: What whole packages import beside that.
PACKAGES: Final = (
    "torch._inductor.lowering", "torch._dynamo.testing", "functorch.experimental", "rich.progress",
)  # fmt: skip


@contextlib.contextmanager
def warm_rig(
    python: str, seed: int = 0, more: Iterable[str] = (), *, cases: bool = False
) -> Iterator[None]:
    """While the body runs, workers with this Python and seed are forks of one process.

    Args:
        more: modules that it imports, too, such as `PACKAGES`.
        cases: whether it imports the corpus. No process that loads what a package saved may have.
    """
    if WARM_RIG in os.environ:  # there is one already
        yield
        return
    setup = {"imports": [*_IMPORTS, *more], "cases": cases, "decides": VARIABLES}
    with TemporaryDirectory(prefix="harness-warm-") as folder, socket.socket(socket.AF_UNIX) as own:
        address = f"{folder}/rig"
        own.bind(address)
        own.listen(64)
        number = own.fileno()
        with open(f"{folder}/{SAID}", "wb") as said:
            server = subprocess.Popen(
                [*rig_command(python, "harness.rig.workers.warm", str(number), json.dumps(setup))],
                cwd=PROJECT_ROOT,
                env=variables(seed),
                stdin=subprocess.PIPE,  # it ends when nobody holds the other end any more
                stdout=subprocess.DEVNULL,
                stderr=said,
                pass_fds=[number],
                start_new_session=True,
            )
        own.close()  # who connects is refused once the server is gone
        os.environ[WARM_RIG] = address
        try:
            yield
        finally:
            del os.environ[WARM_RIG]
            server.kill()  # its forks have ended with those who waited for them
            server.communicate()
