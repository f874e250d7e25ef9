"""The engine lane has the tables of the package lane, and nothing in them says emulated."""

import csv
import dataclasses
import io
import re

import pytest

from harness.catalogue.releases import ordered_subjects
from harness.gate.verdict import by_lane
from harness.report.pages.report_page import markdown
from harness.report.sections.matrix import MATRIX
from harness.report.sections.neighbours import CHANGES
from harness.report.sections.standing import HEADS, standing
from harness.report.sections.version_csv import version_csv
from harness.report.sections.version_matrix import VERSIONS
from harness.wire.routes import Lane
from tests.report.conftest import Run, full_run, undrawn_page
from tests.report.whole_packages import alone as lane_alone
from tests.report.whole_packages import with_engines, with_packages

TITLE = "In the engine lane by call: whole packages, with engines that run on a GPU"


@pytest.fixture
def alone() -> Run:
    return lane_alone(with_engines(full_run()), Lane.ENGINE)


@pytest.fixture
def merged() -> Run:
    """All three lanes, the graph's and the packages' in the pinned environment."""
    return with_engines(with_packages(full_run()))


def test_the_lane_alone_gives_its_tables_by_call_and_by_family(alone):
    alone.provenance["gpu"] = "NVIDIA L4"
    model = alone.model()
    (engines,) = model.packages
    assert engines.title == TITLE
    assert [row.name for row in engines.rows] == ["2.13.0 tensorrt", "2.14.0 tensorrt"]
    assert [row.tensorrt_ran for row in engines.rows] == ["11.0.0.114", "11.1.0.106"]
    first = engines.rows[0].cells[0]
    assert (first.family, first.ok, first.total, first.tone) == ("no-retrace", 0, 2, "silent")
    assert [row.subject for row in model[MATRIX].rows] == ["2.13.0", "2.14.0"]
    assert (
        model.scope
        == "engine lane on NVIDIA L4: 2 releases (2.13.0 to 2.14.0), 2 cases in 1 family"
    )


def test_the_lane_alone_is_a_whole_page_and_markdown_without_a_word_of_emulation(alone):
    model = alone.model()
    text = undrawn_page(model)
    assert text.index('<section id="engine"') < text.index('<section id="matrix"')
    assert '<a href="#engine">On a GPU</a>' in text
    assert 'id="latency"' not in text
    assert "Packages by families, all calls together</h2>" in text
    for form in (text, markdown(model)):
        assert TITLE in form
        assert "TensorRT builds the engines and runs them on a GPU." in form
        for wrong in ("emulated", "none ran", "no engine ran", "package lane", "graph lane"):
            assert wrong not in form.lower()


def test_the_first_screen_says_which_call_is_safest_on_a_gpu(alone):
    head = alone.model().headline
    assert head.words == "Torch-TensorRT 2.14.0 in place of 2.13.0: ship"
    assert head.why == "Each with the torch that it pins, on a GPU."
    told = {line.asked: line.answer for line in head.answers}
    assert told["Safest call"].startswith(
        "in 2.14.0 save(m, f): of 2 models silently wrong for none, right for 2"
    )
    assert not any("emulated" in line or "built" in line for line in head.not_checked)


def test_releases_are_compared_though_each_has_its_own_tensorrt(alone):
    model = alone.model()
    (step,) = model[CHANGES].neighbours
    assert (step.compared, step.fixed.cells) == (4, 2)
    (engines,) = model.packages
    # By this call 2.13.0 finished one case alone, and 2.14.0 is timed on the same.
    of = {(row.name, row.call.route): row.save for row in engines.measures}
    assert [of[f"{name} tensorrt", "no-retrace"].n for name in ("2.13.0", "2.14.0")] == [1, 1]


def test_several_tensorrt_versions_of_one_release_stay_apart(alone):
    for key in [key for key in alone.plan if key.subject == "2.14.0"]:
        other = dataclasses.replace(key, builder="tensorrt-11.2.0.1")
        alone.add(other, {}, seconds={}, steps=2)
    (engines,) = alone.model().packages
    assert [row.name for row in engines.rows] == [
        "2.13.0 tensorrt-11.0.0.114",
        "2.14.0 tensorrt-11.1.0.106",
        "2.14.0 tensorrt-11.2.0.1",
    ]
    assert {cell.total for row in engines.rows for cell in row.cells} == {0, 2}


def test_a_version_matrix_of_the_lane_has_one_block_a_kind_of_builder(alone):
    (block,) = alone.model()[VERSIONS]
    assert block.title == ("engine lane, matched environments, engines by tensorrt, run on a GPU")
    assert block.rows[1].step is not None
    assert (block.rows[1].step.against, block.rows[1].step.fixed) == (
        "2.13.0 tensorrt-11.0.0.114",
        2,
    )
    rows = list(csv.DictReader(io.StringIO(version_csv((block,)))))
    assert [(row["lane"], row["executor"], row["asked"]) for row in rows] == [
        ("engine", "cuda", "6"),
        ("engine", "cuda", "4"),
    ]


def test_beside_other_lanes_it_has_a_section_of_its_own_from_its_own_environments(merged):
    before, model = with_packages(full_run()).model(), merged.model()
    assert [of.lane for of in model.packages] == [Lane.PACKAGE, Lane.ENGINE]
    assert model.packages[0] == before.packages[0]
    assert model[MATRIX] == before[MATRIX]
    assert [of.emulated for of in model.packages] == [True, False]
    assert model.scope == f"{before.scope}; engine lane: 2 releases (2.13.0 to 2.14.0), 2 cases"
    text = undrawn_page(model)
    ids = re.findall(r'id="([^"]+)"', re.sub(r"<svg.*?</svg>", "", text, flags=re.S))
    assert len(ids) == len(set(ids))
    links = set(re.findall(r'href="#([^"]+)"', text))
    assert links <= set(re.findall(r'id="([^"]+)"', text))
    assert "Engines of 90 cells were emulated on a CPU." in model.headline.not_checked
    assert "Engines were emulated" not in text


def test_a_row_of_the_summary_frame_counts_cells_of_one_lane(merged):
    summary = merged.model().frames.summary
    here = summary[(summary["subject"] == "2.13.0") & (summary["route"] == "no-retrace")]
    assert dict(zip(here["lane"], here["total"], strict=True)) == {"package": 2, "engine": 2}


def test_the_standing_tells_each_release_call_by_call_under_its_own_head(alone):
    table = standing(alone.records, ordered_subjects(alone.subjects), by_lane)
    assert table.startswith(HEADS[Lane.ENGINE][0])
    two = "2.13.0 tensorrt-11.0.0.114 to 2.14.0 tensorrt-11.1.0.106"
    assert [line for line in table.splitlines() if line.startswith("| 2.")] == [
        "| 2.13.0 tensorrt-11.0.0.114 | `save(retrace=False)` | 0 of 2 | 1 | 0 | 1 | 0 |",
        "| 2.14.0 tensorrt-11.1.0.106 | `save(retrace=False)` | 2 of 2 | 0 | 0 | 0 | 0 |",
        "| 2.13.0 tensorrt-11.0.0.114 | `save(retrace=False, use_legacy_exporter=False)` "
        "| 1 of 2 | 0 | 0 | 0 | 1 |",
        f"| {two} | `save(m, f)` | 2 of 2 | 0 | 0 | 0 | 0 |",
    ]
