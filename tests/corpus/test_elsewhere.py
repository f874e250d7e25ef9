"""Cases from elsewhere take the place of the project's own, in every command."""

import sys
from collections.abc import Callable

import pytest

from corpus import elsewhere
from harness.base.errors import SurroundingsError, UsageError
from harness.subjects.specs import builtin_subjects
from harness.toolchain.rig_client import ask_rig, graph_lane, read_corpus, split_text

OWN_CASES = """
import torch
from corpus.case import Family, Program, case
from corpus.inputs import floats

class Gate(torch.nn.Module):
    def forward(self, x):
        a, b = (x * 2).chunk(2, -1)
        return torch.relu(b) - torch.relu(a)

@case(Family.NESTED_GETITEMS, catches="halves that change places", fallback=["aten.relu.default"])
def our_gate():
    return Program(floats((2, 8)), model=Gate())
"""

CHANGED = OWN_CASES.replace("* 2", "* 3")


@pytest.fixture
def folder(tmp_path, forked_questions):
    (tmp_path / "our_cases.py").write_text(OWN_CASES)
    return tmp_path


def test_a_file_or_a_folder_is_the_whole_corpus(folder, toolchain):
    digests = {read_corpus(sys.executable, cache=toolchain.cache).digest}  # of the project's own
    for place, content in ((folder, OWN_CASES), (folder / "our_cases.py", CHANGED)):
        (folder / "our_cases.py").write_text(content)
        corpus = read_corpus(sys.executable, [str(place)])
        assert corpus.names == ("our_gate",)
        assert corpus.places == (str(place),)
        digests.add(corpus.digest)
    assert len(digests) == 3, "the digest covers the file"
    assert "_run_on_gpu_1" in split_text(sys.executable, "our_gate", "nonstrict", [str(folder)])


UNREADY = """
import torch
from corpus.case import Family, Program, case
from corpus.inputs import floats

class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return x - 1

@case(Family.FOUND, catches="a branch on data")
def our_gate():
    return Program(floats((2, 8)), model=Gate())

@case(Family.FOUND, catches="weights that are not there")
def our_weights():
    open("weights.pt")
"""


def refused(ask: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as refused:
        ask()
    return str(refused.value)


def test_show_and_explain_name_what_a_case_raises_and_its_line(tmp_path, library):
    file = tmp_path / "our_cases.py"
    file.write_text(UNREADY)
    subject = next(spec for spec in builtin_subjects() if spec.subject == "positional")
    lane = graph_lane(library, [subject], [str(file)])
    asked = {"subject": "positional", "capture": "nonstrict", "routes": ["export"]}
    lines = UNREADY.splitlines()
    for told, line in (
        (
            refused(lambda: ask_rig(sys.executable, "explain", **lane, **asked, case="our_gate")),
            1 + lines.index("        if x.sum() > 0:"),
        ),
        (
            refused(lambda: split_text(sys.executable, "our_weights", "nonstrict", [str(file)])),
            1 + lines.index('    open("weights.pt")'),
        ),
    ):
        assert " ends at capture, before any inliner: " in told
        assert f"({file}, line {line}, in " in told


def test_the_digest_covers_what_a_file_imports_from_beside_it(folder):
    (folder / "our_cases.py").write_text(f"import our_parts.scale\n{OWN_CASES}")
    parts = folder / "our_parts"
    parts.mkdir()
    digests = []
    for content in ("SCALE = 2", "SCALE = 3"):
        (parts / "scale.py").write_text(content)
        digests.append(read_corpus(sys.executable, [str(folder / "our_cases.py")]).digest)
    assert digests[0] != digests[1]


def test_a_release_in_a_cache_below_the_folder_is_no_part_of_the_users_corpus(folder):
    package = folder / "cache" / "torch_tensorrt"
    package.mkdir(parents=True)
    found = f"import sys\nsys.path.insert(0, {str(package.parent)!r})\nimport torch_tensorrt\n"
    (folder / "our_cases.py").write_text(found + OWN_CASES)
    digests = set()
    for content in ("VERSION = 1", "VERSION = 2"):
        (package / "__init__.py").write_text(content)
        digests.add(read_corpus(sys.executable, [str(folder / "our_cases.py")]).digest)
    assert len(digests) == 1


def test_a_package_ships_cases_by_an_entry_point(tmp_path, monkeypatch):
    (tmp_path / "our_cases.py").write_text(OWN_CASES)
    info = tmp_path / "ours-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ours\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[inliner_regress.corpus]\nours = our_cases\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert read_corpus(sys.executable, ["ours"]).names == ("our_gate",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file, folder, or entry point"),
        (
            "import no_such_package\n",
            "ModuleNotFoundError: No module named 'no_such_package'; give --with no_such_package",
        ),
        ("def broken(:\n", "SyntaxError"),
    ],
)
def test_what_is_no_corpus_is_named_with_its_reason(tmp_path, content, message):
    path = tmp_path / "cases.py"
    if content is not None:
        path.write_text(content)
    with pytest.raises(elsewhere.NoCorpus, match=message):
        elsewhere.load([str(path)])


def test_a_corpus_without_a_case_is_refused_by_the_controller_as_wrong_use(tmp_path):
    path = tmp_path / "cases.py"
    path.write_text("x = 1\n")
    with pytest.raises(UsageError, match="no case is declared in it"):
        read_corpus(sys.executable, [str(path)])


def test_a_fallback_that_the_model_has_not_is_an_error_and_no_clean_bill(folder):
    (folder / "our_cases.py").write_text(OWN_CASES.replace("aten.relu.default", "aten.gelu"))
    with pytest.raises((UsageError, SurroundingsError), match=r"no op aten\.gelu; it has _op"):
        split_text(sys.executable, "our_gate", "nonstrict", [str(folder)])


def test_a_fallback_is_named_in_the_words_of_its_user(folder):
    split = []
    for name in ("aten.relu.default", "torch.ops.aten.relu", "relu"):
        (folder / "our_cases.py").write_text(OWN_CASES.replace("aten.relu.default", name))
        split.append(split_text(sys.executable, "our_gate", "nonstrict", [str(folder)]))
    assert "_run_on_gpu_1" in split[0]
    assert split == [split[0]] * 3


MODELS_WITH_BUFFERS = """
import torch
from corpus.case import Family, Program, case
from corpus.inputs import floats

class Held(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("held", torch.full((8,), float("nan")))

    def forward(self, x):
        return torch.relu(x + self.held.nan_to_num())

class Written(Held):
    def forward(self, x):
        self.held.copy_(self.held.nan_to_num() + x[0])
        return torch.relu(x + self.held)

@case(Family.FOUND, catches="nothing of a buffer that is read", fallback=["aten.relu.default"])
def buffer_that_is_read():
    return Program(floats((2, 8)), model=Held())

@case(Family.FOUND, catches="an update of a buffer that is lost", fallback=["aten.relu.default"])
def buffer_that_is_written():
    return Program(floats((2, 8)), model=Written())
"""


def test_a_model_of_a_user_has_state_if_a_call_writes_to_its_buffers(tmp_path):
    (tmp_path / "buffers.py").write_text(MODELS_WITH_BUFFERS)
    corpus = read_corpus(sys.executable, [str(tmp_path / "buffers.py")])
    assert {case.name: case.state for case in corpus.cases} == {
        "buffer_that_is_read": False,
        "buffer_that_is_written": True,
    }
