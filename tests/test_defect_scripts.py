"""Every defect that the newest release has is shown by a script, or the register says why not."""

import pytest

from harness.catalogue.releases import Catalogue
from harness.register.expected import read_expectations
from harness.register.facts import Place
from harness.register.standing import Standing, Standings, State
from harness.register.table import Entry
from harness.report.reproduction import Wanted, package_scripts_for, scripts_for
from harness.report.sections.causes import Script
from harness.subjects.specs import release_subject
from harness.toolchain import Toolchain
from harness.wire.routes import Lane
from tests.commands import harness

KNOWN = read_expectations()
STANDINGS = Standings(KNOWN.register, KNOWN.table)
NEWEST = STANDINGS.releases[-1]


def shown_in(lane: Lane) -> list[tuple[Standing, Entry]]:
    """The defects whose script is of this lane, each with what it is shown by."""
    found = [
        (each, STANDINGS.shown_by(each.defect.id, NEWEST)[0])
        for each in STANDINGS.having(NEWEST, State.SHOWN)
    ]
    return [(each, entry) for each, entry in found if entry.place.lane == lane]


def scripts_of(
    lane: Lane, shown: list[tuple[Standing, Entry]], toolchain: Toolchain, catalogue: Catalogue
) -> list[Script]:
    """What the command that `defects ID` prints would print of each, made and run."""
    release = catalogue.get(NEWEST)
    spec = release_subject(release, toolchain.wheel(release))
    places = [entry.place for _, entry in shown]
    wanted = [Wanted(each.case, each.capture, (each.route,), spec) for each in places]
    if lane is Lane.GRAPH:
        return scripts_for(wanted, toolchain)
    return package_scripts_for(wanted, toolchain, release)


def labels_of(defect: str, place: Place) -> set[str]:
    """How a cell fails by this defect: a script of the cell may show another one."""
    shown = STANDINGS.shown_by(defect, NEWEST)
    return {entry.fact.fails for entry in shown if entry.place == place}


def test_a_defect_that_others_hide_says_why_it_has_no_script():
    hidden = STANDINGS.having(NEWEST, State.HIDDEN)
    assert [each.defect.id for each in hidden if not each.defect.no_script] == []


def test_what_two_stages_show_is_told_once_in_the_head_of_a_script():
    case = ("fallback_with_an_effect_alone", "--subject", "2.14.0", "--route", "export")
    head = harness("reproduce", *case).stdout.split('"""')[1]
    assert head.count("state is left otherwise") == 1


@pytest.mark.slow
@pytest.mark.parametrize("lane", [Lane.GRAPH, Lane.PACKAGE])
def test_the_script_of_each_defect_shows_it_and_none_has_one_that_says_it_has_not(
    lane, toolchain, catalogue
):
    shown = shown_in(lane)
    scripts = scripts_of(lane, shown, toolchain, catalogue)
    without = {
        each.defect.id: f"{entry.fact.text}: {script.label} {script.why_not}"
        for (each, entry), script in zip(shown, scripts, strict=True)
        if script.label not in labels_of(each.defect.id, entry.place)
    }
    # The exporter alone is called by a script in any cell; why none calls the package, it says.
    none = {each.defect.id for each, _ in shown if each.defect.no_script and lane is Lane.PACKAGE}
    assert without.keys() == none, without
