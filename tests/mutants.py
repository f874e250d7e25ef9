"""Mutants of a real inliner: 2.14.0's `_exporter.py` with one thing wrong in each.

Each is a defect that a person could make, or that an older release really had. The first text is
looked for in the release's file, and has to be there exactly once.
"""

import zipfile
from dataclasses import dataclass
from pathlib import Path

EXPORTER = "torch_tensorrt/dynamo/_exporter.py"


def source_of(wheel: Path | str) -> str:
    """The exporter in a release's wheel."""
    return zipfile.ZipFile(wheel).read(EXPORTER).decode()


@dataclass(frozen=True)
class Mutant:
    """One text in the place of another."""

    name: str
    right: str
    wrong: str

    def write(self, wheel: Path, folder: Path) -> Path:
        """The mutated file, below ``folder``."""
        source = source_of(wheel)
        assert source.count(self.right) == 1, f"{self.name}: {source.count(self.right)} places"
        path = folder / f"{self.name}.py"
        path.write_text(source.replace(self.right, self.wrong))
        return path


MUTANTS = (
    # wires
    Mutant(
        "fallback_inputs_reversed",
        "replace_all_uses_with(submodule_inputs[idx])",
        "replace_all_uses_with(submodule_inputs[-1 - idx])",
    ),
    Mutant(
        "first_input_for_all",
        "replace_all_uses_with(submodule_inputs[idx])",
        "replace_all_uses_with(submodule_inputs[0])",
    ),
    Mutant(
        "inputs_by_name_where_there_is_one",
        "replace_all_uses_with(submodule_inputs[idx])",
        "replace_all_uses_with("
        "next((node for node in gm.graph.nodes if node.name == submodule_placeholder.name), "
        "submodule_inputs[idx]))",
    ),
    Mutant(
        "inputs_in_the_order_of_the_graph",
        "submodule_inputs = gm_node.args\n",
        "submodule_inputs = [n for n in gm.graph.nodes if n in gm_node.args]\n",
    ),
    Mutant(
        "inputs_ignored",
        "copied_placeholder.replace_all_uses_with(submodule_inputs[idx])\n"
        "                    gm.graph.erase_node(copied_placeholder)",
        "pass",
    ),
    Mutant(
        "engine_inputs_reversed",
        "torch.ops.tensorrt.execute_engine.default,\n"
        "                    (trt_module_node.args, engine_node)",
        "torch.ops.tensorrt.execute_engine.default,\n"
        "                    (trt_module_node.args[::-1], engine_node)",
    ),
    Mutant("one_engine_for_all", 'engine_name = f"{name}_engine"', 'engine_name = "engine"'),
    # outputs
    Mutant("one_output_more_counts_as_one", "if num_outputs == 1:", "if num_outputs <= 2:"),
    Mutant(
        "fallback_outputs_reversed",
        "user.replace_all_uses_with(submodule_output[idx])",
        "user.replace_all_uses_with(submodule_output[-1 - idx])",
    ),
    Mutant(
        "fallback_outputs_by_order_of_use",
        "user.replace_all_uses_with(submodule_output[idx])",
        "user.replace_all_uses_with(submodule_output[getitem_users.index(user)])",
    ),
    Mutant(
        "tuple_of_a_fallback_kept_whole", "if isinstance(submodule_output, tuple):", "if False:"
    ),
    # state
    Mutant("parameters_forgotten", "_assign_attr(value, gm, key, _AttrKind.PARAMETER)", "pass"),
    Mutant("buffers_forgotten", "_assign_attr(value, gm, key, _AttrKind.BUFFER)", "pass"),
    Mutant(
        "a_buffer_lifted_as_a_constant",
        "input_kind = InputKind.BUFFER\n                        break",
        "break",
    ),
    Mutant(
        "no_persistent_flag",
        "persistent=(True if input_kind == InputKind.BUFFER else None)",
        "persistent=None",
    ),
    Mutant(
        "every_parameter_wants_a_gradient",
        "state_dict[name], requires_grad=param.requires_grad",
        "state_dict[name]",
    ),
    Mutant(
        "names_told_apart_by_their_dots",
        "const_placeholder_node.target = const_placeholder_node.name",
        "pass",
    ),
    # how it is called
    Mutant(
        "no_range_constraints",
        "range_constraints=range_constraints,\n        module_call_graph=module_call_graph,\n"
        "        constants=constants,\n    )\n\n    return trt_exp_program",
        "range_constraints={},\n        module_call_graph=module_call_graph,\n"
        "        constants=constants,\n    )\n\n    return trt_exp_program",
    ),
    # metadata
    Mutant(
        "metadata_of_an_engine_reversed",
        'trt_node.meta["val"] = trt_module_node.meta["val"]',
        'trt_node.meta["val"] = trt_module_node.meta["val"][::-1]',
    ),
    Mutant(
        "metadata_of_a_weight_in_other_strides",
        "lift_val, static_shapes=True",
        "lift_val.contiguous().new_empty(lift_val.shape[::-1]).permute("
        "*range(lift_val.dim())[::-1]), static_shapes=True",
    ),
    # twice
    Mutant(
        "other_names_every_time",
        "    gm.graph.lint()\n\n    return gm\n",
        "    global CALLS\n"
        "    CALLS = globals().get('CALLS', 0) + 1\n"
        "    next(n for n in gm.graph.nodes if n.op == 'call_function').name += f'_{CALLS}'\n"
        "    return gm\n",
    ),
)
