"""Mends of engines' profiles: the smallest, the usual and the largest size of each dimension."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

USUAL = Mend(
    defects=("usual-size-beyond-the-largest",),
    idea="The usual size is the mean of the smallest and the largest one, as the message beside "
    "it says. It costs nothing.",
    test="A model of which an engine gets 16 to 20 rows that a mask selects: its profile's "
    "sizes are 16, 18 and 20.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/partitioning/common.py",
            edits=(
                Edit(
                    "construct_dynamic_input",
                    'int(unwrapped_min_max_opt["min"] + unwrapped_min_max_opt["max"] / 2)',
                    '(unwrapped_min_max_opt["min"] + unwrapped_min_max_opt["max"]) // 2',
                ),
            ),
        ),
    ),
)

CLAMPED = Mend(
    defects=("example-outside-the-range",),
    idea="The usual size, which is the example's, is moved into the range that the user states, as "
    "the smallest and the largest size are. It costs nothing.",
    test="A model exported with two rows and Dim.DYNAMIC, and compiled for Input(min_shape=(3, 8), "
    "opt_shape=(6, 8), max_shape=(12, 8)).",
    uncovered="The opt_shape of the Input is still not asked: user_symbol_bounds holds no more "
    "than smallest and largest sizes.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/utils.py",
            edits=(
                Edit(
                    "extract_var_range_info",
                    'min_max_opt["opt"] = int(var_val)',
                    """
                    at_most = int(var_val) if max_val is None else min(int(var_val), max_val)
                    min_max_opt["opt"] = max(min_val, at_most)
                    """,
                ),
            ),
        ),
    ),
)

RENAMED = Mend(
    defects=("range-of-a-renamed-argument",),
    idea="Inputs are looked up by the target of their placeholder, which is the argument's name "
    "whatever the graph calls the node. It costs nothing.",
    test="torch.nn.Sequential, whose argument is called input, exported with Dim.DYNAMIC: its "
    "engine takes as many rows as the max_shape of the Input.",
    uncovered="An Input that is wider than its program is refused of such an argument, too, as it "
    "is of every other.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/_compiler.py",
            edits=(
                Edit(
                    "_build_user_symbol_bounds",
                    '{n.name: n for n in gm.graph.nodes if n.op == "placeholder"}',
                    '{n.target: n for n in gm.graph.nodes if n.op == "placeholder"}',
                ),
            ),
        ),
    ),
)

PROFILES = (USUAL, CLAMPED, RENAMED)
