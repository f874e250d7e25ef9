"""What nothing gives to a file's code is found before that code runs."""

import pytest

from harness.mends.names import missing_imports, unknown_names

PACKAGE = {
    "torch_tensorrt/dynamo/utils.py": "import os\ndef prepare(): ...\nLIMIT = 3\n",
    "torch_tensorrt/dynamo/all.py": "from .utils import *\n",
    "torch_tensorrt/dynamo/__init__.py": "from .utils import prepare\n",
}


@pytest.mark.parametrize(
    ("code", "unknown"),
    [
        ("def f(): return pytree.tree_map", {"pytree"}),
        ("def f():\n  def g(): return state\n  return g", {"state"}),
        ("class A:\n  def f(self): return [each for each in values]", {"values"}),
        ("print(__name__, missing)", {"missing"}),
        ("import pytree\ndef f(): return pytree.tree_map, len", set()),
        ("def f(state):\n  def g(): return state\n  return g", set()),
        ("def f():\n  global made\n  made = 1\ndef g(): return made", set()),
        ("def f():\n  from a import b as c\n  return c", set()),
        ("from a import *\ndef f(): return whatever", set()),
    ],
)
def test_a_name_is_unknown_where_neither_module_nor_function_nor_python_binds_it(code, unknown):
    assert unknown_names(code) == unknown


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        ("from torch_tensorrt.dynamo.utils import later", {"later of torch_tensorrt.dynamo.utils"}),
        ("from torch_tensorrt.dynamo.gone import f", {"f of torch_tensorrt.dynamo.gone"}),
        ("from torch_tensorrt.dynamo.utils import prepare, LIMIT, os", set()),
        ("from torch_tensorrt.dynamo import prepare, utils", set()),
        ("from torch_tensorrt.dynamo.all import prepare", set()),
        ("from torch import later", set()),
    ],
)
def test_what_an_edit_imports_of_the_package_has_to_be_there(code, missing):
    assert missing_imports("", code, PACKAGE.get) == missing
    assert missing_imports(code, code, PACKAGE.get) == set()
