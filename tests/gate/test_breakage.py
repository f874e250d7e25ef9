"""What a candidate breaks is told by cause: a wrong wire is one, however its cells fail."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from harness.gate.breakage import Breakage, as_known, breakages
from harness.gate.findings import CellClass, Finding
from harness.wire.oracles import Oracle
from harness.wire.vocabulary import Stage
from tests.record_builders import defect, failed, key, register

FILE = "file:1a"


def finding(
    case: str,
    route: str,
    oracle: Oracle,
    message: str = "boom",
    stage: Stage = Stage.RUN,
    subject: str = FILE,
    like: Sequence[str] = (),
) -> Finding:
    verdict = failed(oracle, message, stage)
    defects = tuple(f"?{name}" for name in like)
    cell = key(case, subject, route)
    red = CellClass.UNEXPECTED_FAILURE
    return Finding(cell, red, "worse than 2.14.0", oracle, verdict, defects)


def wired(
    case: str, route: str = "export", message: str = "reads another engine output"
) -> Finding:
    return finding(case, route, Oracle.WIRING, message, Stage.INLINE_FALLBACKS, like=["by-name"])


def broken(*found: Finding, **pieces: int) -> tuple[Breakage, ...]:
    return breakages(sorted(found, key=lambda each: each.urgency), {FILE}, pieces)


def test_cells_of_cases_that_are_wired_wrongly_are_one_breakage_however_they_fail():
    (one,) = broken(
        wired("large"),
        finding("large", "export", Oracle.VALUES),
        finding("large", "legacy", Oracle.COMPLETION, "NotImplementedError: no"),
        wired("small", message="reads another model input; reads another engine output"),
        large=7,
        small=2,
    )
    assert (one.what, one.cells, one.cases) == (
        "wrong-wiring@inline-fallbacks",
        3,
        ("small", "large"),
    )
    assert one.forms[0] == "reads another engine output"
    assert set(one.forms[1:]) == {"reads another model input", "error@run", "wrong-values@run"}
    assert one.like == ("by-name",)
    assert (one.smallest.case, one.pieces, one.wire) == (
        "small",
        2,
        "evidence of reads another model input; reads another engine output",
    )
    assert one.words.startswith("wrong-wiring@inline-fallbacks (3 cells of 2 cases; shows as ")


def test_a_known_defect_is_told_by_its_title_and_what_fixed_it_and_any_other_by_its_name():
    known = register(defect("old", fixed_in="2.13.0", fixed_by="pytorch/TensorRT#1"))
    assert as_known(["old", "strange"], known) == [
        '"It is old" (fixed in 2.13.0 by TensorRT#1)',
        '"strange"',
    ]


def test_errors_of_one_type_are_one_breakage_and_those_of_another_are_another():
    found = broken(
        finding("a", "export", Oracle.COMPLETION, "KeyError: one"),
        finding("b", "export", Oracle.COMPLETION, "KeyError: two"),
        finding("c", "export", Oracle.COMPLETION, "TypeError: one"),
    )
    assert [(each.what, each.cells) for each in found] == [
        ("error@run: KeyError", 2),
        ("error@run: TypeError", 1),
    ]
    assert (found[0].smallest.case, found[0].pieces, found[0].wire) == ("a", 0, "")
    assert found[0].smallest.reason == "worse than 2.14.0"


def test_what_is_silently_wrong_comes_before_what_raises_although_it_is_less():
    raised = [finding(case, "export", Oracle.COMPLETION, "KeyError: one") for case in "abc"]
    silent = finding("d", "export", Oracle.VALUES)
    first, second = broken(*raised, silent)
    assert (first.what, second.what) == ("wrong-values@run", "error@run: KeyError")


def test_the_smallest_case_is_one_whose_wire_can_be_told():
    (one,) = broken(
        finding("tiny", "export", Oracle.VALUES, stage=Stage.INLINE_FALLBACKS),
        finding("wide", "legacy", Oracle.VALUES, stage=Stage.INLINE_FALLBACKS),
        tiny=1,
        wide=9,
    )
    assert (one.smallest.case, one.wire) == ("tiny", "")
    two = broken(wired("tiny", "legacy"), wired("uncounted"), tiny=1)
    assert two[0].smallest.case == "tiny"


def test_findings_of_releases_and_of_whole_cells_are_no_breakages():
    release = finding("a", "export", Oracle.VALUES, subject="2.14.0")
    missing = Finding(key("a", FILE), CellClass.MISSING, "no record")
    assert broken(release, missing) == ()


CELLS = st.lists(
    st.tuples(
        st.sampled_from("abcd"),
        st.sampled_from(["export", "legacy", "cross"]),
        st.sampled_from([Oracle.WIRING, Oracle.VALUES, Oracle.COMPLETION, Oracle.METADATA]),
    ),
    max_size=12,
)


@given(CELLS)
def test_every_red_cell_is_counted_in_one_breakage(drawn):
    found = [finding(case, route, oracle) for case, route, oracle in drawn]
    cells = {each.key for each in found}
    assert sum(each.cells for each in broken(*found)) == len(cells)
