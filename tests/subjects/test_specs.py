"""What is judged, described without torch; a hopeless exporter file is refused before a run."""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.base.errors import SurroundingsError, UsageError
from harness.catalogue.releases import Release, load_catalogue
from harness.runs.plan import make_plan
from harness.subjects.specs import (
    REQUIRED_CALLS,
    builtin_subjects,
    exporter_subject,
    release_subject,
    torch_subject,
    wheel_subject,
)
from harness.wire.record_json import subject_from_json, to_json
from harness.wire.records import CaseInfo, SubjectSpec
from harness.wire.vocabulary import SubjectKind
from tests.fake_releases import EXPORTER, make_release, with_changes


def test_a_release_is_described_with_its_wheel_and_pins(tmp_path):
    release = make_release(tmp_path)
    subject = release_subject(release, tmp_path / release.wheel)
    assert subject.subject == release.version
    assert subject.kind is SubjectKind.RELEASE
    assert subject.routes == ("legacy", "export")
    assert subject.hypothetical_routes == ()
    assert subject.wheel_path == str(tmp_path / release.wheel)
    assert (subject.wheel_sha256, subject.inliner_id) == (release.sha256, release.inliner_id)
    assert (subject.torch_pinned, subject.tensorrt_pinned) == ("9.1.0", "99.0")
    assert subject.unavailable == ""


def test_a_hypothetical_route_is_run_and_marked(tmp_path):
    release = with_changes(make_release(tmp_path), reachable=("legacy",), hypothetical=("export",))
    subject = release_subject(release, tmp_path / release.wheel)
    assert subject.routes == ("legacy", "export")
    assert subject.hypothetical_routes == ("export",)


def test_releases_of_one_inliner_are_executed_once_and_reported_each():
    catalogue = load_catalogue()
    subjects = [
        dataclasses.replace(release_subject(release, None, "no registry"), unavailable="")
        for release in catalogue
    ]
    plan = make_plan([CaseInfo("a-case", "a family", "exported", "")], subjects, ["nonstrict"])
    assert len(plan) == 2 * len(catalogue)
    assert sum(cell.executed for cell in plan) == 2 * len(catalogue.groups())
    first = {r.version: group[0].version for group in catalogue.groups() for r in group}
    assert all(cell.measured_as == first[cell.key.subject] for cell in plan)
    hypothetical = {cell.key.subject for cell in plan if cell.hypothetical}
    assert hypothetical == {release.version for release in catalogue.select("<2.11")}


def test_a_wheel_in_no_catalogue_is_its_own_subject_held_against_a_release(tmp_path):
    like = make_release(tmp_path)
    nightly = with_changes(
        make_release(tmp_path, "9.2.0.dev1", exporter=EXPORTER + b"# new\n"),
        reachable=("legacy",),
        hypothetical=("export",),
    )
    subject = wheel_subject(nightly, tmp_path / nightly.wheel, like)
    assert (subject.subject, subject.release) == ("9.2.0.dev1", like.version)
    assert subject.kind is SubjectKind.FILE
    assert subject.wheel_path == str((tmp_path / nightly.wheel).resolve())
    assert (subject.exporter_path, subject.inliner_id) == (None, nightly.inliner_id)
    assert subject.hypothetical_routes == ("export",)  # its own, and not those of its partner


def test_a_release_without_a_wheel_says_why_and_keeps_its_id(tmp_path):
    release = make_release(tmp_path)
    subject = release_subject(release, None, unavailable="no registry")
    assert subject.unavailable == "no registry"
    assert subject.wheel_path is None
    assert subject.inliner_id == release.inliner_id


def test_a_wheel_or_a_reason_is_given_and_not_both(tmp_path):
    release = make_release(tmp_path)
    with pytest.raises(ValueError, match="a wheel, or the reason"):
        release_subject(release, None)
    with pytest.raises(ValueError, match="a wheel, or the reason"):
        release_subject(release, tmp_path / release.wheel, unavailable="no registry")


def test_a_catalogue_with_the_wrong_inliner_id_is_found_out(tmp_path):
    release = with_changes(make_release(tmp_path), inliner_id="0" * 64)
    with pytest.raises(SurroundingsError, match="correct the catalogue"):
        release_subject(release, tmp_path / release.wheel)


@pytest.mark.parametrize("maker", ["release", "file", "builtin", "torch"])
def test_every_subject_survives_json(tmp_path, maker):
    release = make_release(tmp_path)
    exporter = tmp_path / "_exporter.py"
    exporter.write_bytes(EXPORTER)
    subject = {
        "release": release_subject(release, tmp_path / release.wheel),
        "file": exporter_subject(exporter, release, tmp_path / release.wheel),
        "builtin": builtin_subjects()[0],
        "torch": torch_subject(),
    }[maker]
    assert subject_from_json(json.loads(json.dumps(to_json(subject)))) == subject


ROUTES = {"reachable": ("legacy",), "hypothetical": ("export",)}


def file_subject(
    folder: Path, content: bytes = EXPORTER, modules: Sequence[str] = (), **how: str
) -> tuple[SubjectSpec, Release]:
    """The subject of a file with this content, and the release that it is held against."""
    made = make_release(folder / "wheels", others=dict.fromkeys(modules, b"1"))
    release = with_changes(made, **ROUTES)
    path = folder / "my exporter.py"
    path.write_bytes(content)
    wheel = None if how else folder / "wheels" / release.wheel
    return exporter_subject(path, release, wheel, **how), release


class TestExporterFile:
    def test_it_is_named_by_its_stem_and_its_inliner_and_takes_its_routes_from_the_release(
        self, tmp_path
    ):
        subject, release = file_subject(tmp_path, EXPORTER + b"# changed\n", ["other.py"])
        assert subject.inliner_id is not None
        assert subject.subject == f"file:my_exporter-{subject.inliner_id[:8]}"
        assert subject.kind is SubjectKind.FILE
        assert subject.release == release.version
        assert subject.exporter_path == str((tmp_path / "my exporter.py").resolve())
        assert subject.exporter_sha256 == hashlib.sha256(EXPORTER + b"# changed\n").hexdigest()
        assert subject.inliner_id != release.inliner_id
        assert subject.hypothetical_routes == ("export",)

    def test_a_byte_identical_file_has_the_releases_inliner_id(self, tmp_path):
        subject, release = file_subject(tmp_path, modules=["other.py"])
        assert subject.inliner_id == release.inliner_id

    def test_without_a_wheel_it_is_unavailable_under_the_same_name(self, tmp_path):
        without, _ = file_subject(tmp_path, unavailable="no registry")
        assert without.subject == file_subject(tmp_path)[0].subject
        assert (without.unavailable, without.inliner_id) == ("no registry", None)

    @pytest.mark.parametrize("missing", REQUIRED_CALLS)
    def test_a_missing_call_is_named(self, tmp_path, missing):
        content = EXPORTER.replace(f"def {missing}(".encode(), b"def other(")
        with pytest.raises(UsageError, match=rf"exporter\.py: does not define {missing};"):
            file_subject(tmp_path, content)

    @pytest.mark.parametrize(
        "binding",
        [
            b"from elsewhere import transform",
            b"from elsewhere import flatten as transform",
            b"transform = print",
            b"if True:\n    def transform(gm): ...",
            b"try:\n    from elsewhere import transform\nexcept ImportError:\n    pass",
        ],
    )
    def test_a_call_may_be_bound_in_other_ways_than_by_def(self, tmp_path, binding):
        content = EXPORTER.replace(b"def transform(gm): ...", binding)
        assert file_subject(tmp_path, content)[0].kind is SubjectKind.FILE

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            (EXPORTER + b"def broken(:\n", r"exporter\.py, line 5: not valid Python"),
            (EXPORTER + b"x = '\xff'\n", r"exporter\.py, line \d+: not valid Python"),
            (
                EXPORTER.replace(b"def transform(gm): ...", b"class A:\n def transform(): 0"),
                "does not define transform;",
            ),
        ],
    )
    def test_a_file_that_does_not_parse_or_lacks_a_call_is_refused(
        self, tmp_path, content, complaint
    ):
        with pytest.raises(UsageError, match=complaint):
            file_subject(tmp_path, content)

    @pytest.mark.parametrize(
        ("path", "reason"), [("absent.py", "No such file"), (".", "Is a directory")]
    )
    def test_a_file_that_cannot_be_read_is_refused_with_the_reason(self, tmp_path, path, reason):
        release = make_release(tmp_path)
        with pytest.raises(UsageError, match=rf"cannot be read \({reason}"):
            exporter_subject(tmp_path / path, release, tmp_path / release.wheel)
