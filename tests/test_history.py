"""A fix is as expected when every release before it fails, and every one from it on passes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.history import Fix, FixHistory, Showing, history_line, history_of
from harness.releases import Catalogue, load_catalogue
from harness.rig.records import CellKey, CellRecord
from harness.rig.vocabulary import Lane, Oracle
from tests.record_builders import failed, key, record, stopped, unsupported

NAMES = ("2.10.0", "2.13.0", "2.14.0")
CATALOGUE = Catalogue(tuple(load_catalogue().get(name) for name in NAMES))


def fix(**fields: Any) -> Fix:
    given: dict[str, Any] = {
        "id": "wiring",
        "pull_request": "#4446",
        "first_good": "2.14.0",
        "what": "It is right.",
        "cases": ("a",),
        "oracle": Oracle.VALUES,
        "routes": ("legacy",),
    }
    return Fix(**{**given, **fields})


def bad(release: str, case: str = "a", route: str = "legacy") -> CellRecord:
    return record(key(case, release, route), failed(Oracle.VALUES))


def good(release: str, case: str = "a", route: str = "legacy") -> CellRecord:
    return record(key(case, release, route))


AS_EXPECTED = (bad("2.10.0"), bad("2.13.0"), good("2.14.0"))


def one(asked: Fix, records: Iterable[CellRecord]) -> FixHistory:
    (history,) = history_of([asked], records, CATALOGUE)
    return history


def test_failing_before_and_passing_from_it_on_is_as_expected() -> None:
    history = one(fix(), AS_EXPECTED)
    assert history.showing(Showing.FAILS) == ("2.10.0", "2.13.0")
    assert history.showing(Showing.PASSES) == ("2.14.0",)
    assert (history.as_expected, history.otherwise, history.hypothetical) == (True, (), ())


def test_a_release_that_passes_too_early_is_not_as_expected() -> None:
    history = one(fix(), [bad("2.10.0"), good("2.13.0"), good("2.14.0")])
    assert history.as_expected is False
    assert history.otherwise == ("a [2.13.0 legacy]: values ok, but it should fail",)


def test_a_release_that_still_fails_is_not_as_expected() -> None:
    history = one(fix(), [bad("2.10.0"), bad("2.13.0"), bad("2.14.0")])
    assert history.as_expected is False
    assert history.otherwise == ("a [2.14.0 legacy]: values wrong-values@run, but it should pass",)


def test_every_named_case_is_asked() -> None:
    records = [*AS_EXPECTED, good("2.10.0", "b"), bad("2.13.0", "b"), good("2.14.0", "b")]
    history = one(fix(cases=("a", "b")), records)
    assert history.showing(Showing.NEITHER) == ("2.10.0",)
    assert history.otherwise == ("b [2.10.0 legacy]: values ok, but it should fail",)


def test_a_glob_asks_every_case_that_it_names() -> None:
    records = [*AS_EXPECTED, good("2.13.0", "ab")]
    assert one(fix(cases=("a*",)), records).as_expected is False
    assert one(fix(cases=("a",)), records).as_expected is True


def test_another_oracle_s_failure_is_no_failure_unless_any_is_asked() -> None:
    records = [*AS_EXPECTED[:2], record(key("a", "2.14.0", "legacy"), failed(Oracle.METADATA))]
    assert one(fix(), records).as_expected is True
    assert one(fix(oracle=None), records).as_expected is False
    assert one(fix(oracle=None), AS_EXPECTED).as_expected is True


def test_an_oracle_that_was_not_reached_has_neither_failed_nor_passed() -> None:
    history = one(fix(), [stopped(key("a", name, "legacy")) for name in NAMES])
    assert history.showing(Showing.NEITHER) == NAMES
    assert len(history.otherwise) == 3


def test_a_release_or_case_that_is_not_in_the_run_was_not_asked() -> None:
    history = one(fix(), AS_EXPECTED[1:])
    assert history.showing(Showing.NOT_ASKED) == ("2.10.0",)
    assert history.as_expected is None
    assert one(fix(cases=("a", "b")), AS_EXPECTED).showing(Showing.NOT_ASKED) == NAMES
    assert one(fix(), ()).as_expected is None


def test_an_unsupported_cell_was_not_asked() -> None:
    history = one(fix(), [*AS_EXPECTED[:2], unsupported(key("a", "2.14.0", "legacy"))])
    assert history.showing(Showing.NOT_ASKED) == ("2.14.0",)


def test_what_was_asked_and_is_not_as_expected_outweighs_what_was_not_asked() -> None:
    assert one(fix(), [good("2.13.0")]).as_expected is False


def test_hypothetical_cells_do_not_count_where_a_user_reaches_others() -> None:
    both = fix(routes=("legacy", "export"))
    export = [bad("2.13.0", route="export"), good("2.14.0", route="export")]
    # Nobody reaches the export route of 2.10.0, which passes here.
    history = one(both, [*AS_EXPECTED, *export, good("2.10.0", route="export")])
    assert history.as_expected is True
    assert history.hypothetical == ()
    assert one(both, AS_EXPECTED).showing(Showing.NOT_ASKED) == ("2.13.0", "2.14.0")


def test_a_release_with_hypothetical_cells_alone_is_judged_on_them_and_marked() -> None:
    records = [bad(name, route="export") for name in NAMES[:2]] + [good("2.14.0", route="export")]
    history = one(fix(routes=("export",)), records)
    assert history.as_expected is True
    assert history.hypothetical == ("2.10.0",)


def test_other_subjects_lanes_and_environments_are_not_read() -> None:
    package = record(CellKey("a", "nonstrict", "2.13.0", "legacy", Lane.PACKAGE.value))
    matched = record(CellKey("a", "nonstrict", "2.13.0", "legacy", environment="torch-2.13.0"))
    assert one(fix(), [*AS_EXPECTED, good("positional"), package, matched]).as_expected is True


def test_a_fix_that_cannot_be_shown_is_neither_asked_nor_judged() -> None:
    hidden = fix(cases=(), oracle=None, routes=(), not_visible="needs a GPU")
    history = one(hidden, AS_EXPECTED)
    assert (history.releases, history.as_expected) == ((), None)


def test_one_line_says_how_many_fixes_are_as_expected_and_names_those_that_are_not() -> None:
    right = one(fix(), AS_EXPECTED)
    wrong = one(fix(id="early"), [bad("2.10.0"), good("2.13.0"), good("2.14.0")])
    unasked = one(fix(cases=("b",)), AS_EXPECTED)
    assert history_line([right, unasked], "r") == "history: 1 of 1 upstream fixes as expected"
    assert history_line([right, wrong], "r") == (
        "history: 1 of 2 upstream fixes as expected; NOT early: python -m harness history r"
    )
    assert history_line([unasked], "r") is None
