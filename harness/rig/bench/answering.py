"""How a process that measures speaks to the bench: its setup once, then an answer to each job.

In:   the setup, then one message a job; both as the process's own module says
Out:  {"event": "ready", ...}, then one answer each: {"event": "done", ...}, or
      {"event": "failed", "message": LINE, "traceback": TEXT, "mistake": BOOL}
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch

from corpus.case import corpus_digest
from harness.rig.bench.blocks import cold_share
from harness.rig.bench.forked import ChildFailed, UnfitToFork, one_line
from harness.rig.bench.measuring import overhead_s
from harness.rig.channel import die_with_parent, private_channel, send


class Server(Protocol):
    """What outlives a job. ``load_errors`` says of each subject that is not there why."""

    load_errors: dict[str, str]

    def serve(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Do one job.

        Raises:
            ChildFailed, UnfitToFork: told to the bench, which may go on with another job.
        """
        ...


def answer_jobs(make: Callable[[Mapping[str, Any]], Server]) -> None:
    """Serve jobs until stdin ends."""
    die_with_parent()
    channel = private_channel()
    # torch.fx counts its nodes with tqdm, which starts a thread even where it shows nothing; and a
    # process with two threads cannot be forked.
    torch.hub.tqdm.monitor_interval = 0
    server = make(json.loads(sys.stdin.readline()))
    send(
        channel,
        event="ready",
        load_errors=server.load_errors,
        corpus_digest=corpus_digest(),
        overhead_s=overhead_s(),
        cold_share=cold_share(),
        temporary_folder=tempfile.gettempdir(),
        affinity=sorted(os.sched_getaffinity(0)),
        torch=torch.__version__,
    )
    for line in sys.stdin:
        try:
            answer = server.serve(json.loads(line))
        except (ChildFailed, UnfitToFork) as error:
            mistake = isinstance(error, ChildFailed) and error.mistake
            said = one_line(error)
            send(channel, event="failed", message=said, traceback=str(error), mistake=mistake)
        else:
            send(channel, event="done", **answer)
