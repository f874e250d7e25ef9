"""Mends of the way back from cross compiling (`replace_execute_engine_no_op_node`)."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.engines import getitems_by_argument
from harness.mends.mend import Mend, Patch

_BACK = "replace_execute_engine_no_op_node"

WAY_BACK = Mend(
    defects=("cross-unread-output", "cross-engine-no-constant", "cross-no-engine"),
    idea="The op tells a stand-in for an engine, and not a part of a node's name, which a "
    "getitem of it has as well. The engine is lifted as `lift` does it: a placeholder, an "
    "entry in the signature and in the constants, so that the program can be saved again. A "
    "program without an engine comes back as it is, and a getitem says by its own argument "
    "which output it reads.",
    test="Cross-compile a model with an unread engine output, one without any engine, and a "
    "relu; load each, run it, and save it once more.",
    uncovered="`save_cross_compiled_exported_program`, which has to ask for the legacy "
    "exporter first (cross-without-inputs).",
    patches=(
        Patch(
            edits=(
                Edit(
                    _BACK,
                    'if "no_op_placeholder_for_execute_engine" in node.name: ...',
                    """
        if node.target is torch.ops.tensorrt.no_op_placeholder_for_execute_engine.default:
            no_op_placeholder_nodes.append(node)
        """,
                ),
                Edit(_BACK, "assert len(no_op_placeholder_nodes) > 0", ""),
                Edit(
                    _BACK,
                    "setattr(gm, engine_name, trt_engine)",
                    "exp_program.constants[engine_name] = trt_engine",
                ),
                Edit(
                    _BACK,
                    "engine_node = gm.graph.get_attr(engine_name)",
                    "engine_node = _lifted_engine(exp_program, engine_name)",
                ),
                getitems_by_argument(_BACK),
            ),
            added=(
                '''
    def _lifted_engine(exp_program, name):
        """A placeholder for an engine before the user's inputs, with its entry in the signature."""
        graph, specs = exp_program.graph_module.graph, exp_program.graph_signature.input_specs
        users = (at for at, spec in enumerate(specs) if spec.kind == InputKind.USER_INPUT)
        place = next(users, len(specs))
        with graph.inserting_before(list(graph.nodes)[place]):
            node = graph.placeholder(name)
        argument = CustomObjArgument(name=node.name, class_fqn="")
        specs.insert(place, InputSpec(InputKind.CUSTOM_OBJ, argument, name))
        return node
    ''',
            ),
        ),
    ),
)

CROSSING = (WAY_BACK,)
