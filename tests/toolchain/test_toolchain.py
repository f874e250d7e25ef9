"""Wheels, the rig's environment, native builds and the cache: no network, no Torch-TensorRT.

pip is a script in these tests, and releases are a few bytes; the C++ compiler is the real one.
"""

import ctypes
import dataclasses
import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import filelock
import pytest
from torch.utils.cpp_extension import include_paths

from harness.base.errors import SurroundingsError, Unavailable, UsageError
from harness.catalogue.releases import Release
from harness.toolchain import EnvironmentFacts, Toolchain, clean
from harness.toolchain.cache import locked
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.native import build_key, first_errors
from harness.toolchain.wheels import last_meaningful_line, pip_arguments
from tests.fake_releases import make_release, script, with_changes

FAKE_PIP = """
import pathlib, shutil, sys, time
log = pathlib.Path({log!r})
with log.open("a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
time.sleep({pause_s})
target = pathlib.Path(sys.argv[sys.argv.index("-d") + 1])
source = pathlib.Path({source!r})
if source.is_file():
    shutil.copy(source, target / {name!r})
sys.stderr.write({stderr!r})
sys.exit({code})
"""


class Registry:
    """What a fake pip gives, and what it was asked."""

    def __init__(self, folder: Path, release: Release) -> None:
        self.log = folder / "pip.log"
        self._folder = folder
        self._fields = {
            "log": str(self.log),
            "pause_s": 0,
            "source": str(folder / "registry" / release.wheel),
            "name": release.wheel,
            "stderr": "",
            "code": 0,
        }

    def python(self, **changes: object) -> str:
        return script(self._folder / "python", FAKE_PIP.format(**{**self._fields, **changes}))

    @property
    def asked(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def release(tmp_path):
    return make_release(tmp_path / "registry")


@pytest.fixture
def registry(tmp_path, release):
    return Registry(tmp_path, release)


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def leftovers(cache: Path) -> list[str]:
    return [path.name for path in (cache / "wheels").iterdir() if path.name.startswith(".")]


class TestWheelFromTheRegistry:
    def test_it_is_fetched_once_and_then_taken_from_the_cache(self, cache, release, registry):
        told: list[str] = []
        toolchain = Toolchain(cache, registry.python(), notify=told.append)
        assert toolchain.wheel_at_hand(release) is None
        path = toolchain.wheel(release)
        assert path == cache / "wheels" / release.wheel
        assert toolchain.wheel(release) == path == toolchain.wheel_at_hand(release)
        assert len(registry.asked) == 1
        assert told == [f"fetching {release.wheel}"]
        assert leftovers(cache) == []

    def test_pip_is_asked_for_the_one_file_whatever_python_runs_it(self, cache, release, registry):
        Toolchain(cache, registry.python()).wheel(release)
        assert registry.asked[0].startswith(
            "-m pip download --no-deps --only-binary=:all: --platform manylinux_2_28_x86_64 "
            "--python-version 3.11 --implementation cp --abi cp311 "
        )
        assert "torch-tensorrt==9.1.0 -d " in registry.asked[0]

    def test_a_wheel_of_several_platforms_is_asked_for_by_all_of_them(self, release):
        name = "torch_tensorrt-9.1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
        arguments = pip_arguments(with_changes(release, wheel=name))
        assert [a for a in arguments if a.startswith("manylinux")] == [
            "manylinux2014_x86_64",
            "manylinux_2_17_x86_64",
        ]

    def test_a_wrong_hash_is_refused_with_file_expected_and_found(self, cache, release, registry):
        other = with_changes(release, sha256="0" * 64)
        with pytest.raises(
            SurroundingsError,
            match=rf"{release.wheel}: wrong SHA-256: expected 0{{64}}, found {release.sha256}; ",
        ):
            Toolchain(cache, registry.python()).wheel(other)
        assert os.listdir(cache / "wheels") == []

    def test_a_file_of_another_name_is_refused(self, cache, release, registry):
        with pytest.raises(SurroundingsError, match=r"pip fetched other\.whl where"):
            Toolchain(cache, registry.python(name="other.whl")).wheel(release)

    def test_an_unreachable_registry_makes_it_unavailable_with_pips_reason(
        self, cache, release, registry
    ):
        stderr = "WARNING: Retrying after connection broken by 'X'\nERROR: No matching version\n"
        python = registry.python(source="", stderr=stderr, code=1)
        with pytest.raises(Unavailable, match=r"no registry could be reached \(No matching"):
            Toolchain(cache, python).wheel(release)
        assert leftovers(cache) == []

    @pytest.mark.parametrize(
        "stderr",
        [
            "ERROR: Could not install: [Errno 28] No space left on device\n",
            "/usr/bin/python: No module named pip\n",
        ],
    )
    def test_a_failure_of_this_machine_is_not_taken_for_a_missing_registry(
        self, cache, release, registry, stderr
    ):
        python = registry.python(source="", stderr=stderr, code=1)
        with pytest.raises(SurroundingsError, match="pip could not fetch"):
            Toolchain(cache, python).wheel(release)

    def test_a_pip_that_hangs_makes_it_unavailable(self, cache, release, registry, monkeypatch):
        monkeypatch.setattr("harness.toolchain.wheels.DOWNLOAD_TIMEOUT_S", 0.2)
        with pytest.raises(Unavailable, match="pip fetched nothing in 0 s"):
            Toolchain(cache, registry.python(pause_s=30)).wheel(release)

    def test_offline_no_registry_is_asked(self, cache, release, registry):
        with pytest.raises(Unavailable, match="is not cached, and this run is offline"):
            Toolchain(cache, registry.python(), offline=True).wheel(release)
        assert registry.asked == []

    def test_two_runs_at_once_fetch_it_once(self, cache, release, registry):
        python = registry.python(pause_s=0.3)
        threads = [
            threading.Thread(target=Toolchain(cache, python).wheel, args=(release,))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(registry.asked) == 1


class TestCorruptCachedWheel:
    @pytest.fixture
    def corrupt(self, cache, release):
        path = cache / "wheels" / release.wheel
        path.parent.mkdir(parents=True)
        path.write_bytes(b"damaged")
        return path

    def test_it_is_fetched_once_again(self, cache, release, registry, corrupt):
        told: list[str] = []
        Toolchain(cache, registry.python(), notify=told.append).wheel(release)
        assert corrupt.read_bytes() != b"damaged"
        assert "the cached file is corrupt" in told[0]
        assert len(registry.asked) == 1

    def test_if_it_stays_so_the_run_fails(self, cache, release, registry, corrupt):
        with pytest.raises(SurroundingsError, match="wrong SHA-256"):
            Toolchain(cache, registry.python(source=str(corrupt))).wheel(release)
        assert len(registry.asked) == 1

    @pytest.mark.parametrize("offline", [True, False])
    def test_without_a_registry_it_is_a_failure_and_not_unavailable(
        self, cache, release, registry, corrupt, offline
    ):
        python = registry.python(source="", stderr="ERROR: nothing there\n", code=1)
        with pytest.raises(SurroundingsError, match=rf"{corrupt}: wrong SHA-256.*delete the file"):
            Toolchain(cache, python, offline=offline).wheel(release)


class TestWheelhouse:
    def test_it_is_the_only_place_that_is_looked_at(self, tmp_path, cache, release, registry):
        toolchain = Toolchain(cache, registry.python(), wheelhouse=tmp_path / "registry")
        assert toolchain.wheel(release) == tmp_path / "registry" / release.wheel
        assert toolchain.wheel_at_hand(release) is not None
        assert registry.asked == []
        assert not cache.exists()

    def test_a_wheel_that_it_lacks_is_unavailable_even_if_cached(
        self, tmp_path, cache, release, registry
    ):
        Toolchain(cache, registry.python()).wheel(release)
        (tmp_path / "empty").mkdir()
        toolchain = Toolchain(cache, registry.python(), wheelhouse=tmp_path / "empty")
        with pytest.raises(Unavailable, match=f"the wheelhouse holds no {release.wheel}"):
            toolchain.wheel(release)
        assert toolchain.wheel_at_hand(release) is None

    def test_a_wrong_hash_in_it_is_refused_and_the_file_is_left_alone(
        self, tmp_path, cache, release, registry
    ):
        path = tmp_path / "registry" / release.wheel
        path.write_bytes(b"damaged")
        toolchain = Toolchain(cache, registry.python(), wheelhouse=path.parent)
        with pytest.raises(SurroundingsError, match=rf"{path}: wrong SHA-256: expected"):
            toolchain.wheel(release)
        assert path.read_bytes() == b"damaged"
        assert registry.asked == []

    def test_a_wheelhouse_that_is_not_there_is_wrong_use(self, tmp_path, cache, release, registry):
        toolchain = Toolchain(cache, registry.python(), wheelhouse=tmp_path / "nowhere")
        with pytest.raises(UsageError, match="nowhere: no such folder"):
            toolchain.wheel(release)


class TestCacheFolder:
    def test_one_that_cannot_be_made_is_named(self, tmp_path, release, registry):
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(
            SurroundingsError, match=r"file.*choose a cache .*INLINER_REGRESS_CACHE="
        ):
            Toolchain(tmp_path / "file" / "cache", registry.python()).wheel(release)

    def test_a_full_disk_is_told_as_such(self, cache, release, registry, monkeypatch):
        def full(source: object, target: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))

        monkeypatch.setattr("harness.toolchain.wheels.os.replace", full)
        with pytest.raises(SurroundingsError, match="No space left on device; free some space"):
            Toolchain(cache, registry.python()).wheel(release)

    def test_a_lock_that_is_not_given_back_is_named(self, cache):
        (cache / "locks").mkdir(parents=True)
        with (
            filelock.FileLock(cache / "locks" / "thing.lock"),
            pytest.raises(SurroundingsError, match=r"thing\.lock: held by another process for 0 s"),
            locked(cache, "thing", timeout_s=0.01),
        ):
            pass

    def test_clean_removes_wheels_and_builds_and_says_how_much(self, cache):
        for name, size in (("wheels/a.whl", 100), ("native/b.so", 20), ("other/c", 3)):
            (cache / name).parent.mkdir(parents=True)
            (cache / name).write_bytes(b"x" * size)
        assert clean(cache, native=False) == 100
        assert (cache / "native" / "b.so").exists()
        assert clean(cache) == 20
        assert clean(cache) == 0
        assert [path.name for path in cache.iterdir()] == ["other"]


class TestPipsLastWord:
    @pytest.mark.parametrize(
        ("stderr", "line"),
        [
            ("ERROR: first\nERROR: second\n\nWARNING: newer pip\n", "second"),
            ("Traceback\nValueError: x\n", "ValueError: x"),
            ("", "pip said nothing"),
        ],
    )
    def test_it_is_the_last_error_or_else_the_last_line(self, stderr, line):
        assert last_meaningful_line(stderr) == line


class TestPythonEnvironment:
    def test_the_probe_needs_torch_alone_and_finds_the_headers_that_torch_names(self):
        """torch's own list is in a module that needs setuptools; torch 2.9 does not ask for it."""
        run = "import runpy; runpy.run_module('harness.rig.questions', run_name='__main__')"
        without = f"import sys; sys.modules['setuptools'] = None; {run}"
        command = [sys.executable, "-c", without]
        told = subprocess.run(
            command,
            cwd=PROJECT_ROOT,
            input=b'{"question": "probe"}',
            capture_output=True,
            check=True,
        )
        assert json.loads(told.stdout)["include_paths"] == include_paths()

    def test_the_probe_of_this_python_tells_what_its_torch_is(self, cache):
        import torch

        facts = Toolchain(cache, sys.executable).python_env()
        assert facts.torch_version == torch.__version__
        assert facts.torch_git_version == torch.version.git_version
        assert facts.torch_build == ("cpu" if torch.version.cuda is None else facts.torch_build)
        assert all(Path(path).is_dir() for path in facts.include_paths)
        assert (Path(facts.library_path) / "libtorch.so").is_file()
        assert facts.python_version.startswith(f"3.{sys.version_info.minor}.")
        assert facts.threads >= 1

    def test_it_is_asked_once_for_each_toolchain(self, tmp_path):
        log = tmp_path / "log"
        answer = json.dumps(dataclasses.asdict(NO_TORCH))
        python = script(
            tmp_path / "python", f"open({str(log)!r}, 'a').write('x')\nprint({answer!r})\n"
        )
        toolchain = Toolchain(tmp_path, python)
        assert toolchain.python_env() == toolchain.python_env() == NO_TORCH
        assert log.read_text() == "x"
        Toolchain(tmp_path, python).python_env()
        assert log.read_text() == "xx"

    def test_what_an_import_prints_before_the_answer_does_no_harm(self, tmp_path):
        answer = json.dumps(dataclasses.asdict(NO_TORCH))
        python = script(tmp_path / "python", f"print('hello')\nprint({answer!r})\n")
        assert Toolchain(tmp_path, python).python_env() == NO_TORCH

    def test_a_python_without_torch_is_told_what_to_do(self, tmp_path, started_anew):
        body = f'exec {sys.executable} -S "$@"\n'  # -S: no site-packages, hence no torch
        python = script(tmp_path / "python", body, interpreter="/bin/sh")
        with pytest.raises(SurroundingsError, match="torch is not installed; run through nox"):
            Toolchain(tmp_path, python).python_env()

    @pytest.mark.parametrize(
        ("body", "complaint"),
        [
            ("raise SystemExit('libc10.so: no such file')", "probe of torch failed: libc10.so"),
            ("print('not json')", "answer cannot be read"),
            ("print('{}')", "answer cannot be read"),
            ("print('[]')", "answer cannot be read"),
            ("pass", "answer cannot be read"),
        ],
    )
    def test_a_probe_that_fails_is_told_with_its_reason(self, tmp_path, body, complaint):
        with pytest.raises(SurroundingsError, match=complaint):
            Toolchain(tmp_path, script(tmp_path / "python", body)).python_env()

    def test_a_python_that_cannot_be_run_is_named(self, tmp_path):
        with pytest.raises(SurroundingsError, match="nopython: cannot be run"):
            Toolchain(tmp_path, "/nopython").python_env()


NO_TORCH = EnvironmentFacts(
    python_version="3.11.0",
    platform="test",
    torch_version="0",
    torch_git_version="0",
    torch_cuda=None,
    cxx11_abi=True,
    include_paths=(),
    library_path="",
    threads=1,
)
ANSWER = 'extern "C" int answer() { return 42 + _GLIBCXX_USE_CXX11_ABI; }\n'


class TestNativeBuild:
    @pytest.fixture
    def facts(self, tmp_path):
        """A torch of three empty libraries, which any linker takes."""
        libraries = tmp_path / "lib"
        libraries.mkdir()
        for name in ("torch", "torch_cpu", "c10"):
            (libraries / f"lib{name}.a").write_bytes(b"!<arch>\n")
        return dataclasses.replace(NO_TORCH, library_path=str(libraries))

    @pytest.fixture
    def source(self, tmp_path):
        path = tmp_path / "answer.cpp"
        path.write_text(ANSWER)
        return path

    @pytest.fixture
    def build(self, cache, source, facts):
        def _build(**changes: object) -> tuple[Path, list[str]]:
            told: list[str] = []
            toolchain = Toolchain(cache, sys.executable, notify=told.append)
            changed = dataclasses.replace(facts, **changes)  # type: ignore[arg-type]
            return toolchain.native_runtime(source, changed), told

        return _build

    def test_it_is_built_on_first_use_and_loads(self, cache, build):
        library, told = build()
        assert ctypes.CDLL(str(library)).answer() == 43
        assert library.parent == cache / "native"
        assert len(told) == 1
        assert told[0].startswith("building answer.cpp with ")
        assert build() == (library, [])
        assert os.listdir(library.parent) == [library.name]

    def test_torchs_own_abi_is_what_it_is_built_for(self, build):
        new, _ = build()
        old, _ = build(cxx11_abi=False)
        assert old != new
        assert ctypes.CDLL(str(old)).answer() == 42

    def test_another_source_flag_compiler_or_torch_is_another_build(self, facts):
        keys = {
            build_key(b"source", "g++ 12", facts),
            build_key(b"other", "g++ 12", facts),
            build_key(b"source", "g++ 13", facts),
            build_key(b"source", "g++ 12", dataclasses.replace(facts, include_paths=("/a",))),
            build_key(b"source", "g++ 12", dataclasses.replace(facts, cxx11_abi=False)),
            build_key(b"source", "g++ 12", dataclasses.replace(facts, torch_version="1")),
            build_key(b"source", "g++ 12", dataclasses.replace(facts, torch_git_version="1")),
        }
        assert len(keys) == 7

    def test_it_builds_and_links_against_the_real_torch(self, tmp_path, cache):
        import torch

        source = tmp_path / "version.cpp"
        source.write_text(
            "#include <torch/version.h>\n"
            'extern "C" const char* version() { return TORCH_VERSION; }\n'
        )
        toolchain = Toolchain(cache, sys.executable)
        library = ctypes.CDLL(str(toolchain.native_runtime(source, toolchain.python_env())))
        library.version.restype = ctypes.c_char_p
        assert library.version().decode() == torch.__version__.partition("+")[0]

    def test_two_runs_at_once_build_it_once(self, cache, source, facts):
        told: list[str] = []
        threads = [
            threading.Thread(
                target=Toolchain(cache, sys.executable, notify=told.append).native_runtime,
                args=(source, facts),
            )
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(told) == 1

    def test_a_compiler_may_be_a_command_with_arguments(self, cache, source, facts):
        toolchain = Toolchain(cache, sys.executable, compiler="/usr/bin/env g++")
        assert toolchain.native_runtime(source, facts).is_file()

    def test_no_compiler_is_told_with_the_command_and_what_to_install(self, cache, source, facts):
        toolchain = Toolchain(cache, sys.executable, compiler="no-such-compiler")
        with pytest.raises(SurroundingsError, match=r"no-such-compiler: cannot be run .*install g"):
            toolchain.native_runtime(source, facts)
        with pytest.raises(SurroundingsError, match="no-such-compiler: cannot be run"):
            toolchain.compiler_version()

    def test_a_compiler_that_does_not_know_itself_is_refused(self, tmp_path, cache):
        compiler = script(tmp_path / "cc", "raise SystemExit(3)")
        with pytest.raises(SurroundingsError, match="--version exited with code 3"):
            Toolchain(cache, sys.executable, compiler=compiler).compiler_version()

    def test_a_source_that_does_not_compile_is_told_with_the_first_errors(
        self, cache, source, build
    ):
        source.write_text("int f() { return wrong; }\n")
        with pytest.raises(
            SurroundingsError, match=r"(?s)answer\.cpp: g\+\+ exited.*wrong.? was not"
        ):
            build()
        assert os.listdir(cache / "native") == []

    def test_a_library_that_is_not_there_is_named(self, tmp_path, build):
        with pytest.raises(SurroundingsError, match="cannot find -ltorch"):
            build(library_path=str(tmp_path / "nowhere"))

    def test_only_the_first_errors_are_shown(self):
        output = "In file a.h:\n" + "".join(f"a.cpp:{n}: error: no {n}\n" for n in range(9))
        assert first_errors(output).splitlines() == [f"a.cpp:{n}: error: no {n}" for n in range(5)]
        assert first_errors("Fehler: nichts\n") == "Fehler: nichts"


def test_a_wheel_for_any_python_is_asked_for_as_such(release):
    name = "torch_tensorrt-2.14.0-py3-none-manylinux_2_28_x86_64.whl"
    arguments = pip_arguments(with_changes(release, wheel=name))
    assert arguments[arguments.index("--python-version") + 1] == "3"
    assert arguments[arguments.index("--implementation") + 1] == "py"
