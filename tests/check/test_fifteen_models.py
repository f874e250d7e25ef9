"""Fifteen models of fifteen users: what `check` says of each is what its own user's calls show.

`confirmed.csv` is what `confirm.py` printed, which uses the released packages alone.
"""

import ast
import csv
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.check.users import MODELS, ROWS
from tests.commands import harness, python

HERE = Path(__file__).parent
RELEASES = ("2.14.0", "2.13.0", "2.12.1")
IN_MEMORY = "compile()"
WITH_STATE = {"anomaly", "decoder"}  # these write to their own buffers
#: What `check` may say of a call whose outcome is confirmed.
SAYS = {
    "right": {"right", "right numbers in another form"},
    "wrong numbers": {"silently wrong", "wrong numbers, announced"},
    "error": {"error"},
}

Calls = dict[tuple[str, str], str]  # by release and call: what came


def confirmed() -> dict[str, Calls]:
    came: dict[str, Calls] = {}
    with (HERE / "confirmed.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            came.setdefault(row["model"], {})[row["release"], row["call"]] = row["came"]
    return came


CONFIRMED = confirmed()


def disagreements(said: Calls, came: Calls) -> list[str]:
    """Each call of which `check` says something else than was confirmed, or which one lacks."""
    return [
        f"{' '.join(at)}: check says {said.get(at)}, confirmed is {came.get(at)}"
        for at in sorted({*said, *came})
        if said.get(at) not in SAYS.get(came.get(at, ""), ())
    ]


def options(name: str) -> list[str]:
    """A row of the models file as the options of one `check`."""
    row, beside = ROWS[name], MODELS.parent
    dynamic = row.get("dynamic", [])
    dynamic = [f"{beside}/{dynamic}"] if isinstance(dynamic, str) else dynamic
    return [
        f"{beside}/{row['model']}",
        f"--inputs={beside}/{row['inputs']}",
        *(f"--fallback={each}" for each in row.get("fallback", ())),
        *(f"--dynamic={each}" for each in dynamic),
        *(f"--setting={key}={value}" for key, value in row.get("settings", {}).items()),
    ]


@dataclass(frozen=True)
class Answered:
    """How a `check` ended, what it printed, and its JSON of each model."""

    code: int
    told: str
    models: dict[str, Any]


def check(out: Path, *arguments: str | Path) -> Answered:
    done = harness("check", *arguments, "--releases", ",".join(RELEASES), "--out", out)
    told = done.stdout + done.stderr
    assert done.returncode in (0, 1), told
    models = json.loads((out / "latest" / "check.json").read_text())["models"]
    return Answered(done.returncode, told, {model["model"]: model for model in models})


def said_of(model: dict[str, Any]) -> Calls:
    return {(call["release"], call["call"]): call["standing"] for call in model["calls"]}


def test_fifteen_models_know_nothing_of_this_project_and_each_is_one_short_file():
    files = sorted(MODELS.parent.glob("*.py"))
    assert len(files) == len(ROWS) == 15
    assert {file.stem for file in files} == ROWS.keys()
    for file in files:
        text = file.read_text()
        assert 20 <= len(text.splitlines()) <= 80, file.name
        used = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                used |= {each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                used.add(str(node.module).partition(".")[0])
        assert used <= {"torch", "transformers", "math", "typing"}, file.name


def test_every_call_of_every_model_is_confirmed_for_three_releases():
    assert CONFIRMED.keys() == ROWS.keys()
    for name, came in CONFIRMED.items():
        calls = (7 if "dynamic" in ROWS[name] else 4) + (name in WITH_STATE)
        assert Counter(release for release, _ in came) == dict.fromkeys(RELEASES, calls), name
    assert {each for came in CONFIRMED.values() for each in came.values()} == SAYS.keys()


def test_one_sign_that_differs_is_a_disagreement_and_so_is_one_that_is_missing():
    came = {("2.14.0", "save(m, f)"): "right", ("2.14.0", IN_MEMORY): "wrong numbers"}
    said = {("2.14.0", "save(m, f)"): "right", ("2.14.0", IN_MEMORY): "silently wrong"}
    assert not disagreements(said, came)
    assert disagreements({**said, ("2.14.0", "save(m, f)"): "error"}, came)
    assert disagreements({**said, ("2.13.0", "save(m, f)"): "right"}, came)
    assert disagreements(dict(list(said.items())[:1]), came)


@pytest.fixture(scope="module")
def team(library, tmp_path_factory):
    """The whole models file, checked once."""
    return check(tmp_path_factory.mktemp("team"), MODELS)


@pytest.mark.slow  # some minutes on two cores
@pytest.mark.parametrize("name", ROWS)
def test_check_says_of_a_model_what_its_users_own_calls_show(name, team):
    model, came = team.models[name], CONFIRMED[name]
    assert not disagreements(said_of(model), came), team.told
    right = [at for at, each in came.items() if each == "right" and at[1] != IN_MEMORY]
    use = model["use"]
    if not right:
        assert use is None
    else:
        assert (use["release"], use["call"]) in right
        assert use["release"] == max(release for release, _ in right), "not the newest"


@pytest.mark.slow
def test_a_team_s_file_is_red_where_the_newest_release_saves_some_model_right_by_no_call(team):
    lost = [
        name
        for name, came in CONFIRMED.items()
        if not any(
            came[at] == "right" for at in came if at[0] == RELEASES[0] and at[1] != IN_MEMORY
        )
    ]
    assert lost
    assert team.code == 1


@pytest.mark.slow
def test_a_model_by_its_options_alone_is_told_as_in_its_team_s_file(library, tmp_path):
    alone = check(tmp_path, *options("ranker"))
    (model,) = alone.models.values()
    assert not disagreements(said_of(model), CONFIRMED["ranker"]), alone.told
    assert alone.code == 0
    assert "use torch_tensorrt 2.14.0 and save(m, f, " in alone.told


@pytest.mark.slow
def test_the_script_that_confirms_prints_its_table_again(library):
    done = python(HERE / "confirm.py", RELEASES[1], "decoder")
    rows = [row for row in csv.reader(done.stdout.splitlines()) if row[0] == "decoder"]
    again = {(release, call): came for _, release, call, came, _ in rows}
    of_release = {at: came for at, came in CONFIRMED["decoder"].items() if at[0] == RELEASES[1]}
    assert again == of_release, done.stderr
