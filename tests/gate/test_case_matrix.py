"""A user's own cases by releases: the worst of all calls, and in words which calls and why."""

import dataclasses

import pytest

from harness.gate.attribution import attributed
from harness.gate.case_matrix import (
    CaseMatrix,
    OwnAnswer,
    case_matrix,
    matrix_lines,
    note_lines,
    own_answer,
)
from harness.gate.findings import CellClass, Finding
from harness.gate.signs import SIGNS
from harness.register.table import Table
from harness.runs.commands import Places
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CellRecord, Verdict
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import NOT_COMPILED
from tests.record_builders import Sign, defect, failed, key, record, register, unsupported

KNOWN = register(
    defect("wired", Sign("values", "boom")), defect("late", Sign("completion", "boom"))
)
SILENT = dataclasses.replace(failed(Oracle.VALUES), harm=Harm.SILENT)
STRANGE = dataclasses.replace(failed(Oracle.VALUES, "strange"), harm=Harm.SILENT)
COSMETIC = dataclasses.replace(failed(Oracle.METADATA), harm=Harm.COSMETIC)
ERROR = dataclasses.replace(failed(Oracle.COMPLETION), harm=Harm.ERROR)


def matrix(*records: CellRecord, own: tuple[str, ...] = ()) -> CaseMatrix:
    cases = sorted({each.key.case for each in records})
    releases = sorted({each.key.subject for each in records})
    shown = attributed(records, Table(), KNOWN)
    return case_matrix(cases, releases, records, shown, own, KNOWN.titles)


def lines(*records: CellRecord, own: tuple[str, ...] = ()) -> list[str]:
    return matrix_lines(matrix(*records, own=own), Places())


def test_the_worst_of_all_calls_is_the_one_sign_of_a_cell_and_cosmetic_is_right():
    found = matrix(
        record(key("a", "2.12.0", "export"), ERROR),
        record(key("a", "2.12.0", "legacy"), SILENT, COSMETIC),
        record(key("a", "2.13.0", "legacy"), COSMETIC),
        unsupported(key("a", "2.14.0"), "no wheel"),
    )
    (row,) = found.rows
    assert row.standings == ("silent", "ok", "unsupported")


def test_notes_count_what_is_cosmetic_and_tell_why_a_case_could_not_be_asked():
    cosmetic = Finding(key(), CellClass.OK, "", Oracle.METADATA, COSMETIC, ("?wired",))
    unasked = Finding(key("b"), CellClass.UNSUPPORTED, "", of_case="it takes a pytree")
    assert note_lines([cosmetic, unasked], KNOWN.titles) == [
        'cosmetic, and so no failure: "It is wired" in 1 cell',
        "b cannot be asked of an inliner alone; packages were asked: it takes a pytree",
    ]


def test_a_case_of_which_no_user_s_call_could_be_asked_is_not_right_by_the_inliner_alone():
    alone = record(key("a", "2.14.0", "export"))
    refused = unsupported(key("a", "2.14.0", "retrace"), "at compile: E")
    assert matrix(alone, refused).rows[0].standings == ("unsupported",)
    assert matrix(alone).rows[0].standings == ("ok",)
    asked = record(key("a", "2.14.0", "no-retrace"))
    assert matrix(alone, refused, asked).rows[0].standings == ("ok",)


def test_a_mistaken_case_has_no_row_unless_a_release_could_be_asked_about_it():
    cells = [unsupported(key("a"), "at split: E"), record(key("b"))]
    assert [row.case for row in matrix(*cells).without({"a", "b"}).rows] == ["b"]
    assert matrix_lines(matrix(cells[0]).without({"a"}), Places()) == []


def test_a_hypothetical_cell_says_nothing_of_a_case():
    found = matrix(record(key("a"), SILENT, hypothetical=True), record(key("a", route="legacy")))
    assert found.rows[0].standings == ("ok",)


def test_neighbouring_releases_that_say_the_same_of_every_case_share_a_column():
    cells = [record(key(case, f"2.{n}.0")) for case in "ab" for n in (10, 11)]
    cells += [record(key("a", "2.12.0"), SILENT), record(key("b", "2.12.0"))]
    told = lines(*cells)
    assert told[:3] == [
        "   2.10.0\N{EN DASH}2.11.0  2.12.0",
        "a        ✓          ✗",
        "b        ✓          ✓",
    ]
    assert told[3] == "✗ silently computes something else, ✓ all right"


def test_what_is_wrong_is_told_by_the_user_s_calls_with_its_defects_and_a_command():
    retrace = Route.NO_RETRACE
    told = lines(
        *(
            record(key("a", name, route), SILENT)
            for name in ("2.12.0", "2.13.0")
            for route in ("legacy", retrace)
        ),
        record(key("a", "2.14.0", retrace), ERROR),
    )
    assert told[-4:] == [
        '  a in 2.12.0 to 2.13.0: ✗ save(retrace=False) ("It is wired")',
        "      python -m harness explain a --subject 2.12.0 --route no-retrace",
        '  a in 2.14.0: E save(retrace=False) ("It is late")',
        "      python -m harness explain a --subject 2.14.0 --route no-retrace",
    ]


def test_a_defect_of_the_packing_alone_is_not_why_numbers_are_wrong():
    packed = defect("packed", Sign("values", "structure differs"))
    says = "numbers differ; structure differs"
    both = record(key("a"), dataclasses.replace(failed(Oracle.VALUES, says), harm=Harm.SILENT))
    shown = attributed([both], Table(), register(packed))
    (row,) = case_matrix(["a"], ["2.13.0"], [both], shown).rows
    ((wrong, _),) = row.wrong
    assert (wrong.harm, wrong.defects, wrong.unknown) == (Harm.SILENT, (), True)


def test_defects_that_look_alike_are_all_named_as_check_names_them():
    twins = register(defect("one", Sign("values", "boom")), defect("other", Sign("values", "boom")))
    cell = record(key("a", "2.13.0"), SILENT)
    shown = attributed([cell], Table(), twins)
    found = case_matrix(["a"], ["2.13.0"], [cell], shown, titles=twins.titles)
    ((wrong, _),) = found.rows[0].wrong
    assert (wrong.defects, wrong.unknown) == (('"It is one" or "It is other"',), False)


def test_what_no_defect_signs_and_what_torch_fails_too_are_told():
    alien = record(key("a", "2.13.0"), STRANGE)
    (told,) = [line for line in lines(alien, own=(alien.key.cell_id,)) if line.startswith("  a in")]
    call = "save(retrace=False, use_legacy_exporter=False)"
    why = "no known defect, plain torch.export fails likewise"
    assert told == f"  a in 2.13.0: ✗ {call} ({why})"


@pytest.mark.parametrize("count", [1, 40])
def test_a_table_that_is_wider_than_a_console_goes_on_below(count):
    names = [f"2.{n:02}.0" for n in range(count)]
    cells = [record(key("a", name), *([SILENT] if n % 2 else [])) for n, name in enumerate(names)]
    told = lines(*cells)
    assert max(map(len, told[:4])) <= 100
    assert " ".join(told).count("2.00.0") == 1
    assert (
        sum(line.split()[0] == "a" for line in told if line and line[0] == "a") == 1 + count // 13
    )


def answered(*records: CellRecord) -> OwnAnswer | None:
    return own_answer(matrix(*records))


def compiled(case: str, release: str, *verdicts: Verdict) -> CellRecord:
    made = dataclasses.replace(key(case, release, Route.COMPILE), lane=Lane.PACKAGE)
    return record(made, *verdicts)


def saved(case: str, release: str, *verdicts: Verdict, route: str = "retrace") -> CellRecord:
    return record(dataclasses.replace(key(case, release, route), lane=Lane.PACKAGE), *verdicts)


def test_the_first_line_names_the_newest_release_and_the_call_that_is_right_for_all_cases():
    before = [saved("a", "2.13.0"), saved("b", "2.13.0", SILENT)]
    now = [saved(case, "2.14.0", COSMETIC) for case in "ab"]
    other = [saved("a", "2.14.0", route="no-retrace"), saved("b", "2.14.0", ERROR, route="export")]
    told = answered(*before, *now, *other)
    assert told == OwnAnswer(
        "Use Torch-TensorRT 2.14.0 and save(m, f): right for both of your cases",
        "Right in 2.14.0: save(m, f) 2 of 2, save(retrace=False) 1 of 1, "
        "save(retrace=False, use_legacy_exporter=False) 0 of 1",
        newest_is_right=True,
    )
    alone = answered(saved("a", "2.13.0"), saved("a", "2.14.0"))
    assert alone is not None
    assert alone.words == "Use Torch-TensorRT 2.14.0 and save(m, f): right for your case"
    assert alone.calls == "Every call of 2.14.0 that was asked is right"


def test_where_an_older_release_alone_is_right_for_all_cases_it_is_named_and_the_newest_too():
    before = [saved(case, "2.13.0") for case in "ab"]
    told = answered(*before, saved("a", "2.14.0"), saved("b", "2.14.0", ERROR))
    assert told is not None
    assert told.words == (
        "Use Torch-TensorRT 2.13.0 and save(m, f): right for both of your cases; "
        "2.14.0 is right for 1 of them by save(m, f)"
    )
    assert not told.newest_is_right


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([saved("a", "2.14.0", ERROR)], "No release is right for your case"),
        (
            [saved("a", "2.14.0"), saved("b", "2.14.0", SILENT)],
            "No release is right for both of your cases: 2.14.0 is right for 1 of them by "
            "save(m, f)",
        ),
        (
            [saved(case, "2.14.0", ERROR) for case in "ab"],
            "No release is right for both of your cases: 2.14.0 is right for 0 of them",
        ),
    ],
    ids=["one", "some", "none"],
)
def test_where_no_release_is_right_the_first_line_says_so(cells, words):
    told = answered(*cells)
    assert told is not None
    assert (told.words, told.newest_is_right) == (words, False)


def test_a_save_that_compile_stops_is_right_for_nobody_and_a_case_nobody_asked_does_not_count():
    place = dataclasses.replace(key("a", "2.14.0", "retrace"), lane=Lane.PACKAGE)
    stops = unsupported(place, f"{NOT_COMPILED}: IndexError")
    cells = [compiled("a", "2.14.0", ERROR), compiled("b", "2.14.0"), stops, saved("b", "2.14.0")]
    told = answered(*cells, unsupported(key("c", "2.14.0"), "at capture: E"))
    assert told is not None
    assert told.words == (
        "No release is right for both of your cases: 2.14.0 is right for 1 of them by save(m, f); "
        "1 more could not be asked"
    )
    assert told.calls == "Right in 2.14.0: compile 1 of 2, save(m, f) 1 of 2"
    whole = answered(saved("b", "2.14.0"), unsupported(key("c", "2.14.0"), "at capture: E"))
    assert whole is not None
    assert whole.words.endswith("right for your case; 1 more could not be asked")
    assert not whole.newest_is_right
    assert answered(unsupported(key("c", "2.14.0"), "at capture: E")) is None


def test_right_numbers_in_another_form_are_right_and_said_to_be():
    packed = dataclasses.replace(failed(Oracle.SIGNATURE), harm=Harm.INTERFACE)
    told = answered(saved("a", "2.14.0", packed), compiled("a", "2.14.0"))
    assert told is not None
    assert told.words.endswith("2.14.0 and save(m, f): the numbers are right for your case")
    assert told.calls == "Right in 2.14.0: compile 1 of 1, save(m, f) 1 of 1 (1 in another form)"


def test_a_candidate_has_a_column_of_its_own_behind_the_releases_whatever_it_shows():
    mine = "file:_exporter-1a"
    cells = [record(key("a", name), ERROR) for name in ("2.13.0", "2.14.0", mine)]
    shown = attributed(cells, Table(), KNOWN, {mine: "2.14.0"})
    found = case_matrix(["a"], ["2.13.0", "2.14.0"], cells, shown, candidates=[mine])
    told = matrix_lines(found, Places())
    assert told[0].split() == ["2.13.0\N{EN DASH}2.14.0", mine]
    assert told[1].split() == ["a", SIGNS[Harm.ERROR], SIGNS[Harm.ERROR]]
    assert any(line.startswith(f"  a in 2.13.0 to 2.14.0, {mine}: ") for line in told), told
