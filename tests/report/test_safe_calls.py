"""What is safe is told as clearly as what is broken."""

import pandas as pd

from harness.report.sections.calls import (
    SaveRecords,
    run_the_loaded_one,
    safe_without_state,
    safest,
    safest_before,
    safest_in,
    save_records,
)
from harness.report.text import span

COLUMNS = ["case", "subject", "route", "lane", "builder", "standing", "harm"]
RELEASES = ["2.13.0", "2.14.0"]


def told(*changed: tuple[str, str, str, str], stateful: tuple[str, ...] = ()) -> str:
    """Three models, right by both calls in both releases but where ``changed`` says otherwise."""
    cells = {
        (case, release, route): (case, release, route, "package", "segment", "ok", "")
        for case in ("plain", "dynamic", "cache")
        for release in RELEASES
        for route in ("compile", "retrace")
    }
    for case, release, route, harm in changed:
        standing = "failing" if harm else "unsupported"
        cells[case, release, route] = (case, release, route, "package", "segment", standing, harm)
    return safe_without_state(pd.DataFrame(cells.values(), columns=COLUMNS), RELEASES, stateful)


def test_models_without_state_are_counted_that_every_release_saves_right():
    raised = ("dynamic", "2.14.0", "retrace", "error")
    stale = ("cache", "2.13.0", "compile", "silent")
    assert told(raised, stale, stateful=("cache",)) == (
        "save(m, f), from 2.13.0 to 2.14.0: of 2 models without state right for 1, silently wrong "
        "in one release or more for none, an error in one or more for 1"
    )


def test_a_model_that_is_compiled_silently_wrong_is_not_called_safe():
    assert "of 3 models without state right for 2" in told(("cache", "2.13.0", "compile", "silent"))
    assert "silently wrong in one release or more for 1" in told(
        ("cache", "2.13.0", "compile", "silent")
    )


def test_what_the_newest_release_alone_makes_silently_wrong_is_told_apart():
    old, new = (("cache", release, "compile", "silent") for release in RELEASES)
    assert "or more for 2 (1 of them in 2.14.0 alone)" in told(old, new, ("plain", *new[1:]))
    assert "alone" not in told(old, new)


def test_a_model_that_a_release_could_not_be_asked_of_is_counted_as_such_and_all_add_up():
    unasked = told(("plain", "2.14.0", "compile", ""))
    assert "of 3 models without state right for 2, " in unasked
    assert unasked.endswith(", 1 could not be asked in every one")
    assert "raise" not in told()


def test_right_numbers_in_another_form_are_right():
    assert "of 3 models without state right for 3" in told(
        ("plain", "2.14.0", "retrace", "interface")
    )


def recorded(*changed: tuple[str, str, str]) -> SaveRecords:
    """Four models through 2.14.0, right by each call but where ``changed`` says otherwise."""
    ends = {
        (case, route): "ok"
        for case in ("plain", "dynamic", "cache", "copy")
        for route in ("compile", "retrace")
    } | {(case, route): end for case, route, end in changed}
    frame = pd.DataFrame(
        [
            (case, "2.14.0", route, "package", "segment", end, "")
            if end in ("ok", "unsupported")
            else (case, "2.14.0", route, "package", "segment", "failing", end)
            for (case, route), end in ends.items()
        ],
        columns=COLUMNS,
    )
    records = save_records(frame, RELEASES)
    assert records is not None
    return records


def by_calls(*changed: tuple[str, str, str]) -> list[str]:
    return safest(recorded(*changed))


def test_every_call_is_told_of_all_models():
    saved, compiled, _ = by_calls(("cache", "compile", "silent"), ("copy", "retrace", "interface"))
    assert compiled.endswith("of 4 models silently wrong for 1, right for 3")
    assert saved.endswith("of 4 models silently wrong for none, right for 4")


def test_what_compile_makes_wrong_is_wrong_as_well_where_no_save_was_tried():
    wrong = ("copy", "compile", "silent"), ("copy", "retrace", "unsupported")
    raised = ("dynamic", "compile", "error"), ("dynamic", "retrace", "unsupported")
    saved, _, rule = by_calls(*wrong, *raised)
    assert saved.endswith(
        "silently wrong for 1 (all as compile() makes them so), right for 2, raises for 1"
    )
    assert rule.startswith("a save of what compile() makes wrong counts as compile() does")


def test_a_save_that_no_run_could_try_is_not_called_right():
    saved, _, _ = by_calls(("plain", "retrace", "unsupported"))
    assert saved.endswith(
        "of 4 models silently wrong for none, right for 3, could not be asked of 1"
    )


def test_what_is_wrong_by_compile_is_counted_apart_from_what_the_save_makes_wrong():
    saved, _, _ = by_calls(
        ("copy", "compile", "silent"), ("copy", "retrace", "unsupported"),
        ("cache", "retrace", "silent"),
    )  # fmt: skip
    assert saved.endswith(
        "of 4 models silently wrong for 2 (1 as compile() makes them so), right for 2"
    )


def test_each_older_release_is_told_its_own_safest_save_and_alike_ones_stand_together():
    rows = [
        ("plain", release, route, "package", "segment", *end)
        for release, *routes in (
            ("2.12.0", ("retrace", "ok", ""), ("no-retrace", "failing", "silent")),
            ("2.12.1", ("retrace", "ok", ""), ("no-retrace", "failing", "silent")),
            ("2.13.0", ("retrace", "failing", "error"), ("no-retrace", "ok", "")),
            ("2.14.0", ("retrace", "ok", ""), ("no-retrace", "ok", "")),
        )
        for route, *end in (("compile", "ok", ""), *routes)
    ]
    releases = ("2.11.0", "2.12.0", "2.12.1", "2.13.0", "2.14.0")
    right = "of 1 model silently wrong for none, right for 1"
    assert safest_before(pd.DataFrame(rows, columns=COLUMNS), releases) == [
        f"in 2.13.0 save(retrace=False): {right}",
        f"in {span(['2.12.0', '2.12.1'])} save(m, f): {right}",
    ]


def test_before_2_10_the_safest_save_is_told_as_its_users_write_it():
    cells = pd.DataFrame(
        [
            ("plain", release, route, "package", "segment", "ok", "")
            for release in ("2.9.0", "2.10.0")
            for route in ("compile", "retrace")
        ],
        columns=COLUMNS,
    )
    right = "of 1 model silently wrong for none, right for 1"
    assert safest_in(cells, ("2.9.0", "2.10.0", "2.11.0")) == {
        "2.10.0": f"save(m, f): {right}",
        "2.9.0": f"save(m, f, retrace=True): {right}",
    }
    wrong = cells.assign(standing="failing", harm="silent")
    assert safest_in(wrong, ("2.10.0",)) == {"2.10.0": "none is right for any of 1 model"}


def test_where_the_module_in_memory_is_wrong_more_often_the_loaded_file_is_what_to_run():
    stale = recorded(("cache", "compile", "silent"))
    assert run_the_loaded_one(stale).endswith("as compile() in memory is silently wrong for 1")
    assert run_the_loaded_one(recorded(("cache", "retrace", "silent"))) == ""
