"""A rig runs in a bare environment, and the page on how it is built is true: every import is read.

`nox -s lint` holds the floors.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import python

ROOT = Path(__file__).resolve().parents[1]
CONTROLLER = sorted(path for path in (ROOT / "harness").rglob("*.py") if "rig" not in path.parts)
RIG = sorted((ROOT / "harness" / "rig").rglob("*.py"))
WIRE = sorted((ROOT / "harness" / "wire").rglob("*.py"))
CORPUS = sorted((ROOT / "corpus").rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


STANDARD = {*sys.stdlib_module_names}
TORCH = {"torch", "sympy"}  # sympy comes with torch, and is how torch states a size


@pytest.mark.parametrize(
    ("files", "may"),
    [
        (RIG, STANDARD | TORCH | {"corpus", "harness"}),
        (WIRE, STANDARD | {"harness.wire"}),
        (CORPUS, STANDARD | TORCH | {"corpus"}),
    ],
    ids=["rig", "wire", "corpus"],
)
def test_the_measured_side_imports_the_standard_library_torch_and_itself(files, may):
    assert files
    assert [at for path in files for at in foreign(path, may)] == []


def foreign(path: Path, may: set[str]) -> list[str]:
    """What a file imports beside these packages."""
    return [
        f"{path}: {module}"
        for module in imports(path)
        if not {module.split(".")[0], ".".join(module.split(".")[:2])} & may
    ]


BELOW_THE_RIM = [
    path for path in CONTROLLER if "cli" not in path.parts and path.name != "__main__.py"
]


#: A worker inherits it, and a kept verdict is a function of it; nobody asks for a variable by name.
#: On a node of a cluster an actor has them from whoever started Ray there: that is a rim, too.
TAKES_THE_ENVIRONMENT_WHOLE = {
    ("workers", "process.py"),
    ("workers", "warm.py"),
    ("workers", "ray_cluster.py"),
    ("workers", "seat.py"),
    ("run", "kept_key.py"),
    ("toolchain", "deciding.py"),
}


#: Programs of their own: the action's, which installs nothing, and what a node is asked by. And
#: what tells how a shell has to call the harness, for whatever prints a command, pages among them.
PROGRAMS = {("base", "github.py"), ("base", "program.py"), ("workers", "node_facts.py")}


def test_nothing_below_the_rim_prints_reads_the_environment_or_exits():
    found = [
        f"{path}:{node.lineno}"
        for path in BELOW_THE_RIM
        if path.parts[-2:] not in PROGRAMS
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Call) and ast.unparse(node.func) in {"print", "sys.exit", "exit"})
        or (
            isinstance(node, ast.Attribute)
            and ast.unparse(node) in {"os.environ", "os.getenv"}
            and path.parts[-2:] not in TAKES_THE_ENVIRONMENT_WHOLE
        )
    ]
    assert BELOW_THE_RIM
    assert found == []


APPLICATION = "from harness.cli import application; application"


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        (f"{APPLICATION}([])", "torch"),
        (f"{APPLICATION}(['list'])", "matplotlib scipy pandas"),
        ("import harness", "pandas pyarrow"),
        ("import corpus.case; corpus.case.all_cases()", "transformers"),
        (
            "from harness.cli.defects import defects_command as told; "
            "told('', '', '', '', False, False, False)",
            "torch pandas matplotlib",
        ),
    ],
)
def test_nothing_is_loaded_that_is_not_needed(code, absent):
    done = python("-c", f"{code}; import sys; print(set({absent.split()}) & set(sys.modules))")
    assert done.stdout.endswith("set()\n"), done.stderr


def test_the_modules_of_a_cluster_alone_import_ray():
    of_ray = {path.name for path in CONTROLLER if "ray" in imports(path)}
    assert of_ray == {"ray_cluster.py", "ray_nodes.py"}


def test_a_rig_module_that_imports_pandas_would_be_caught(tmp_path):
    path = tmp_path / "planted.py"
    path.write_text("def f():\n    import pandas\n")
    assert foreign(path, STANDARD | TORCH) == [f"{path}: pandas"]


PLACES = (ROOT, ROOT / "harness")
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def rooms() -> dict[str, set[str]]:
    """What the page says that every package imports, but for `base` and `wire`."""
    rows = re.findall(r"^\| \d \| `([\w./]+)` \|.*\|(.*)\|$", PAGE, re.MULTILINE)
    return {name.strip("./"): {*listed.replace(",", " ").split()} for name, listed in rows}


def room(module: str) -> str:
    """`harness.run.run` is in `run`, and all of the corpus in `corpus`."""
    return "corpus" if module.startswith("corpus") else module.partition(".")[2].partition(".")[0]


def test_the_page_has_every_package_and_every_arrow():
    drawn: dict[str, set[str]] = {name: set() for name in rooms()}
    for path in (*CONTROLLER, *RIG, *CORPUS):
        inside = room(name(path).removesuffix(".py").replace("/", "."))
        if path.name == "__init__.py" and path.parent.name == "harness":
            continue  # `open_run`, from above all
        ours = {each for each in imports(path) if each.split(".")[0] in ("harness", "corpus")}
        drawn[inside] |= {room(each) for each in ours} - {inside, "base", "wire"}
    assert rooms() == drawn


def test_the_files_that_the_page_names_are_there_and_a_case_passes_at_most_sixty():
    named = {*re.findall(r"`((?:\w+/)+\w+\.\w+)`", PAGE)}
    assert [each for each in named if not any((at / each).is_file() for at in PLACES)] == []
    walk = named & {*re.findall(r"`([\w/]+\.py)`", PAGE.partition("## A case on its way")[2])}
    assert f"These {len(walk)} files" in PAGE
    assert len(walk) <= 60
