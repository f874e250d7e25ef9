"""The mended release, as its newest published run shows it: what is mended is gone.

What is left is torch's own, by design, mended in part, or has its reason in docs/mends.md: another
test holds that of every defect (`test_mends.py`).
"""

import pytest

from harness.gate.attribution import named_defects
from harness.mends.all import MENDS, WRITTEN_FOR
from harness.register.expected import read_expectations
from harness.runs.run_folder import RunFolder
from harness.toolchain.environment import PROJECT_ROOT

NAME = f"{WRITTEN_FOR}+mended"


@pytest.fixture(scope="module")
def known():
    return read_expectations()


@pytest.fixture(scope="module")
def left(known):
    """What its failures are: ids of defects, and the text of a failure that is none of these."""
    run = RunFolder.open(PROJECT_ROOT / f"results/published/2026-11-27-mended-{WRITTEN_FOR}")
    _, shown, _ = named_defects(
        NAME, WRITTEN_FOR, run.records().values(), known.table, known.register, {NAME: WRITTEN_FOR}
    )
    return {name for facts in shown.values() for name in facts.values()}


def test_whatever_fails_in_the_mended_release_is_a_known_defect(left, known):
    assert left <= known.register.by_id.keys()


def test_each_defect_that_is_mended_is_gone_from_every_cell_or_its_mend_says_what_is_left(left):
    assert left, "the run shows what has no mend, too"
    assert left & {name for mend in MENDS for name in mend.defects} == {
        name for mend in MENDS for name in mend.in_part
    }


def test_a_mend_in_part_is_of_one_of_its_defects_and_says_what_it_does_not_reach():
    for mend in MENDS:
        assert set(mend.in_part) <= set(mend.defects)
        assert mend.uncovered or not mend.in_part
