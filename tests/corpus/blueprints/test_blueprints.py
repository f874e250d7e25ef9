import hashlib
import json
import os
import subprocess
import sys
from typing import Any

import pytest
import torch
import torch.utils._pytree as pytree
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.blueprints.blueprint import (
    VERSION,
    AttributeKind,
    BadBlueprint,
    Blueprint,
    Form,
    FormKind,
    Naming,
    from_json,
    packed,
    to_json,
    value,
)
from corpus.blueprints.build import build
from corpus.case import Family, all_cases, find_case
from tests.corpus.blueprints.draft import Draft, item, tuple_of

numbers = st.integers(min_value=-3, max_value=40)
names = st.text("abcdef_.W", min_size=1, max_size=8)


def of(kind: type) -> st.SearchStrategy[Any]:
    """Any record of a blueprint, by its annotations."""
    return st.from_type(kind)


forms = st.recursive(
    st.builds(value, numbers, numbers)
    | st.just(Form(FormKind.NONE))
    | st.builds(lambda number: Form(FormKind.NUMBER, number=number), numbers),
    lambda inner: st.builds(
        lambda kind, items: packed(kind, *items),
        st.sampled_from([FormKind.TUPLE, FormKind.LIST, FormKind.DICT]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=6,
)
st.register_type_strategy(Form, forms)
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))


@settings(max_examples=40)
@given(of(Blueprint))
def test_a_blueprint_comes_back_from_json_as_it_was(blueprint):
    assert from_json(json.loads(json.dumps(to_json(blueprint)))) == blueprint


def small() -> Blueprint:
    draft = Draft()
    x, y = draft.input("rows", 8), draft.input(8)
    draft.arguments += [value(x.at), packed(FormKind.LIST, value(y.at))]
    weight = draft.tensor("layer.weight", AttributeKind.HALF)
    pair = draft.engine([x, y], tuple_of(("add", 0, 1), ("times", 0, 2.0)))
    held = ("mul", ("to_float", 2), 0)
    last = draft.fallback(
        [item(pair, 1), item(pair, 0)],
        ("sub", held, 1),
        attributes=(weight,),
        naming=Naming.SEVERAL,
    )
    return draft.finished("small", "a small one for the tests", value(last.at))


def changed(**fields: Any) -> dict[str, Any]:
    return {**to_json(small()), **fields}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "version"),
        (changed(version=VERSION + 1), "not 2"),
        (changed(colour="red"), "unknown \\['colour'\\]"),
        (changed(steps=[{"kind": "motor"}]), "steps\\[0\\].kind"),
        (changed(steps=[{}]), "missing \\['kind'\\]"),
        (changed(inputs=[{"shape": [True]}]), "shape\\[0\\]"),
        (changed(inputs={}), "a list is wanted"),
        (changed(name=3), "str is wanted"),
    ],
)
def test_what_is_no_blueprint_is_refused_with_the_place(data, message):
    with pytest.raises(BadBlueprint, match=message):
        from_json(data)


def test_a_blueprint_says_what_is_built():
    program = build(small())
    split = program.split
    assert split is not None
    targets = [str(node.target) for node in split.graph.nodes if node.op == "call_module"]
    assert targets == ["_run_on_acc_0", "_run_on_gpu_1"]
    child = split.get_submodule("_run_on_gpu_1")
    assert child.layer.weight.dtype is torch.float16
    placeholders = [n.name for n in child.graph.nodes if n.op == "placeholder"]  # type: ignore[union-attr]
    parent = {node.name for node in split.graph.nodes}
    assert set(placeholders) <= parent - {"getitem", "getitem_1"}
    assert program.bounds is not None
    assert str(next(iter(split.graph.nodes)).meta["val"].shape[0]).startswith("s")


def test_inputs_follow_the_form_of_the_call():
    made = build(small()).inputs(torch.Generator().manual_seed(0), 5)
    assert [tuple(leaf.shape) for leaf in pytree.tree_leaves(made.args)] == [(5, 8), (8,)]
    assert isinstance(made.args[1], list)


def digest_of_one_that_is_built() -> str:
    split = find_case("drawn_lone_fallback").build().split
    assert split is not None
    held = [*split.named_parameters(), *split.named_buffers()]
    text = str(split.graph) + split.code + str([(name, tensor.tolist()) for name, tensor in held])
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_process_with_other_hashes_builds_the_same_module():
    module = "tests.corpus.blueprints.test_blueprints"
    ask = f"from {module} import digest_of_one_that_is_built as of; print(of())"
    done = subprocess.run(
        [sys.executable, "-c", f"print(hash('a')); {ask}"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ".", "PYTHONHASHSEED": "1", "PATH": ""},
    )
    other_hash, digest = done.stdout.split()
    assert int(other_hash) != hash("a") or os.environ.get("PYTHONHASHSEED") == "1"
    assert digest == digest_of_one_that_is_built()


@pytest.mark.parametrize(
    "case",
    [case for case in all_cases() if case.family is Family.FOUND],
    ids=lambda case: case.name,
)
def test_a_found_case_is_small_and_named_as_its_file_is(case):
    found = from_json(vars(case.build)["blueprint"])
    assert found.name == case.name
    assert len(found.steps) <= 6
