"""Reach of a cell, from what packages were seen to make of its model."""

from collections.abc import Mapping

import pytest

from harness.base.errors import UsageError
from harness.corpus_checks.lock import CorpusLock, read_lock, write_lock
from harness.gate.reach import asked_for, observed_reach, reach_in
from harness.wire.records import CaseInfo, CellKey
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import Reach, SplitSeen

SAME, OTHER, REFUSED = SplitSeen.SAME, SplitSeen.DIFFERENT, SplitSeen.REFUSED
RELEASES = ("2.7.0", "2.8.0", "2.9.0", "2.10.0")
SEEN: Mapping[str, Mapping[str, SplitSeen]] = {
    "model": {"2.7.0": SAME, "2.8.0": SAME, "2.9.0": REFUSED, "2.10.0": OTHER}
}
CASES = [
    CaseInfo(name, "a family", origin, "")
    for name, origin in (
        ("model", "exported"),
        ("unasked", "exported"),
        ("handmade", "handmade"),
        ("recorded", "product"),
    )
]


def reach(case: str, subject: str, lane: Lane = Lane.GRAPH, **likes: str) -> Reach:
    key = CellKey(case, "nonstrict", subject, Route.LEGACY, lane=lane)
    return observed_reach(CASES, SEEN, RELEASES, likes)(key)


def test_a_split_that_the_release_s_package_makes_too_is_the_product_s():
    assert reach("model", "2.8.0") is Reach.PRODUCT
    assert reach("model", "2.9.0") is Reach.EXPORTED
    assert reach("model", "2.10.0") is Reach.EXPORTED


def test_where_there_is_no_package_the_oldest_one_s_split_counts():
    assert reach("model", "2.3.0") is Reach.PRODUCT
    assert asked_for("2.6.1", RELEASES) == "2.7.0"
    assert asked_for("2.9.1", RELEASES) == "2.9.0"


def test_what_is_no_release_is_held_against_the_newest_or_what_it_is_like():
    assert reach("model", "name-matching") is Reach.EXPORTED
    assert reach("model", "mine", mine="2.8.0") is Reach.PRODUCT


def test_a_model_that_no_package_was_asked_about_is_an_exported_one():
    assert reach("unasked", "2.8.0") is Reach.EXPORTED


def test_a_handmade_split_is_nobody_s_and_a_recorded_one_the_product_s():
    assert reach("handmade", "2.8.0") is Reach.HANDMADE
    assert reach("recorded", "2.8.0") is Reach.PRODUCT


def test_a_cell_of_a_whole_package_is_the_product_s_whatever_it_makes_of_the_model():
    assert reach("model", "2.10.0", Lane.PACKAGE) is Reach.PRODUCT


def test_the_lock_says_nothing_of_a_users_own_case_whatever_it_is_named():
    lock = read_lock()
    name, release = next(
        (name, release)
        for name, seen in lock.seen.items()
        for release, what in seen.items()
        if what is SAME
    )
    cases = [CaseInfo(name, "a family", "exported", "")]
    cell = CellKey(name, "nonstrict", release, Route.LEGACY)
    assert reach_in(cases, ())(cell) is Reach.PRODUCT
    assert reach_in(cases, ("our_cases.py",))(cell) is Reach.EXPORTED


def test_the_lock_tells_in_ranges_what_packages_make_of_a_model(tmp_path):
    lock = CorpusLock("2.13.0", {}, RELEASES, SEEN)
    path = tmp_path / "corpus.lock"
    write_lock(lock, path)
    row = '{"case": "model", "same": "2.7.0 to 2.8.0", "different": "2.10.0", "refused": "2.9.0"}'
    assert path.read_text().splitlines()[1] == row
    assert read_lock(path) == lock


def test_a_range_of_releases_that_were_not_asked_is_a_damaged_lock(tmp_path):
    path = tmp_path / "corpus.lock"
    write_lock(CorpusLock("2.13.0", {}, RELEASES, SEEN), path)
    path.write_text(path.read_text().replace('"same": "2.7.0', '"same": "2.6.0'))
    with pytest.raises(UsageError, match="not a corpus lock"):
        read_lock(path)
