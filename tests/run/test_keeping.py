"""What a run takes of what is kept, what it asks again, and what a difference does."""

import dataclasses
import zipfile

import pytest

from harness.base.errors import SurroundingsError
from harness.catalogue.releases import EXPORTER_MODULE
from harness.run import keeping as module
from harness.run.asked_again import GRAPH_CASES, GRAPH_CELLS, PACKAGE_CELLS, chosen_again
from harness.run.keeping import Keeping, KeptOptions, is_kept, with_their_compile
from harness.run.kept_key import Ingredients, part_of
from harness.run.options import RunOptions
from harness.run.run import run
from harness.runs.kept_store import KeptStore
from harness.toolchain.fingerprint import signature_of
from harness.wire.oracles import Oracle, Symptom
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import NOT_COMPILED
from harness.workers.launching import LocalLauncher
from tests.record_builders import by_id, failed, key, planned, provenance, record, unsupported
from tests.run.test_engine_run import Silent

CASES = tuple(f"case_{number:02}" for number in range(30))
ROUTES = ("export", "direct")


def packaged(case, subject="2.14.0", route="compile"):
    return CellKey(case, "nonstrict", subject, Route(route), lane=Lane.PACKAGE)


KEYS = (
    *(key(case, "2.14.0", route) for case in CASES for route in ROUTES),
    *(packaged(case, name) for name in ("2.13.0", "2.14.0") for case in CASES[:6]),
)
PLAN = tuple(planned(each) for each in KEYS)


def ingredients(**common):
    return Ingredients(
        common={"torch": "2.13.0", **common},
        graph={},
        cases=dict.fromkeys(CASES, "code"),
        subjects={"2.13.0": "old", "2.14.0": "new"},
        packages={(name, "segment"): "site" for name in ("2.13.0", "2.14.0")},
        signature=signature_of(()),
    )


class Runs:
    """Runs over one store, each told with what it was told."""

    def __init__(self, folder):
        self.folder = folder
        self.told = []

    def keeping(self, run_id="20261123T000000Z-000000", common=(), **fields):
        made = Keeping(
            options=fields.pop("options", KeptOptions()),
            provenance=provenance(run_id=run_id),
            cells={cell.key.cell_id: cell for cell in PLAN},
            ingredients=ingredients(**dict(common)),
            own=KeptStore(self.folder),
            tell=self.told.append,
        )
        return dataclasses.replace(made, **fields)


@pytest.fixture
def runs(tmp_path):
    made = Runs(tmp_path / "kept")
    made.keeping().keep(map(record, KEYS))
    return made


def test_an_unchanged_run_takes_all_and_asks_some_of_the_graph_lane_and_of_one_package(runs):
    taken = runs.keeping("later").take(PLAN)
    assert len(taken.served) + len(taken.asked_again) == len(PLAN)
    again = [each.key for each in taken.asked_again.values()]
    graph = [each for each in again if each.lane == Lane.GRAPH]
    package = [each for each in again if each.lane == Lane.PACKAGE]
    assert len(graph) == GRAPH_CELLS
    assert len({each.subject for each in package}) == 1
    assert 0 < len(package) <= PACKAGE_CELLS
    assert f"{len(PLAN)} cells kept from 1 run; {len(again)} of them asked again" in runs.told[-1]


def test_what_is_served_says_where_it_comes_from_and_has_no_times(runs):
    taken = runs.keeping("later").take(PLAN)
    assert {each.kept_from for each in taken.served.values()} == {"20261123T000000Z-000000"}
    assert not any(each.seconds for each in taken.served.values())


def test_another_run_asks_others_again_and_the_same_run_the_same(runs):
    samples = [set(runs.keeping(run).take(PLAN).asked_again) for run in ("a", "b", "a")]
    assert samples[0] != samples[1]
    assert samples[0] == samples[2]


def test_every_kept_cell_is_asked_again_sooner_or_later():
    ids = {cell.key.cell_id for cell in PLAN}
    assert ids == set().union(*(chosen_again(PLAN, str(run), 0.0) for run in range(200)))


def test_few_cases_are_captured_for_what_is_asked_again():
    many = [planned(key(case, f"2.{n}.0")) for case in CASES for n in range(12)]
    chosen = [cell for cell in many if cell.key.cell_id in chosen_again(many, "run", 0.0)]
    assert len(chosen) == GRAPH_CELLS
    assert len({cell.key.case for cell in chosen}) <= GRAPH_CASES + 1


def test_a_share_is_asked_again_where_it_is_more_than_every_runs():
    assert len(chosen_again(PLAN, "run", 0.5)) == len(PLAN) / 2
    assert chosen_again(PLAN, "run", 1.0) == {cell.key.cell_id for cell in PLAN}
    assert chosen_again(PLAN, "run", 0.001) == chosen_again(PLAN, "run", 0.0)


def test_a_rerun_takes_nothing_and_keeps_what_it_asked(runs):
    again = runs.keeping("later", options=KeptOptions(rerun=True))
    assert not again.take(PLAN).served
    assert not again.take(PLAN).asked_again
    again.keep([record(KEYS[0])])
    taken = runs.keeping("last").take(PLAN)
    found = {**taken.served, **taken.asked_again}[KEYS[0].cell_id]
    assert found.kept_from == "later"


def test_a_run_with_another_key_takes_nothing(runs):
    taken = runs.keeping("later", common={"torch": "2.14.0"}.items()).take(PLAN)
    assert not taken.served
    assert not taken.asked_again
    assert runs.told == ["nothing kept fits: since run 20261123T000000Z-000000 changed: torch"]


FLEETING = {
    "timeout": record(
        key(), dataclasses.replace(failed(Oracle.COMPLETION), symptom=Symptom.TIMEOUT)
    ),
    "killed": record(key(), dataclasses.replace(failed(Oracle.COMPLETION), symptom=Symptom.KILLED)),
    "flaky": record(key(), dataclasses.replace(failed(Oracle.COMPLETION), symptom=Symptom.FLAKY)),
    "nondeterministic": record(key(), failed(Oracle.DETERMINISM)),
    "tried twice": record(key(), attempts=2),
    "no memory": record(key(), failed(Oracle.COMPLETION, "RuntimeError: can't allocate memory")),
    "no file handle": record(key(), failed(Oracle.COMPLETION, "OSError: Too many open files")),
    "unsupported": unsupported(key(), "what stands in for upstream's raised SizeUnknown"),
    "unsupported at a stage": unsupported(key(), "at capture: ImportError: no transformers"),
}


@pytest.mark.parametrize("found", FLEETING.values(), ids=FLEETING)
def test_what_a_moment_or_what_is_missing_decides_is_not_kept(found):
    assert not is_kept(found)


def test_a_verdict_is_kept_whatever_it_is():
    assert is_kept(record(key()))
    assert is_kept(record(key(), failed(Oracle.VALUES, "numbers differ")))


def test_a_fleeting_record_that_got_into_a_store_is_not_taken(runs, monkeypatch):
    flaky = dataclasses.replace(FLEETING["flaky"], key=KEYS[0])
    monkeypatch.setattr(module, "is_kept", lambda _: True)
    runs.keeping().keep([flaky])
    monkeypatch.undo()
    taken = runs.keeping("later").take(PLAN)
    assert KEYS[0].cell_id not in {**taken.served, **taken.asked_again}


def test_a_cell_that_rests_on_its_compile_is_taken_with_it_alone():
    rests = unsupported(packaged("a", route="retrace"), f"{NOT_COMPILED} ends in a TypeError")
    other = record(packaged("b", route="retrace"))
    compiled = record(packaged("a"), failed(Oracle.COMPLETION, "TypeError"))
    assert is_kept(rests)
    assert set(with_their_compile(by_id(rests, compiled, other))) == set(
        by_id(rests, compiled, other)
    )
    assert set(with_their_compile(by_id(rests, other))) == set(by_id(other))


def settled(runs, taken, change=lambda record: record, **fields):
    now = {
        cell_id: dataclasses.replace(change(kept), kept_from="", seconds={"export": 1.0})
        for cell_id, kept in taken.asked_again.items()
    }
    runs.keeping("later", **fields).settle(taken, now)


def test_where_all_that_is_asked_again_ends_as_it_was_kept_the_store_stays(runs):
    taken = runs.keeping("later").take(PLAN)
    settled(runs, taken)
    assert len(runs.keeping("last").take(PLAN).served) == len(taken.served)


def unlike(found):
    return record(found.key, failed(Oracle.VALUES, "numbers differ"))


def test_a_difference_is_told_and_empties_the_part_that_it_is_in(runs):
    taken = runs.keeping("later").take(PLAN)
    (wrong, *_) = [each for each in taken.asked_again if "~graph~" in each]
    with pytest.raises(SurroundingsError) as told:
        settled(runs, taken, lambda each: unlike(each) if each.key.cell_id == wrong else each)
    for words in (
        "1 of 24 kept cells that were asked again end in another way",
        f"{wrong}: values: ok, kept from run 20261123T000000Z-000000",
        "now wrong-values@run numbers differ",
        "60 records of the graph lane in pinned deleted",
        "run --resume later",
    ):
        assert words in str(told.value)
    left = runs.keeping("last").take(PLAN)
    assert {each.key.lane for each in left.served.values()} == {Lane.PACKAGE}


def test_a_difference_names_what_the_key_misses(runs, monkeypatch):
    taken = runs.keeping("later").take(PLAN)
    monkeypatch.setenv("SOMETHING_UNNAMED", "17")
    with pytest.raises(SurroundingsError, match="variable SOMETHING_UNNAMED"):
        settled(runs, taken, unlike)


def test_a_difference_that_nothing_known_explains_says_so(runs, monkeypatch):
    taken = runs.keeping("later").take(PLAN)
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "as it was")
    monkeypatch.setattr(
        module, "surroundings", lambda _: dict(runs.keeping().own.run(KEPT_RUN).facts)
    )
    with pytest.raises(SurroundingsError, match="nothing that is known differs"):
        settled(runs, taken, unlike)


KEPT_RUN = "20261123T000000Z-000000"


def test_a_cell_that_did_not_come_to_an_end_says_nothing_of_what_is_kept(runs):
    taken = runs.keeping("later").take(PLAN)
    ended = {part_of(runs.keeping().cells[each]): each for each in taken.asked_again}

    def all_but_one(each):
        return each if each.key.cell_id in ended.values() else timed_out(each)

    settled(runs, taken, all_but_one)
    assert runs.keeping("last").take(PLAN).served


def timed_out(each):
    return dataclasses.replace(FLEETING["timeout"], key=each.key)


def test_where_nothing_that_is_asked_again_comes_to_an_end_nothing_of_that_part_is_believed(runs):
    taken = runs.keeping("later").take(PLAN)

    def graph_dies(each):
        return timed_out(each) if each.key.lane == Lane.GRAPH else each

    with pytest.raises(SurroundingsError, match="60 records of the graph lane in pinned deleted"):
        settled(runs, taken, graph_dies)
    left = runs.keeping("last").take(PLAN)
    assert {each.key.lane for each in left.served.values()} == {Lane.PACKAGE}


def test_another_machines_store_is_asked_again_as_ones_own_and_never_written(runs, tmp_path):
    own = KeptStore(tmp_path / "own")
    options = KeptOptions(other=runs.folder)
    before = (runs.folder / "verdicts.sqlite").read_bytes()
    taken = runs.keeping("later", own=own, options=options).take(PLAN)
    assert len(taken.served) + len(taken.asked_again) == len(PLAN)
    assert len(taken.asked_again) > GRAPH_CELLS
    with pytest.raises(SurroundingsError, match="not ours to be written"):
        settled(runs, taken, unlike, own=own, options=options)
    assert (runs.folder / "verdicts.sqlite").read_bytes() == before


def test_what_was_run_while_sources_were_written_to_is_not_kept(runs, tmp_path):
    source = tmp_path / "source.py"
    source.write_text("1")
    now = runs.keeping(common={"torch": "3"}.items())
    edited = dataclasses.replace(now.ingredients, sources=(source,), signature="before")
    dataclasses.replace(now, ingredients=edited).keep(map(record, KEYS))
    assert "written to" in runs.told[-1]
    assert not now.take(PLAN).served


def test_a_store_of_no_use_is_told_and_ends_no_run(runs):
    (runs.folder / "verdicts.sqlite").write_text("no database, and long enough to be read" * 99)
    now = runs.keeping("later")
    assert not now.take(PLAN).served
    now.keep(map(record, KEYS))
    assert all("clean --kept" in line for line in runs.told)
    assert len(runs.told) == 2


def test_a_damaged_record_is_told_and_asked_again(runs):
    import sqlite3

    digest = runs.keeping().ingredients.key(PLAN[0])
    with sqlite3.connect(runs.folder / "verdicts.sqlite") as store:
        store.execute("UPDATE records SET record = X'00' WHERE digest = ?", (digest,))
    taken = runs.keeping("later").take(PLAN)
    assert KEYS[0].cell_id not in {**taken.served, **taken.asked_again}
    assert "1 kept record damaged" in runs.told[0]


def test_the_parts_are_the_graph_lane_and_each_package():
    assert {part_of(cell) for cell in PLAN} == {
        "the graph lane in pinned",
        "2.13.0 with segment in pinned",
        "2.14.0 with segment in pinned",
    }


class ChangedLauncher(LocalLauncher):
    """Machines that were alike when a run began, and are no more when its cells have ended."""

    def __init__(self) -> None:
        self.told = iter(["", "a machine with another processor came"])

    def unlike(self, seed: int) -> str:
        return next(self.told)


def test_nothing_is_kept_of_a_run_whose_machines_turned_out_to_differ(
    toolchain, catalogue, tmp_path, monkeypatch, release_specs
):
    kept: list[CellRecord] = []
    monkeypatch.setattr(Keeping, "keep", lambda self, records: kept.extend(records))
    exporter = tmp_path / "_exporter.py"
    wheel = zipfile.ZipFile(release_specs["2.14.0"].wheel_path)
    # Another file, whose programs are equal to the release's.
    exporter.write_bytes(wheel.read(EXPORTER_MODULE) + b"\nCHANGED = True\n")
    options = RunOptions(
        releases="2.14.0",
        exporter=exporter,
        like="2.14.0",
        expression="relu",
        kept=KeptOptions(rerun=True),
        out=tmp_path,
    )
    run(options, toolchain, catalogue, Silent())
    assert kept
    kept.clear()
    run(dataclasses.replace(options, launcher=ChangedLauncher()), toolchain, catalogue, Silent())
    assert not kept
