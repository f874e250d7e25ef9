"""The sessions, run against a recorder: nox itself is not installed where the tests run."""

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
def noxfile(monkeypatch):
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


@pytest.fixture
def session(tmp_path):
    return lambda *posargs: Session(tmp_path, *posargs)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--exporter", "a.py"],
        ["--exporter=a.py"],
        ["--checkout", "a"],
        ["--quick"],
        ["--lane", "package"],
    ],
)
def test_both_lanes_are_asked_where_both_are_there_to_ask(noxfile, arguments):
    assert noxfile.lanes(["--releases", "2.13.0"]) == noxfile.BOTH_LANES
    assert noxfile.lanes(arguments) == []


def test_a_warm_environment_installs_nothing_until_its_requirements_change(noxfile, session):
    cold, warm, changed = session(), session(), session()
    noxfile.regress(cold)
    assert "torch==2.13.0" in cold.installed[0]
    noxfile.regress(warm)
    assert (warm.installed, len(warm.commands)) == ([], 1)
    noxfile.tests(changed)
    assert len(changed.installed) == 1


def test_an_install_that_fails_or_is_left_out_leaves_no_stamp(noxfile, session, monkeypatch):
    def fail(*_: str, **__: object) -> None:
        raise CommandFailed("Returned code 1", 1)

    left_out, failing, again = session(), session(), session()
    left_out.no_install = True
    noxfile.regress(left_out)
    monkeypatch.setattr(failing, "install", fail)
    with pytest.raises(CommandFailed):
        noxfile.regress(failing)
    noxfile.regress(again)
    assert len(again.installed) == 1


def test_without_a_virtual_environment_nothing_is_installed(noxfile, session, tmp_path):
    bare = session()
    bare.venv_backend = "none"
    noxfile.regress(bare)
    assert (bare.installed, list(tmp_path.iterdir())) == ([], [])


def test_uv_is_told_of_the_registry_that_pip_is_configured_with(noxfile, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    pips, uvs, idle = (Session(tmp_path / name) for name in ("pip", "uv", "idle"))
    uvs.venv_backend = idle.venv_backend = "uv"
    idle.no_install = True
    for each in (pips, uvs, idle):
        Path(each.virtualenv.location).mkdir()
        noxfile.regress(each)
    assert pips.told == idle.told == {}
    assert uvs.told == {"UV_DEFAULT_INDEX": "https://mirror.example"}
    assert "uv is not told of pip's find-links" in uvs.lines[0]


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        (1, "exit code 1: red"),
        (130, "exit code 130: interrupted"),
        (-9, "exit code -9: python -m harness itself crashed"),
    ],
)
def test_an_exit_code_fails_the_session_with_its_meaning(noxfile, session, code, meaning):
    for return_code in (code, None):  # None: an older nox, which says it in words only
        failing = session()
        failing.failure = CommandFailed(f"Returned code {code}", return_code)
        with pytest.raises(Quit, match=meaning):
            noxfile.regress(failing)


def test_a_program_that_is_not_there_is_not_given_a_meaning(noxfile):
    told = noxfile.explain(CommandFailed("Program python not found"))
    assert told == "python -m harness did not run: Program python not found"


def test_stack_has_an_environment_for_each_torch_that_a_release_pins(noxfile):
    found = dict(noxfile.stacked())
    assert found["2.12.0+2.12.1"] == "2.12.0"
    assert found["2.14.0"] == "2.14.0"
    assert "2.8.0" not in found
    for torch in found.values():
        lock = (NOXFILE.parent / "environments" / f"torch-{torch}.txt").read_text()
        assert f"torch=={torch} \\\n    --hash=sha256:" in lock


@pytest.fixture
def stack(noxfile, tmp_path, monkeypatch):
    monkeypatch.setattr(noxfile, "STACK", tmp_path / "stack")
    (tmp_path / "stack" / "torch-2.13.0" / "latest").mkdir(parents=True)
    (tmp_path / "env").mkdir()
    return noxfile.stack


def test_stack_joins_what_there_is_and_removes_an_environment_that_is_not_kept(stack, tmp_path):
    kept, red, green = (Session(tmp_path / "env", *more) for more in (["--keep"], [], ["-k", "a"]))
    stack(kept, "2.14.0")
    assert "--keep" not in kept.commands[0]
    red.failure = CommandFailed("Returned code 1", 1)
    with pytest.raises(Quit, match="exit code 1"):
        stack(red, "2.14.0")
    assert [command[3] for command in red.commands] == ["run", "merge"]
    assert (tmp_path / "env").is_dir()
    stack(green, "2.14.0")
    run, merge = green.commands
    assert run[4:6] + run[-2:] == ("--environment", "matched", "-k", "a")
    assert merge[3:5] == ("merge", str(tmp_path / "stack" / "torch-2.13.0" / "latest"))
    assert not (tmp_path / "env").exists()


def test_stack_says_when_there_is_no_room(noxfile, stack, tmp_path, monkeypatch):
    monkeypatch.setattr(noxfile, "ENVIRONMENT_BYTES", 10**18)
    crowded = Session(tmp_path / "env")
    with pytest.raises(Quit, match=r"less than 1000000000 GB are free"):
        stack(crowded, "2.14.0")
    assert not crowded.installed


def test_engine_says_what_is_missing_before_it_installs_anything(noxfile, session, monkeypatch):
    def none() -> Device:
        raise Unavailable("no CUDA driver; find a GPU")

    asked = session()
    monkeypatch.setattr(noxfile, "first_device", none)
    with pytest.raises(Quit, match=r"^no CUDA driver; find a GPU \(exit code 3: inconclusive"):
        noxfile.engine(asked, BuilderKind("tensorrt"))
    assert not asked.installed


@pytest.mark.parametrize(
    ("builder", "lock_name", "unlocked"),
    [
        ("tensorrt", "torch-2.14.0.txt", [("torch-tensorrt==2.14.0",)]),
        ("tensorrt-rtx", "torch-tensorrt-rtx-2.14.0.txt", []),
    ],
)
def test_engine_brings_the_newest_release_and_asks_the_real_runtime_even_of_a_red_one(
    noxfile, session, monkeypatch, builder, lock_name, unlocked
):
    monkeypatch.setattr(noxfile, "first_device", lambda: Device("a GPU", (8, 9)))
    monkeypatch.setattr(noxfile, "ENVIRONMENT_BYTES", 0)
    red = session("-k", "relu")
    red.failure = CommandFailed("Returned code 1", 1)
    with pytest.raises((Quit, CommandFailed)):
        noxfile.engine(red, BuilderKind(builder))
    lock, requirements, *last = red.installed
    assert (lock[0], Path(lock[-1]).name) == ("--require-hashes", lock_name)
    assert any(item.startswith("pytest") for item in requirements)
    assert last == unlocked
    run, conformance = red.commands
    assert run[6:] == ("--environment", "matched", "--releases", "2.14.0", "-k", "relu")
    assert (NOXFILE.parent / conformance[5]).is_file()


def test_what_an_engine_of_tensorrt_rtx_takes_is_locked_with_the_torch_of_its_release(noxfile):
    torch, names = list(noxfile.pinned_torches().items())[-1]
    whole, alone = (
        (noxfile.LOCKS / f"{name}.txt").read_text().splitlines()
        for name in (f"torch-tensorrt-rtx-{names[-1]}", f"torch-{torch}")
    )
    assert set(alone) <= set(whole)
    for name in ("torch-tensorrt-rtx", "tensorrt-rtx", "tensorrt-rtx-cu13-libs"):
        assert any(line.startswith(f"{name}==") for line in whole)


def test_crossing_finds_the_environments_that_stack_kept(noxfile, tmp_path):
    (tmp_path / "crossing").mkdir()
    with pytest.raises(Quit, match="nox -s stack -- --keep"):
        noxfile.crossing(Session(tmp_path / "crossing", "--matched"))
    for name in ("stack-2-12-0-2-12-1", "stack-2-14-0", "stack-2-9-0"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "python").touch()
    for whole in ("stack-2-12-0-2-12-1", "stack-2-14-0"):  # the third was never finished
        (tmp_path / whole / noxfile.STAMP).touch()
    assert list(noxfile.kept_pythons(tmp_path)) == [
        f"2.12.0={tmp_path}/stack-2-12-0-2-12-1/bin/python",
        f"2.12.1={tmp_path}/stack-2-12-0-2-12-1/bin/python",
        f"2.14.0={tmp_path}/stack-2-14-0/bin/python",
    ]
