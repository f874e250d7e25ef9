"""A candidate's `export` is asked by itself unless it is the code of its release's."""

import pytest

from harness.rig.inliners.own_export import exports_alike

RELEASED = """
import copy
import torch
from torch_tensorrt._features import ENABLED


def export(gm, *, use_legacy_exporter=False):
    inlined = transform(gm, ENABLED)
    if use_legacy_exporter:
        return create_trt_exp_program(inlined)
    return torch.export.export(inlined)


def transform(gm, crossing=False):
    gm = copy.deepcopy(gm)
    inline_torch_modules(gm)
    return gm


def inline_torch_modules(gm):
    return gm


def create_trt_exp_program(gm, inputs=None):
    return gm
"""


def edited(old: str, new: str) -> str:
    assert old in RELEASED
    return RELEASED.replace(old, new)


@pytest.mark.parametrize(
    "candidate",
    [
        RELEASED,
        edited("gm = copy.deepcopy(gm)", "pass"),
        edited("def inline_torch_modules(gm):", "def inline_torch_modules(gm, helped=helper):"),
        edited("def inline_torch", "def helper():\n    export = 1\n\n\ndef inline_torch"),
        edited("import copy\n", "import copy\nimport itertools\n"),
        "# a comment\n" + RELEASED,
    ],
)  # fmt: skip
def test_an_edit_behind_the_calls_of_export_leaves_it_what_it_is(candidate):
    assert exports_alike(candidate, RELEASED)


@pytest.mark.parametrize(
    "candidate",
    [
        edited("if use_legacy_exporter:", "if not use_legacy_exporter:"),
        edited("def transform(gm, crossing=False)", "def transform(gm, crosses=False)"),
        edited("def transform(gm, crossing=False)", "def transform(gm, crossing=True)"),
        edited("def create_trt_exp_program(gm, inputs=None)", "def create_trt_exp_program(gm)"),
        edited("def transform", "@functools.cache\ndef transform"),
        edited("import torch\n", "from mine import torch\n"),
        edited("import ENABLED", "import DISABLED as ENABLED"),
        RELEASED + "\nexport = functools.cache(export)\n",
        RELEASED + "\nif True:\n    from mine import transform\n",
        RELEASED + "\nfrom mine import *\n",
        RELEASED + "\ndef torch():\n    pass\n",
        RELEASED + "\nfor create_trt_exp_program in [print]:\n    pass\n",
        edited("def export(", "def exports("),
    ],
)
def test_whatever_export_does_otherwise_or_calls_otherwise_is_seen(candidate):
    assert not exports_alike(candidate, RELEASED)
