"""What the commands share: consoles, options, the toolchain, and how a command fails."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from harness.base.errors import ExitCode, UsageError
from harness.base.files import written_to
from harness.base.program import as_called_here
from harness.base.zips import opened_zip
from harness.catalogue.releases import EXPORTER_MODULE
from harness.mends.all import mends_of
from harness.mends.mend import Mend
from harness.runs.plan import CAPTURES
from harness.toolchain import Toolchain
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import Corpus, read_corpus
from harness.wire.records import SubjectSpec
from harness.wire.routes import Lane

CACHE = Path(".cache")
INTERRUPTED = "interrupted; what has ended is kept"

out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)


def fail(code: ExitCode, message: str) -> NoReturn:
    if code is ExitCode.INTERRUPTED:
        say(message)
    else:
        say_error(message)
    sys.exit(code)


def say_error(message: str) -> None:
    say(f"error: {message}")


def committed(path: Path) -> Path:
    """A place of committed data, to be written."""
    if not (PROJECT_ROOT / "pyproject.toml").is_file():
        raise UsageError(f"{path} belongs to the installed harness; do this in a checkout")
    return path


def mends_in(mended: str, only: str) -> tuple[Mend, ...]:
    """The mends that ``--mended`` puts into a release: those that ``--only`` names, or all.

    Raises UsageError as `mends_of`, and for ``--only`` by itself.
    """
    if only and not mended:
        raise UsageError("--only says which mends --mended takes; give that one too")
    return mends_of(listed(only))


def add_step_summary(folder: Path) -> None:
    """Show a run's report.md on the page of the GitHub job that this is, if it is one."""
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if place:
        with written_to(Path(place)), Path(place).open("a", encoding="utf-8") as stream:
            stream.write((folder / "report.md").read_text(encoding="utf-8") + "\n")


def toolchain_for(
    wheelhouse: Path | None = None, offline: bool = False, python: str = sys.executable
) -> Toolchain:
    cache = Path(os.environ.get("INLINER_REGRESS_CACHE", CACHE)).absolute()
    return Toolchain(
        cache=cache,
        python=python,
        wheelhouse=wheelhouse,
        offline=offline,
        compiler=os.environ.get("CXX", "g++"),
        notify=say,
    )


def cases_here(places: Sequence[str] = (), python: str = sys.executable) -> Corpus:
    """The corpus as this Python, or another, reads it. Raises as `read_corpus`."""
    toolchain = toolchain_for(python=python)
    return read_corpus(toolchain.python, places, toolchain.cache)


def release_file(spec: SubjectSpec, file: str) -> str:
    """The text of a file of a release's wheel. Raises UsageError where there is none."""
    if spec.wheel_path is None:
        raise UsageError(f"--release {spec.subject}: {spec.unavailable}")
    with opened_zip(Path(spec.wheel_path)) as wheel:
        if file not in wheel.namelist():
            raise UsageError(
                f"{file}: not in the wheel of {spec.subject}; write for example {EXPORTER_MODULE}"
            )
        return wheel.read(file).decode()


def shown(path: Path) -> Path:
    """A path as it is found from the current folder, if it lies below that."""
    whole, here = path.resolve(), Path.cwd()
    return whole.relative_to(here) if whole.is_relative_to(here) else path


def tell(text: str) -> None:
    """One line as it is: not wrapped, not styled, so that a log and a pipe get the same."""
    out.print(as_called_here(text), markup=False, soft_wrap=True)


def tells_scripts(whole: str) -> Callable[[], None]:
    """What is to be called behind each script that was tried: it tells each fifth time.

    Args:
        whole: what the scripts are for, such as ``12 defects``.
    """
    tried = itertools.count(1)

    def heard() -> None:
        if (count := next(tried)) % 5 == 0:
            tell(f"{count} scripts tried for {whole}")

    return heard


def say(text: str) -> None:
    """One line beside what a command answers, likewise as it is."""
    err.print(as_called_here(text), markup=False, soft_wrap=True)


def listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def captures(text: str) -> tuple[str, ...]:
    modes = listed(text)
    unknown = [mode for mode in modes if mode not in CAPTURES]
    if unknown or not modes:
        raise UsageError(f"--capture {text!r}: nonstrict, strict or functional")
    return modes


def lanes(text: str) -> tuple[str, ...]:
    asked = listed(text)
    if not asked or set(asked) - set(Lane):
        raise UsageError(f"--lane {text!r}: {', '.join(Lane)}, or several with commas")
    return asked
