"""The table of defects in the page and in the Markdown."""

import dataclasses
import re

import pytest
from markupsafe import escape

from harness.gate.defect_table import ABSENT, HIDDEN, DefectTable, Part
from harness.gate.known import changes_in, known_in, known_lines
from harness.mends.all import mend_of
from harness.mends.judged import read_judged
from harness.register.defects import MODELS
from harness.register.expected import read_expectations
from harness.register.standing import Standings, State
from harness.report.model import ReportModel
from harness.report.pages import rendering
from harness.report.pages.report_page import COMMENT_LIMIT, markdown
from harness.report.sections.causes import CAUSES, SeenAs
from harness.report.sections.defects import (
    DEFECTS,
    by_call,
    changed_in,
    found_by,
    life,
    mark_words,
    models_of,
    shows_as,
    stretches,
)
from harness.runs.gpu_evidence import GpuEvidence, write_evidence
from harness.wire.oracles import Harm, Oracle
from harness.wire.vocabulary import Reach
from tests.gate.test_defect_table import NEWEST, made
from tests.report.conftest import full_run, undrawn_page


@pytest.fixture(scope="module")
def table() -> DefectTable:
    return made(reach=Reach.HANDMADE)


@pytest.fixture(scope="module")
def text(table: DefectTable) -> str:
    return undrawn_page(ReportModel(full_run().reported(defect_table=table)))


def test_each_defect_is_a_row_that_its_title_opens(text, table):
    for row in table.rows:
        assert text.count(f'<tr class="more" id="defect-{row.defect.id}"') == 1
        assert text.count(f'<th scope="row"><a href="#defect-{row.defect.id}"') == 1
    assert text.count('<tr class="defect"') == len(table.rows)


def test_a_defect_that_has_a_mend_tells_it_and_the_commands_that_write_and_judge_it(text, table):
    mended = [row.defect.id for row in table.rows if mend_of(row.defect.id) and row.last == NEWEST]
    assert mended
    assert text.count("<dt>a mend</dt>") == len(mended)
    assert "mend --only complex-of-reals --out DIR" in text
    assert f"run --mended {NEWEST} --only complex-of-reals" in text
    (judged, *_) = read_judged().values()
    assert f"<b>Judged alone</b>, on a CPU, in run {judged.run}: {judged.words}." in text


def test_a_defect_that_a_user_contributed_evidence_of_is_told_as_seen_on_a_gpu(
    table, tmp_path, monkeypatch
):
    row = table.rows[0]
    seen = GpuEvidence(
        *(NEWEST, NEWEST, "10.13", "NVIDIA L4", "580.1", "2026-11-25", "0" * 16),
        {"compile()": "silently wrong"},
        {row.defect.id: ["compile()"]},
    )
    told = f"NVIDIA L4, torch_tensorrt {NEWEST} with TensorRT 10.13"
    model = ReportModel(full_run().reported(defect_table=table))
    for words, files in (([], 0), ([told], 1)):
        if files:
            write_evidence(tmp_path / "one.json", seen)
        monkeypatch.setattr(rendering, "CONTRIBUTED", tmp_path)
        page = undrawn_page(model)
        assert re.findall("<dt>seen on a GPU</dt><dd>(.+?)</dd>", page) == words
    opened = page.partition(f'<tr class="more" id="defect-{row.defect.id}"')[2].partition("</tr>")
    assert told in opened[0]


def test_a_row_can_be_found_by_words_release_call_model_reach_change_and_harm(text, table):
    row = next(row for row in table.rows if row.defect.id == "strided-cache-copied")
    rows = re.findall(r'<tr class="defect" ([^>]*)>\s*<th scope="row"><a href="#([^"]*)"', text)
    (found,) = [given for given, name in rows if name == "defect-strided-cache-copied"]
    assert found.startswith('data-tones="2.3.0=none|')
    assert found.endswith(
        f'|2.13.0=hidden|2.14.0=silent" data-harm="{row.harm}" data-call="{"|".join(row.met_by)}" '
        'data-model="has a KV cache or other state" data-reach="models that are compiled" '
        'data-change="new in 2.14.0" data-fixed="" data-brought="#4251" '
        'data-words="strided-cache-copied #4251 has a KV cache or other state compile"'
    )


def test_the_first_screen_names_what_is_seen_first_now_and_counts_what_is_fixed_unseen(table):
    expectations = read_expectations()
    changes = changes_in(Standings(expectations.register, expectations.table), NEWEST)
    run = full_run().reported(defect_table=table, changes=changes)
    told = {each.asked: each for each in ReportModel(run).headline.answers}
    assert ("Cannot be seen" in told) is bool(table.of(Part.HIDDEN))
    first = told["Seen first now"]
    assert {item.defect for item in first.items} == {each.defect.id for each in changes.uncovered}
    fixed = {item.defect for item in told["Fixed defects"].items}
    unseen = [r for r in table.rows if r.defect.id in fixed and r.marks[-1].tone == HIDDEN]
    assert unseen
    assert f"({len(unseen)} where other defects stop {NEWEST})" in told["Fixed defects"].answer


def test_what_others_are_in_the_way_of_has_plain_names(table):
    expectations = read_expectations()
    standings = Standings(expectations.register, expectations.table)
    run = full_run().reported(defect_table=table, changes=changes_in(standings, NEWEST))
    page = undrawn_page(ReportModel(run))
    seen = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    for form in (seen, markdown(ReportModel(run))):
        assert not re.search(r"(?i)uncovered|hidden (by|behind|defect)|others hid", form)
        assert "Seen first now" in form
    for release in standings.releases[1:]:
        told = " ".join(known_lines(known_in(release, standings, lambda _: Reach.PRODUCT)))
        assert not re.search(r"uncover|hid", told)


def test_the_first_screen_lists_defects_by_harm_then_by_reach_then_by_calls_of_users(table):
    expectations = read_expectations()
    changes = changes_in(Standings(expectations.register, expectations.table), NEWEST)
    run = full_run().reported(defect_table=table, changes=changes)
    (new,) = [line for line in ReportModel(run).headline.answers if line.asked == "New defects"]
    rows = {row.defect.id: row for row in table.rows}
    listed = [rows[item.defect] for item in new.items]
    order = [(row.severity, list(Part).index(row.part), -row.user_calls) for row in listed]
    assert order == sorted(order)
    assert len({calls for *_, calls in order}) > 2


def test_what_brought_a_defect_what_mends_it_and_what_is_about_it_are_told_apart(table):
    told = {row.defect.id: life(row, table.newest) for row in table.rows}
    assert told["several-outputs"] == (
        "Fixed in 2.11.0 by pytorch/TensorRT#4079",
        "there from the first release on; see pytorch/TensorRT#3797, pytorch/pytorch#136322",
    )
    assert told["list-of-outputs"] == (
        "Alive in 2.14.0",
        "new in 2.11.0, brought by pytorch/TensorRT#4079",
    )
    assert told["size-into-engine"][0] == (
        "Alive in 2.14.0; fixed upstream by pytorch/TensorRT#4628, in no release yet"
    )
    assert told["own-input-returned"][1].endswith("see pytorch/TensorRT#4360")
    assert told["torch-29-parameters"][0] == "In 2.14.0 not asked"
    row = next(row for row in table.rows if row.defect.id == "several-outputs")
    first, *rest = row.standings
    late = (dataclasses.replace(first, state=State.NOT_ASKED), *rest)
    begins = life(dataclasses.replace(row, standings=late), table.newest)[1]
    assert begins.startswith(f"there from {rest[0].release} on, the first release asked; see ")


def test_the_calls_of_a_defect_say_which_to_save_with_first_and_retrace_where_a_release_needs_it(
    table,
):
    rows = {row.defect.id: row for row in table.rows}
    of = {"compile": ABSENT, "save(m, f)": ABSENT, "save(retrace=False)": "error"}
    row = dataclasses.replace(rows["several-outputs"], by_call=of, shown_in=("2.10.0",))
    right, wrong = by_call(row)
    assert right == ("avoided by", ABSENT, ("save(m, f)", "compile"))
    assert wrong == ("raises an error with", "error", ("save(retrace=False)",))
    old = dataclasses.replace(row, shown_in=("2.9.0", "2.10.0"))
    assert by_call(old)[0][2][0] == "save(m, f, retrace=True)"


def test_an_exception_is_told_before_a_wrong_wire_that_harms_as_much(table):
    row = next(row for row in table.rows if row.defect.id == "rows-for-outputs")
    causes = ReportModel(full_run().reported()).run.view(CAUSES)
    wrong = SeenAs(row.harm, Oracle.WIRING, "wrong-wiring@run", "reads an engine", 2, 0, 0)
    raised = SeenAs(row.harm, Oracle.COMPLETION, "error@save", "SerializeError: *", 1, 0, 0)
    milder = SeenAs(Harm.COSMETIC, Oracle.VALUES, "wrong-values@run", "structure differs", 9, 0, 0)
    cause = dataclasses.replace(causes.live[0], entries=(wrong, raised, milder))
    assert row.harm == Harm.ERROR
    assert shows_as(row, cause) == "SerializeError: *"
    assert shows_as(row, dataclasses.replace(cause, entries=(milder,))) == ""
    assert shows_as(row, None) == ""


def test_releases_in_which_the_same_is_seen_stand_together(table):
    (row,) = [row for row in table.rows if row.defect.id == "buffers-folded"]
    (was, tone), (now, gone) = stretches(row)
    assert (was[0], was[-1], tone) == ("2.7.0", "2.13.0", "silent")
    assert (now, gone) == (("2.14.0",), "ok")


def test_each_mark_is_told_in_words(text, table):
    row = table.of(Part.PRODUCT)[0]
    for column, mark in zip(table.columns, row.marks, strict=True):
        assert f'title="{escape(mark_words(mark, column, table.titles))}"' in text


def test_silent_defects_of_the_newest_release_stand_on_the_first_screen(text, table):
    first = text[text.index("<h1>") : text.index('id="defects"')]
    silent = [row for row in table.rows if row.last == table.newest and row.harm == "silent"]
    assert len(silent) > 3
    for row in silent:
        assert row.defect.title.replace("'", "&#39;") in first


def test_handmade_defects_are_folded(text):
    assert '<details class="part" id="defects-handmade">' in text
    assert '<div class="part" id="defects-product">' in text


def test_the_markdown_has_the_same_table_and_fits_a_comment(table):
    told = markdown(ReportModel(full_run().reported(defect_table=table)))
    assert len(told) < COMMENT_LIMIT
    for row in (*table.of(Part.PRODUCT), *table.of(Part.GONE)):
        assert re.sub(r"([\\`*_\[\]|~])", r"\\\1", row.defect.title).replace(">", "&gt;") in told
    assert f"{len(table.of(Part.HANDMADE))}, in `report.html`" in told


def test_a_run_whose_cases_no_table_knows_has_its_causes_in_place_of_the_table():
    model = ReportModel(full_run().reported())
    assert model[DEFECTS] is None
    assert "causes" in [section.name for section, _ in model.sections]
    with_table = ReportModel(full_run().reported(defect_table=made()))
    assert "causes" not in [section.name for section, _ in with_table.sections]


def test_what_begins_with_the_first_release_asked_is_new_only_if_its_cause_is_known(table):
    rows = {row.defect.id: row for row in table.rows}
    first, brought = rows["star-arguments-shapes"], rows["weight-before-an-input"]
    assert life(first, table.newest)[1] == "there from 2.11.0 on, the first release asked"
    assert changed_in(first) == ()
    assert changed_in(brought) == ("new in 2.11.0",)


def test_new_is_framed_alone_and_what_is_not_there_is_not_told_as_right(text):
    assert "framed: new in 2.14.0" in text
    row = text[text.index('id="defect-in-place-declared"') - 9000 :]
    assert 'class="t-error new"' not in row[: row.index('id="defect-in-place-declared"')][-3000:]
    assert "<b>✓</b> not there" in text


def test_a_card_does_not_deny_a_save_that_its_workaround_names(text):
    card = text[text.index('id="defect-cache-read-twice"') :][:3000]
    assert "so no save() was tried here" in card
    assert "no call saves it" not in card


def test_who_has_a_cache_is_told_of_every_defect_of_parts_that_are_written(table):
    parts = [row for row in table.rows if "slice-writes" in row.defect.models]
    assert parts
    for row in parts:
        assert {MODELS["state"], MODELS["slice-writes"]} <= {*models_of(row)}
        assert MODELS["state"] in found_by(row)


def test_a_call_that_shows_a_defect_with_the_legacy_exporter_alone_is_told_with_that_argument(
    table,
):
    def with_shapes(name):
        (row,) = [row for row in table.rows if row.defect.id == name]
        return {call for _, _, calls in by_call(row) for call in calls if "dynamic_shapes" in call}

    routes = {
        row.defect.id: {each.routes for each in row.standings if each.release == row.last}
        for row in table.rows
        if row.by_call["save(dynamic_shapes)"] in list(Harm)
    }
    legacy = {
        name
        for name, (of,) in routes.items()
        if "retrace-dynamic-legacy" in of and "retrace-dynamic" not in of
    }
    assert legacy
    assert legacy < routes.keys()
    for name in routes:
        argument = ", use_legacy_exporter=True" if name in legacy else ""
        assert with_shapes(name) == {f"save(dynamic_shapes{argument})"}


def test_what_compile_makes_silently_wrong_is_told_of_every_save_of_it(text, table):
    told = text.count("<code>compile</code>, and so with every save() of it")
    silent = [
        row
        for row in table.rows
        if row.calls == ("compile",) and row.by_call["compile"] in ("silent", "warned")
    ]
    assert told == sum(not row.defect.avoid for row in silent) > 0
