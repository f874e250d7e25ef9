"""Programs that are drawn build and run; what no known defect explains is shrunk and kept."""

import dataclasses
import json
import re
import sys
import tomllib

import pytest
import torch
from hypothesis import given, settings

from corpus import case, models_file
from corpus.blueprints.blueprint import from_json, to_json
from corpus.blueprints.build import build
from corpus.case import find_case
from corpus.drawn.model import NAME as MODEL
from corpus.drawn.model import DrawnModel
from corpus.drawn.model_case import case_of
from harness.campaigns import campaign
from harness.campaigns.campaign import BLUEPRINTS, MODELS, TORCHS_OWN, Campaign, Cause
from harness.campaigns.differential import differences
from harness.campaigns.drawing import NAME, blueprints
from harness.campaigns.fuzz_report import points_of, signed_by, write_finds, write_page
from harness.campaigns.judge import Judge
from harness.campaigns.lines import journal_lines
from harness.campaigns.models import models
from harness.register.defects import Defect, Register, Sign, read_register
from harness.register.facts import facts_of, place_of
from harness.subjects.specs import torch_subject
from harness.wire.oracles import Oracle, Symptom
from harness.wire.records import CellKey, Verdict
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import Outcome, Stage
from harness.workers.process import WorkerSetup

CELL = CellKey(NAME, "nonstrict", "2.13.0", Route.EXPORT)
CELLS = {BLUEPRINTS.name: (CELL,)}
OF_MODELS = {
    MODELS.name: tuple(
        CellKey(MODEL, "nonstrict", "2.13.0", route) for route in (Route.EXPORT, Route.DIRECT)
    )
}


@settings(max_examples=25)
@given(blueprints())
def test_what_is_drawn_builds_runs_and_comes_back_from_json(blueprint):
    assert from_json(json.loads(json.dumps(to_json(blueprint)))) == blueprint
    program = build(blueprint)
    call = program.inputs(torch.Generator().manual_seed(0), 4)
    assert program.split is not None
    with torch.no_grad():
        program.split(*call.args, **call.kwargs)


@pytest.fixture(scope="module")
def judge(tmp_path_factory, release_specs, library):
    setup = WorkerSetup(
        python=sys.executable,
        subjects=[release_specs["2.13.0"], torch_subject()],
        seed=0,
        log_folder=tmp_path_factory.mktemp("logs"),
        corpus_digest="",
        library=library,
    )
    one = Judge({(Lane.GRAPH, ""): setup})
    yield one
    one.close()


class _FoundEnough(Exception):
    pass


def campaign_until_one_is_found(judge, folder, cells=CELLS):
    """A campaign that knows no defect, which ends where it has told of a new failure."""

    def say(line: str) -> None:
        if line.startswith("new"):
            raise _FoundEnough

    found = Campaign(judge, cells, Register(), folder, say=say, ways={})
    with pytest.raises(_FoundEnough):
        found.run(300)
    return found


def test_what_the_register_lacks_is_shrunk_and_what_it_has_is_let_go(judge, tmp_path):
    (find,) = campaign_until_one_is_found(judge, tmp_path).finds.values()
    assert len(find.program.steps) <= 3
    (record,) = judge.ask({"blueprint": to_json(find.program)}, [CELL], values=False).records
    assert find.cause.fact in facts_of(record)
    register = read_register()
    named = register.candidates(place_of(CELL), find.cause.fact, ["2.13.0"])
    assert named
    assert named[0].id in signed_by(find, register)
    assert not signed_by(find, Register())
    known = Campaign(judge, CELLS, register, tmp_path / "known", ways={})
    answer = judge.ask({"blueprint": to_json(find.program)}, [CELL], values=True)
    for _ in range(2):
        assert known._unknown(answer, count=True) == []
    assert [*known.known.values()] == [2]
    known._write("end")
    assert Campaign(judge, CELLS, register, tmp_path / "known", ways={}).known == known.known
    assert answer.values


def test_a_campaign_that_was_killed_goes_on_with_all_that_it_had(judge, tmp_path):
    before = campaign_until_one_is_found(judge, tmp_path)
    with (tmp_path / "journal.jsonl").open("a") as journal:
        journal.write('{"event": "pai')  # where it was cut off
    after = Campaign(judge, CELLS, Register(), tmp_path, ways={})
    assert (after.programs, after.rounds, after.pairs) == (
        before.programs,
        before.rounds,
        before.pairs,
    )
    assert after.finds == before.finds
    after._write("resumed")
    assert [line["event"] for line in journal_lines(tmp_path)][-2:] == ["end", "resumed"]


#: A fallback writes to one buffer of two names, of which torch.export makes two buffers.
ONE_BUFFER_OF_TWO_NAMES = {
    "version": 1, "name": "drawn", "catches": "", "keywords": [], "keyword_order": [],
    "inputs": [{"shape": [3, 8]}],
    "arguments": [{"kind": "value", "ref": {"at": 0}}],
    "steps": [
        {
            "kind": "fallback",
            "ops": [
                {"name": "ramp", "reads": [], "number": 0.1},
                {"name": "write", "reads": [1, 2]},
            ],
            "attributes": [
                {"path": "weight", "kind": "buffer", "shape": [8], "seed": 9},
                {"path": "layer.weight", "kind": "buffer", "shape": [8], "seed": 9},
            ],
            "keywords": [{"name": "a", "ref": {"at": 0}}],
            "returns": {"kind": "value", "ref": {"at": 4}},
        }
    ],
    "returns": {"kind": "value", "ref": {"at": 1}},
}  # fmt: skip


def test_what_plain_export_fails_as_well_is_counted_as_torchs_own_and_not_shrunk(judge, tmp_path):
    program = from_json(ONE_BUFFER_OF_TWO_NAMES)
    held = Campaign(judge, CELLS, Register(), tmp_path, ways={})
    plain = dataclasses.replace(CELL, subject="torch", route=Route.PLAIN)
    (record,) = judge.ask({"blueprint": ONE_BUFFER_OF_TWO_NAMES}, [plain], values=False).records
    causes = [Cause("2.13.0", CELL.route, fact) for fact in facts_of(record)]
    assert causes
    assert held._but_torchs_own(BLUEPRINTS, program, causes, count=True) == []
    assert held.known == {TORCHS_OWN: 1}
    other = dataclasses.replace(causes[0], fact=dataclasses.replace(causes[0].fact, oracle="state"))
    assert held._but_torchs_own(BLUEPRINTS, program, [other], count=True) == [other]


def test_a_round_that_draws_nothing_to_judge_ends_and_another_begins(judge, tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "_STUCK_S", -1.0)
    stuck = Campaign(judge, CELLS, Register(), tmp_path, ways={})
    stuck.run(0.5)
    assert stuck.programs == 0
    assert stuck.rounds > 1


@settings(max_examples=25)
@given(models())
def test_a_model_that_is_drawn_is_a_users_file_that_runs_and_comes_back_from_json(model):
    assert DrawnModel.from_json(json.loads(json.dumps(model.to_json()))) == model
    program = case_of(model).build()
    call = program.inputs(torch.Generator().manual_seed(0), 4 if model.dynamic else None)
    with torch.no_grad():
        program.model(*call.args, **call.kwargs)


@pytest.fixture
def registry(monkeypatch):
    """Cases from elsewhere that a test declares are forgotten after it.

    The project's own are declared before: modules are imported once, and would be forgotten too.
    """
    case.all_cases()
    for name in ("_REGISTRY", "_ELSEWHERE", "_BESIDE"):
        monkeypatch.setattr(case, name, dict(getattr(case, name)))


def test_what_a_model_shows_is_shrunk_to_a_few_lines_and_written_as_a_case_with_a_defect(
    judge, registry, tmp_path
):
    campaign = campaign_until_one_is_found(judge, tmp_path, OF_MODELS)
    (find,) = campaign.finds.values()
    assert len(find.program.source.splitlines()) < 25
    (name,) = write_finds([find], tmp_path / "found")
    declared = models_file.declare(tmp_path / "found" / "models.toml")
    assert declared
    assert find_case(name).fallback == find.program.fallback
    proposed = tomllib.loads((tmp_path / "found" / f"{name}.toml").read_text())["defect"]
    assert re.fullmatch(proposed[0]["signs"][0]["says"], find.cause.fact.says)
    assert find.cause.text in write_page(campaign, tmp_path).read_text()
    assert points_of(tmp_path)[-1].found == 1


def test_a_kill_while_a_program_shrinks_leaves_what_it_is_by_then(judge, tmp_path):
    before = campaign_until_one_is_found(judge, tmp_path)
    lines = (tmp_path / "journal.jsonl").read_text().splitlines(keepends=True)
    until = next(number for number, line in enumerate(lines) if '"smaller"' in line)
    (tmp_path / "journal.jsonl").write_text("".join(lines[: until + 1]))
    after = Campaign(judge, CELLS, Register(), tmp_path, ways={})
    assert list(after.finds) == list(before.finds)


RELU = DrawnModel(
    "import torch\nfrom torch import nn\n\n\nclass Model(nn.Module):\n"
    "    def forward(self, x):\n        return torch.relu(x)\n\n\n"
    "def example():\n    return (torch.randn(3, 8),)\n"
)


def blaming(since):
    """A register that says of every release from one on, and of every call, that numbers differ."""
    sign = Sign("values", "numbers differ")
    return Register((Defect("wrong", "", "", (), "inliner", "", "", (sign,), since=since),))


def test_a_difference_is_told_where_the_register_says_of_both_what_only_one_shows(judge):
    cells = OF_MODELS["model"][:1]
    (right,) = judge.ask({"model": RELU.to_json()}, cells, values=False).records
    assert facts_of(right) == ()
    fails = Verdict(
        Oracle.VALUES, Outcome.FAILED, Symptom.WRONG_VALUES, Stage.RUN, "numbers differ"
    )
    later = dataclasses.replace(right.key, subject="2.14.0")
    wrong = dataclasses.replace(right, key=later, verdicts=(fails,))
    ways = {"wrong": {(Lane.GRAPH, Route.EXPORT), (Lane.PACKAGE, Route.RETRACE_DYNAMIC)}}
    (told,) = differences([wrong, right], blaming("2.13.0"), ways)
    assert told.startswith("two releases: 2.14.0 by graph/export fails as wrong, 2.13.0")
    assert not list(differences([wrong, right], blaming("2.14.0"), ways))
    lane = dataclasses.replace(later, route=Route.RETRACE_DYNAMIC, lane=Lane.PACKAGE)
    in_package = dataclasses.replace(right, key=lane)
    (told,) = differences([wrong, in_package], blaming("2.13.0"), ways)
    assert told.startswith("both lanes")
