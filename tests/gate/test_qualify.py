"""Ship or do not ship: the rule, with faults planted on either side."""

import dataclasses
import html
import math
from collections.abc import Callable

import pytest

from harness.bench.at_sizes import AtSize, AtSizes
from harness.gate.attribution import Attributed, difference
from harness.gate.difference_words import difference_parts
from harness.gate.qualify import (
    Decision,
    Qualification,
    Severity,
    Tally,
    qualify,
    severity_of,
    summed,
)
from harness.gate.qualify_words import decision_words, stopped_by_lines, tally_lines, why_words
from harness.register.facts import Fact
from harness.report.pages.qualify_page import (
    Supplement,
    qualification_html,
    qualification_markdown,
    verdict_of,
)
from harness.runs.commands import Places
from harness.runs.gpu_runs import GpuRun
from harness.stats.intervals import Change, Estimate
from harness.wire.builders import Builder
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CaseInfo, CellKey, CellRecord, PackageSpec, Verdict
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import LEFT_TO_PYTORCH, NOT_COMPILED, Reach, SubjectKind
from tests.record_builders import (
    case,
    defect,
    entry,
    failed,
    key,
    record,
    register,
    subject,
    table,
    unsupported,
)

Form = Callable[..., str]
OLD, NEW = subject("2.13.0", "legacy"), subject("2.14.0", "legacy")
CASES: list[CaseInfo] = [case("plain"), case("other"), case("by-hand")]
WRONG = failed(Oracle.VALUES)
ERROR = failed(Oracle.COMPLETION)
LESSER = failed(Oracle.METADATA)


def cell(name: str, who: str, *verdicts: Verdict) -> CellRecord:
    return record(key(name, who, "legacy"), *verdicts)


def held(*records: CellRecord) -> Qualification:
    return qualify(records, CASES, OLD, NEW, reach_of=reach_of)


def reach_of(key: CellKey) -> Reach:
    """As of a whole run: a cell of a package is the product's own."""
    if key.lane == Lane.PACKAGE:
        return Reach.PRODUCT
    return {"plain": Reach.PRODUCT, "by-hand": Reach.HANDMADE}.get(key.case, Reach.EXPORTED)


def sound(*but: str) -> list[CellRecord]:
    """Both subjects right in every case but those named."""
    return [
        cell(info.name, who)
        for info in CASES
        if info.name not in but
        for who in ("2.13.0", "2.14.0")
    ]


def test_harms_are_told_apart():
    assert severity_of(cell("plain", "2.14.0")) is Severity.NONE
    assert severity_of(cell("plain", "2.14.0", LESSER)) is Severity.LESSER
    assert severity_of(cell("plain", "2.14.0", WRONG, LESSER)) is Severity.SILENT
    assert severity_of(cell("plain", "2.14.0", ERROR, WRONG)) is Severity.ERROR


def test_what_is_equal_may_ship():
    q = held(*sound())
    assert q.decision is Decision.SHIP
    assert q.changes == ()
    assert verdict_of(q).words == "2.14.0 in place of 2.13.0: ship"


def test_a_candidate_with_an_unexpected_failure_is_not_told_as_ship_and_a_release_is():
    q = held(*sound())
    assert decision_words(q, {"2.14.0"}).endswith(": ship")
    q = dataclasses.replace(q, candidate=subject("file:mine", kind=SubjectKind.FILE))
    assert decision_words(q, {"2.13.0"}).endswith(": ship")
    assert decision_words(q, {"file:mine"}) == (
        "file:mine in place of 2.13.0: not yet, it fails otherwise than 2.13.0"
    )


@pytest.mark.parametrize(
    ("before", "after", "decision", "told"),
    [
        ([WRONG], [], Decision.SHIP, "better"),
        ([], [LESSER], Decision.SHIP, "lesser"),
        ([], [WRONG], Decision.DO_NOT_SHIP, "stoppers"),
        ([ERROR], [WRONG], Decision.DO_NOT_SHIP, "stoppers"),
        ([LESSER], [ERROR], Decision.DO_NOT_SHIP, "stoppers"),
    ],
)
def test_what_is_newly_silent_or_an_error_forbids_to_ship_and_nothing_less(
    before, after, decision, told
):
    q = held(*sound("plain"), cell("plain", "2.13.0", *before), cell("plain", "2.14.0", *after))
    assert q.decision is decision
    assert [change.key.case for change in getattr(q, told)] == ["plain"]


def test_a_wrong_number_that_is_newly_announced_forbids_to_ship_where_the_baseline_is_right():
    announced = dataclasses.replace(WRONG, harm=Harm.WARNED)
    q = held(*sound("plain"), cell("plain", "2.13.0"), cell("plain", "2.14.0", announced))
    assert q.decision is Decision.DO_NOT_SHIP
    assert "fails in 2.14.0, 1 with a warning" in verdict_of(q).why
    assert "wrong with a warning" in qualification_markdown(q, {})
    raised = cell("plain", "2.13.0", ERROR)
    q = held(*sound("plain"), raised, cell("plain", "2.14.0", announced))
    assert q.decision is Decision.SHIP
    assert (
        "1 raised before, now wrong with a warning, " in dict(tally_lines(q))["1 split by compile"]
    )
    assert "wrong with a warning" in qualification_markdown(q, {})
    assert (
        held(*sound("plain"), raised, cell("plain", "2.14.0", WRONG)).decision
        is Decision.DO_NOT_SHIP
    )
    known = [cell("plain", who, announced) for who in ("2.13.0", "2.14.0")]
    assert held(*sound("plain"), *known).decision is Decision.SHIP


def test_a_handmade_split_is_told_and_does_not_forbid():
    q = held(*sound("by-hand"), cell("by-hand", "2.13.0"), cell("by-hand", "2.14.0", WRONG))
    assert q.decision is Decision.SHIP
    assert [change.key.case for change in q.warnings] == ["by-hand"]
    assert "1 handmade cells are newly worse" in verdict_of(q).why


def test_cells_are_counted_by_who_makes_their_split_the_product_s_first():
    new = {"plain": (WRONG,), "other": (WRONG,), "by-hand": (WRONG,)}
    q = held(*(cell(name, who, *(new[name] if who == "2.14.0" else ()))
        for name in new for who in ("2.13.0", "2.14.0")))  # fmt: skip
    assert [change.key.case for change in q.changes] == ["plain", "other", "by-hand"]
    page = qualification_markdown(q, {})
    told = [
        f"- **1 split {how}**: 1 regressed{mark}"
        for how, mark in {
            "by compile": ",",
            "without compile": ",",
            "by hand": " (which forbids nothing: no release makes such splits),",
        }.items()
    ]
    assert sorted(told, key=page.index) == told


def test_a_package_s_own_split_of_a_handmade_case_forbids_to_ship():
    def of(who: str, *verdicts: Verdict) -> CellRecord:
        made = key("by-hand", who, "retrace")
        return record(dataclasses.replace(made, lane=Lane.PACKAGE), *verdicts)

    q = held(of("2.13.0"), of("2.14.0", WRONG))
    assert (q.decision, q.warnings) == (Decision.DO_NOT_SHIP, ())


def test_what_could_not_be_asked_leaves_the_question_open():
    unasked = unsupported(key("plain", "2.14.0", "legacy"), "no compiler")
    q = held(*sound("plain"), cell("plain", "2.13.0"), unasked)
    assert q.decision is Decision.OPEN
    assert q.not_asked == (("2.14.0, graph lane: no compiler", 1),)
    assert "1 cells could not be asked (2.14.0, graph lane: no compiler)" in verdict_of(q).why


OF_THE_CASE = "at compile: UnsupportedSegment: it writes to an input"


def test_a_fact_about_the_case_that_holds_for_both_is_nothing_that_could_not_be_asked():
    alike = [unsupported(key("plain", who, "legacy"), OF_THE_CASE) for who in ("2.13.0", "2.14.0")]
    q = held(*sound("plain"), *alike)
    assert (q.decision, q.not_asked, q.compared) == (Decision.SHIP, (), 2)


@pytest.mark.parametrize("who", ["2.13.0", "2.14.0"])
def test_what_only_one_of_the_two_cannot_be_asked_leaves_the_question_open(who):
    other = {"2.13.0": "2.14.0", "2.14.0": "2.13.0"}[who]
    one = unsupported(key("plain", who, "legacy"), OF_THE_CASE)
    q = held(*sound("plain"), one, cell("plain", other))
    assert q.decision is Decision.OPEN
    assert q.not_asked == ((f"{who}, graph lane: {OF_THE_CASE}", 1),)


def test_two_reasons_of_which_each_holds_for_one_are_both_told():
    baseline = unsupported(key("plain", "2.13.0", "legacy"), "no compiler")
    q = held(*sound("plain"), baseline, unsupported(key("plain", "2.14.0", "legacy"), OF_THE_CASE))
    assert q.decision is Decision.OPEN
    assert sorted(reason for reason, _ in q.not_asked) == [
        "2.13.0, graph lane: no compiler",
        f"2.14.0, graph lane: {OF_THE_CASE}",
    ]


def of_a_package(who: str, error: str = "") -> list[CellRecord]:
    """The cells of one case in the package lane; with an error, `compile` ends in it."""

    def place(route: str) -> CellKey:
        return dataclasses.replace(key("plain", who, route), lane=Lane.PACKAGE)

    saves = [place(route) for route in ("no-retrace", "retrace")]
    if not error:
        return [record(each) for each in (place(Route.COMPILE), *saves)]
    resting = [unsupported(each, f"{NOT_COMPILED} ends in {error}") for each in saves]
    return [record(place(Route.COMPILE), failed(Oracle.COMPLETION, error)), *resting]


def test_what_rests_on_a_failed_compile_is_told_by_compile_alone():
    q = held(*of_a_package("2.13.0"), *of_a_package("2.14.0", "no such converter"))
    assert (q.decision, q.not_asked) == (Decision.DO_NOT_SHIP, ())
    assert [change.key.route for change in q.stoppers] == [Route.COMPILE]
    repaired = held(*of_a_package("2.13.0", "no such converter"), *of_a_package("2.14.0"))
    assert (repaired.decision, repaired.not_asked) == (Decision.SHIP, ())


def test_compile_that_fails_for_both_in_two_ways_leaves_nothing_open():
    q = held(*of_a_package("2.13.0", "no converter"), *of_a_package("2.14.0", "another error"))
    assert (q.decision, q.not_asked, q.compared) == (Decision.SHIP, (), 1)


def test_a_stopper_stops_whatever_else_is_open():
    unasked = unsupported(key("other", "2.14.0", "legacy"), "no compiler")
    wrong = [cell("plain", "2.13.0"), cell("plain", "2.14.0", WRONG)]
    assert held(*wrong, cell("other", "2.13.0"), unasked).decision is Decision.DO_NOT_SHIP


def test_nothing_compared_is_no_leave_to_ship():
    assert held().decision is Decision.OPEN


def test_hypothetical_cells_say_nothing():
    wrong = dataclasses.replace(cell("plain", "2.14.0", WRONG), hypothetical=True)
    assert held(*sound("plain"), cell("plain", "2.13.0"), wrong).decision is Decision.SHIP


def test_both_directions_are_told_as_they_are():
    records = [*sound("plain"), cell("plain", "2.13.0", WRONG), cell("plain", "2.14.0")]
    assert qualify(records, CASES, OLD, NEW).decision is Decision.SHIP
    assert qualify(records, CASES, NEW, OLD).decision is Decision.DO_NOT_SHIP


def test_the_page_names_the_case_and_the_command_that_shows_it():
    q = held(*sound("plain"), cell("plain", "2.13.0"), cell("plain", "2.14.0", WRONG))
    command = "python -m harness explain plain --subject 2.14.0 --route legacy"
    for form in (qualification_markdown, qualification_html):
        text = form(q, {"torch_version": "2.13.0"})
        assert "2.14.0 in place of 2.13.0: do not ship" in text
        assert command in text
        assert "no TensorRT engine ran" in text


def test_a_command_of_a_run_of_other_cases_names_their_place():
    records = [*sound("plain"), cell("plain", "2.13.0"), cell("plain", "2.14.0", WRONG)]
    (change,) = qualify(records, CASES, OLD, NEW, places=Places(corpus=("mine",))).changes
    assert change.command.endswith("--subject 2.14.0 --route legacy --corpus mine")


FORMS = pytest.mark.parametrize("form", [qualification_markdown, qualification_html])
SOME = GpuRun("a-run", "2026-09-21", "NVIDIA L4", ("2.13.0",), cells=7)
EXACT = Estimate(0.0, -0.01, 0.01, 0.99)
OFF = Estimate(0.2, 0.1, 0.3, 0.99)
VAGUE = Estimate(0.0, -math.inf, math.inf, 0.99)


KNOWN = register(*(defect(name) for name in ("was-known", "is-known", "stays-known")))


def shown(name: str, *keys: CellKey) -> list[Attributed]:
    return [Attributed(each, Fact("values", "x", "boom"), name, expected=True) for each in keys]


def changed_defects(records: list[CellRecord], of: list[Attributed]) -> tuple[list[str], ...]:
    """The ids of the defects that came, and of those that went."""
    q = qualify(records, CASES, OLD, NEW, of, KNOWN)
    return tuple([each.defect.id for each in found] for found in (q.causes_new, q.causes_gone))


def test_what_forbids_to_ship_is_told_by_defects_the_worst_first():
    before = [cell(info.name, "2.13.0") for info in CASES]
    wrong, raises, handmade = (
        cell(name, "2.14.0", verdict)
        for name, verdict in (("plain", WRONG), ("other", ERROR), ("by-hand", WRONG))
    )
    silent = Attributed(wrong.key, Fact("values", "x", "boom", "silent"), "is-known", True)
    lesser = Attributed(wrong.key, Fact("signature", "x", "boom", "interface"), "was-known", True)
    told = qualify(
        [*before, wrong, raises, handmade],
        CASES,
        OLD,
        NEW,
        [silent, lesser],
        KNOWN,
        reach_of=reach_of,
    )
    title = KNOWN.by_id["is-known"].title
    assert stopped_by_lines(told) == [
        "  regressed by 1 defect and new failures:",
        f"    {title} (silent, 1 split)",
        "    new failures, of no known defect (error, 1 split)",
    ]
    assert stopped_by_lines(held(*sound())) == []


def test_a_defect_that_is_silent_here_and_raises_there_forbids_in_one_line():
    before = [cell(info.name, "2.13.0") for info in CASES]
    wrong, raises = cell("plain", "2.14.0", WRONG), cell("other", "2.14.0", ERROR)
    by_one = [
        Attributed(each.key, Fact("values", "x", "boom", harm), "is-known", True)
        for each, harm in ((wrong, "silent"), (raises, "error"))
    ]
    told = qualify([*before, wrong, raises], CASES, OLD, NEW, by_one, KNOWN, reach_of=reach_of)
    title = KNOWN.by_id["is-known"].title
    assert stopped_by_lines(told)[1:] == [f"    {title} (silent, 1 split; error, 1 split)"]


def test_what_keeps_a_decision_open_is_said_in_its_first_lines():
    lost = unsupported(key("plain", "2.14.0"), "no wheel")
    q = held(cell("plain", "2.13.0"), lost, cell("other", "2.13.0"), cell("other", "2.14.0"))
    assert q.decision is Decision.OPEN
    assert why_words(q) == "Open, since 1 cell could not be asked of one of the two."


def test_a_call_counts_once_under_a_defect_and_one_under_two_defects_is_told():
    """So that what the defects count comes to what the first line counts, or says why not."""
    before = [rtx("2.13.0", "1.5.0.114"), *with_segments("2.13.0")]
    worse = rtx("2.14.0", "1.6.1.120", WRONG)
    raises = with_segments("2.14.0", ERROR)
    by_one = [
        Attributed(each.key, Fact("values", "x", "boom", harm), "is-known", True)
        for each, harm in ((worse, "silent"), (raises[0], "error"))
    ]
    other = Attributed(worse.key, Fact("values", "x", "bang", "silent"), "was-known", True)

    def lines(*shown: Attributed) -> list[str]:
        cells = [*before, worse, *raises]
        return stopped_by_lines(qualify(cells, CASES, OLD, NEW, shown, KNOWN, reach_of=reach_of))

    titles = {name: KNOWN.by_id[name].title for name in ("is-known", "was-known")}
    once = f"    {titles['is-known']} (silent, 1 call)"
    assert lines(*by_one) == ["  regressed by 1 defect:", once]
    assert lines(*by_one, other) == [
        "  regressed by 2 defects; 1 call that several make wrong stands under each:",
        once,
        f"    {titles['was-known']} (silent, 1 call)",
    ]


def with_segments(who: str, *verdicts: Verdict) -> list[CellRecord]:
    place = dataclasses.replace(key("plain", who, "retrace"), lane=Lane.PACKAGE)
    return [record(place, *verdicts)]


def figure(effect: Estimate, change: Change, control: Estimate = EXACT) -> AtSize:
    off = control is OFF
    return AtSize(20, "load time", "s", 0.01, 0.013, effect, control, off, change)


def of(*rows: AtSize, missing: tuple[str, ...] = ()) -> Supplement:
    return Supplement(AtSizes("legacy", 5.0, rows, missing, ("the machine was loaded",)))


@FORMS
def test_the_page_says_that_nothing_ever_ran_on_a_gpu(form):
    assert "The last run on a GPU: never" in form(held(*sound()), {})


@FORMS
def test_the_page_tells_the_last_run_on_a_gpu_and_whether_it_had_the_candidate(form):
    text = form(held(*sound()), {}, Supplement(gpu=SOME))
    assert "2026-09-21, 7 cells of 2.13.0 on NVIDIA L4" in text
    assert "the candidate is not among them" in text
    of_both = dataclasses.replace(SOME, subjects=("2.13.0", "2.14.0"))
    assert "the candidate among them" in form(held(*sound()), {}, Supplement(gpu=of_both))


@FORMS
def test_what_is_slower_is_told_on_the_first_screen_and_does_not_forbid(form):
    slower = figure(Estimate(0.26, 0.2, 0.32, 0.99), Change.REGRESSED)
    text = form(held(*sound()), {}, of(slower))
    assert "1 larger or slower (load time at 20 steps)" in text
    assert "2.14.0 in place of 2.13.0: ship" in text
    assert "+29.7 % (+22.1 % to +37.7 %)" in text


@FORMS
@pytest.mark.parametrize(
    ("row", "words"),
    [
        (figure(VAGUE, Change.INCONCLUSIVE), "inconclusive"),
        (figure(EXACT, Change.EQUIVALENT, OFF), "A/A off: says nothing"),
    ],
)
def test_what_cannot_be_said_is_never_told_as_unchanged(form, row, words):
    text = form(held(*sound()), {}, of(row))
    assert words in text
    assert "0 at most 5 % apart, 1 inconclusive" in text


@FORMS
def test_figures_that_were_left_out_stand_under_what_was_not_checked(form):
    unchecked = form(held(*sound()), {}).partition("Not checked")[2]
    assert "left out by --budget 0" in unchecked
    missing = "load time at 60 engines and fallbacks: the budget had no room for it"
    unchecked = form(held(*sound()), {}, of(missing=(missing,))).partition("Not checked")[2]
    assert missing in unchecked


@FORMS
def test_the_page_tells_which_code_and_which_tensorrt_stood_for_a_release(form):
    package = PackageSpec("segment", (Route.RETRACE,), tensorrt_running="11.0.0.114")
    mine = dataclasses.replace(NEW, inliner_id="abcdef0123456789", packages=(package,))
    text = form(qualify(sound(), CASES, OLD, mine), {"torch_version": "2.13.0"})
    assert "inliner abcdef012345" in text
    assert "TensorRT 11.0.0.114 (builder segment)" in text


def test_defects_that_one_of_the_two_shows_alone_came_or_went():
    old, new = key("plain", "2.13.0", "legacy"), key("other", "2.14.0", "legacy")
    of = [*shown("was-known", old), *shown("is-known", new), *shown("stays-known", old, new)]
    assert changed_defects(sound(), of) == (["is-known"], ["was-known"])
    assert changed_defects(sound(), []) == ([], [])


def test_a_defect_of_a_cell_that_the_other_was_not_asked_is_no_change():
    before = cell("plain", "2.13.0", WRONG)
    for candidates in ([unsupported(key("plain", "2.14.0", "legacy"))], []):
        assert changed_defects([before, *candidates], shown("was-known", before.key)) == ([], [])


@FORMS
def test_the_first_line_says_what_the_decision_rests_on(form):
    text = form(held(*sound()), {})
    first = text.partition("</h1>")[0].partition("<h1>")[2] or text.splitlines()[0]
    assert "2.14.0 in place of 2.13.0: ship" in first
    assert "on CPU evidence; no GPU has run it" in first


def test_what_the_candidate_does_otherwise_stands_on_the_first_screen_kind_by_kind():
    parts = ('mends: "A title"', 'mends: "Another"', "all else as 2.13.0")
    told = Supplement(defects=parts)
    first = qualification_markdown(held(*sound()), {}, told).partition("Fixed")[0]
    grouped = 'mends (2): "A title", "Another"; all else as 2.13.0'
    assert f"- **In defects**: {grouped}\n" in first
    first = html.unescape(qualification_html(held(*sound()), {}, told)).partition("Fixed")[0]
    assert '<dt>Mends</dt><dd>"A title" <details><summary>and others</summary>' in first
    assert "<dt>Else</dt><dd>all else as 2.13.0</dd>" in first
    assert first.count('"Another"') == 1
    assert "Mends" not in qualification_html(held(*sound()), {})


def in_both_lanes() -> list[CellRecord]:
    """As `sound`, and the same cells of the package lane."""
    return sound() + [
        dataclasses.replace(
            each, key=dataclasses.replace(each.key, lane=Lane.PACKAGE, route=Route.RETRACE)
        )
        for each in sound()
    ]


def test_the_verdict_of_the_page_says_how_far_it_goes():
    q = dataclasses.replace(held(*sound()), scope="1 of 3 cases in the graph lane")
    words = "2.14.0 in place of 2.13.0: nothing forbids it (only: 1 of 3 cases in the graph lane)"
    assert verdict_of(q).words == words


def test_the_cases_that_a_filter_left_out_are_not_checked():
    def unchecked(supplement: Supplement) -> str:
        return qualification_markdown(held(*sound()), {}, supplement).partition("Not checked")[2]

    assert 'every case that -k "residual" does not match' in unchecked(
        Supplement(expression="residual")
    )
    assert "does not match" not in unchecked(Supplement())


@FORMS
def test_a_package_lane_of_which_no_cell_was_compared_is_told(form):
    said = "the package lane: no cell of it was compared"
    assert said in form(held(*sound()), {})
    assert said not in form(held(*in_both_lanes()), {})


@FORMS
def test_what_the_gate_did_not_expect_is_told_beside_the_decision(form):
    red = "The gate: red: 1 unexpected failure; python -m harness report RUN says why."
    told = form(held(*sound()), {}, Supplement(gate=red)).partition("Fixed")[0]
    assert red in told
    assert "gate" not in form(held(*sound()), {}).partition("Fixed")[0].partition("<body>")[2]


@FORMS
def test_one_measurement_that_stands_for_both_is_told_on_the_first_screen(form):
    shared = [dataclasses.replace(each, measured_as="2.13.0") for each in sound("by-hand")]
    single = [cell("by-hand", "2.13.0"), cell("by-hand", "2.14.0")]
    first = form(held(*shared, *single), {}).partition("Fixed")[0]
    assert "Same inliner as the baseline: 2 of 3 cells were executed once for both" in first
    assert "Same inliner" not in form(held(*sound()), {})


def rtx(subject: str, version: str, *verdicts: Verdict) -> CellRecord:
    made = dataclasses.replace(
        key("plain", subject, "retrace"),
        lane=Lane.PACKAGE,
        builder=Builder(f"tensorrt-rtx-{version}"),
    )
    return record(made, *verdicts)


def test_releases_are_compared_with_the_tensorrt_rtx_that_each_brings():
    q = held(rtx("2.13.0", "1.5.0.114", ERROR), rtx("2.14.0", "1.6.1.120"))
    assert dict(tally_lines(q)) == {"1 user call": "0 regressed, 1 fixed, 0 broken before, 0 right"}
    assert q.only == ()


@FORMS
def test_what_forbids_to_ship_is_named_on_the_page_and_among_the_defects(form):
    """As of the releases' own TensorRT-RTX, of which each brings another version."""
    before, now = rtx("2.13.0", "1.5.0.114"), rtx("2.14.0", "1.6.1.120", WRONG)
    due = Attributed(now.key, Fact("values", "x", "boom", "silent"), "is-known", True)
    q = qualify([before, now], CASES, OLD, NEW, [due], KNOWN, reach_of=reach_of)
    rows = table(entry(defect="is-known", case="plain", subjects=("2.14.0",), **rtx_place(now.key)))
    told = difference("2.14.0", "2.13.0", [before, now], rows, KNOWN)
    parts = difference_parts(told, "2.13.0", KNOWN.titles)
    assert parts[0] == 'breaks: "It is is-known" in 1 cell'
    first = html.unescape(form(q, {}, Supplement(defects=parts))).partition("Fixed")[0]
    assert "1 call that 2.13.0 gets right fails in 2.14.0, 1 of them silently." in first
    assert "It is is-known (silent, 1 call)" in first
    assert "Regressed by" not in form(held(*sound()), {})


def test_a_user_s_call_in_several_environments_is_one_call_and_the_worst_of_them_counts():
    def segments(who: str, *verdicts: Verdict) -> CellRecord:
        return with_segments(who, *verdicts)[0]

    sound_both = [segments("2.13.0"), segments("2.14.0")]
    q = held(*sound_both, rtx("2.13.0", "1.5.0.114"), rtx("2.14.0", "1.6.1.120", WRONG))
    each = (
        "; each with emulated segments and, where asked, engines built by TensorRT-RTX: the worst "
        "counts"
    )
    counts = f"1 regressed, 0 fixed, 0 broken before, 0 right{each}"
    assert (q.compared, dict(tally_lines(q))) == (2, {"1 user call": counts})
    worse = [segments("2.13.0"), segments("2.14.0", ERROR)]
    twice = held(*worse, rtx("2.13.0", "1.5.0.114"), rtx("2.14.0", "1.6.1.120", WRONG))
    assert why_words(twice) == "1 call that 2.13.0 gets right fails in 2.14.0, 1 of them silently."
    assert stopped_by_lines(twice)[1:] == ["    new failures, of no known defect (silent, 1 call)"]
    mended = [segments("2.13.0", ERROR), segments("2.14.0")]
    still = held(*mended, rtx("2.13.0", "1.5.0.114", ERROR), rtx("2.14.0", "1.6.1.120", ERROR))
    assert summed(still.tallies.values()) == Tally(asked=1, broken=1)


def rtx_place(of: CellKey) -> dict[str, str]:
    """What a row of the table says of a cell of a package with real engines."""
    return {"lane": of.lane, "builder": of.builder, "route": of.route}


def test_where_a_release_has_several_tensorrt_rtx_only_equal_versions_are_compared():
    several = [rtx("2.14.0", version) for version in ("1.5.0.114", "1.6.1.120")]
    q = held(rtx("2.13.0", "1.5.0.114", ERROR), *several)
    assert q.compared == 1
    (told,) = q.only
    assert told == ("2.14.0", Lane.PACKAGE, several[0].key.route, 1)


def test_a_module_in_memory_that_is_right_now_leaves_nothing_open_and_a_lost_engine_does():
    left = f"{LEFT_TO_PYTORCH}: RuntimeError: no converter"
    old, new = (
        dataclasses.replace(key("state", who), lane=Lane.PACKAGE, route=Route.TORCH_COMPILE)
        for who in ("2.13.0", "2.14.0")
    )
    q = held(*sound("plain"), unsupported(old, left), record(new))
    assert (q.decision, q.not_asked) == (Decision.SHIP, ())
    lost = held(*sound("plain"), record(old), unsupported(new, left))
    assert (lost.decision, lost.not_asked) == (
        Decision.OPEN,
        ((f"2.14.0, package lane: {left}", 1),),
    )
