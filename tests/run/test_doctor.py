"""What is checked before a run: each finding seen good, and seen bad on a planted fault."""

import sys

import pytest

from harness.base.errors import Unavailable
from harness.catalogue.releases import load_catalogue
from harness.machine.cuda import Device
from harness.run import doctor
from harness.run.doctor import Finding
from harness.subjects.packages import Installed
from harness.toolchain import Toolchain
from tests.fake_releases import make_release, script


@pytest.fixture
def release(tmp_path):
    return make_release(tmp_path / "house")


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


def test_everything_is_examined_in_a_fixed_order_and_nothing_is_fetched(tmp_path, release):
    toolchain = Toolchain(tmp_path / "cache", sys.executable)
    findings = doctor.examine(toolchain, [release])
    names = ["python", "pip", "compiler", "torch", "cache", "wheels", "bindings", "disk"]
    assert [finding.name for finding in findings] == [*names, "memory", "cores", "engine lane"]
    found = by_name(findings)
    assert all(found[name].ok for name in ("python", "compiler", "torch", "cache", "wheels"))
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_machine_that_lacks_everything_is_told_what_to_do_about_each(tmp_path, release):
    (tmp_path / "file").write_bytes(b"")
    toolchain = Toolchain(
        tmp_path / "file" / "cache", "/nopython", compiler="no-such-compiler", offline=True
    )
    found = by_name(doctor.examine(toolchain, [release]))
    bad = {"pip", "compiler", "torch", "cache", "wheels"}
    assert {name for name, finding in found.items() if not finding.ok} >= bad
    assert all(found[name].advice for name in bad)
    assert "install g++" in found["compiler"].advice
    assert "no-such-compiler" in found["compiler"].detail


def test_a_good_finding_of_a_number_advises_nothing():
    assert doctor.cores_finding(2) == Finding("cores", True, "2")
    assert doctor.disk_finding(doctor.MIN_DISK_BYTES).ok
    assert doctor.memory_finding(doctor.MIN_MEMORY_BYTES).ok
    assert doctor.memory_finding(doctor.MIN_MEMORY_BYTES).advice == ""


@pytest.mark.parametrize(
    "finding",
    [
        doctor.cores_finding(1),
        doctor.disk_finding(doctor.MIN_DISK_BYTES - 1),
        doctor.memory_finding(doctor.MIN_MEMORY_BYTES - 1),
    ],
    ids=lambda finding: finding.name,
)
def test_too_little_is_bad_and_says_what_to_do(finding):
    assert not finding.ok
    assert finding.advice


def test_a_python_without_pip_is_told_how_to_get_it(tmp_path):
    finding = doctor.pip_finding(script(tmp_path / "python", "raise SystemExit(1)"))
    assert not finding.ok
    assert "ensurepip" in finding.advice


def test_pip_is_told_with_its_version(tmp_path):
    python = script(tmp_path / "python", "print('pip 99.1 from somewhere')")
    assert doctor.pip_finding(python) == Finding("pip", True, "pip 99.1")


def test_a_machine_that_cannot_run_engines_is_told_what_is_missing_and_is_no_worse():
    finding = doctor.engine_lane_finding(sys.executable, "libno-such-driver.so.1")
    assert finding.ok
    assert finding.detail.startswith("not here: no CUDA driver")
    assert "NVIDIA GPU" in finding.advice


def test_all_that_is_wrong_is_told_and_what_to_do_about_it_apart(monkeypatch):
    def refuse(*_: object) -> None:
        raise Unavailable("CUDA failed; the driver is too old", "update the driver")

    monkeypatch.setattr(doctor, "preflight", refuse)
    finding = doctor.engine_lane_finding(sys.executable)
    assert finding.detail == "not here: CUDA failed; the driver is too old"
    assert finding.advice == "update the driver"


def test_a_machine_that_can_run_engines_is_told_with_what(tmp_path, monkeypatch):
    found = Installed("2.14.0", "tensorrt", "11.1.0.106", Device("Fake GPU", (8, 9)))
    monkeypatch.setattr(doctor, "preflight", lambda *_: found)
    finding = doctor.engine_lane_finding(sys.executable)
    assert finding.detail == "torch_tensorrt 2.14.0 with tensorrt 11.1.0.106 on Fake GPU (sm_89)"


class TestWheels:
    def test_sound_ones_are_counted(self, tmp_path, release):
        toolchain = Toolchain(tmp_path, sys.executable, wheelhouse=tmp_path / "house")
        finding = doctor.wheels_finding(toolchain, [release])
        assert finding == Finding("wheels", True, "1 of 1 at hand")

    def test_a_corrupt_one_is_bad_and_named(self, tmp_path, release):
        (tmp_path / "house" / release.wheel).write_bytes(b"damaged")
        toolchain = Toolchain(tmp_path, sys.executable, wheelhouse=tmp_path / "house")
        finding = doctor.wheels_finding(toolchain, [release])
        assert not finding.ok
        assert f"corrupt: {tmp_path / 'house' / release.wheel}" in finding.detail

    def test_a_missing_one_is_bad_only_if_it_cannot_be_fetched(self, tmp_path, release):
        online = Toolchain(tmp_path, sys.executable)
        offline = Toolchain(tmp_path, sys.executable, offline=True)
        housed = Toolchain(tmp_path, sys.executable, wheelhouse=tmp_path / "other")
        findings = [doctor.wheels_finding(each, [release]) for each in (online, offline, housed)]
        assert [finding.ok for finding in findings] == [True, False, False]
        assert all("missing: 9.1.0" in finding.detail for finding in findings)
        assert findings[0].advice == "a run fetches them"


class TestBindings:
    """Releases of the catalogue, since a made-up one names no TensorRT that there is."""

    def test_missing_ones_are_bad_only_if_they_cannot_be_fetched(self, tmp_path):
        releases = load_catalogue().select("2.13.0,2.14.0")
        online = Toolchain(tmp_path, sys.executable)
        offline = Toolchain(tmp_path, sys.executable, offline=True)
        findings = [doctor.bindings_finding(each, releases) for each in (online, offline)]
        assert [finding.ok for finding in findings] == [True, False]
        assert all("0 of 2 at hand; missing: 11.0.0" in finding.detail for finding in findings)

    def test_those_at_hand_are_counted(self, tmp_path):
        release = load_catalogue().get("2.14.0")
        toolchain = Toolchain(tmp_path, sys.executable, wheelhouse=tmp_path)
        (tmp_path / toolchain.bindings(release).wheel).write_bytes(b"")
        finding = doctor.bindings_finding(toolchain, [release])
        assert finding == Finding("bindings", True, "TensorRT's: 1 of 1 at hand")
