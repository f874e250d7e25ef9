"""An edit finds its place by the syntax tree, and says where it does not fit."""

import pytest

from harness.mends.edits import DoesNotFit, Edit, edited

SOURCE = """
def wire(gm, call):  # à la carte
    for index, node in enumerate(call.nodes):
        node.replace(call.args[index])
    names = [node.name
             for node in gm.nodes]  # on two lines
    return gm


def other(gm):
    return gm


class Engine:
    def wire(self, gm):
        return gm
"""


def test_a_place_is_found_whatever_its_layout_and_nothing_else_changes():
    result = edited(SOURCE, [Edit("wire", "[node.name for node in gm.nodes]", "names_of(gm)")])
    assert result == SOURCE.replace(
        "[node.name\n             for node in gm.nodes]", "names_of(gm)"
    )


@pytest.mark.parametrize(
    ("find", "put", "there"),
    [
        ("for index, node in ...: ...", "seed(gm)", "    seed(gm)\n    names"),
        ("for index, node in ...: ...", "", "    pass\n    names"),
        (
            "names = ...",
            "$found\nif names:\n    sort(names)",
            "    if names:\n        sort(names)  # on",
        ),
        ("enumerate(...)", "zip($found, call.args)", "in zip(enumerate(call.nodes), call.args):"),
        ("(index, node)", "place, node", "for place, node in"),
        (
            "call.args[index]",
            "(\n    $found\n)",
            "(\n            call.args[index]\n        ))\n    names",
        ),
        ("node.replace(...)", "$found\nseen(node)", "args[index])\n        seen(node)\n    names"),
        (
            "return gm",
            "clean(gm)\n$found",
            "    clean(gm)\n    return gm\n\n\ndef other(gm):\n    re",
        ),
    ],
)
def test_three_dots_stand_for_anything_and_found_for_what_was_there(find, put, there):
    assert there in edited(SOURCE, [Edit("wire", find, put)])


def test_a_method_is_found_by_its_class():
    assert edited(SOURCE, [Edit("Engine.wire", "gm", "self.gm")]).endswith("return self.gm\n")


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        ([Edit("Engine.other", "gm", "")], "the file has no Engine.other"),
        ([Edit("wire", "gone(gm)", "")], r"wire: `gone\(gm\)` is not there"),
        ([Edit("wire", "gm", "")], "wire: `gm` is there 2 times"),
        ([Edit("gone", "gm", "")], "the file has no gone"),
        ([Edit("wire", "for index, node in ...: ...", ""), Edit("wire", "call.args[index]", "0")],
         "two edits want the same place"),
        ([Edit("wire", "return gm", "return (")], "line 7 of the edited file is no Python"),
    ],
)  # fmt: skip
def test_an_edit_that_does_not_fit_says_where(edits, says):
    with pytest.raises(DoesNotFit, match=says):
        edited(SOURCE, edits)
