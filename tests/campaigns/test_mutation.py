"""Mutants differ from their file in one place, and leave alone what no program can see."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.campaigns.mutation import Operator, mutants_of

SOURCE = '''\
"""What it is for."""
import copy


def inline(graph: Graph, start: int = 0) -> Graph:
    """One docstring."""
    graph = copy.deepcopy(graph)
    for index, node in enumerate(graph.nodes):
        if node.op == "call_module" and start < 1:
            logger.debug("a message %s", node)
            with graph.inserting_before(node):
                inputs = [node.args[index], node.args[0]]
                node.replace(inputs, by=index)
        if not inputs:
            raise ValueError("a message")
    return graph
'''
BY_OPERATOR = {
    Operator.ARGUMENTS_SWAPPED: None,
    Operator.CALL_LEFT_OUT: "graph = graph",
    Operator.COMPARISON: "node.op != 'call_module'",
    Operator.CONDITION: "(not not inputs)",
    Operator.CONJUNCTION: "if (start < 1):",
    Operator.CONSTANT: "start: int = 1",
    Operator.INSERTION: "graph.inserting_after(node)",
    Operator.ITEM: "node.args[(index - 1)]",
    Operator.KEYWORD: "node.replace(inputs)",
    Operator.LOOP: "list(enumerate(graph.nodes))[::-1]",
    Operator.ORDER: "[node.args[0], node.args[index]]",
    Operator.RETURN: "return None",
    Operator.STATEMENT: "            pass",
}


@pytest.mark.parametrize("operator", [each for each, text in BY_OPERATOR.items() if text])
def test_every_operator_makes_the_mutant_that_its_name_tells_of(operator):
    made = [each.difference for each in mutants_of(SOURCE) if each.operator is operator]
    assert any(BY_OPERATOR[operator] in difference for difference in made), made


def test_arguments_are_swapped_where_there_are_two():
    (mutant,) = (m for m in mutants_of("f(a, b)") if m.operator is Operator.ARGUMENTS_SWAPPED)
    assert mutant.after == "f(b, a)"


def test_what_people_read_and_no_program_sees_is_left_alone():
    for mutant in mutants_of(SOURCE):
        for text in ("What it is for", "One docstring", "a message", "import", "Graph"):
            assert mutant.after.count(text) == SOURCE.count(text) or "raise" in mutant.difference


def test_the_lines_without_which_a_mutant_cannot_matter_are_those_of_its_statement():
    text = "def f(x):\n    y = g(\n        x,\n        1,\n    )\n    return y\n"
    assert {(m.first, m.last) for m in mutants_of(text) if m.operator is Operator.CONSTANT} == {
        (2, 4)
    }


def test_a_mutant_has_its_name_wherever_its_function_has_the_line_and_no_other_has_it():
    text = "def f(a, b):\n    g(a, b)\n    g(a, b)\n"
    longer = "def e(a, b):\n    g(a, b)\n\n" + text.replace("g(a, b)\n", "g(a, b)\n    h(b)\n", 1)
    names = [each.name for each in mutants_of(text)]
    assert len(set(names)) == len(names) == 4
    assert {each.name for each in mutants_of(longer) if "g(" in each.difference} > set(names)


@given(st.sampled_from(["x = é(1, 2)", "if a and b:\n    f(c[i])", "for a in (1, 2):\n    del a"]))
def test_every_mutant_is_python_has_a_name_of_its_own_and_differs_in_one_place(source):
    mutants = mutants_of(source)
    assert mutants
    assert len({each.name for each in mutants}) == len({each.after for each in mutants})
    for mutant in mutants:
        ast.parse(mutant.after)
        removed = [line for line in mutant.difference.splitlines() if line.startswith("-")]
        assert len(removed) == 1
