"""The register's reader names every mistake; signs propose, and since and fixed_in bound a life."""

from pathlib import Path

import pytest

from harness.base.errors import SurroundingsError
from harness.register.defects import Register, Sign, read_register
from harness.register.facts import Fact, Place
from tests.record_builders import defect

GOOD = """schema = 1
[[defect]]
id = "a-defect"
title = "It fails"
why = "because"
where = ["f (file.py)"]
blame = "inliner"
minimal_case = "a"
workaround = "none"
avoid = ["direct"]
signs = [{ oracle = "values", at = "run", says = "numbers differ" }]
"""


def read(tmp_path: Path, text: str) -> Register:
    path = tmp_path / "defects.toml"
    path.write_text(text)
    return read_register(path)


def test_a_register_is_read(tmp_path):
    path = tmp_path / "defects.toml"
    path.write_text(GOOD)
    (found,) = read_register(path).defects
    assert (found.id, found.avoid) == ("a-defect", ("direct",))
    assert found.signs == (Sign("values", "numbers differ", "run"),)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('title = "It fails"', f'title = "{"x" * 81}"', "81 characters; say it in 80"),
        ('id = "a-defect"', 'id = "A defect"', "write lower-case words with dashes"),
        ('blame = "inliner"', 'blame = "misc"', "write one of inliner, exporter"),
        ('blame = "inliner"', 'blame = "inliner"\nmodels = ["big"]', "models 'big': write names"),
        ('where = ["f (file.py)"]', "where = []", "name upstream's function and its file"),
        ('blame = "inliner"', 'blame = "inliner"\nsince = "new"', "since 'new': write a release"),
        (
            'blame = "inliner"',
            'blame = "inliner"\nsince = "2.14.0"\nfixed_in = "2.13.0"',
            "fixed_in 2.13.0 is not after since 2.14.0",
        ),
        ('blame = "inliner"', 'blame = "inliner"\nbrought_by = "#1"', "brought_by without since"),
        ('avoid = ["direct"]', 'avoid = ["save"]', "avoid: unknown route 'save'"),
        ('oracle = "values"', 'oracle = "value"', "unknown oracle 'value'"),
        ('at = "run"', 'at = "running"', "unknown stage 'running'"),
        ('says = "numbers differ"', 'says = "("', "says is no regular expression"),
        ('says = "numbers differ"', r"says = 'by \d+'", "numbers are masked; write #"),
        ("signs = [", "sings = [", "unknown key 'sings'"),
        ('why = "because"', "", "key 'why' is missing"),
        ("schema = 1", "schema = 2", "schema 2, but this harness reads 1"),
    ],
)
def test_every_mistake_is_named_with_file_and_defect(tmp_path, old, new, words):
    assert old in GOOD
    with pytest.raises(SurroundingsError, match=words) as told:
        read(tmp_path, GOOD.replace(old, new))
    assert "defects.toml" in str(told.value)


def test_a_defect_without_signs_says_why_no_cell_shows_it(tmp_path):
    head = GOOD[: GOOD.index("signs")]
    with pytest.raises(SurroundingsError, match="or in not_visible why no cell"):
        read(tmp_path, head)
    read(tmp_path, head + 'not_visible = "it needs a GPU"\n')


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('fixed_in = "2.14.0"\n', "no_script beside fixed_in"),
        ('not_visible = "it needs a GPU"\n', "no_script beside not_visible"),
    ],
)
def test_why_there_is_no_script_is_said_of_a_defect_alone_that_the_newest_release_has(
    line, words, tmp_path
):
    reason = 'no_script = "its model has no plain form"\n'
    alive = GOOD + reason
    (told,) = read(tmp_path, alive).defects
    assert told.no_script == "its model has no plain form"
    with pytest.raises(SurroundingsError, match=words):
        read(tmp_path, alive + line)


def test_two_defects_of_one_id_are_refused(tmp_path):
    with pytest.raises(SurroundingsError, match="its id is taken"):
        read(tmp_path, GOOD + GOOD.removeprefix("schema = 1\n"))


def test_a_sign_of_a_graph_route_fits_the_calls_that_come_to_it_and_no_others():
    sign = Sign("values", "numbers differ", routes=("direct",))
    fact = Fact("values", "wrong-values@run", "numbers differ")
    fits = {
        route: sign.fits(Place("package", "a", "nonstrict", route), fact)
        for route in ("direct", "retrace", "no-retrace", "legacy", "a-route-to-come")
    }
    assert [route for route, yes in fits.items() if yes] == ["direct", "retrace"]


@pytest.mark.parametrize(
    ("subject", "alive"),
    [
        ("2.10.0", False),
        ("2.11.0", True),
        ("2.13.0", True),
        ("2.14.0", False),
        ("name-matching", True),
        ("positional", False),
        ("torch", True),
    ],
)
def test_a_defect_lives_from_since_until_before_fixed_in(subject, alive):
    assert defect(since="2.11.0", fixed_in="2.14.0").alive_in(subject) is alive


def test_torchs_control_shows_what_is_torchs_alone():
    assert not defect().may_show("torch")
    assert defect(blame="torch").may_show("torch")
