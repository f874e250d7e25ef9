"""A release as its wheel describes it: committed tables agree, and every fault is named."""

import dataclasses
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.catalogue.entry import entry_for, subject_for_wheel
from harness.catalogue.releases import (
    CATALOGUE_FILE,
    EXPORTER_MODULE,
    Catalogue,
    Release,
    load_catalogue,
)
from tests.fake_releases import FULL_EXPORTER, full_wheel, make_release, with_changes

METADATA = "torch_tensorrt-9.1.0.dist-info/METADATA"
ABI = "torch_tensorrt/dynamo/runtime/_serialized_engine_layout.py"
COMMON = "torch_tensorrt/dynamo/partitioning/common.py"
EMPTY = Catalogue(())


def wheel(
    folder: Path, version: str = "9.1.0", exporter: bytes = FULL_EXPORTER, **changes: bytes | None
) -> Path:
    """A whole wheel of a few bytes; a change of None leaves the file out."""
    others = {**full_wheel(version), **changes}
    kept = {name: content for name, content in others.items() if content is not None}
    return folder / make_release(folder, version, exporter, kept).wheel


def read(path: Path) -> Release:
    return subject_for_wheel(path, EMPTY)


def test_every_wheel_at_hand_reproduces_its_table(toolchain, catalogue, release_specs):
    text = CATALOGUE_FILE.read_text(encoding="utf-8")
    found = 0
    for release in catalogue:
        path = toolchain.wheel_at_hand(release)
        if path is not None:
            found += 1
            assert f"\n{entry_for(release.version, path)}" in text, release.version
            assert subject_for_wheel(path, catalogue) is release
    assert found >= len(release_specs)


def test_an_entry_is_read_back_as_the_release_that_the_wheel_is(tmp_path):
    path = wheel(tmp_path)
    file = tmp_path / "releases.toml"
    file.write_text(f"schema = 1\n\n{entry_for('9.1.0', path)}", encoding="utf-8")
    found = load_catalogue(file)
    assert found.releases == (read(path),)


def test_a_wheel_is_read_whole(tmp_path):
    path = wheel(tmp_path)
    made = make_release(tmp_path / "same", "9.1.0", FULL_EXPORTER, full_wheel())
    release = read(path)
    assert release == with_changes(
        made,
        modules=(EXPORTER_MODULE,),
        inliner_id=release.inliner_id,
        reachable=("legacy", "export", "cross", "cross-legacy"),
        api=dataclasses.replace(
            made.api, transform=("cross_compile_module",), create_trt_exp_program=("arg_inputs",)
        ),
    )


class TestRoutes:
    def test_export_is_reachable_if_its_caller_can_choose_the_exporter(self, tmp_path):
        old = FULL_EXPORTER.replace(b", use_legacy_exporter=False", b"")
        new = ("legacy", "export", "cross", "cross-legacy")
        assert read(wheel(tmp_path / "new")).reachable == new
        assert read(wheel(tmp_path / "new")).hypothetical == ()
        assert read(wheel(tmp_path / "old", exporter=old)).reachable == ("legacy", "cross")
        assert read(wheel(tmp_path / "old", exporter=old)).hypothetical == ("export",)

    @pytest.mark.parametrize("name", [b"cross_compile_flag", b"cross_compile_module", b"inputs"])
    def test_cross_is_reachable_if_transform_takes_the_argument(self, tmp_path, name):
        exporter = FULL_EXPORTER.replace(b"cross_compile_module", name)
        routes = read(wheel(tmp_path, exporter=exporter)).reachable
        assert ("cross" in routes, "cross-legacy" in routes) == (name != b"inputs",) * 2

    @pytest.mark.parametrize(("default", "retraces"), [(b"True", True), (b"False", False)])
    def test_what_save_does_by_default_is_read(self, tmp_path, default, retraces):
        source = b"def save(module, *, inputs=None, retrace: bool = " + default + b"): ...\n"
        path = wheel(tmp_path, **{"torch_tensorrt/_compile.py": source})
        assert read(path).save_retraces is retraces


class TestPins:
    @pytest.mark.parametrize(
        ("lines", "torch"),
        [
            ("Requires-Dist: torch (<2.3.2,>=2.3.0)", "2.3.0"),
            ("Requires-Dist: torch==2.6.0", "2.6.0"),
            ("Requires-Dist: torch>=2.15.0.dev,<2.16.0", "2.15.0.dev"),
            (
                'Requires-Dist: torch>=1 ; platform_machine == "aarch64"\nRequires-Dist: torch>=2',
                "2",
            ),
            ('Requires-Dist: torch>=2\nRequires-Dist: torch>=3 ; extra == "all"', "2"),
            ("Requires-Dist: torchvision>=1\nRequires-Dist: torch>=2", "2"),
        ],
    )
    def test_torch_is_the_lower_bound_for_the_catalogue_s_machine(self, tmp_path, lines, torch):
        text = f"Name: torch-tensorrt\nVersion: 9.1.0\n{lines}\n".encode()
        assert read(wheel(tmp_path, **{METADATA: text})).pins.torch == torch

    def test_no_tensorrt_rtx_is_named_before_2_9(self, tmp_path):
        source = b'__cuda_version__ = "1"\n__tensorrt_version__ = "2"\n'
        release = read(wheel(tmp_path, **{"torch_tensorrt/_version.py": source}))
        assert (release.pins.tensorrt_rtx, release.pins.cuda) == ("", "1")


class TestAbi:
    def test_the_wheel_has_the_first_word(self, tmp_path):
        path = wheel(tmp_path, **{ABI: b'X = 1\nABI_VERSION: str = "77"\n'})
        assert read(path).abi == "77"
        assert "assumed" not in entry_for("9.1.0", path)

    @pytest.mark.parametrize(
        ("version", "abi"),
        [
            ("2.3.0", "5"), ("2.4.9", "5"), ("2.5.0", "6"), ("2.6.1", "6"), ("2.7.0", "7"),
            ("2.10.0", "7"), ("2.11.0", "8"), ("2.12.1", "9"),
        ],
    )  # fmt: skip
    def test_up_to_2_12_it_is_known_by_the_version(self, tmp_path, version, abi):
        path = wheel(tmp_path, version, **{ABI: None})
        assert read(path).abi == abi
        assert "assumed" not in entry_for(version, path)

    def test_after_that_the_newest_is_assumed_and_the_entry_says_so(self, tmp_path):
        path = wheel(tmp_path, **{ABI: None})
        assert read(path).abi == "10"
        assert 'abi = "10"  # assumed: the wheel does not say' in entry_for("9.1.0", path)

    def test_a_release_before_2_3_is_refused(self, tmp_path):
        with pytest.raises(
            UsageError, match=r"2\.2\.0 cannot be judged: it has no torch_tensorrt\.save"
        ):
            read(wheel(tmp_path, "2.2.0", **{ABI: None}))


class TestModules:
    def test_the_shape_analysis_is_loaded_by_an_exporter_that_imports_partitioning(self, tmp_path):
        exporter = b"from torch_tensorrt.dynamo import partitioning\n" + FULL_EXPORTER
        path = wheel(tmp_path, exporter=exporter, **{COMMON: b"import torch_tensorrt._Input\n"})
        assert read(path).modules == (EXPORTER_MODULE, COMMON)

    @pytest.mark.parametrize(
        "line",
        [
            b"from torch_tensorrt.dynamo import fresh",
            b"from torch_tensorrt.dynamo.fresh import f",
            b"import torch_tensorrt.dynamo.fresh",
            b"from . import fresh",
            b"from .fresh import f",
            b"from ..dynamo.fresh import f",
        ],
    )
    def test_what_has_no_stand_in_is_loaded_and_what_it_imports_too(self, tmp_path, line):
        one, two = "torch_tensorrt/dynamo/fresh.py", "torch_tensorrt/deep/__init__.py"
        others = {one: b"from torch_tensorrt.deep import x\n", two: b"import torch_tensorrt.deep\n"}
        path = wheel(tmp_path, exporter=line + b"\n" + FULL_EXPORTER, **others)
        assert read(path).modules == (two, EXPORTER_MODULE, one)

    def test_an_import_inside_a_function_is_not_made_by_loading(self, tmp_path):
        exporter = FULL_EXPORTER + b"def f():\n    import torch_tensorrt.late\n"
        path = wheel(tmp_path, exporter=exporter, **{"torch_tensorrt/late.py": b""})
        assert read(path).modules == (EXPORTER_MODULE,)


class TestSubject:
    def test_a_wheel_with_the_bytes_of_a_release_is_that_release(self, tmp_path):
        path = wheel(tmp_path)
        known = with_changes(read(path), abi="42")
        assert subject_for_wheel(path, Catalogue((known,))) is known

    def test_a_nightly_is_named_by_its_version(self, tmp_path):
        path = wheel(tmp_path, "9.2.0.dev20990101+cu130")
        assert subject_for_wheel(path, EMPTY).version == "9.2.0.dev20990101+cu130"

    def test_another_build_of_a_release_is_another_subject(self, tmp_path):
        released = read(wheel(tmp_path / "released"))
        path = wheel(tmp_path / "rebuilt", exporter=FULL_EXPORTER + b"# mine\n")
        found = subject_for_wheel(path, Catalogue((released,)))
        assert found.version == f"9.1.0+wheel.{found.sha256[:8]}"
        assert found.inliner_id != released.inliner_id

    def test_a_local_label_is_kept(self, tmp_path):
        released = read(wheel(tmp_path / "released", "9.1.0+cu130"))
        path = wheel(tmp_path / "rebuilt", "9.1.0+cu130", exporter=FULL_EXPORTER + b"# mine\n")
        found = subject_for_wheel(path, Catalogue((released,)))
        assert found.version == f"9.1.0+cu130.wheel.{found.sha256[:8]}"


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "complaint"),
        [
            ({METADATA: None}, "no METADATA in it"),
            ({METADATA: b"Name: other\nVersion: 9.1.0\n"}, "it is of the project other"),
            ({METADATA: b"Name: torch-tensorrt\nVersion: x\n"}, "its METADATA does not read"),
            (
                {METADATA: b"Name: torch-tensorrt\nVersion: 9\nRequires-Dist: torch ~ 1\n"},
                "its METADATA does not read",
            ),
            ({METADATA: b"Name: torch-tensorrt\nVersion: 9\n"}, "gives 0 lower bounds for torch"),
            ({"torch_tensorrt/_version.py": b""}, "does not bind __tensorrt_version__"),
            ({"torch_tensorrt/_version.py": None}, r"no torch_tensorrt/_version\.py in it"),
            ({"torch_tensorrt/_compile.py": b""}, r"_compile\.py does not define save"),
            ({"torch_tensorrt/_compile.py": b"def save(): ..."}, "no default for retrace"),
            ({"torch_tensorrt/_compile.py": b"def (:"}, r"_compile\.py, line 1: invalid syntax"),
            ({ABI: b"ABI_VERSION = 9"}, "does not bind ABI_VERSION to a string"),
        ],
    )
    def test_what_a_wheel_lacks_is_named(self, tmp_path, changes, complaint):
        with pytest.raises(UsageError, match=rf"torch_tensorrt-9\.1\.0.*\.whl: .*{complaint}"):
            read(wheel(tmp_path, **changes))

    @pytest.mark.parametrize(
        "call",
        [
            "export",
            "transform",
            "inline_trt_modules",
            "inline_torch_modules",
            "create_trt_exp_program",
        ],
    )
    def test_a_call_that_the_exporter_lacks_is_named(self, tmp_path, call):
        exporter = FULL_EXPORTER.replace(f"def {call}(".encode(), b"def other(")
        with pytest.raises(UsageError, match=rf"_exporter\.py does not define {call}"):
            read(wheel(tmp_path, exporter=exporter))

    @pytest.mark.parametrize("content", [None, b"not a zip"])
    def test_a_file_that_is_no_wheel_is_named(self, tmp_path, content):
        path = tmp_path / "broken.whl"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(UsageError, match=r"broken\.whl: cannot be read as a wheel"):
            read(path)

    def test_an_entry_is_written_for_the_version_that_the_wheel_has(self, tmp_path):
        path = wheel(tmp_path)
        with pytest.raises(UsageError, match=r"it is of 9\.1\.0, not of 9\.2\.0"):
            entry_for("9.2.0", path)
        with pytest.raises(UsageError, match="'newest' is no version"):
            entry_for("newest", path)

    def test_an_entry_needs_the_released_file_name(self, tmp_path):
        path = wheel(tmp_path).rename(tmp_path / "mine.whl")
        assert read(path).version == "9.1.0"
        with pytest.raises(UsageError, match="its file name is not the released one"):
            entry_for("9.1.0", path)

    def test_an_entry_is_of_a_wheel_for_linux(self, tmp_path):
        path = wheel(tmp_path).rename(tmp_path / "torch_tensorrt-9.1.0-cp311-cp311-win_amd64.whl")
        with pytest.raises(UsageError, match=r"win_amd64\.whl: it is not for Linux on x86_64"):
            entry_for("9.1.0", path)

    def test_an_entry_is_named_as_the_wheel_names_itself(self, tmp_path):
        assert entry_for("9.1", wheel(tmp_path)).startswith('[release."9.1.0"]')
