"""The folder of a run of any kind: made, found again, locked, written and read.

A run has an id, which its folder is named by, and ``run.json`` with its provenance. Beside the
folders lies a symbolic link to the newest one of each kind. One process at a time writes a run;
anybody may read it meanwhile.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final, Self, TypeVar

from filelock import FileLock, Timeout

from harness.base.errors import UsageError
from harness.base.files import replace_file, replace_link, sync_folder, written_to
from harness.base.program import PROGRAM
from harness.runs.journal import Journal, JournalReading, read_journal
from harness.runs.provenance import (
    Provenance,
    provenance_from_json,
    provenance_to_json,
    resume_mismatch,
    resume_warnings,
    with_fresh_id,
)
from harness.wire.record_json import SCHEMA, UnknownSchema, check_schema

LATEST: Final = "latest"
_LOCK_WAIT_S: Final = 1.0  # long enough for a reader that probes the lock to let go of it again
T = TypeVar("T")


class RunDirectory:
    """One run; `make` begins it and `open` finds it. A kind of run is a subclass."""

    KIND: ClassVar[str]  # as messages call it
    COMMAND: ClassVar[str]  # of the command line, which makes one
    MARK: ClassVar[str] = "run.json"  # the file without which a folder is not of this kind
    PREFIX: ClassVar[str] = ""  # of the folder's name, before the id
    LINK: ClassVar[str] = LATEST
    JOURNAL: ClassVar[str] = "journal.jsonl"
    LOCK: ClassVar[str] = "lock"

    def __init__(self, path: Path) -> None:
        """``path`` is an existing folder of this kind."""
        self.path = path
        # Not thread-local: the lock belongs to this object, whichever thread calls it.
        self._lock = FileLock(path / self.LOCK, thread_local=False)

    @classmethod
    def make(
        cls, out: Path, provenance: Provenance, files: Mapping[str, bytes | Mapping[str, Any]]
    ) -> Self:
        """Begin a new run under ``out``, with these files and, last, ``run.json``.

        The run id becomes another one where a folder of that name exists.
        """
        with written_to(out):
            out.mkdir(parents=True, exist_ok=True)
            while True:
                path = out.resolve() / f"{cls.PREFIX}{provenance.run_id}"
                try:
                    path.mkdir()
                except FileExistsError:
                    provenance = with_fresh_id(provenance)
                else:
                    break
        run = cls(path)
        for name, content in files.items():
            run.write(name, content)
        run.write("run.json", provenance_to_json(provenance))
        replace_link(out / cls.LINK, path.name)
        with written_to(out):
            sync_folder(out)
        return run

    def be_latest(self) -> None:
        """Let `latest` name this run, where a later one of the same command has it."""
        replace_link(self.path.parent / self.LINK, self.path.name)

    @classmethod
    def latest(cls, out: Path) -> Path | None:
        """The folder of the newest run, below ``out`` as the user named it."""
        link = out / cls.LINK
        return out / link.resolve().name if link.exists() else None

    def discard(self, before: Path | None) -> None:
        """Remove a run that came to nothing; `latest` is ``before`` again, if there was one."""
        link = self.path.parent / self.LINK
        if link.resolve() == self.path:
            link.unlink()
            if before is not None:
                replace_link(link, before.name)
        shutil.rmtree(self.path)

    @classmethod
    def open(cls, which: str | Path, out: Path = Path("results")) -> Self:
        """Find a run by its folder's path, by its id under ``out``, or as ``latest``."""
        path = cls.find(which, out)
        if path is not None:
            return cls(path)
        for candidate in cls._candidates(which, out):
            if candidate.exists():
                raise UsageError(f"{candidate} is not a {cls.KIND}: it has no {cls.MARK}")
        raise UsageError(
            f"no {cls.KIND} {str(which)!r}",
            f"give its folder, its id under {out}, or {LATEST!r}; "
            f"`{PROGRAM} {cls.COMMAND}` makes one",
        )

    @classmethod
    def find(cls, which: str | Path, out: Path) -> Path | None:
        """Where the run of that name lies, if there is one."""
        for candidate in cls._candidates(which, out):
            if (candidate / cls.MARK).is_file():
                return candidate.resolve()  # the link may point elsewhere a moment later
        return None

    @classmethod
    def _candidates(cls, which: str | Path, out: Path) -> list[Path]:
        if str(which) == LATEST:
            return [out / cls.LINK]
        return [Path(which), out / which, out / f"{cls.PREFIX}{which}"]

    @property
    def run_id(self) -> str:
        return self.path.name.removeprefix(self.PREFIX)

    def provenance(self) -> Provenance:
        """What ran on what.

        Raises:
            UsageError: it is damaged, or names cases that lie in this folder: whoever is given a
                run reads it, and would run them.
        """
        found = self.read("run.json", lambda data: provenance_from_json(data, "run.json"))
        for place in found.corpus:
            if Path(place.partition(":")[0]).resolve().is_relative_to(self.path.resolve()):
                raise UsageError(
                    f"{self.path}: its cases lie in the run's own folder, whose code is not run",
                    "look into it by hand",
                )
        return found

    def refuse_mixing(self, now: Provenance, tell: Callable[[str], None], *more: str) -> None:
        """Raise UsageError if what is run now must not go on with this run; tell what else differs.

        Args:
            more: differences of this kind of run that forbid it, too.
        """
        before = self.provenance()
        differs = [*resume_mismatch(before, now), *more]
        if differs:
            raise UsageError(
                f"{self.run_id} cannot be resumed, its results would be mixed: "
                f"{'; '.join(differs)}",
                f"start a new {self.KIND}",
            )
        for warning in resume_warnings(before, now):
            tell(f"resumed: {warning}")

    def journal(self) -> JournalReading[dict[str, Any]]:
        """The journal as it stands, with what was dropped of a last line that was cut short."""
        path = self.path / self.JOURNAL
        return read_journal(path) if path.exists() else JournalReading((), 0)

    def write(self, name: str, content: bytes | str | Mapping[str, Any]) -> Path:
        """Write one file whole. A mapping becomes JSON with the schema's number."""
        path = self.path / name
        if isinstance(content, Mapping):
            data = {"schema": SCHEMA, **content}
            content = json.dumps(data, indent=2, allow_nan=False) + "\n"
        replace_file(path, content.encode() if isinstance(content, str) else content)
        return path

    def read(self, name: str, decode: Callable[[dict[str, Any]], T]) -> T:
        """What ``decode`` makes of a JSON file."""
        path = self.path / name
        with foreign_or_damaged(path):
            data = json.loads(path.read_bytes())
            if not isinstance(data, dict):
                raise TypeError("not an object")
            check_schema(data, str(path))
            return decode(data)

    def lock(self) -> None:
        """Become the one that writes, until `unlock`."""
        with written_to(self.path):
            try:
                self._lock.acquire(timeout=_LOCK_WAIT_S)
            except Timeout as error:  # inside: a Timeout is an OSError too
                raise UsageError(
                    f"{self.path} is being written by another process", "wait for it or stop it"
                ) from error

    def unlock(self) -> None:
        self._lock.release()

    @contextmanager
    def writing(self) -> Iterator[Journal]:
        """The journal to append to; nobody else writes this run meanwhile."""
        self.lock()
        try:
            with Journal(self.path / self.JOURNAL) as journal:
                yield journal
        finally:
            self.unlock()

    def is_written(self) -> bool:
        """Whether some process holds the lock."""
        if not Path(self._lock.lock_file).exists():
            return False
        try:
            self._lock.acquire(timeout=0)
        except OSError:  # a Timeout, as it is held; or a place that we may only read
            return True
        self._lock.release()
        return False


@contextmanager
def foreign_or_damaged(path: Path | str, advice: str = "") -> Iterator[None]:
    """Turn what a reader of ``path`` raises into a UsageError that names it."""
    try:
        yield
    except UnknownSchema as error:
        raise UsageError(str(error)) from error
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: foreign or damaged: {error!r}", advice) from error
