"""Which cases go through which lane, and which of them only in a full run."""

from corpus.case import Origin, all_cases, find_case
from corpus.selection import CHOSEN, REAL_ENGINES, only_when_full

CASES = all_cases()
PACKAGED = [case for case in CASES if "package" in case.lanes]
VARIED = [case for case in CASES if "@" in case.name]


def test_every_model_goes_through_both_lanes_under_one_name_unless_it_says_otherwise():
    both = {case.name for case in CASES if case.lanes == ("graph", "package")}
    assert {"pr_4360", "relu_once", "bert_softmax"} <= both
    for case in CASES:
        if case.origin is Origin.EXPORTED and "package" not in case.lanes:
            # Lowering leaves no op that writes in place.
            assert any(name.split(".")[1].endswith("_") for name in case.fallback), case.name


def test_what_goes_through_the_package_lane_is_a_model_since_no_package_compiles_a_split():
    assert {case.origin for case in PACKAGED} == {Origin.EXPORTED}


def test_a_variant_changes_what_the_package_is_asked_and_nothing_else():
    assert len(VARIED) == 14
    for case in VARIED:
        model = find_case(case.name.partition("@")[0])
        assert case.settings or case.fallback != model.fallback
        assert not case.settings or case.fallback == model.fallback
        assert case.lanes == ("package",)
        assert case.build is model.build


def test_a_run_that_is_not_full_takes_the_chosen_models_through_the_packages():
    assert {case.name for case in PACKAGED} >= CHOSEN | REAL_ENGINES
    assert only_when_full(find_case("pr_4360")) == ()
    assert only_when_full(find_case("bert_softmax")) == ("package",)


def test_a_case_of_the_package_lane_alone_says_itself_whether_it_is_for_a_full_run():
    assert only_when_full(find_case("cache_in_one_engine")) == ()
    assert only_when_full(find_case("cache_written_twice")) == ("package",)
    assert only_when_full(find_case("drawn_0001")) == ("graph",)
