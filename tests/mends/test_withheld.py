"""Twenty models that no mend was made for: what is not right of them is due to a known defect.

`withheld/answers.csv` has a row for each call of 2.13.0, of 2.14.0 and of the mended 2.14.0 that is
not right, and the defects that it may be due to, as `check` names them. Rows of the mended release
are cells of a run, where what `compile` itself changes stands in its own row alone.
"""

import ast
import csv
import json
import tomllib
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from harness.base.errors import ExitCode
from harness.gate.model_answer import Standing
from harness.mends.all import MENDS
from harness.register.defects import read_register
from harness.wire.oracles import Harm, Oracle
from harness.wire.routes import Route
from harness.wire.vocabulary import CellState
from tests.commands import harness

WITHHELD = Path(__file__).with_name("withheld")
MODELS = WITHHELD / "models.toml"
RELEASES = ("2.13.0", "2.14.0")
MENDED = "2.14.0, mended"
STANDINGS = {
    Harm.SILENT: Standing.SILENT,
    Harm.WARNED: Standing.ANNOUNCED,
    Harm.ERROR: Standing.ERROR,
    Harm.INTERFACE: Standing.OTHER_FORM,
}

Call = tuple[str, str, str]  # a release, a model and a route


def answers() -> dict[Call, tuple[str, tuple[str, ...]]]:
    """By call, how it stands and the defects that it is due to, of all that are not right."""
    with (WITHHELD / "answers.csv").open(newline="") as file:
        return {
            (row["release"], row["model"], row["route"]): (
                row["standing"],
                tuple(row["defects"].split()),
            )
            for row in csv.DictReader(file)
        }


def of(*releases: str) -> dict[Call, tuple[str, tuple[str, ...]]]:
    return {call: answer for call, answer in answers().items() if call[0] in releases}


def checked(out: Path) -> dict[Call, tuple[str, tuple[str, ...]]]:
    """What `check` says of every call that is not right."""
    done = harness("check", MODELS, "--releases", ",".join(RELEASES), "--no-reduce", "--out", out)
    assert done.returncode in (ExitCode.GREEN, ExitCode.RED), done.stdout + done.stderr
    models = json.loads((out / "latest" / "check.json").read_text())["models"]
    return {
        (call["release"], model["model"], call["route"]): (call["standing"], due_to(call))
        for model in models
        for call in model["calls"]
        if call["standing"] != Standing.RIGHT
    }


def due_to(call: dict[str, Any]) -> tuple[str, ...]:
    """The defects of a call, each once, those that look alike together."""
    return tuple(dict.fromkeys("|".join(cause["defects"]) for cause in call["causes"]))


def mended(out: Path) -> dict[Call, str]:
    """How each call of the mended release stands that is not right."""
    done = harness(
        "run", "--mended", "2.14.0", "--corpus", MODELS, "--lane", "package", "--out", out
    )
    told = done.stdout + done.stderr
    assert done.returncode == ExitCode.GREEN, told  # what 2.14.0 does wrong is not its fault
    assert "0 regressed" in told
    cells = pyarrow.parquet.read_table(out / "latest" / "records.parquet").to_pylist()
    worst: dict[Call, Standing] = {}
    for cell in cells:
        # To be unflattened is a capability, which `check` does not ask either.
        if "+mended" not in cell["subject"] or cell["oracle"] == Oracle.UNFLATTEN:
            continue
        # What could not be asked ended when it was compiled, but for what PyTorch runs by itself.
        by_itself = not Route(cell["route"]).by_compile
        standing = Standing.NOT_ASKED if by_itself else Standing.ERROR
        if cell["state"] != CellState.UNSUPPORTED:
            harm = cell["harm"]
            if not harm or harm == Harm.COSMETIC:
                continue
            standing = STANDINGS[Harm(harm)]
        call = (MENDED, cell["case"], cell["route"])
        worst[call] = max(standing, worst.get(call, standing), key=[*Standing].index)
    return {call: str(standing) for call, standing in worst.items()}


def test_twenty_models_import_torch_alone():
    rows = tomllib.loads(MODELS.read_text())
    files = sorted(WITHHELD.glob("*.py"))
    assert len(files) == len(rows) == 20
    assert {file.stem for file in files} == rows.keys()
    for file in files:
        used = set()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                used |= {each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                used.add(str(node.module).partition(".")[0])
        assert used <= {"torch", "math"}, file.name


def test_every_answer_that_is_not_right_names_a_defect_that_its_release_has():
    by_id = read_register().by_id
    for (release, model, route), (standing, defects) in answers().items():
        if standing == Standing.NOT_ASKED:
            assert not Route(route).by_compile, (release, model, route)
            continue
        version = release.partition(",")[0]
        for name in (each for alike in defects for each in alike.split("|")):
            assert by_id[name].alive_in(version), (release, model, route)
        # Where compile itself is wrong, so is each save, and its own row says why.
        compiled = answers().get((release, model, "compile"))
        assert defects or compiled, (release, model, route)


def test_a_mended_release_fails_by_no_defect_that_is_mended_whole():
    whole = {defect for mend in MENDS for defect in mend.defects if defect not in mend.in_part}
    left = {name for _, defects in of(MENDED).values() for name in defects}
    assert not left & whole


@pytest.mark.slow  # some minutes on two cores
def test_check_says_of_each_call_of_two_releases_what_the_table_says(library, tmp_path):
    assert checked(tmp_path) == of(*RELEASES)


@pytest.mark.slow
def test_the_mended_release_passes_each_model_but_for_what_the_table_says(library, tmp_path):
    assert mended(tmp_path) == {call: standing for call, (standing, _) in of(MENDED).items()}
