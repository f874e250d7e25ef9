"""What a bench tells of the machine that it ran on, and of its own clock."""

import pytest

from harness.bench.machine import notes
from tests.bench.simulated import READY, plan_of, record


@pytest.mark.parametrize(
    ("ready", "told"),
    [
        ({"overhead_s": 6e-6}, "a timed region costs 6.0 µs of its own"),
        ({"cold_share": 0.5}, "load-cold is not cold: /tmp keeps files in memory"),
        ({"cold_share": None}, "load-cold is not cold: /tmp keeps files in memory"),
    ],
)
def test_a_process_that_measures_badly_is_told(tmp_path, ready, told):
    judged = record(tmp_path, plan_of("a"))
    assert not any(told in note for note in notes(judged.provenance, judged.samples))
    (session,) = judged.samples.sessions
    judged.samples.sessions[:] = [{**session, "ready": READY | ready}]
    assert any(told in note for note in notes(judged.provenance, judged.samples))
