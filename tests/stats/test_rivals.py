"""The other rules, as they are used in the field."""

import numpy as np

from harness.bench.selftest import pooled_t_differs, pyperf_differs, slower, threshold_differs


def test_the_threshold_looks_at_medians_alone():
    assert threshold_differs([1.0] * 5, [1.06] * 5)
    assert threshold_differs([1.06] * 5, [1.0] * 5)
    assert not threshold_differs([1.0] * 5, [1.04] * 5)


def test_pooled_calls_of_workers_that_differ_are_taken_for_evidence():
    """Why they are rivals: five unlike workers a side, and nothing else differs."""
    generator = np.random.default_rng(1)
    wrong = 0
    for _ in range(100):
        levels = generator.normal(1, 0.04, (2, 5, 1))
        one, other = (levels + generator.normal(0, 0.005, (2, 5, 20))).reshape(2, -1)
        wrong += pooled_t_differs(list(one), list(other))
    assert wrong > 30


def test_pyperf_is_the_same_test_and_more_easily_convinced():
    generator = np.random.default_rng(2)
    for _ in range(50):
        one, other = generator.normal(1, 0.1, (2, 20))
        assert pyperf_differs(list(one), list(other)) or not pooled_t_differs(
            list(one), list(other)
        )


def test_slower_is_of_means():
    assert slower([1.0, 1.0], [1.0, 1.2])
    assert not slower([1.0], [1.0])
