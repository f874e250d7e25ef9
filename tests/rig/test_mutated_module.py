"""A mutant takes the place of its module as if it had been imported there."""

import types

import pytest

from harness.rig.workers.mutants import replace_module


def test_what_a_mutant_leaves_out_is_not_there_any_more(tmp_path):
    """A module that is run over its former self would keep a statement that was left out."""
    module = types.ModuleType("package_of_its_own.mutated")
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text("said = 'hello'\ndef say(): return said\n")
    after.write_text("def say(): return said\n")
    replace_module(module, before)
    assert module.say() == "hello"
    replace_module(module, after)
    with pytest.raises(NameError, match="said"):
        module.say()
