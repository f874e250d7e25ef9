"""What a case's program is made of: an edit anywhere that may matter to it changes its digest."""

import importlib
import pkgutil
from pathlib import Path

import pytest

import corpus
import corpus.families
from corpus.case import all_cases, find_case
from harness.rig.questions import case_sources
from harness.rig.questions.case_sources import Sources, case_digests

FILES = {
    "__init__.py": "",
    "case.py": "def case(**said): ...\ndef vary(*said): ...\ndef find_case(name): ...\n",
    "inputs.py": "def floats(): ...\ndef integers(): ...\n",
    "models/__init__.py": "",
    "models/hub.py": "import corpus.models.layers\nclass Bert: ...\n",
    "models/layers.py": "class Layer: ...\n",
    "families/__init__.py": "",
    "families/chains.py": """
from corpus.case import case
from corpus.inputs import floats
RELU = "relu"
WIDTH = 8
def helper():
    return WIDTH
class Model:
    def forward(self):
        return helper()
@case(fallback=[RELU])
def chain():
    return floats(), Model()
@case()
def lonely():
    return 1
""",
    "families/deep.py": """
from corpus.case import case
from corpus.families.chains import Model as Chain, RELU
from corpus.models import hub
def late():
    from corpus.inputs import integers
    return integers()
@case(fallback=[RELU])
def deep():
    return Chain(), hub.Bert(), late()
""",
}


@pytest.fixture
def edit(tmp_path):
    """Writes the corpus, some of its texts replaced, and tells what a case reaches."""

    def write(at="", old="", new=""):
        for name, text in FILES.items():
            path = tmp_path / "corpus" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name == at:
                assert old in text
                text = text.replace(old, new, 1) if old else text + new
            path.write_text(text)
        return Sources(tmp_path / "corpus")

    return write


def told(sources, module, name):
    reached = sources.reached_from(f"corpus.families.{module}", name)
    if reached is None:
        return None
    return {each.digest for each in reached}, sources.effects


OF_CHAIN = {
    "its own function": ("families/chains.py", "return floats(), Model()", "return Model()"),
    "what it is registered with": ("families/chains.py", "fallback=[RELU]", "fallback=[RELU, 1]"),
    "its model": ("families/chains.py", "return helper()", "return -helper()"),
    "what its model calls": ("families/chains.py", "return WIDTH", "return WIDTH + 1"),
    "a constant": ("families/chains.py", "WIDTH = 8", "WIDTH = 9"),
    "a constant of its decorator": ("families/chains.py", 'RELU = "relu"', 'RELU = "gelu"'),
    "a second binding of a name": ("families/chains.py", "", "\nWIDTH = 9\n"),
    "shared code that it imports": ("inputs.py", "def floats(): ...", "def floats(): return 1"),
    "other code of a shared module": ("inputs.py", "def integers(): ...", "def integers(): 1"),
    "an effect in its module": ("families/chains.py", "", "\nregister(1)\n"),
    "an effect in another family": ("families/deep.py", "", "\nregister(1)\n"),
    "an effect in what another family imports": ("models/layers.py", "", "\nregister(1)\n"),
    "a decorator that may do anything": ("families/deep.py", "def late", "@register\ndef late"),
    "a new attribute of its model": ("families/chains.py", "", "\nModel.forward = helper\n"),
    "a constant that another family sets": (
        "families/deep.py",
        "",
        "\nimport corpus.families.chains as c\nc.WIDTH = 9\n",
    ),
    "an item that another family sets": ("families/deep.py", "", "\nTABLE['chain'] = 9\n"),
    "a class that may do anything": ("families/deep.py", "", "\nclass A:\n    register(1)\n"),
}


@pytest.mark.parametrize("at", OF_CHAIN.values(), ids=OF_CHAIN)
def test_an_edit_that_may_matter_to_a_case_changes_what_it_reaches(edit, at):
    assert told(edit(), "chains", "chain") != told(edit(*at), "chains", "chain")


OF_DEEP = {
    "a model of another family, by another name": OF_CHAIN["its model"],
    "what that calls": OF_CHAIN["what its model calls"],
    "a module that is imported whole": ("models/hub.py", "class Bert: ...", "class Bert: 1"),
    "what that imports": ("models/layers.py", "class Layer: ...", "class Layer: 1"),
    "an import inside of a function": ("inputs.py", "def integers(): ...", "def integers(): 1"),
}


@pytest.mark.parametrize("at", OF_DEEP.values(), ids=OF_DEEP)
def test_an_edit_of_what_a_case_imports_changes_what_it_reaches(edit, at):
    assert told(edit(), "deep", "deep") != told(edit(*at), "deep", "deep")


OF_NEITHER = {
    "another case of its module": ("families/chains.py", "return 1", "return 2"),
    "a new case": ("families/chains.py", "", "\n@case()\ndef new():\n    return 1\n"),
    "a variant of a case": ("families/deep.py", "", "\nvary(deep, 'wide')\n"),
    "a comment": ("families/chains.py", "WIDTH = 8", "WIDTH = 8  # wide"),
    "lines above": ("families/chains.py", "from corpus.case", "\n\nfrom corpus.case"),
}


@pytest.mark.parametrize("at", OF_NEITHER.values(), ids=OF_NEITHER)
def test_an_edit_that_cannot_matter_changes_nothing(edit, at):
    for case in (("chains", "chain"), ("deep", "deep")):
        before = told(edit(), *case)
        assert before == told(edit(*at), *case)


@pytest.mark.parametrize(
    "body",
    [
        "find_case('chain')",
        "Path(__file__).read_bytes()",
        "getattr(x, name)",
        "eval('x')",
        "importlib.import_module(name)",
    ],
)
def test_where_a_case_leads_beyond_what_can_be_read_nothing_is_told_of_it(edit, body):
    sources = edit("families/chains.py", "return WIDTH", f"return {body}")
    assert sources.reached_from("corpus.families.chains", "chain") is None
    assert sources.reached_from("corpus.families.chains", "lonely") is not None


def test_a_module_that_is_imported_by_its_plain_name_counts_as_an_import(edit):
    body = "return importlib.import_module('corpus.models.layers')"
    before = edit("families/chains.py", "return WIDTH", body)
    first = told(before, "chains", "chain")
    FILES_BEFORE = dict(FILES)
    try:
        FILES["models/layers.py"] = "class Layer: 1\n"
        assert first != told(edit("families/chains.py", "return WIDTH", body), "chains", "chain")
    finally:
        FILES.update(FILES_BEFORE)


def test_what_is_imported_with_all_other_names_counts(edit, monkeypatch):
    text = FILES["families/chains.py"].replace("import floats", "import *")
    monkeypatch.setitem(FILES, "families/chains.py", text)
    of_inputs = OF_CHAIN["shared code that it imports"]
    assert told(edit(), "chains", "chain") != told(edit(*of_inputs), "chains", "chain")


@pytest.fixture(scope="module")
def digests():
    return case_digests(all_cases(), Path(corpus.__file__).parent)


def test_every_case_of_the_corpus_has_a_digest_of_its_own(digests):
    assert set(digests) == {case.name for case in all_cases()}
    assert len(set(digests.values())) == len(digests)


def test_few_cases_depend_on_the_whole_corpus(monkeypatch, digests):
    monkeypatch.setattr(case_sources, "corpus_digest", lambda: "another")
    now = case_digests(all_cases(), Path(corpus.__file__).parent)
    changed = {name for name in digests if digests[name] != now[name]}
    assert len(changed) <= 2, changed


def test_a_recording_depends_on_the_case_that_it_was_recorded_of(monkeypatch, digests):
    recorded = next(case for case in all_cases() if "recording" in vars(case.build))
    model = vars(recorded.build)["recording"].model
    monkeypatch.setattr(find_case(model).build, "__name__", "not_there")  # so: the whole corpus
    now = case_digests(all_cases(), Path(corpus.__file__).parent)
    assert now[model] != digests[model]
    assert now[recorded.name] != digests[recorded.name]


def test_all_that_the_families_import_of_the_corpus_was_read():
    sources = Sources(Path(corpus.__file__).parent)
    for found in pkgutil.iter_modules(corpus.families.__path__):
        module = importlib.import_module(f"corpus.families.{found.name}")
        assert module.__name__ in sources.modules
