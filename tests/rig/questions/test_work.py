"""What a call costs is counted in lines of Python, which are the same on every machine."""

from types import ModuleType
from typing import Any

from harness.rig.questions import work
from harness.rig.questions.work import lines_of


def looped(times: int) -> None:
    while times:
        times -= 1


def test_every_line_that_a_call_runs_is_counted():
    assert lines_of(lambda: looped(9)) - lines_of(lambda: looped(4)) == 2 * 5


def counted(package: ModuleType, more: int) -> dict[str, int]:
    """The lines of each call of this release, whose `save` runs a loop beside."""
    save: Any = package.save

    def slower(*args: Any, **kwargs: Any) -> None:
        looped(more)
        save(*args, **kwargs)

    work.open_package = lambda _: package
    package.save = slower
    request = {"case": "relu_four_steps", "corpus": []}
    return {each["call"]: each["lines"] for each in work.work(request)}


def test_a_save_of_more_lines_shows_them_and_no_other_call_does(ask_package, catalogue):
    few, many = (ask_package(catalogue.newest.version, counted, more) for more in (10, 110))
    compiling = "compile()"
    assert abs(many.pop(compiling) / few.pop(compiling) - 1) < 1e-3
    more = {call: many[call] - few[call] for call in few}
    assert more == {"save(retrace=False)": 200, "save(m, f)": 200, "load()": 0}
