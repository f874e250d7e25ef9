"""Whether a program is held against its split module bit for bit."""

import dataclasses

import pytest
import torch

from harness.rig.cell import judging
from harness.wire.vocabulary import Stage


@pytest.fixture
def prepared(prepared):
    found = prepared("relu_once")
    return dataclasses.replace(
        found,
        captured=dataclasses.replace(
            found.captured, case=dataclasses.replace(found.case, eager_tolerance=1e-4)
        ),
    )


def moved(reference, by):
    """What was returned, with every number ``by`` larger, as a share of it."""
    returned = [
        torch.utils._pytree.tree_map(lambda x: x * (1 + by), each) for each in reference.returned
    ]
    return dataclasses.replace(reference, returned=returned)


@pytest.mark.parametrize(
    ("of_a_user", "by", "found"),
    [
        (False, 0.0, []),
        (False, 1e-6, ["numbers differ"]),
        (True, 1e-6, []),
        (True, 1e-2, ["numbers differ"]),
    ],
)
def test_a_last_bit_is_a_difference_in_a_case_of_ours_and_none_in_a_model_of_a_user(
    prepared, monkeypatch, of_a_user, by, found
):
    monkeypatch.setattr(judging, "is_from_elsewhere", lambda _: of_a_user)
    got = moved(prepared.reference, by)
    findings = judging._from_reference(prepared, got, Stage.RUN, "")
    assert [finding.kind for finding in findings] == found
