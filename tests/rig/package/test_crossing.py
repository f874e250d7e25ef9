"""Two real releases: what one saved, the other loads; and with faults planted, that they show."""

import dataclasses
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from harness.base.errors import SurroundingsError, UsageError
from harness.crossing.folder import crossing_journal
from harness.crossing.judge import Pair, Program
from harness.crossing.run import PROGRAMS, cross
from harness.subjects.stations import Station

pytestmark = pytest.mark.slow

SAVER, LOADER = "2.12.1", "2.13.0"  # one engine ABI
CASE = "relu_four_steps"
MADE = tuple(Program(SAVER, CASE, route) for route in ("no-retrace", "retrace"))
TIMEOUT_S = 300.0


def run(
    folder: Path,
    stations: list[Station],
    made: Sequence[Program] = MADE,
    seed: int = 0,
    timeout_s: float = TIMEOUT_S,
) -> None:
    folder.mkdir(exist_ok=True)
    named = {station.release: station for station in stations}
    with crossing_journal(folder) as journal:
        how = {"seed": seed, "timeout_s": timeout_s, "tell": lambda _: None}
        cross(named, made, journal, folder, **how)


def pairs(folder: Path) -> dict[tuple[str, str], Pair]:
    """By route and loader."""
    with crossing_journal(folder) as journal:
        return {(pair.route, pair.loader): pair for pair in journal.loaded.values()}


@pytest.fixture(scope="module")
def station(toolchain, catalogue):
    def station(release: str) -> Station:
        found = catalogue.get(release)
        site = toolchain.package_site(found)
        return Station(release, sys.executable, "2.13.0", found.abi, site)

    return station


@pytest.fixture(scope="module")
def sound(station, tmp_path_factory):
    """A crossing with nothing wrong."""
    folder = tmp_path_factory.mktemp("crossing") / "sound"
    run(folder, [station(SAVER), station(LOADER)])
    return folder


@pytest.fixture
def saved(sound, tmp_path):
    """The same programs, not loaded by anybody yet."""
    folder = tmp_path / "saved"
    shutil.copytree(sound, folder)
    with crossing_journal(sound) as journal:
        made = list(journal.saved.values())
    (folder / "crossing.jsonl").unlink()
    with crossing_journal(folder) as journal:
        for each in made:
            journal.add(each)
    return folder


def changed(station: Station, place: Path, change: Callable[[Path], None]) -> Station:
    """A release whose package has something planted in it."""
    shutil.copytree(station.site.folder, place)
    change(place)
    for source in place.rglob("*.py"):  # whose bytecode is taken without a look at it
        bytecode = Path(cache_from_source(str(source)))
        if bytecode.exists() and bytecode.stat().st_mtime < source.stat().st_mtime:
            bytecode.unlink()
    return dataclasses.replace(station, site=dataclasses.replace(station.site, folder=place))


def test_what_one_release_saved_another_one_of_its_abi_loads_with_the_same_values(sound):
    assert {key: pair.outcome for key, pair in pairs(sound).items()} == {
        (route, loader): "ok" for route in ("no-retrace", "retrace") for loader in (SAVER, LOADER)
    }


def test_what_has_ended_is_not_run_again(sound, station):
    gone = [dataclasses.replace(station(each), python="/no/python") for each in (SAVER, LOADER)]
    run(sound, gone)


def test_a_runtime_of_another_abi_refuses_the_program(saved, station, tmp_path):
    def stale(site: Path) -> None:
        said = json.loads((site / "site.json").read_text())
        (site / "site.json").write_text(json.dumps({**said, "abi": "8"}))

    run(saved, [changed(station(SAVER), tmp_path / "site", stale)])
    for pair in pairs(saved).values():
        assert pair.outcome == "error@load"
        assert pair.message == (
            "RuntimeError: Program to be deserialized targets a different Torch-TensorRT ABI "
            "version (9) than this runtime (8)"
        )


def test_a_program_with_other_weights_has_other_values(station, tmp_path):
    case = "linears_in_two_fallbacks"
    made = [Program(SAVER, case, "retrace")]
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    for seed, folder in enumerate((right, wrong)):
        run(folder, [station(SAVER)], made, seed)
    assert {pair.outcome for pair in pairs(right).values()} == {"ok"}
    file = Path(PROGRAMS) / SAVER / f"{case}.retrace.pt2"
    shutil.copy(wrong / file, right / file)
    run(right, [station(SAVER), station(LOADER)], made)
    other = pairs(right)["retrace", LOADER]
    assert (other.outcome, other.message) == ("wrong-values", "numbers differ")


def test_a_loader_that_dies_is_an_outcome_and_another_goes_on_behind_it(saved, station, tmp_path):
    def deadly(site: Path) -> None:
        """The whole process group dies of the first program."""
        with (site / "torch_tensorrt" / "_compile.py").open("a") as stream:
            stream.write(
                "\n_load = load\ndef load(path, *args, **kwargs):\n    import os, signal\n"
                "    if 'no-retrace' in path:\n        os.killpg(0, signal.SIGKILL)\n"
                "    return _load(path, *args, **kwargs)\n"
            )

    run(saved, [changed(station(LOADER), tmp_path / "site", deadly), station(SAVER)])
    found = pairs(saved)
    dead = found["no-retrace", LOADER]
    assert (dead.outcome, dead.message) == ("killed@load", "worker killed by SIGKILL")
    assert found["retrace", LOADER].outcome == "ok"
    assert found["no-retrace", SAVER].outcome == "ok"


def test_a_loader_that_hangs_is_an_outcome(saved, station, tmp_path):
    def hanging(site: Path) -> None:
        with (site / "torch_tensorrt" / "_compile.py").open("a") as stream:
            stream.write("\ndef load(*_, **__):\n    import time\n    time.sleep(3600)\n")

    # Both are needed: a pair is asked of programs whose saver is there.
    slow = changed(station(LOADER), tmp_path / "site", hanging)
    run(saved, [slow, station(SAVER)], timeout_s=20.0)
    found = pairs(saved)
    assert found["retrace", LOADER].outcome == "timeout@load"
    assert found["retrace", LOADER].message == "no answer in time"
    assert found["retrace", SAVER].outcome == "ok"


def test_a_package_that_cannot_be_imported_ends_the_run(saved, station, tmp_path):
    def broken(site: Path) -> None:
        (site / "torch_tensorrt" / "__init__.py").write_text("raise ImportError('gone')\n")

    with pytest.raises(SurroundingsError, match="to load programs: worker exited with code 1"):
        run(saved, [changed(station(SAVER), tmp_path / "site", broken)])


def test_a_saved_program_that_is_gone_is_told(saved, station):
    shutil.rmtree(saved / PROGRAMS)
    with pytest.raises(UsageError, match=r"retrace.pt2 was saved and is gone; start a new run"):
        run(saved, [station(SAVER)])
