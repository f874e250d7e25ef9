"""Mends of models that have state: what is read, written back and declared of a buffer."""

from __future__ import annotations

from harness.mends.copied import COPIED_PROGRAM
from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_CONVERSION = "torch_tensorrt/dynamo/conversion/_conversion.py"
_COMPILER = "torch_tensorrt/dynamo/_compiler.py"
_ENGINE = "torch_tensorrt/dynamo/runtime/_TorchTensorRTModule.py"
_LIFTING = "torch_tensorrt/dynamo/lowering/_buffer_lifting.py"
_SAVE = "torch_tensorrt/_compile.py"

READ_TWICE = Mend(
    defects=("cache-read-twice",),
    idea="How many of an engine's outputs the graph around it reads is counted in the piece "
    "that it was made of, and kept with the engine's module. Up to now it was guessed from "
    "which outputs stand last and are aliased, and an updated cache that a later piece reads "
    "is such an output. It costs an attribute.",
    test="An updated cache that a fallback, or a second engine, reads: call the module twice.",
    uncovered="A module that is made of another one's state dict alone has no count, and guesses "
    "as before; the count would have to be added to the serialized engine.",
    goes_with=("input-taken-for-a-cache", "tuple-for-a-tensor"),
    patches=(
        Patch(
            file=_CONVERSION,
            edits=(
                Edit(
                    "convert_module",
                    "TorchTensorRTModule(...)",
                    "_with_its_outputs_counted(module, $found)",
                ),
            ),
            added=(
                '''
    def _with_its_outputs_counted(segment, engine):
        """The engine's module, which is told how many outputs its segment returns."""
        returned = next(node.args[0] for node in segment.graph.nodes if node.op == "output")
        engine.user_outputs = len(returned) if isinstance(returned, (list, tuple)) else 1
        return engine
    ''',
            ),
        ),
        Patch(
            file=_ENGINE,
            edits=(
                Edit(
                    "TorchTensorRTModule.forward",
                    "user_output_count(self.output_binding_names, self.aliased_io)",
                    'getattr(self, "user_outputs", None) or $found',
                ),
            ),
        ),
    ),
)

PACKING = Mend(
    defects=("nested-inputs-never-unpacked", "tuple-for-a-tensor", "copy-back-as-output"),
    idea="The compiled module gets a code generator that unpacks inputs and packs outputs by the "
    "model's own specifications, as that of a model without state has it. It is set last, when "
    "the state is no input of the graph any more, and hides what the former one hid. So a "
    "program by torch.export returns what the model does, and behind it the new values of its "
    "state. save() declares these as mutations by use_legacy_exporter=False too, with the "
    "function that it calls for retrace=True, where it had warned that it does not.",
    test="A model that writes to a buffer, takes a tuple or a dictionary, and returns one tensor: "
    "call it, save it by every call, load it, and call it twice.",
    uncovered='output_format="aot_inductor", which is warned of as before. A model with state that '
    "returns a class that torch cannot write to a file, and that was saved as a tuple, is refused "
    "now, as one without state is: the class has to be registered.",
    goes_with=("copy-back-in-memory", "copy-back-of-a-program", "argument-names-forgotten"),
    patches=(
        Patch(
            file=_COMPILER,
            edits=(
                Edit(
                    "compile",
                    "gm, lifted_buffers = lift_mutated_buffers(gm, settings)",
                    "user_codegen = gm.graph._codegen\n$found",
                ),
                Edit(
                    "compile",
                    "hide_copyback_outputs(...)",
                    """
                    $found
                    if lifted_buffers:
                        from torch_tensorrt.dynamo.lowering._buffer_lifting import (
                            _pack_as_the_model_does,
                        )

                        _pack_as_the_model_does(trt_gm, user_codegen)
                    """,
                ),
            ),
        ),
        Patch(
            file=_LIFTING,
            edits=(),
            added=(
                '''
    class _PackedAsTheModel(_HiddenCopybackOutputs, torch.fx.graph._PyTreeCodeGen):
        """Takes and returns what the model did; what is hidden from its caller stays hidden."""

        def __init__(self, pytree_info):
            torch.fx.graph._PyTreeCodeGen.__init__(self, pytree_info)
            self.num_hidden = 0

        def process_outputs(self, out):
            if not self.num_hidden:
                return super().process_outputs(out)
            return (super().process_outputs(out[: -self.num_hidden]), *out[-self.num_hidden :])


    def _pack_as_the_model_does(gm, user_codegen):
        """Give a module without its state as inputs the signature of the model."""
        info = getattr(user_codegen, "pytree_info", None)
        if info is None:
            return
        codegen = _PackedAsTheModel(info)
        if isinstance(gm.graph._codegen, _HiddenCopybackOutputs):
            vars(codegen).update(
                {
                    name: value
                    for name, value in vars(gm.graph._codegen).items()
                    if name in ("num_hidden", "buffers")
                }
            )
        gm.graph.set_codegen(codegen)
        gm.recompile()
    ''',
            ),
        ),
        Patch(
            edits=(
                Edit(
                    "_declare_aliased_kv_mutations_on_ep",
                    "new_out_spec = ...",
                    """
                    # What the model returns as one, and behind it the new values of its state.
                    _packed = module_call_graph[0].signature.out_spec.children()
                    _packed = _packed[: -len(copyback_buffers)]
                    new_out_spec = (
                        _packed[0]
                        if len(_packed) == 1
                        else pytree.tree_flatten(tuple(out_args))[1]
                    )
                    """,
                ),
            ),
        ),
        Patch(
            file=_SAVE,
            edits=(
                Edit(
                    "save",
                    'if not _use_legacy and output_format != "executorch" '
                    'and module.meta.get("_copyback_mutation_buffers"): ...',
                    """
                    _state = module.meta.get("_copyback_mutation_buffers")
                    if _state and not _use_legacy and output_format == "exported_program":
                        exp_program = _declare_aliased_kv_mutations_on_ep(
                            exp_program, copyback_buffers=_state
                        )
                    elif _state and not _use_legacy and output_format == "aot_inductor":
                        logger.warning(
                            "What is saved does not update the model's state, which aot_inductor "
                            "leaves undeclared by use_legacy_exporter=False"
                        )
                    """,
                ),
            ),
        ),
    ),
)

IN_MEMORY = Mend(
    defects=("copy-back-in-memory",),
    idea="The compiled module's forward copies the new values of its state into its buffers "
    "before it returns, where it had left them to whoever loads a saved program. The lines are "
    "written where the values are hidden from the caller, in the code that is generated; the "
    "graph stays as it is, so that save() sees what it saw. Where several buffers are written, "
    "the values are cloned first, since one may be what another buffer held. It costs the "
    "copies that the model itself makes. A file that is saved behind calls begins with the state "
    "that they left, as one of the model itself would.",
    test="A running mean, and two buffers that change places: call the compiled module twice.",
    uncovered="A module that is compiled under torch.inference_mode() and called outside of it, "
    "which raises where its state would be written.",
    patches=(
        Patch(
            file=_LIFTING,
            edits=(
                Edit(
                    "_HiddenCopybackOutputs.__init__",
                    "self.num_hidden = num_hidden",
                    "$found\nself.buffers = []",
                ),
                Edit(
                    "_HiddenCopybackOutputs.generate_output",
                    "if self.num_hidden and isinstance(output_args, (list, tuple)): ...",
                    """
                    copies = ""
                    if self.num_hidden and isinstance(output_args, (list, tuple)):
                        copies = _copies_into_buffers(
                            self.buffers,
                            output_args[-self.num_hidden :],
                            kwargs.get("repr_fn") or repr,
                        )
                        output_args = output_args[: -self.num_hidden]
                        kwargs.pop("descs", None)
                    """,
                ),
                Edit(
                    "_HiddenCopybackOutputs.generate_output",
                    "return str(...)",
                    "return copies + str(super().generate_output(output_args, *args, **kwargs))",
                ),
                Edit(
                    "hide_copyback_outputs",
                    "gm.graph.set_codegen(...)",
                    """
                    $found
                    gm.graph._codegen.buffers = gm.meta["_copyback_mutation_buffers"]
                    """,
                ),
            ),
            added=(
                '''
    def _copies_into_buffers(buffers, values, written):
        """Lines of Python that give buffers their new values, all of which are read first."""
        own = ".clone()" if len(buffers) > 1 else ""
        news = [
            f"_new_{at} = {name}.detach(){own}"
            for at, name in enumerate(map(written, values))
        ]
        copies = [
            f"self.get_buffer({name!r}).copy_(_new_{at})" for at, name in enumerate(buffers)
        ]
        return "".join(f"{line}\\n" for line in (*news, *copies))
    ''',
            ),
        ),
    ),
)

TOLD = Mend(
    defects=("aliased-outputs-untold",),
    idea="What an engine writes to is declared wherever a program is saved, and not only where "
    "executorch can be imported: what is read of the engine are names of its bindings, which "
    "the exporter reads itself then. What it declares stands in a copy of the graph, so that the "
    "program of whoever saves one stays as it is. It costs a reading of those names for each "
    "engine, and that copy where an engine writes to a cache, and spares "
    "each save but the first the import, which runs a module until it fails.",
    test="A KV cache, saved by torch.export in an environment without executorch: the signature "
    "has a mutation of the cache. An exported program of it, saved twice.",
    patches=(
        Patch(
            edits=(
                Edit(
                    "_declare_aliased_kv_mutations_on_ep",
                    "try: ...\nexcept ImportError: ...",
                    "read_engine_info = _reader_of_engines()",
                ),
                Edit(
                    "_declare_aliased_kv_mutations_on_ep",
                    "oi = out_names.index(out_name)",
                    """
                    if not hasattr(exp_program, "_its_own_graph"):
                        exp_program = _with_its_own_graph(exp_program)
                        exp_program._its_own_graph = True
                        return _declare_aliased_kv_mutations_on_ep(exp_program, copyback_buffers)
                    $found
                    """,
                ),
            ),
            added=(
                COPIED_PROGRAM,
                '''
    def _reader_of_engines():
        """What reads an engine; an import that fails is tried once, and not at each save."""
        if not hasattr(_reader_of_engines, "found"):
            try:
                from torch_tensorrt.executorch.backend import _get_engine_info_for_node
            except ImportError:
                _reader_of_engines.found = _names_and_aliases_of
            else:
                _reader_of_engines.found = _get_engine_info_for_node
        return _reader_of_engines.found


    def _names_and_aliases_of(exp_program, node, *, metadata_only):
        """The serialized fields of an engine's call; the engine's own bytes may be missing."""
        place = node.args[1]
        if place.op == "get_attr":
            engine = getattr(exp_program.graph_module, place.target)
        else:
            engine = _resolve_lifted_custom_obj(exp_program, place)
        if metadata_only and hasattr(engine, "serialize_metadata_only"):
            return list(engine.serialize_metadata_only())
        state = engine.__getstate__()
        return list(state[0] if isinstance(state, tuple) else state)
    ''',
            ),
        ),
    ),
)

NAMES = Mend(
    defects=("argument-names-forgotten",),
    idea="Where the program's call signature is built anew, the names of the arguments are handed "
    "on with the specification of the inputs. It costs nothing.",
    test="A running sum, and two inputs of one dynamic size: save with dynamic_shapes, load, and "
    "call the loaded program.",
    patches=(
        Patch(
            edits=(
                Edit(
                    "_declare_aliased_kv_mutations_on_ep",
                    "_sig0.in_spec if _sig0 is not None else None",
                    """
                    $found,
                    forward_arg_names=(
                        _sig0.forward_arg_names if _sig0 is not None else None
                    )
                    """,
                ),
            ),
        ),
    ),
)

STRIDED = Mend(
    defects=("strided-cache-copied",),
    idea="A buffer that is not contiguous is copied back, and is none for an engine to write to "
    "in place: both runtimes bind a contiguous copy of it. The write gets the mark that the "
    "converters read. It costs a copy of the buffer, of a write that was lost.",
    test="A KV cache in channels_last: the second call reads what the first one wrote.",
    uncovered="A contiguous buffer that its owner replaces by a strided one after compile().",
    goes_with=("copy-back-in-memory", "tuple-for-a-tensor"),
    patches=(
        Patch(
            file=_LIFTING,
            edits=(
                Edit(
                    "lift_mutated_buffers",
                    "will_alias = _kv_write_will_alias(...)",
                    """
                    $found
                    if will_alias and not buffer_tensor.is_contiguous():
                        new_value.meta["_trt_no_kv_alias"] = True
                        no_kv_alias_writes.append(new_value.name)
                        will_alias = False
                    """,
                ),
            ),
        ),
    ),
)

RETURNED = Mend(
    defects=("copies-still-returned",),
    idea="Who reads the copy into a buffer reads a clone of the value that is copied, before "
    "lifting erases the copy. It is a clone, since the value itself may become an output that "
    "stands for the buffer's new state, and the exporter tells such outputs by their node. It "
    "costs a copy of what is returned.",
    test="A model that returns the buffer that it has just written: call it twice, and save it "
    "with retrace=False.",
    uncovered="What is returned is a tensor of the same values, and not the buffer itself.",
    goes_with=("copy-back-in-memory", "tuple-for-a-tensor"),
    patches=(
        Patch(
            file=_LIFTING,
            edits=(
                Edit(
                    "lift_mutated_buffers",
                    "gm.graph.erase_node(copy_node)",
                    """
                    if copy_node.users:
                        with gm.graph.inserting_before(copy_node):
                            returned = gm.graph.call_function(
                                torch.ops.aten.clone.default, (new_value,)
                            )
                        returned.meta["val"] = new_value.meta["val"]
                        copy_node.replace_all_uses_with(returned)
                    $found
                    """,
                ),
            ),
        ),
    ),
)

STATE = (READ_TWICE, PACKING, IN_MEMORY, TOLD, NAMES, STRIDED, RETURNED)
