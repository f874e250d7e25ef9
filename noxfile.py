"""The sessions, from `nox -s regress` to `nox -s report`; `nox -l` lists them.

Environments are built here only.

    nox -s regress -- --releases 2.13.0,2.14.0     arguments go to `python -m harness run`
    nox -s tests -- -k wiring                      arguments go to pytest
    nox -s tests -- --full                         the slow tests too
    nox -s page -- --browser /opt/chrome/chrome    the report's pages in that browser
    nox -s report -- results/2026-01-31            a run other than the latest
    nox -s stack -- --keep                         matched environments, kept on the disk
    nox -s "stack(2.14.0)"                         one of them
    nox -s "engine(tensorrt)"                      on a machine with CUDA: engines really run
    nox -s acceptance -- --quick                   whole runs held against each other
    nox -s crossing -- --matched                   releases in the environments that stack kept

Python 3.11 or 3.12 will do, namely the one that runs nox. A session whose environment already
holds what pyproject.toml asks for installs nothing and starts at once; `nox --reuse-venv=no -s
NAME` builds it anew. `nox --no-venv` installs nothing and uses the `python` of the search path.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import nox
from nox.command import CommandFailed

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

# Found through the line above; none of them needs more than the standard library.
from harness.base.program import refusal  # noqa: E402

if reason := refusal():
    print(f"error: {reason}", file=sys.stderr)
    sys.exit(4)  # ExitCode.FAILED, which an old Python cannot import

from harness.base.errors import ExitCode, Unavailable  # noqa: E402
from harness.machine.cuda import first_device  # noqa: E402
from harness.machine.pip_settings import left_out, uv_variables  # noqa: E402
from harness.wire.builders import SEGMENT, BuilderKind  # noqa: E402
from harness.wire.routes import Lane  # noqa: E402

PYPROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
# Real engines too: TensorRT-RTX builds them on a CPU. Of the newest two releases.
BOTH_LANES = [
    "--lane", f"{Lane.GRAPH},{Lane.PACKAGE}", "--builder", f"{SEGMENT},{BuilderKind.RTX}"
]  # fmt: skip
EVERYTHING = [*BOTH_LANES[:-1], f"{BOTH_LANES[-1]}-*"]
# The quick cases have no package to go through. What candidates and cases from elsewhere go through
# is the command's own choice, and they have no real engines.
GRAPH_LANE_ALONE = {
    "--lane", "--exporter", "--wheel", "--checkout", "--corpus", "--quick", "--resume"
}  # fmt: skip
STACK = ROOT / "results" / "stack"
LOCKS = ROOT / "environments"
STACK_SINCE = "2.9.0"  # the oldest whose torch the corpus can be captured with
ENVIRONMENT_BYTES = 8 * 10**9  # as measured: 6.1 GB with torch 2.14.0, 7.7 GB with 2.10.0
STAMP = "installed.sha256"  # in an environment: what was installed into it
INTERRUPT_TIMEOUT_S = 20.0  # nox would kill a run 0.3 s after Ctrl-C, with its journal open

nox.options.sessions = ["regress"]
nox.options.reuse_venv = "yes"
# Not uv, even where it is at hand: it does not read pip's configuration, which may name the
# registry, and where one is at hand the small CPU build of torch.
nox.options.default_venv_backend = "virtualenv"


@nox.session
def regress(session: nox.Session) -> None:
    """All releases through the whole corpus, in both lanes: report and gate."""
    install(session, "pinned")
    run_harness(session, "run", *lanes(session.posargs), *session.posargs)


@nox.session
def check(session: nox.Session) -> None:
    """Which release and which call are safe for a model of yours: `-- my_model.py:Net`."""
    install(session, "pinned")
    run_harness(session, "check", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Latency of the newest release against the one before it, with an A/A control."""
    install(session, "pinned")
    run_harness(session, "bench", *session.posargs)


@nox.session
def selftest(session: nox.Session) -> None:
    """How often the bench calls identical code different, and misses a real slowdown."""
    install(session, "pinned")
    run_harness(session, "selftest", *session.posargs)


@nox.session
def rtx(session: nox.Session) -> None:
    """Real engines: every release that names a TensorRT-RTX, with every version that there is."""
    install(session, "pinned")
    run_harness(
        session, "run", "--lane", "package", "--builder", "tensorrt-rtx-*", *session.posargs
    )


def pinned_torches() -> dict[str, list[str]]:
    """For each torch that gets an environment, the releases that pin it."""
    releases = nox.project.load_toml(ROOT / "harness" / "catalogue" / "releases.toml")["release"]
    versions = list(releases)  # oldest first
    torches: dict[str, list[str]] = {}
    for version in versions[versions.index(STACK_SINCE) :]:
        torches.setdefault(releases[version]["pins"]["torch"], []).append(version)
    return torches


def stacked() -> list[nox.param]:
    """A torch for each environment; those releases name it that pin it."""
    return [nox.param(torch, id="+".join(names)) for torch, names in pinned_torches().items()]


@nox.session(venv_backend="uv|virtualenv")
@nox.parametrize("torch", stacked())
def stack(session: nox.Session, torch: str) -> None:
    """Releases with the torch that they pin, and every TensorRT-RTX; then the version matrix."""
    place = Path(session.virtualenv.location)
    keep = "--keep" in session.posargs
    afterwards = "is kept" if keep else "is removed when its results are in; -- --keep keeps it"
    make_room(session, f"an environment with torch {torch}", afterwards)
    install(session, lock=LOCKS / f"torch-{torch}.txt")
    asked = [argument for argument in session.posargs if argument != "--keep"]
    out = ["--out", os.path.relpath(STACK / f"torch-{torch}")]  # it goes into the run's record
    try:
        run_harness(session, "run", "--environment", "matched", *EVERYTHING, *out, *asked)
    finally:  # a red release is one to be seen beside the others
        runs = [str(run) for run in sorted(STACK.glob("torch-*/latest"))]
        if runs:
            run_harness(session, "merge", *runs, "--out", str(STACK))
    if not keep:
        session.log(f"removing {place}")
        shutil.rmtree(place)


@nox.session(venv_backend="uv|virtualenv")
@nox.parametrize("kind", [nox.param(kind, id=kind) for kind in BuilderKind if kind.row.real])
def engine(session: nox.Session, kind: BuilderKind) -> None:
    """The newest release with engines that TensorRT, or TensorRT-RTX, builds and runs on a GPU."""
    try:  # before gigabytes are installed
        first_device()
    except Unavailable as reason:
        session.error(f"{reason} ({meaning(ExitCode.INCONCLUSIVE)})")
    torch, names = list(pinned_torches().items())[-1]
    make_room(session, f"an environment with torch {torch} and {kind}", "is kept")
    package, release = kind.row.distribution, names[-1]
    if kind == BuilderKind.RTX:
        install(session, "tests", lock=LOCKS / f"{package}-{release}.txt")
    else:
        # Not locked: what the registry has of TensorRT's libraries is a placeholder, which fetches
        # them from NVIDIA's own index while it is built; its hash would say nothing of them.
        lock = LOCKS / f"torch-{torch}.txt"
        install(session, "tests", lock=lock, packages=[f"{package}=={release}"])
    try:
        here = ["--environment", "matched", "--releases", release]
        run_harness(session, "run", "--lane", "engine", *here, *session.posargs)
    finally:  # whatever became of it: whether this runtime does what the emulated one does
        session.run("python", "-m", "pytest", "-m", "cuda", "tests/rig/engines/test_conformance.py")


@nox.session
def crossing(session: nox.Session) -> None:
    """Programs that one release saved, loaded by each other one; --matched: each with its torch."""
    install(session, "pinned")
    asked = [argument for argument in session.posargs if argument != "--matched"]
    if "--matched" in session.posargs:
        kept = list(kept_pythons(Path(session.virtualenv.location).parent))
        if not kept:
            session.error("no matched environment is kept: first `nox -s stack -- --keep`")
        asked += [f"--python={each}" for each in kept]
    run_harness(session, "crossing", *asked)


def kept_pythons(environments: Path) -> Iterator[str]:
    """RELEASE=PATH for the environments that `stack -- --keep` left."""
    for names in pinned_torches().values():
        # As nox names the folder of session stack(2.12.0+2.12.1).
        folder = environments / f"stack-{re.sub('[^0-9]+', '-', '-'.join(names))}"
        python = folder / "bin" / "python"
        if (folder / STAMP).is_file() and python.exists():
            yield from (f"{name}={python}" for name in names)


@nox.session
def acceptance(session: nox.Session) -> None:
    """Whole runs against each other; printed commands, and every transcript of README and docs."""
    install(session, "pinned", "tests")
    run_harness(session, "acceptance", *session.posargs)
    session.run("python", "-m", "pytest", "tests/docs", "tests/acceptance")


@nox.session
def fuzz(session: nox.Session) -> None:
    """Programs that nobody wrote, drawn, judged and shrunk: `-- --minutes 10`."""
    install(session, "pinned", "fuzz")
    run_harness(session, "fuzz", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """A release's own code with one thing wrong at a time: which does the corpus find?"""
    install(session, "pinned", "tests")  # --ours asks the tests
    run_harness(session, "mutants", *session.posargs)


@nox.session
def chaos(session: nox.Session) -> None:
    """Ten minutes of kills, torn lines, full disks and jumping clocks: is any cell lost?"""
    install(session, "pinned")
    run_harness(session, "chaos", *session.posargs)


@nox.session
def replay(session: nox.Session) -> None:
    """Commits of Torch-TensorRT, each held against its parent: `-- --clone path/to/TensorRT`."""
    install(session, "pinned")
    run_harness(session, "replay", *session.posargs)


@nox.session
def qualify(session: nox.Session) -> None:
    """Whether one release may take the place of another: `-- --baseline A --candidate B`."""
    install(session, "pinned")
    run_harness(session, "qualify", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """The harness's own tests; with --full, the slow ones and those of `acceptance` too."""
    install(session, "pinned", "tests")
    arguments = [argument for argument in session.posargs if argument != "--full"]
    if not session.posargs:
        arguments = ["--ignore", "tests/acceptance"]
    marker = [] if "--full" in session.posargs else ["-m", "not slow and not browser"]
    # Each process takes one half of the tests in their order, so that what a module makes for its
    # tests is made once; the one that is done first takes some of the other's.
    parallel = ["-n", "2", "--dist", "worksteal"]
    # Told to keep no bytecode, each of a hundred processes would compile its sources anew.
    env = {"PYTHONDONTWRITEBYTECODE": ""}
    session.run("python", "-m", "pytest", *marker, *parallel, *arguments, env=env)


@nox.session
def page(session: nox.Session) -> None:
    """The report's pages in a real browser; where none is found, -- --browser PATH names it."""
    install(session, "pinned", "page")
    session.run("python", "-m", "pytest", "-m", "browser", "tests/page", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Style, types, arrows, spelling, dead code, and GitHub's schemas. Types need torch, too."""
    install(session, "pinned", "lint")
    session.run("python", "-m", "ruff", "check", ".")
    session.run("python", "-m", "ruff", "format", "--check", ".")
    session.run("python", "-m", "mypy")
    session.run("lint-imports", "--no-logo")
    session.run("codespell")
    session.run("python", "-m", "vulture")
    check = ("check-jsonschema", "--builtin-schema")
    session.run(*check, "vendor.github-actions", "action.yml")
    workflows = (str(path) for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")))
    session.run(*check, "vendor.github-workflows", *workflows)


@nox.session
def report(session: nox.Session) -> None:
    """The report of a run, anew from its records; torch is for its corpus, pictures and scripts."""
    install(session, "pinned")
    run_harness(session, "report", *(session.posargs or ["results/latest"]))


def lanes(arguments: Sequence[str]) -> list[str]:
    """Both lanes, unless the arguments choose, or ask for what has the graph lane alone."""
    given = {argument.partition("=")[0] for argument in arguments}
    return [] if given & GRAPH_LANE_ALONE else BOTH_LANES


def make_room(session: nox.Session, what: str, afterwards: str) -> None:
    """Say what an environment of some gigabytes takes, and end where there is no room for it."""
    needed, free = f"{ENVIRONMENT_BYTES / 1e9:.0f} GB", shutil.disk_usage(ROOT).free
    session.log(f"{what} takes {needed}, {free / 1e9:.0f} GB are free; it {afterwards}")
    made = (Path(session.virtualenv.location) / STAMP).is_file()
    if free < ENVIRONMENT_BYTES and not made:
        session.error(f"less than {needed} are free: make room first")


def install(
    session: nox.Session, *groups: str, lock: Path | None = None, packages: Sequence[str] = ()
) -> None:
    """Install the project's dependencies, with extras and groups, unless that is done already.

    What ``lock`` lists goes first, each file held against its hash; ``packages`` go last, and are
    not hashed.

    A stamp in the virtual environment holds the hash of what was installed into it: asking pip
    whether all of it is there takes longer than a small regress run.
    """
    if session.venv_backend == "none":
        session.log("no virtual environment: nothing is installed")
        return
    project, extras = PYPROJECT["project"], PYPROJECT["project"]["optional-dependencies"]
    developing = [group for group in groups if group not in extras]
    requirements = sorted(
        {
            *project["dependencies"],
            *(each for group in groups for each in extras.get(group, ())),
            *nox.project.dependency_groups(PYPROJECT, *developing),
        }
    )
    locked = lock.read_text() if lock else ""
    digest = hashlib.sha256("\n".join([*requirements, locked, *packages]).encode()).hexdigest()
    stamp = Path(session.virtualenv.location) / STAMP
    if stamp.is_file() and stamp.read_text() == digest:
        session.log("the environment is up to date")
        return
    stamp.unlink(missing_ok=True)  # an install that fails half-way leaves none
    env = registry(session)
    if lock:
        session.install("--require-hashes", "-r", str(lock), env=env)
    session.install(*requirements, env=env)
    if packages:
        session.install(*packages, env=env)
    # As an install step, because `nox --no-install` leaves out those and only those: written here,
    # the stamp would vouch for an install that was left out.
    write = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
    session.run_install("python", "-c", write, str(stamp), digest, silent=True, log=False)


def registry(session: nox.Session) -> dict[str, str]:
    """What uv has to be told to find pip's registry; nothing where pip itself installs."""
    pip = shutil.which("pip")
    if session.venv_backend != "uv" or pip is None:
        return {}
    told = session.run_install(pip, "config", "list", external=True, silent=True, log=False)
    listed = str(told or "")  # nothing where nox was told to install nothing
    if missing := left_out(listed):
        session.log(
            f"uv is not told of pip's {' and '.join(missing)}; where it finds a package nowhere, "
            "`nox --force-venv-backend virtualenv` installs with pip"
        )
    return uv_variables(listed, os.environ)


def run_harness(session: nox.Session, *arguments: str) -> None:
    """`python -m harness`; an exit code other than 0 fails the session and says what it means."""
    try:
        session.run("python", "-m", "harness", *arguments, interrupt_timeout=INTERRUPT_TIMEOUT_S)
    except CommandFailed as failed:
        session.error(explain(failed))


def explain(failed: CommandFailed) -> str:
    """The meaning of an exit code, which nox itself would only call a failure."""
    code = getattr(failed, "return_code", None)
    if code is None:  # nox before 2026 tells the code in the message only
        told = re.fullmatch(r"Returned code (-?\d+)", str(failed))
        code = int(told.group(1)) if told else None
    if code is None:
        return f"python -m harness did not run: {failed}"
    try:
        return meaning(ExitCode(code))
    except ValueError:
        return f"exit code {code}: python -m harness itself crashed"


def meaning(code: ExitCode) -> str:
    return f"exit code {code}: {code.meaning}"
