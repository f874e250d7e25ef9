"""Programs that are drawn build and run; what no known defect explains is shrunk and kept."""

import json
import sys

import pytest
import torch
from hypothesis import given, settings

from corpus.blueprints.blueprint import from_json, to_json
from corpus.blueprints.build import build
from harness.campaigns.campaign import Campaign
from harness.campaigns.drawing import NAME, blueprints
from harness.campaigns.judge import Judge
from harness.register.defects import Register, read_register
from harness.register.facts import facts_of, place_of
from harness.wire.records import CellKey
from harness.wire.routes import Route
from harness.workers.process import WorkerSetup

CELL = CellKey(NAME, "nonstrict", "2.13.0", Route.EXPORT)


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
        subjects=[release_specs["2.13.0"]],
        seed=0,
        log_folder=tmp_path_factory.mktemp("logs"),
        corpus_digest="",
        library=library,
    )
    one = Judge(setup)
    yield one
    one.close()


class _FoundEnough(Exception):
    pass


def campaign_until_one_is_found(judge, folder):
    """A campaign that knows no defect, which ends where it has told of a new failure."""

    def say(line: str) -> None:
        if line.startswith("new"):
            raise _FoundEnough

    found = Campaign(judge, (CELL,), Register(), folder, say=say)
    with pytest.raises(_FoundEnough):
        found.run(300)
    return found


def test_what_the_register_lacks_is_shrunk_and_what_it_has_is_let_go(judge, tmp_path):
    campaign = campaign_until_one_is_found(judge, tmp_path)
    (find,) = campaign.finds.values()
    assert len(find.blueprint.steps) <= 3
    (record,) = judge.ask(find.blueprint, [CELL], values=False).records
    assert find.cause.fact in facts_of(record)
    register = read_register()
    assert register.candidates(place_of(CELL), find.cause.fact, ["2.13.0"])
    known = Campaign(judge, (CELL,), register, tmp_path / "known")
    answer = judge.ask(find.blueprint, [CELL], values=True)
    assert known._unknown(answer, count=True) == []
    assert len(known.known) == 1
    assert answer.values


def test_a_campaign_that_was_killed_goes_on_with_all_that_it_had(judge, tmp_path):
    before = campaign_until_one_is_found(judge, tmp_path)
    with (tmp_path / "journal.jsonl").open("a") as journal:
        journal.write('{"event": "pai')  # where it was cut off
    after = Campaign(judge, (CELL,), Register(), tmp_path)
    assert (after.programs, after.rounds, after.pairs) == (
        before.programs,
        before.rounds,
        before.pairs,
    )
    assert after.finds == before.finds
