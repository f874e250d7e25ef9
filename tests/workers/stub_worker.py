"""A worker without torch for the tests of the pool: the real protocol, and whatever a job asks for.

What a cell does is in its case's name: ok, crash, hang, broken, crash-once (a file remembers),
crash-in-shared, nap-N (it takes a moment), crash-written and hang-written (as crash and hang, with
a later stage written down).
"""

import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

MEMORY = Path(os.environ["STUB_MEMORY"])


def send(**message: object) -> None:
    print(json.dumps(message), flush=True)


def record(key: dict[str, str]) -> dict[str, object]:
    verdict = {
        "oracle": "completion", "outcome": "ok", "symptom": None, "stage": None,
        "message": "", "evidence": "",
    }  # fmt: skip
    return {
        "schema": 1, "key": key, "state": "ended", "verdicts": [verdict], "reason": "",
        "hypothetical": False, "measured_as": key["subject"], "seconds": {},
        "archive_bytes": None, "engine_bytes": None, "attempts": 1, "ended_at_unix_s": 1.0,
    }  # fmt: skip


def cell_id(key: dict[str, str]) -> str:
    return "~".join(key.values())


def run_cell(key: dict[str, str]) -> None:
    send(event="stage", cell=cell_id(key), stage="export")
    behaviour = key["case"] if key["route"] == "export" else "ok"
    if behaviour.endswith("-written"):
        Path(tempfile.gettempdir(), "stage").write_text("save".ljust(32))
        behaviour = behaviour.removesuffix("-written")
    if behaviour == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    if key["case"].startswith("nap-"):
        time.sleep(0.1)
    if behaviour == "hang":
        time.sleep(600)
    if behaviour == "crash-once" and not MEMORY.exists():
        MEMORY.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if behaviour == "broken":
        send(event="broken", cell=cell_id(key), traceback="ZeroDivisionError: planted")
        return
    send(event="record", record=record(key))


left = tempfile.mkdtemp(prefix="left-by-a-worker-")
with MEMORY.with_name("left").open("a") as told:
    told.write(f"{left}\n")
setup = json.loads(sys.stdin.readline())
if setup["seed"] == 13:
    sys.exit(7)
errors = {"bad": "subject bad: does not load"} if setup["seed"] == 14 else {}
send(
    event="ready",
    load_errors=errors,
    corpus_digest="digest" if setup["seed"] != 15 else "other",
    deciding={"torch": os.environ.get("STUB_TORCH", "2.13.0")},
)
for line in sys.stdin:
    job = json.loads(line)
    send(event="stage", cell=None, stage="capture")
    if job["case"] == "crash-in-shared":
        os.kill(os.getpid(), signal.SIGKILL)
    for key in job["cells"]:
        run_cell(key)
    send(event="done", spent={"worker_s": 2.0, "stages_s": 1.5})
