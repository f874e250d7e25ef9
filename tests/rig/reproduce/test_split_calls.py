"""A split that was put together by hand, as a script that calls what the package does with one."""

import ast
import re

import pytest

from corpus.case import find_case
from harness.rig.capture.capture import capture
from harness.rig.reproduce.code import Unwritable
from harness.rig.reproduce.failures import Differs
from harness.rig.reproduce.split_calls import split_calls
from harness.rig.reproduce.user_script import user_script
from harness.wire.routes import Route


def written(name: str, route: Route) -> str:
    calls = split_calls(capture(find_case(name), "nonstrict"), route)
    return user_script(calls, Differs("loaded", "numbers"), '"""It."""')


def test_a_script_holds_the_split_as_graphs_and_has_its_engines_converted_by_the_package():
    script = written("one_name_with_two_values", Route.NO_RETRACE)
    ast.parse(script)
    assert "Engine(" not in script
    assert script.count('root.register_parameter("weight"') == 2
    order = (
        "model = split().cuda()",
        ".propagate(*inputs)",
        "expected = ",
        "compiled = copy.deepcopy(model)",
        "convert_module(piece",
        "torch_tensorrt.save(",
        "returned = pytree",
    )
    assert [script.index(each) for each in order] == sorted(script.index(each) for each in order)
    assert "harness" not in script
    assert len(script.splitlines()) < 120


def test_a_node_that_is_given_by_keyword_stands_as_a_node_of_the_graph():
    script = written("fallback_with_a_keyword", Route.NO_RETRACE)
    ast.parse(script)
    assert re.search(r'"call_module", "_run_on_gpu_\d", \(.*\), {"\w+": \w+}, ', script)


def test_a_split_whose_calls_a_script_cannot_write_is_refused():
    with pytest.raises(Unwritable, match="keywords, or dynamic shapes at save"):
        written("drawn_0012", Route.NO_RETRACE_EXPORT)
