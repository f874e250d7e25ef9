"""The page on the two algorithms shows their code as it is, and graphs as releases make them."""

import ast
import re
from pathlib import Path

import pytest

from harness.report.flattened import drawn
from tests.docs.written import ROOT
from tests.marked_block import block

PAGE = ROOT / "docs" / "algorithms.md"
DRAWN = ROOT / "docs" / "algorithms"
SOURCE = ROOT / "harness" / "rig" / "inliners" / "wirings.py"
CASES = sorted(path.stem.removesuffix("-split") for path in DRAWN.glob("*-split.svg"))
RELEASES = ("2.13.0", "2.14.0")


def classes() -> dict[str, ast.ClassDef]:
    tree = ast.parse(SOURCE.read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


@pytest.mark.parametrize("name", ["ByName", "ByPosition"])
def test_the_page_shows_the_code_of_both_wirings_as_it_is(name):
    source = ast.get_source_segment(SOURCE.read_text(), classes()[name])
    assert block(PAGE.read_text(), name) == f"```python\n{source}\n```\n"


def test_both_wirings_have_the_same_steps_with_the_same_arguments():
    old, new = (
        {
            step.name: ast.unparse(step.args)
            for step in classes()[name].body
            if isinstance(step, ast.FunctionDef)
        }
        for name in ("ByName", "ByPosition")
    )
    assert list(old.items()) == list(new.items())


def test_every_drawing_of_the_page_is_there_and_none_lies_about():
    shown = re.findall(r"\]\(algorithms/(\S+\.svg)\)", PAGE.read_text())
    assert {*shown} <= {path.name for path in DRAWN.iterdir()}
    assert {name.rpartition("-")[0] for name in shown} == {*CASES}
    assert {path.name for path in DRAWN.iterdir()} == {
        f"{case}-{of}.svg" for case in CASES for of in ("split", *RELEASES)
    }


@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("forked_questions")
def test_a_drawing_is_what_releases_make_of_the_case_today(case, library, release_specs):
    files = drawn(library, case, "nonstrict", [release_specs[name] for name in RELEASES])
    stale = [name for name, text in files.items() if (DRAWN / name).read_text() != text]
    releases = " ".join(f"--subject {name}" for name in RELEASES)
    again = f"python -m harness show {case} --draw {Path('docs/algorithms')} {releases}"
    assert not stale, f"draw it anew: {again}"


@pytest.mark.usefixtures("forked_questions")
def test_what_is_wired_by_name_alone_is_drawn_as_wrong(library, release_specs):
    specs = [release_specs[name] for name in RELEASES]
    files = drawn(library, "inputs_read_in_reverse", "nonstrict", specs)
    wrong = {name: text.count('class="wire wrong"') for name, text in files.items()}
    assert wrong == {
        "inputs_read_in_reverse-split.svg": 0,
        "inputs_read_in_reverse-2.13.0.svg": 2,
        "inputs_read_in_reverse-2.14.0.svg": 0,
    }
