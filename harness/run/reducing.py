"""A reduction seen from here: the rig makes and tries candidates, and this side decides.

What is kept of a candidate is decided by the failure's signature (`harness.gate.signature`), which
needs the register, or by a user's own command.
"""

from __future__ import annotations

import dataclasses
import json
import math
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.base.errors import SurroundingsError, UsageError
from harness.base.process import kill_group, last_line, run
from harness.base.words import plural
from harness.gate.signature import Known, Signature, signature_of
from harness.toolchain.environment import PROJECT_ROOT, rig_command
from harness.wire.oracles import Harm
from harness.wire.record_json import cell_from_json
from harness.wire.records import CellRecord, Verdict
from harness.wire.routes import Route
from harness.wire.vocabulary import CellState
from harness.workers.process import environment, temporary_folder

CASE: Final = "reduced"  # the name of the case in the file that is written
FAILS: Final = 1  # the exit code by which a user's command says that a candidate fails
_MODULE: Final = "harness.rig.workers.reducing"
_STOP_WAIT_S: Final = 60.0


@dataclass(frozen=True)
class Size:
    """How large a model is; ``nodes`` counts inputs, tensors that it holds, ops and the output."""

    nodes: int
    ops: int
    inputs: int
    outputs: int
    fallbacks: int

    def __str__(self) -> str:
        parts = ((self.ops, "op"), (self.inputs, "input"), (self.fallbacks, "fallback"))
        return ", ".join(plural(count, of) for count, of in parts)


@dataclass(frozen=True)
class Tried:
    """One try. ``kept`` says that the candidate is the smallest so far."""

    number: int
    seconds: float  # since the reduction began
    size: Size
    kept: bool


@dataclass(frozen=True)
class Asked:
    """What is to be reduced, and which failure of it is meant.

    ``setup`` is that of a lane. ``oracle``, ``harm`` and ``defect`` choose among its failures; with
    a ``check`` a command decides, which is given a file and says by exit code 1 that it fails.
    ``limit_s`` after the first try the whole ends with the smallest so far, ``try_limit_s`` is for
    one try, which then has failed in no way.
    """

    case: str
    capture: str
    subject: str
    routes: tuple[Route, ...]
    setup: Mapping[str, Any]
    oracle: str = ""
    harm: str = ""
    defect: str = ""
    check: str = ""
    try_limit_s: float = 60.0
    limit_s: float = math.inf


@dataclass(frozen=True)
class Reduced:
    """What a reduction came to.

    ``text`` is the file of one case, empty for the reason ``why_not``; ``signature`` and
    ``verdict`` are None where a command decided.
    """

    text: str
    why_not: str
    before: Size
    after: Size
    tries: int
    seconds: float
    signature: Signature | None
    verdict: Verdict | None
    interrupted: bool


def reduce_model(
    asked: Asked, known: Known, python: str, watch: Callable[[Tried], None]
) -> Reduced:
    """Reduce; Ctrl-C ends it with the smallest so far.

    Args:
        watch: called behind every try.

    Raises:
        NothingToReduce: the case is wrong itself, or has no model.
        UsageError: it does not fail so.
        SurroundingsError: the process died.
        KeyboardInterrupt: before anything was smaller.
    """
    with temporary_folder() as folder:
        process = _Process(asked, python, Path(folder))
        try:
            return _Reduction(asked, known, process, watch, folder).run()
        finally:
            process.end()


class NothingToReduce(UsageError):
    """The case itself is wrong, or has no model: no lane can reduce it."""


class _Process:
    """The rig's process, and the two pipes."""

    def __init__(self, asked: Asked, python: str, folder: Path) -> None:
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                rig_command(python, _MODULE),
                cwd=PROJECT_ROOT,
                env=environment(str(folder), int(asked.setup.get("seed", 0))),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C reaches this side alone, which tells the other
            )

    def send(self, **message: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._died() from error

    def next(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith("\n"):
            raise self._died()
        event: dict[str, Any] = json.loads(line)
        return event

    def _died(self) -> SurroundingsError:
        code = self._process.wait()
        words = last_line(self._log.read_text(encoding="utf-8", errors="replace"))
        return SurroundingsError(f"the process that reduces ended by {code}: {words}")

    def end(self) -> None:
        if self._process.poll() is None:
            kill_group(self._process.pid)
        self._process.wait()


class _Reduction:
    def __init__(
        self,
        asked: Asked,
        known: Known,
        process: _Process,
        watch: Callable[[Tried], None],
        folder: str,
    ) -> None:
        self._asked, self._known, self._process = asked, known, process
        self._watch, self._folder = watch, folder
        self._began = time.monotonic()
        self._first_try = math.inf
        self._signature: Signature | None = None
        self._verdict: Verdict | None = None
        self._before: Size | None = None
        self._interrupted = False

    def run(self) -> Reduced:
        asked = self._asked
        self._process.send(
            **asked.setup,
            case=asked.case,
            capture=asked.capture,
            subject=asked.subject,
            routes=list(asked.routes),
            by_file=bool(asked.check),
            limit_s=asked.try_limit_s,
            folder=self._folder,
            catches=f"what {asked.case} was reduced to",
        )
        while True:
            try:
                event = self._process.next()
                if event["event"] == "refused":
                    if self._interrupted:
                        raise KeyboardInterrupt
                    raise (NothingToReduce if event["anywhere"] else UsageError)(event["why"])
                if event["event"] == "ended":
                    return self._ended(event)
                self._process.send(**self._answer(event))
            except KeyboardInterrupt:
                if self._interrupted or self._before is None:
                    raise
                self._interrupted = True
                self._process.send(stop=True)

    def _answer(self, event: Mapping[str, Any]) -> dict[str, Any]:
        if event["event"] == "shown":
            self._known = dataclasses.replace(self._known, lacks=tuple(event["lacks"]))
            return self._shown([cell_from_json(each) for each in event["records"]])
        size = Size(**event["size"])
        same = self._same(event)
        now = time.monotonic()
        is_late = now - self._first_try > self._asked.limit_s
        self._first_try, self._before = min(self._first_try, now), self._before or size
        self._watch(Tried(event["tries"], now - self._began, size, same))
        return {"stop": True} if is_late else {"same": same}

    def _shown(self, records: Sequence[CellRecord]) -> dict[str, Any]:
        asked = self._asked
        found = signature_of(
            records, self._known, oracle=asked.oracle, harm=asked.harm, defect=asked.defect
        )
        if found is None:
            raise UsageError(_does_not_fail(asked, records))
        self._signature, record = found
        return {"route": record.key.route}

    def _same(self, event: Mapping[str, Any]) -> bool:
        if self._asked.check and event.get("file"):
            command = [*shlex.split(self._asked.check), event["file"]]
            return run(command).code == FAILS
        if self._signature is None or event["record"] is None:
            return False
        verdict = self._signature.shown_by(cell_from_json(event["record"]))
        if verdict is not None:
            self._verdict = verdict
        return verdict is not None

    def _ended(self, event: Mapping[str, Any]) -> Reduced:
        assert self._before is not None
        return Reduced(
            text=event["text"],
            why_not=event["why_not"],
            before=self._before,
            after=Size(**event["size"]),
            tries=event["tries"],
            seconds=time.monotonic() - self._began,
            signature=self._signature,
            verdict=self._verdict,
            interrupted=self._interrupted,
        )


def _does_not_fail(asked: Asked, records: Sequence[CellRecord]) -> str:
    """Why there is nothing to reduce, in one sentence."""
    not_asked = [each for each in records if each.state is CellState.UNSUPPORTED]
    if records and len(not_asked) == len(records):
        return f"{asked.case} cannot be asked of {asked.subject}, {not_asked[0].reason}"
    how = asked.defect or " ".join(part for part in (asked.harm, asked.oracle) if part)
    shown = sorted(
        {each.harm for each in records if each.harm}, key=lambda harm: Harm(harm).severity
    )
    words = f"; it shows what is {' and '.join(shown)}" if shown else ""
    return (
        f"{asked.case} does not fail{f' by {how}' if how else ''} in {asked.subject} by "
        f"{' or '.join(asked.routes)}{words}"
    )
