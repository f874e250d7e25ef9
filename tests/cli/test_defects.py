"""`defects` answers from the committed data; `expected` writes a table from a run and tells why."""

from harness.cli import defects, expecting
from harness.expectations import EXPECTATIONS
from harness.gate.attribution import Difference, deviation, difference
from harness.gate.difference_words import difference_parts
from harness.register.defects import Sign
from harness.register.review import review
from harness.register.standing import worst_harm
from harness.register.table import Table
from harness.register.table_files import read_table
from harness.toolchain.environment import PROJECT_ROOT
from harness.wire.oracles import Oracle
from tests.record_builders import (
    RELEASES,
    defect,
    entry,
    failed,
    key,
    record,
    register,
    stopped,
    table,
)

PUBLISHED = PROJECT_ROOT / "results" / "published" / "2026-11-25-all-releases"
LIST = Sign("values", "boom")


def in_one(told: Difference, like: str) -> str:
    return "; ".join(difference_parts(told, like, {}))


def test_one_defect_is_told_release_by_release(capsys):
    assert defects.defects_command("wired-by-name") == 0
    told = capsys.readouterr().out
    assert "pytorch/TensorRT#4446" in told
    assert "2.13.0:      shown by" in told
    assert "2.14.0:      absent" in told
    assert "python -m harness explain inputs_read_in_reverse --subject 2.13.0" in told
    assert "python -m harness reproduce inputs_read_in_reverse --subject 2.13.0" in told


def test_the_script_of_a_defect_is_that_of_a_cell_which_shows_it(capsys):
    assert defects.defects_command("torch-keywords-by-position") == 0
    case = "keywords_in_another_order_at_save"
    command = f"python -m harness reproduce {case} --subject 2.14.0 --route export\n"
    assert capsys.readouterr().out.endswith(command)
    assert defects.defects_command("engine-in-a-fallback-left-behind") == 0
    told = capsys.readouterr().out
    assert "no script:   The model that is compiled holds an engine already" in told
    assert "python -m harness reproduce" not in told


def test_what_a_release_fixed_brought_and_hides_is_told(capsys):
    assert defects.defects_command(new_in="2.14.0") == 0
    told = capsys.readouterr().out
    assert "fixed: wired-by-name: " in told
    assert "new: tuple-for-a-tensor: " in told
    assert "fixed: no-output-empty-graph: " in told
    assert defects.defects_command(new_in="2.8.0") == 0
    assert "not seen any more: scatter-add-of-a-size: " in capsys.readouterr().out


def test_a_call_names_the_defects_that_it_meets(capsys):
    assert defects.defects_command(release="2.13.0", call="save") == 0
    few = capsys.readouterr().out
    assert "wired-by-name" not in few
    assert defects.defects_command(release="2.13.0", call="save(retrace=False)") == 0
    assert "wired-by-name" in capsys.readouterr().out


def test_what_is_documented_warns():
    assert worst_harm(("silent", "error"), defect()) == "silent"
    assert worst_harm(("silent", "cosmetic"), defect(documented="its manual")) == "warned"
    assert worst_harm(("", ""), defect()) == ""


def test_a_candidate_is_told_in_defects():
    known = register(
        defect("old", Sign("values", "boom")), defect("new", Sign("structure", "boom")),
        defect("kept", Sign("metadata", "boom")),
    )  # fmt: skip
    rows = table(entry(defect="old"), entry(Oracle.METADATA, defect="kept"))
    like = record(key(), failed(Oracle.VALUES), failed(Oracle.METADATA))
    mine = record(key("a", "file:1"), failed(Oracle.STRUCTURE), failed(Oracle.METADATA))
    told = difference("file:1", "2.13.0", [like, mine], rows, known)
    assert in_one(told, "2.13.0") == ("mends: old; breaks: new in 1 cell; all else as 2.13.0")
    same = record(key("a", "file:1"), failed(Oracle.VALUES), failed(Oracle.METADATA))
    again = difference("file:1", "2.13.0", [like, same], rows, known)
    assert in_one(again, "2.13.0") == "all as 2.13.0"
    ended = difference("file:1", "2.13.0", [like, stopped(mine.key)], rows, known)
    assert in_one(ended, "2.13.0") == (
        "breaks: completion error@clean: boom in 1 cell; "
        "not seen any more, since its cells end earlier: kept in 1 cell; "
        "not seen any more, since its cells end earlier: old in 1 cell; all else as 2.13.0"
    )


def test_a_candidate_in_which_a_defect_looks_otherwise_is_not_told_as_the_same():
    known = register(defect("old", Sign("values", "boom|bang")))
    rows = table(entry(defect="old"))
    like = record(key(), failed(Oracle.VALUES))
    mine = record(key("a", "file:1"), failed(Oracle.VALUES, "bang"))
    told = difference("file:1", "2.13.0", [like, mine], rows, known)
    assert in_one(told, "2.13.0") == "shows otherwise: old in 1 cell; all else as 2.13.0"


def test_a_release_is_told_in_defects_against_what_the_table_expects():
    known = register(
        defect("old", Sign("values", "boom")), defect("new", Sign("wiring", "boom")),
    )  # fmt: skip
    rows = table(entry(defect="old", subjects=RELEASES))

    def told(*found: Oracle) -> str:
        made = record(key("a", "2.15.0rc1"), *map(failed, found))
        return in_one(deviation("2.15.0rc1", [made], rows, known), "2.14.0")

    assert told(Oracle.VALUES) == "all as 2.14.0"
    assert told(Oracle.WIRING) == "mends: old; breaks: new in 1 cell; all else as 2.14.0"
    assert told(Oracle.VALUES, Oracle.METADATA) == (
        "breaks: metadata wrong-metadata@run: boom in 1 cell; all else as 2.14.0"
    )


def test_a_table_is_written_from_a_run_reviewed_and_accepted(tmp_path, capsys):
    run = [str(PUBLISHED)]
    assert expecting.expected_command(run, reviewing=True, folder=tmp_path) == 1
    told = capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    assert "?one-output-list" in told
    assert "facts are not decided" in told
    expecting.expected_command(run, update=True, accept=True, folder=tmp_path)
    made = read_table(tmp_path / "expected", undecided=True)
    committed = read_table(EXPECTATIONS / "expected")
    places = {entry.place for entry in committed.entries}
    asked = {entry for entry in made.entries if entry.place in places}
    right = sum(each in committed.entries for each in asked)
    assert right > 0.9 * len(asked)


def test_a_review_is_grouped_by_defect_and_by_release():
    known = register(defect("known", LIST), defect("other", Sign("wiring", "boom")))
    before = table(entry(subjects=RELEASES[:2]), releases=RELEASES[:2])
    after = table(
        entry(subjects=RELEASES[:2]), entry(Oracle.WIRING, subjects=("2.14.0",), defect="other")
    )
    told = review(before, after, known)
    assert "new releases: 2.14.0" in told
    assert "2.13.0 -> 2.14.0:" in told
    assert '  known: no row left; set fixed_in = "2.14.0"' in told
    assert "  other: new" in told
    assert review(after, after, known)[-1] == "nothing is expected otherwise"
    assert any(line.strip().startswith("?") for line in review(
        Table(), table(entry(defect="?")), known))  # fmt: skip


def test_the_absence_of_a_defect_is_not_told_alone_where_its_cells_fail_by_others(capsys):
    assert defects.defects_command("strided-cache-copied") == 0
    (line,) = [
        line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("2.13.0:")
    ]
    assert 'cannot be seen, as its cases fail by "' in line
