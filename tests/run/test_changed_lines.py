"""Which statements of a release a candidate changes."""

from pathlib import Path

import pytest

from harness.run.changed_lines import Changed, changed_in, changed_statements

TEXT = '''\
"""A module."""
import os

NAMES = ("a", "b")


@cached
def first(x, y=1):
    """A docstring."""
    if x:
        y = call(
            x,
            1,
        )
    # a comment
    return y


class Holder:
    def second(self):
        try:
            pass
        except ValueError:
            return 1
        return 2
'''
LAST = len(TEXT.splitlines())


def put(old: str, new: str) -> str:
    assert TEXT.count(old) == 1
    return TEXT.replace(old, new)


@pytest.mark.parametrize(
    ("after", "statements"),
    [
        (TEXT, ()),
        (put("            1,", "            2,"), ((11, 14),)),  # a line of a call is of all of it
        (put("    if x:", "    if not x:"), ((10, 10),)),  # of a branch its condition alone
        (put("    return y", "    return x"), ((16, 16),)),
        (put("y=1", "y=2"), ((8, 16),)),  # a header is of the whole function
        (put("@cached\n", ""), ((8, 16),)),
        (put("return 1", "return 3"), ((24, 24),)),
        (put('("a", "b")', '("a",)'), ((1, LAST),)),  # who reads it is not known
        (put("        return 2\n", "        more()\n        return 2\n"), ((21, 21), (25, 25))),
        # What is put in is of the block that it is in: a decorator of its function alone, and a
        # function by itself of none.
        (put("class Holder:\n", "@made\nclass Holder:\n"), ((1, LAST),)),
        (put("def first", "@again\ndef first"), ((8, 16),)),
        (put("class Holder:\n", "def more():\n    pass\n\n\nclass Holder:\n"), ()),
        (put("    # a comment", "    # another one"), ()),
        (put('"""A docstring."""', '"""Another."""'), ()),
        (put("import os", "import sys"), ()),
        (put("    return y", "    return ("), ()),  # no Python
    ],
)
def test_a_change_is_told_by_the_statements_that_it_is_in(after, statements):
    assert changed_statements(TEXT, after) == statements


def tree(at: Path, **files: str) -> Path:
    for name, text in files.items():
        path = at / "dynamo" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return at


def test_what_the_base_changes_too_is_not_the_candidates(tmp_path):
    release = tree(tmp_path / "release", one=TEXT, two=TEXT)
    theirs = put("    return y", "    return -y")
    base = tree(tmp_path / "base", one=theirs, two=theirs)
    ours = theirs.replace("return 2", "return 4")
    candidate = tree(tmp_path / "candidate", one=ours, two=theirs, three=TEXT)
    assert changed_in(base, candidate, release) == (Changed("dynamo/one.py", 25, 25),)


def test_what_both_change_is_the_candidates(tmp_path):
    release = tree(tmp_path / "release", one=TEXT)
    base = tree(tmp_path / "base", one=put("    return y", "    return -y"))
    candidate = tree(tmp_path / "candidate", one=put("    return y", "    return x"))
    assert changed_in(base, candidate, release) == (Changed("dynamo/one.py", 16, 16),)
