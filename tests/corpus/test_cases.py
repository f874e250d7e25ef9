import itertools

import pytest
import torch
import torch.utils._pytree as pytree

import corpus.case
from corpus.case import Family, Inputs, Origin, Program, UnknownCase, all_cases, case, find_case
from corpus.inputs import floats

CASES = [case for case in all_cases() if not case.full]


def writes_to_its_state(model: torch.nn.Module, example: Inputs) -> bool:
    held = [*model.parameters(), *model.buffers()]
    before = [tensor.clone() for tensor in held]
    if before:
        with torch.no_grad():
            model.eval()(*example.args, **example.kwargs)
    return not all(map(torch.equal, before, held))


def test_the_corpus_is_what_it_is_meant_to_be():
    assert len(CASES) >= 16
    families = {case.family for case in all_cases()}
    assert families == set(Family)
    assert {"resnet_relu", "encoder_softmax"} <= {case.name for case in CASES}
    assert find_case("pr_4360").family is Family.ALTERNATING_RELU


#: It takes the last 0 rows, whatever the seed.
ABOUT_A_NUMBER = "rows_from_the_last_none_on"


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.slow if case.full else ()) for case in all_cases()],
    ids=lambda case: case.name,
)
def test_a_case_says_what_it_is_and_its_inputs_are_those_of_the_seed(case):
    assert 20 <= len(case.catches) <= 160
    assert not case.catches.endswith(".")
    torch.manual_seed(case.seed)  # as a run builds it, so that its weights are the same
    program = case.build()
    assert (program.split is not None) == (case.origin is not Origin.EXPORTED)
    assert case.dynamic is (program.bounds is not None)
    if "package" in case.lanes:
        assert program.model is not None
        example = program.inputs(torch.Generator().manual_seed(case.seed + 1), None)
        assert case.state is writes_to_its_state(program.model, example)

    def leaves(seed: int) -> list[torch.Tensor]:
        made = program.inputs(torch.Generator().manual_seed(seed), None)
        leaves = pytree.tree_leaves((made.args, dict(made.kwargs)))
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    assert all(map(torch.equal, leaves(1), leaves(1)))
    number = case.name == ABOUT_A_NUMBER  # which is its last input
    varied = slice(0, -1) if number else slice(None)
    assert not any(map(torch.equal, leaves(1)[varied], leaves(2)[varied]))


def test_seeds_of_cases_are_their_own():
    assert len({case.seed for case in CASES}) == len(CASES)


def test_an_unknown_case_is_named():
    with pytest.raises(UnknownCase, match="no_such_case"):
        find_case("no_such_case")


def test_a_program_has_either_a_model_or_a_split_module():
    with pytest.raises(ValueError, match="either a model or a split"):
        Program(floats((1,)))
    with pytest.raises(ValueError, match="ranges are those of dynamic_shapes"):
        Program(
            floats((1,)),
            model=torch.nn.Identity(),
            dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=8)},),
            shapes_for_save=({0: torch.export.Dim("fewer", min=2, max=4)},),
            bounds=(2, 4),
        )
    with pytest.raises(ValueError, match="go together"):
        Program(floats((1,)), model=torch.nn.Identity(), bounds=(1, 8))


def test_a_program_s_inputs_are_made_by_a_function():
    with pytest.raises(TypeError, match=r"are a tuple.*`lambda generator, size: Inputs\("):
        Program((torch.ones(1),), model=torch.nn.Identity())  # type: ignore[arg-type]


def test_a_case_s_family_is_one_of_those_that_there_are():
    with pytest.raises(TypeError, match=r"'our family', and has to be one of: Family\."):
        case("our family", catches="nothing")  # type: ignore[arg-type]


def test_the_digest_changes_with_any_source(tmp_path, monkeypatch):
    (tmp_path / "families").mkdir()
    (tmp_path / "case.py").write_text("")
    monkeypatch.setattr(corpus.case, "__file__", str(tmp_path / "case.py"))
    seen = [corpus.case.corpus_digest()]
    (tmp_path / "families" / "one.py").write_text("a = 1")
    seen.append(corpus.case.corpus_digest())
    (tmp_path / "families" / "one.py").write_text("a = 2")
    seen.append(corpus.case.corpus_digest())
    assert all(one != other for one, other in itertools.combinations(seen, 2))
