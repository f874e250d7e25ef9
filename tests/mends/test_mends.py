"""A mended file of a release is one that `git apply` makes, and no longer has the defects."""

import re
import subprocess
import zipfile

import pytest

from harness.base.errors import ExitCode
from harness.catalogue.releases import load_catalogue
from harness.mends.all import MENDS
from harness.mends.edits import DoesNotFit
from harness.mends.engines import ENGINES
from harness.mends.fallbacks import FALLBACKS
from harness.mends.mend import EXPORTER, mended
from harness.mends.program import PROGRAM
from harness.register.defects import BLAMES, read_register
from harness.toolchain.environment import PROJECT_ROOT
from tests.commands import harness


@pytest.fixture(scope="module")
def files_of(release_specs):
    """The reader of a release's files."""

    def reader(release):
        wheel = zipfile.ZipFile(release_specs[release].wheel_path)
        names = wheel.namelist()
        return lambda name: wheel.read(name).decode() if name in names else None

    return reader


def test_a_defect_has_one_mend_at_most_and_is_alive_in_the_newest_release():
    defects = [defect for mend in MENDS for defect in mend.defects]
    alive = {defect.id for defect in read_register().defects if not defect.fixed_in}
    assert len(defects) == len(set(defects))
    assert set(defects) <= alive


#: Who has to mend a defect, if not Torch-TensorRT.
OF_OTHERS = {"torch", "by design"}


def test_each_defect_of_torch_tensorrt_s_own_has_a_mend_or_is_told_why_not():
    assert set(BLAMES) >= OF_OTHERS
    newest = load_catalogue().newest.version
    own = {
        defect.id
        for defect in read_register().defects
        if defect.alive_in(newest) and defect.blame not in OF_OTHERS
    }
    mended = {defect for mend in MENDS for defect in mend.defects}
    text = (PROJECT_ROOT / "docs" / "mends.md").read_text().partition("## What has no mend")[2]
    rows = re.findall(r"^\| (.*?) \| (.*) \|$", text, re.MULTILINE)
    told = {name: why for names, why in rows for name in re.findall(r"`([\w-]+)`", names)}
    assert own - mended - told.keys() == set()
    assert told.keys() <= own
    assert all(told[name].startswith("Mended in part") for name in told.keys() & mended)


@pytest.mark.parametrize("mend", MENDS, ids=[mend.name for mend in MENDS])
def test_each_mend_fits_the_newest_release_by_itself(mend, files_of):
    for name, text in mended(files_of("2.14.0"), [mend]).items():
        compile(text, name, "exec")


def test_a_mend_that_does_not_fit_a_release_says_which_and_where(files_of):
    mends = [mend for mend in MENDS if mend.name == "own-input-returned"]
    with pytest.raises(
        DoesNotFit,
        match=rf"the mend of own-input-returned does not fit {EXPORTER}: inline_torch_modules",
    ):
        mended(files_of("2.10.0"), mends)


def test_of_an_older_release_those_that_fit_are_written_and_the_others_named(tmp_path):
    defects = "statistics-of-an-instance-norm,copy-back-in-memory"
    both = ("mend", "--release", "2.13.0", "--only", defects)
    refused = harness(*both, "--out", tmp_path)
    assert refused.returncode == ExitCode.USAGE
    assert "`mend --fitting` writes those that fit, 1" in refused.stderr
    assert not list(tmp_path.iterdir())

    told = harness(*both, "--out", tmp_path, "--fitting")
    assert told.returncode == ExitCode.GREEN, told.stderr
    said = " ".join(told.stdout.split())
    assert "left out: the mend of copy-back-in-memory does not fit" in said
    assert "mends meets copy-back-in-memory next: which is left out" in said
    assert "judged in the place of 2.14.0 alone: judge them here, too" in said
    assert "--only statistics-of-an-instance-norm" in said
    assert "_decompositions.py" in (tmp_path / "mends.diff").read_text()

    none = harness("mend", "--release", "2.13.0", "--only", "copy-back-in-memory", "--fitting")
    assert none.returncode == ExitCode.USAGE


#: What the graph lane sees: mends of the inliner, the exporter's other half.
WHOLE = [mend for mend in (*FALLBACKS, *ENGINES, *PROGRAM) if not mend.limits]
#: They need the own partitioner of the package, or an engine in a fallback.
PACKAGE_LANE_ALONE = {"rows-for-outputs", "engine-in-a-fallback-left-behind"}


def test_a_mend_of_a_file_that_a_release_lacks_says_so(files_of):
    mends = [mend for mend in MENDS if mend.name == "step-of-a-cache-write"]
    missing = r"does not fit: there is no torch_tensorrt/dynamo/lowering/_buffer_lifting.py"
    with pytest.raises(DoesNotFit, match=missing):
        mended(files_of("2.13.0"), mends)


@pytest.mark.parametrize(
    ("defect", "lacking"),
    [
        ("size-into-engine", f"does not fit {EXPORTER}: there is no pytree"),
        ("input-write-removed", "_compiler.py: there is no _copyback_mutation_buffers"),
    ],
)
def test_a_mend_whose_code_reads_what_a_release_lacks_does_not_fit_it(defect, lacking, files_of):
    """Its places are there, so that each line would be made, and raise when it runs."""
    mends = [mend for mend in MENDS if mend.name == defect]
    with pytest.raises(DoesNotFit, match=lacking):
        mended(files_of("2.13.0"), mends)


def test_a_mended_release_breaks_nothing_and_its_diff_is_one_that_git_applies(tmp_path, files_of):
    defects = [defect for mend in WHOLE for defect in mend.defects]
    chosen = ("--only", ",".join(defects), "--out", tmp_path / "mended")
    written = harness("mend", "--release", "2.14.0", *chosen)
    assert written.returncode == ExitCode.GREEN, written.stderr
    after = mended(files_of("2.14.0"), WHOLE)
    for name in after:
        before = tmp_path / "py" / name
        before.parent.mkdir(parents=True, exist_ok=True)
        before.write_text(files_of("2.14.0")(name))
    subprocess.run(["git", "apply", "mended/mends.diff"], cwd=tmp_path, check=True)
    for name, text in after.items():
        assert (tmp_path / "py" / name).read_text() == text
        assert (tmp_path / "mended" / name).read_text() == text

    by_id = read_register().by_id
    cases = {by_id[defect].minimal_case for defect in {*defects} - PACKAGE_LANE_ALONE}
    judged = harness(
        "run", "--mended", "2.14.0", "--only", ",".join(defects), "--lane", "graph",
        "--out", tmp_path / "runs", "--routes", "legacy",
        "-k", " or ".join(sorted(cases)),
    )  # fmt: skip
    told = judged.stdout + judged.stderr
    assert judged.returncode == ExitCode.GREEN, told
    kinds = re.findall(r"(\d+) regressed.*?, (\d+) fixed.*?(\d+) broken before", told)
    assert [each[0::2] for each in kinds] == [("0", "0")] * 3, told
    assert sum(int(fixed) for _, fixed, _ in kinds) >= len(WHOLE), told


OF_THE_PACKAGE = [mend for mend in MENDS if mend not in (*FALLBACKS, *ENGINES, *PROGRAM)]
#: TensorRT's own converters alone show them.
REAL = {
    "slice-without-an-end", "cache-layer-of-integers", "number-into-a-slice",
    "index-behind-the-first-dimension", "repeat-by-a-size", "usual-size-beyond-the-largest",
}  # fmt: skip
FAST = "last-index-written"
#: A package alone has it, and the exporter's own way back shows it.
BY_THE_EXPORTER = "cross-unread-output"
#: Torch 2.14 alone shows them, and the tests have the pinned torch: they are held to break nothing.
WITH_ANOTHER_TORCH = {"complex-inside-returns-a-node", "complex-decomposition-renames"}
#: PyTorch runs then what no engine can, which is no verdict on the release.
IN_PYTORCH = "backend-keeps-the-first-number"


@pytest.mark.parametrize(
    "mend",
    [
        pytest.param(mend, id=mend.name, marks=() if mend.name == FAST else pytest.mark.slow)
        for mend in OF_THE_PACKAGE
    ],
)
def test_a_mend_of_the_package_alone_mends_its_defects_and_breaks_nothing(mend, tmp_path):
    by_id = read_register().by_id
    cases = [by_id[defect].minimal_case for defect in mend.defects]
    only = (mend.name, *mend.goes_with)
    judged = harness(
        "run", "--mended", "2.14.0", "--only", ",".join(only),
        "--lane", "graph" if mend.name == BY_THE_EXPORTER else "package",
        "--out", tmp_path, "--cases", ",".join(cases),
        "--builder", "tensorrt-rtx" if mend.name in REAL else "segment", "--full",
    )  # fmt: skip
    told = judged.stdout + judged.stderr
    assert judged.returncode in (ExitCode.GREEN, ExitCode.INCONCLUSIVE), told
    assert "breaks" not in told, told
    if mend.name in {*WITH_ANOTHER_TORCH, IN_PYTORCH}:
        return
    mended = re.findall(r"^  mends: (.*)$", told, re.MULTILINE)  # of many the last line counts
    counted = next((int(line.split()[0]) for line in mended if line.endswith(" more")), 0)
    seen = [defect for defect in mend.defects if not by_id[defect].not_visible]
    untold = {f'"{by_id[defect].title}"' for defect in seen} - {*mended}
    assert len(untold) <= counted, told


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--only", "no-inputs"), "--only says which mends --mended takes"),
        (("--mended", "2.14.0", "--like", "2.13.0"), "name no other one"),
        (("--mended", "2.10.0"), "does not fit"),
    ],
)
def test_a_mended_release_that_cannot_be_is_told(words, says):
    told = harness("run", *words)
    assert told.returncode == ExitCode.USAGE
    assert says in told.stderr


def test_a_wrong_id_and_a_folder_that_is_no_checkout_are_told(tmp_path):
    wrong = harness("mend", "--only", "no-such-defect")
    assert wrong.returncode == ExitCode.USAGE
    assert "no-such-defect: no mend; there is one for aliased-outputs-untold, " in wrong.stderr
    nowhere = harness("mend", "--checkout", tmp_path)
    assert nowhere.returncode == ExitCode.USAGE
    assert "it has no py/torch_tensorrt" in nowhere.stderr
