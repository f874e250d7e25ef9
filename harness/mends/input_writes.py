"""Mends of models that write to the tensors that their caller gave them."""

from __future__ import annotations

from harness.mends.complex_values import VALUE_BEHIND
from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_COMPILER = "torch_tensorrt/dynamo/_compiler.py"
_CREATE = "create_trt_exp_program"

WRITTEN = Mend(
    defects=(
        "input-write-removed",
        "input-write-without-metadata",
        "input-written-before-it-is-read",
    ),
    idea="compile() takes the copies into inputs out of the graph before lowering, as it takes "
    "those into buffers, and has their values returned behind the model's own outputs, so that "
    "no pass takes them for dead. When the graph is split and its engines are built, the values "
    "leave the outputs again, and the copies are put in front of them: behind every reader of "
    "the inputs, which a copy in a piece of its own might not be. The legacy exporter declares "
    "each copy as the mutation that it is. It costs the copies that the model itself makes.",
    test="A model that overwrites an input, one that writes to a slice of one, and one that "
    "writes to two inputs and returns one: the caller's tensors, in memory and by every save.",
    uncovered="torch.compile's backend and cross_compile_for_windows, which lower by themselves; "
    "and the module of a saved program that has state, given to save(retrace=False), into whose "
    "state torch copies (input-write-without-metadata). An input that is written and returned is "
    "returned as a tensor of the same values, and not as the caller's own. And inputs that require "
    "gradients, to which the model writes under torch.no_grad(): the copies are not under it.",
    in_part=("input-write-without-metadata",),
    patches=(
        Patch(
            file=_COMPILER,
            edits=(
                Edit(
                    "compile",
                    "gm = post_lowering(gm, settings)",
                    """
                    own_codegen = gm.graph._codegen
                    written_inputs = _return_what_inputs_become(gm)
                    $found
                    """,
                ),
                Edit(
                    "compile",
                    "trt_gm = compile_module(...)",
                    """
                    $found
                    _copy_into_inputs(
                        trt_gm, written_inputs, own_codegen, len(_copyback_mutation_buffers)
                    )
                    """,
                ),
            ),
            added=(
                '''
    def _return_what_inputs_become(gm):
        """Take copies into inputs out of the graph; their values are returned behind its outputs.

        Returns which inputs they are, by position.
        """
        inputs = [node for node in gm.graph.nodes if node.op == "placeholder"]
        output = next(node for node in gm.graph.nodes if node.op == "output")
        news = {}
        for node in list(gm.graph.nodes):
            if node.target is torch.ops.aten.copy_.default and node.args[0] in inputs:
                input_, value = node.args[:2]
                node.replace_all_uses_with(value)
                gm.graph.erase_node(node)
                news[inputs.index(input_)] = value
        if news:
            output.args = ((*output.args[0], *news.values()),)
            gm.graph.set_codegen(torch.fx.graph.CodeGen())  # the model's packs its own outputs
            gm.recompile()
        return list(news)


    def _copy_into_inputs(gm, positions, codegen, states):
        """Copy the last outputs into these inputs, and return the others by ``codegen``.

        The last ``states`` of the others become the model's state, as it was before the copies.
        """
        if not positions:
            return
        inputs = [node for node in gm.graph.nodes if node.op == "placeholder"]
        output = next(node for node in gm.graph.nodes if node.op == "output")
        returned = list(output.args[0])
        start = len(returned) - len(positions)
        with gm.graph.inserting_before(output):
            if states + len(positions) > 1:
                for at in range(start - states, len(returned)):
                    if not _is_of_an_engine(returned[at]):
                        own = gm.graph.call_function(torch.ops.aten.clone.default, (returned[at],))
                        own.meta["val"] = _value_behind(gm, returned[at])
                        returned[at] = own
            for position, value in zip(positions, returned[start:]):
                copy = gm.graph.call_function(
                    torch.ops.aten.copy_.default, (inputs[position], value)
                )
                copy.meta["val"] = inputs[position].meta.get("val")
        output.args = (tuple(returned[:start]),)
        gm.graph.set_codegen(codegen)
        gm.graph.lint()
        gm.recompile()


    def _is_of_an_engine(value):
        """Whether it is made anew in each call; all else may lie in an input that is written."""
        import operator

        made = value.args[0] if value.target is operator.getitem else value
        return made.op == "call_module" and "_run_on_acc" in made.target
    ''',
                VALUE_BEHIND,
            ),
        ),
        Patch(
            edits=(
                Edit(
                    _CREATE,
                    "input_nodes = ...",
                    "written_inputs = _take_out_copies_into_inputs(gm)\n$found",
                ),
                Edit(
                    _CREATE,
                    "trt_graph_signature = ...",
                    "$found\n"
                    "_declare_written_inputs(_output_node, trt_graph_signature, written_inputs)",
                ),
            ),
            added=(
                '''
    def _take_out_copies_into_inputs(gm):
        """The new values of inputs, by input; the copies are taken out of the graph."""
        news = {}
        place = {node: at for at, node in enumerate(gm.graph.nodes)}
        for node in place:
            if (
                node.target is torch.ops.aten.copy_.default
                and node.args[0].op == "placeholder"
                and max(node.args[0].users, key=place.get) is node
            ):
                input_, value = node.args[:2]
                node.replace_all_uses_with(value)
                gm.graph.erase_node(node)
                news[input_] = value
        return news


    def _declare_written_inputs(output, signature, news):
        """Return the new values of inputs behind those of buffers, declared as mutations."""
        specs = signature.output_specs
        at = sum(each.kind is OutputKind.BUFFER_MUTATION for each in specs)
        specs[at:at] = [
            OutputSpec(
                OutputKind.USER_INPUT_MUTATION, TensorArgument(name=value.name), input_.name
            )
            for input_, value in news.items()
        ]
        output.args = ((*output.args[0][:at], *news.values(), *output.args[0][at:]),)
    ''',
            ),
        ),
    ),
)

TRACED = Mend(
    defects=("input-write-traced-anew",),
    idea="Metadata is brought up to date without gradients, which nobody asks of it. It costs "
    "nothing.",
    test="index_copy_ of a Linear's output into an input that is returned, behind a constant that "
    "is folded, exported with gradients on.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/lowering/passes/_FakeTensorUpdater.py",
            edits=(
                Edit(
                    "FakeTensorUpdater.incremental_update",
                    "V.set_fake_mode(fake_mode)",
                    "torch.no_grad(), $found",
                ),
            ),
        ),
    ),
)

INPUT_WRITES = (WRITTEN, TRACED)
