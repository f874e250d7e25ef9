"""The sessions, run against a recorder: nox itself is not installed where the tests run."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from harness.base.errors import Unavailable
from harness.machine.cuda import Device
from harness.wire.builders import BuilderKind

NOXFILE = Path(__file__).resolve().parents[1] / "noxfile.py"


class CommandFailed(Exception):
    """nox's exception; releases before 2026 have no ``return_code``."""

    def __init__(self, reason: str, return_code: int | None = None) -> None:
        super().__init__(reason)
        if return_code is not None:
            self.return_code = return_code


class Quit(Exception):
    """What `session.error` raises."""


class Session:
    """Records what a session does, in a virtual environment that is an empty folder."""

    def __init__(self, location: Path, *posargs: str) -> None:
        self.posargs = list(posargs)
        self.venv_backend = "virtualenv"
        self.virtualenv = SimpleNamespace(location=str(location))
        self.no_install = False
        self.failure: CommandFailed | None = None
        self.installed: list[tuple[str, ...]] = []
        self.told: dict[str, str] = {}
        self.lines: list[str] = []
        self.commands: list[tuple[str, ...]] = []

    def log(self, message: str) -> None:
        self.lines.append(message)

    def error(self, message: str) -> None:
        raise Quit(message)

    def install(self, *requirements: str, env: dict[str, str]) -> None:
        if not self.no_install:
            self.installed.append(requirements)
            self.told |= env

    def run_install(self, *command: str, **_: object) -> str | None:
        if self.no_install:
            return None
        if command[1:] == ("config", "list"):
            return "global.index-url='https://mirror.example'\nglobal.find-links='/wheels'\n"
        Path(command[-2]).write_text(command[-1])
        return None

    def run(self, *command: str, **_: object) -> None:
        self.commands.append(command)
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def noxfile(monkeypatch: pytest.MonkeyPatch) -> Any:
    def load_toml(path: Path) -> dict[str, Any]:
        return tomllib.loads(path.read_text(encoding="utf-8"))

    def dependency_groups(pyproject: dict[str, Any], *groups: str) -> tuple[str, ...]:
        return tuple(item for group in groups for item in pyproject["dependency-groups"][group])

    nox, command = ModuleType("nox"), ModuleType("nox.command")
    vars(nox).update(
        session=lambda *functions, **_: functions[0] if functions else lambda function: function,
        parametrize=lambda *_: lambda function: function,
        param=lambda value, id: (id, value),
        Session=Session,
        options=SimpleNamespace(),
        project=SimpleNamespace(load_toml=load_toml, dependency_groups=dependency_groups),
    )
    vars(command).update(CommandFailed=CommandFailed)
    monkeypatch.setitem(sys.modules, "nox", nox)
    monkeypatch.setitem(sys.modules, "nox.command", command)
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec = importlib.util.spec_from_file_location("noxfile_under_test", NOXFILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_regress_installs_the_pinned_torch_and_passes_its_arguments_on(
    noxfile: Any, tmp_path: Path
) -> None:
    session = Session(tmp_path, "--releases", "2.13.0")
    noxfile.regress(session)
    assert "torch==2.13.0" in session.installed[0]
    assert not any(item.startswith("pytest") for item in session.installed[0])
    run = ("python", "-m", "harness", "run")
    both = ("--lane", "graph,package", "--builder", "segment,tensorrt-rtx")
    assert session.commands == [(*run, *both, "--releases", "2.13.0")]


@pytest.mark.parametrize(
    "arguments",
    [("--exporter", "a.py"), ("--exporter=a.py",), ("--quick",), ("--lane", "package")],
)
def test_regress_asks_for_both_lanes_where_both_are_there_to_ask(
    noxfile: Any, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    session = Session(tmp_path, *arguments)
    noxfile.regress(session)
    assert session.commands == [("python", "-m", "harness", "run", *arguments)]


def test_a_warm_environment_installs_nothing(noxfile: Any, tmp_path: Path) -> None:
    noxfile.regress(Session(tmp_path))
    warm = Session(tmp_path)
    noxfile.regress(warm)
    assert warm.installed == []
    assert len(warm.commands) == 1


def test_changed_requirements_are_installed_again(noxfile: Any, tmp_path: Path) -> None:
    noxfile.regress(Session(tmp_path))
    changed = Session(tmp_path)
    noxfile.tests(changed)
    assert len(changed.installed) == 1


def test_an_install_that_fails_leaves_no_stamp(noxfile: Any, tmp_path: Path) -> None:
    class Failing(Session):
        def install(self, *requirements: str, env: dict[str, str]) -> None:
            raise CommandFailed("Returned code 1", 1)

    noxfile.regress(Session(tmp_path))
    with pytest.raises(CommandFailed):
        noxfile.tests(Failing(tmp_path))
    again = Session(tmp_path)
    noxfile.regress(again)
    assert len(again.installed) == 1


def test_an_install_that_nox_was_told_to_leave_out_leaves_no_stamp(
    noxfile: Any, tmp_path: Path
) -> None:
    told = Session(tmp_path)
    told.no_install = True
    noxfile.regress(told)
    later = Session(tmp_path)
    noxfile.regress(later)
    assert len(later.installed) == 1


def test_without_a_virtual_environment_nothing_is_installed(noxfile: Any, tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.venv_backend = "none"
    noxfile.regress(session)
    assert session.installed == []
    assert list(tmp_path.iterdir()) == []


def test_uv_is_told_of_the_registry_that_pip_is_configured_with(
    noxfile: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    pips, uvs, idle = (Session(tmp_path / name) for name in ("pip", "uv", "idle"))
    uvs.venv_backend = idle.venv_backend = "uv"
    idle.no_install = True
    for session in (pips, uvs, idle):
        Path(session.virtualenv.location).mkdir()
        noxfile.regress(session)
    assert pips.told == idle.told == {}
    assert uvs.told == {"UV_DEFAULT_INDEX": "https://mirror.example"}
    assert "uv is not told of pip's find-links" in uvs.lines[0]


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        (1, "exit code 1: red"),
        (2, "exit code 2: wrong use"),
        (3, "exit code 3: inconclusive"),
        (4, "exit code 4: failed: the harness or its surroundings"),
        (130, "exit code 130: interrupted"),
        (-9, "exit code -9: python -m harness itself crashed"),
    ],
)
def test_an_exit_code_fails_the_session_with_its_meaning(
    noxfile: Any, tmp_path: Path, code: int, meaning: str
) -> None:
    for return_code in (code, None):  # None: an older nox, which says it in words only
        session = Session(tmp_path)
        session.failure = CommandFailed(f"Returned code {code}", return_code)
        with pytest.raises(Quit, match=meaning):
            noxfile.regress(session)


def test_a_program_that_is_not_there_is_not_given_a_meaning(noxfile: Any, tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.failure = CommandFailed("Program python not found")
    with pytest.raises(Quit, match="did not run: Program python not found"):
        noxfile.regress(session)


def test_tests_leave_the_slow_ones_out_unless_asked(noxfile: Any, tmp_path: Path) -> None:
    quick, full = Session(tmp_path, "-k", "wiring"), Session(tmp_path, "--full")
    noxfile.tests(quick)
    noxfile.tests(full)
    pytest_command = ("python", "-m", "pytest")
    parallel = ("-n", "2", "--dist", "worksteal")
    assert quick.commands == [
        (*pytest_command, "-m", "not slow and not browser", *parallel, "-k", "wiring")
    ]
    assert full.commands == [(*pytest_command, *parallel)]


def test_page_has_the_driver_of_a_browser_and_runs_what_takes_one(
    noxfile: Any, tmp_path: Path
) -> None:
    session = Session(tmp_path, "--browser", "/opt/chrome")
    noxfile.page(session)
    assert any(item.startswith("playwright") for item in session.installed[0])
    command = ("python", "-m", "pytest", "-m", "browser", "tests/page", "--browser", "/opt/chrome")
    assert session.commands == [command]


def test_report_takes_the_latest_run_and_has_torch_for_its_corpus(
    noxfile: Any, tmp_path: Path
) -> None:
    latest, named = Session(tmp_path), Session(tmp_path, "results/one")
    noxfile.report(latest)
    noxfile.report(named)
    assert "torch==2.13.0" in latest.installed[0]
    assert latest.commands[0][-2:] == ("report", "results/latest")
    assert named.commands[0][-2:] == ("report", "results/one")


def test_stack_has_an_environment_for_each_torch_that_a_release_pins(noxfile: Any) -> None:
    found = dict(noxfile.stacked())
    assert found["2.12.0+2.12.1"] == "2.12.0"
    assert found["2.14.0"] == "2.14.0"
    assert "2.8.0" not in found
    for torch in found.values():
        lock = (NOXFILE.parent / "environments" / f"torch-{torch}.txt").read_text()
        assert f"torch=={torch} \\\n    --hash=sha256:" in lock


@pytest.fixture
def stack(noxfile: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(noxfile, "STACK", tmp_path / "stack")
    (tmp_path / "stack" / "torch-2.13.0" / "latest").mkdir(parents=True)
    (tmp_path / "env").mkdir()
    return noxfile.stack


def test_stack_runs_the_releases_of_a_torch_joins_what_there_is_and_removes_the_environment(
    stack: Any, tmp_path: Path
) -> None:
    session = Session(tmp_path / "env", "-k", "relu")
    stack(session, "2.14.0")
    assert session.installed[0][0] == "--require-hashes"
    assert session.installed[0][-1].endswith("torch-2.14.0.txt")
    run, merge = session.commands
    assert run[:6] == ("python", "-m", "harness", "run", "--environment", "matched")
    assert run[-2:] == ("-k", "relu")
    assert merge[3:5] == ("merge", str(tmp_path / "stack" / "torch-2.13.0" / "latest"))
    assert not (tmp_path / "env").exists()


def test_a_kept_or_failing_environment_stays_and_a_red_release_is_joined_too(
    stack: Any, tmp_path: Path
) -> None:
    kept = Session(tmp_path / "env", "--keep")
    stack(kept, "2.14.0")
    assert "--keep" not in kept.commands[0]
    red = Session(tmp_path / "env")
    red.failure = CommandFailed("Returned code 1", 1)
    with pytest.raises(Quit, match="exit code 1"):
        stack(red, "2.14.0")
    assert [command[3] for command in red.commands] == ["run", "merge"]
    assert (tmp_path / "env").is_dir()


def test_stack_says_when_there_is_no_room(
    noxfile: Any, stack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noxfile, "ENVIRONMENT_BYTES", 10**18)
    session = Session(tmp_path / "env")
    with pytest.raises(Quit, match=r"less than 1000000000 GB are free"):
        stack(session, "2.14.0")
    assert not session.installed


def with_gpu(noxfile: Any, monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int]) -> None:
    monkeypatch.setattr(noxfile, "first_device", lambda: Device("a GPU", capability))


@pytest.mark.parametrize("builder", ["tensorrt", "tensorrt-rtx"])
def test_engine_says_what_is_missing_before_it_installs_anything(
    noxfile: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, builder: str
) -> None:
    def none() -> Device:
        raise Unavailable("no CUDA driver; find a GPU")

    monkeypatch.setattr(noxfile, "first_device", none)
    session = Session(tmp_path)
    told = (
        r"^no CUDA driver; find a GPU \(exit code 3: inconclusive: something could not be asked\)$"
    )
    with pytest.raises(Quit, match=told):
        noxfile.engine(session, BuilderKind(builder))
    assert not session.installed


def test_engine_refuses_a_gpu_that_tensorrt_rtx_does_not_run_on(
    noxfile: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_gpu(noxfile, monkeypatch, (9, 0))
    session = Session(tmp_path)
    with pytest.raises(Quit, match=r"TensorRT-RTX has no engines for the a GPU here \(sm_90\)"):
        noxfile.engine(session, BuilderKind.RTX)
    assert not session.installed


@pytest.mark.parametrize(
    ("builder", "lock_name", "unlocked"),
    [
        ("tensorrt", "torch-2.14.0.txt", [("torch-tensorrt==2.14.0",)]),
        ("tensorrt-rtx", "torch-tensorrt-rtx-2.14.0.txt", []),
    ],
)
def test_engine_brings_the_newest_release_and_asks_the_real_runtime_even_of_a_red_one(
    noxfile: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    builder: str,
    lock_name: str,
    unlocked: list[tuple[str, ...]],
) -> None:
    with_gpu(noxfile, monkeypatch, (8, 9))
    monkeypatch.setattr(noxfile, "ENVIRONMENT_BYTES", 0)
    session = Session(tmp_path, "-k", "relu")
    session.failure = CommandFailed("Returned code 1", 1)
    with pytest.raises((Quit, CommandFailed)):
        noxfile.engine(session, BuilderKind(builder))
    lock, requirements, *last = session.installed
    assert lock[0] == "--require-hashes"
    assert Path(lock[-1]).name == lock_name
    assert any(item.startswith("pytest") for item in requirements)
    assert last == unlocked
    run, conformance = session.commands
    assert run[3:6] == ("run", "--lane", "engine")
    assert run[6:] == ("--environment", "matched", "--releases", "2.14.0", "-k", "relu")
    assert conformance[:5] == ("python", "-m", "pytest", "-m", "cuda")
    assert (NOXFILE.parent / conformance[5]).is_file()


def test_what_an_engine_of_tensorrt_rtx_takes_is_locked_with_the_torch_of_its_release(
    noxfile: Any,
) -> None:
    torch, names = list(noxfile.pinned_torches().items())[-1]
    whole, alone = (
        (noxfile.LOCKS / f"{name}.txt").read_text().splitlines()
        for name in (f"torch-tensorrt-rtx-{names[-1]}", f"torch-{torch}")
    )
    assert set(alone) <= set(whole)
    for name in ("torch-tensorrt-rtx", "tensorrt-rtx", "tensorrt-rtx-cu13-libs"):
        assert any(line.startswith(f"{name}==") for line in whole)


def test_crossing_finds_the_environments_that_stack_kept(noxfile: Any, tmp_path: Path) -> None:
    for name in ("stack-2-12-0-2-12-1", "stack-2-14-0", "stack-2-9-0"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "python").touch()
    for whole in ("stack-2-12-0-2-12-1", "stack-2-14-0"):  # the third was never finished
        (tmp_path / whole / noxfile.STAMP).touch()
    (tmp_path / "crossing").mkdir()
    pinned = Session(tmp_path / "crossing", "-k", "relu")
    noxfile.crossing(pinned)
    assert pinned.commands == [("python", "-m", "harness", "crossing", "-k", "relu")]
    matched = Session(tmp_path / "crossing", "--matched")
    noxfile.crossing(matched)
    assert matched.commands[0][4:] == (
        f"--python=2.12.0={tmp_path}/stack-2-12-0-2-12-1/bin/python",
        f"--python=2.12.1={tmp_path}/stack-2-12-0-2-12-1/bin/python",
        f"--python=2.14.0={tmp_path}/stack-2-14-0/bin/python",
    )


def test_crossing_says_that_no_matched_environment_is_there(noxfile: Any, tmp_path: Path) -> None:
    (tmp_path / "crossing").mkdir()
    with pytest.raises(Quit, match="nox -s stack -- --keep"):
        noxfile.crossing(Session(tmp_path / "crossing", "--matched"))
