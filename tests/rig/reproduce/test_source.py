"""The source of a case's model, run by itself, makes the same model; no annotation is left."""

import ast
from typing import Any

import pytest
import torch

from corpus.case import find_case
from harness.rig.reproduce.source import NoSource, Source, model_source

FORMS = (
    "cache_in_one_engine",  # a base class and constants of its own module
    "attention_with_its_softmax_in_pytorch",  # a base class of another module
    "resnet_add_dynamic",  # given to a function that makes the program
    "mobilenet_hardswish_dynamic",  # an argument of the constructor
    "yolo_silu_dynamic",  # blocks of blocks
    "dataclass_both_ways",  # a container, which its module registers
    "chunk_halves@global-partitioner",  # a case made of another one
    "star_arguments",
)


def source_of(name: str) -> Source:
    case = find_case(name)
    torch.manual_seed(0)
    model = case.build().model
    assert model is not None
    return model_source(case, model)


def code_of(source: Source) -> str:
    made = f"model = {source.made}"
    return "\n".join([*source.imports, *source.definitions, *source.before, made])


@pytest.mark.parametrize("name", FORMS)
def test_the_source_by_itself_makes_the_model_of_the_case(name):
    names: dict[str, Any] = {"torch": torch, "__name__": "by_itself"}
    exec(code_of(source_of(name)), names)
    model, made = find_case(name).build().model, names["model"]
    assert model is not None
    assert str(made) == str(model)
    shapes = {key: value.shape for key, value in model.state_dict().items()}
    assert {key: value.shape for key, value in made.state_dict().items()} == shapes


@pytest.mark.parametrize("name", FORMS)
def test_the_source_names_neither_corpus_nor_harness_nor_types(name):
    code = code_of(source_of(name))
    assert "corpus" not in code
    assert "harness" not in code
    assert "->" not in code
    arguments = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.arg))
    assert [each.arg for each in arguments if each.annotation] == []


def test_a_model_that_a_function_makes_has_no_source():
    with pytest.raises(NoSource, match="does not name its model's class"):
        source_of("transposed_output")
