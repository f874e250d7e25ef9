"""Mends of state that is given to other state, returned as it was, or no ordinary buffer."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_COMPILER = "torch_tensorrt/dynamo/_compiler.py"
_LIFTING = "torch_tensorrt/dynamo/lowering/_buffer_lifting.py"
_GOES_WITH = ("copy-back-in-memory",)

PARAMETER = Mend(
    defects=("parameter-written",),
    idea="A parameter that forward writes to is lifted as a buffer is, where it had been passed "
    "over with a warning, and constant folding then executed the write. It costs nothing.",
    test="A frozen weight that forward multiplies by a half: call the compiled module twice, and "
    "look at the weight of the module that was compiled.",
    uncovered="The compiled module holds the weight as a buffer, and not as a parameter.",
    goes_with=_GOES_WITH,
    patches=(
        Patch(
            file=_LIFTING,
            edits=(
                Edit(
                    "lift_mutated_buffers",
                    "buffer_tensor = gm.get_buffer(buffer_name)",
                    "buffer_tensor = _state_named(gm, buffer_name)",
                ),
            ),
            added=(
                '''
    def _state_named(gm, name):
        """A buffer, or a parameter. Raises AttributeError if it is neither."""
        try:
            return gm.get_buffer(name)
        except AttributeError:
            return gm.get_parameter(name).detach()
    ''',
            ),
        ),
    ),
)

OLD_STATE = Mend(
    defects=("old-state-returned", "torch-state-in-turn"),
    idea="The model's own clone of state that is copied back is kept. Lowering had removed it, "
    "since it took the state for an input of which nobody keeps the old value. State that is "
    "returned or becomes other state without a clone is cloned where the state's reads are put "
    "in. An input that becomes state is cloned, too, without which torch.export.unflatten "
    "refuses the saved program. It costs the copy that the model itself makes.",
    test="A model that clones its state, overwrites it and returns the clone, or a slice of it: in "
    "memory, and saved by every call.",
    patches=(
        Patch(
            file="torch_tensorrt/dynamo/lowering/passes/remove_input_alias_fixing_clones.py",
            edits=(
                Edit(
                    "remove_input_alias_fixing_clones",
                    "node.op == 'placeholder' and len(node.users) == 1 "
                    "and list(node.users)[0].target == torch.ops.aten.clone.default",
                    '$found and "_copied_back" not in node.meta',
                ),
            ),
        ),
        Patch(
            file=_LIFTING,
            edits=(
                Edit(
                    "lift_mutated_buffers",
                    "copyback.append((new_value, buffer_name, replacement.name))",
                    '$found\nreplacement.meta["_copied_back"] = True',
                ),
                Edit(
                    "inline_lifted_buffers_into_gm",
                    "gm.graph.lint()",
                    "_clone_old_state(gm, set(buf_to_attr.values()))\n$found",
                ),
            ),
            added=(
                '''
    def _clone_old_state(gm, states):
        """Clone what is returned of these states as it is, and what becomes state as it is."""
        output = next(node for node in gm.graph.nodes if node.op == "output")
        returned = list(output.args[0])
        own = len(returned) - len(gm.meta.get("_copyback_mutation_buffers") or ())
        for at, value in enumerate(returned):
            kind = getattr(value, "op", "")
            is_state = kind == "get_attr" and value.target in states
            if not is_state and not (kind == "placeholder" and at >= own):
                continue
            # torch.export.unflatten writes state right behind the new value: so that comes last.
            last = gm.graph.inserting_before(output)
            with last if at >= own else gm.graph.inserting_after(value):
                returned[at] = gm.graph.call_function(torch.ops.aten.clone.default, (value,))
            returned[at].meta["val"] = value.meta["val"]
        output.args = (tuple(returned),)
    ''',
            ),
        ),
    ),
)

REPLACED = Mend(
    defects=("state-given-to-state",),
    idea="Where a state's read is replaced by the input that stands for it, it is replaced among "
    "the values that become other state, too. It costs nothing.",
    test="A delay line: one state takes what the other one was, before that one takes the input.",
    goes_with=_GOES_WITH,
    patches=(
        Patch(
            file=_LIFTING,
            edits=(
                Edit(
                    "lift_mutated_buffers",
                    "get_attr_node.replace_all_uses_with(replacement)",
                    """
                    $found
                    copyback = [
                        (replacement if value is get_attr_node else value, name, binding)
                        for value, name, binding in copyback
                    ]
                    """,
                ),
            ),
        ),
    ),
)

COMPLEX_STATE = Mend(
    defects=("complex-state-not-found",),
    idea="A state's input is found by its name though the rewriting of complex numbers has given "
    "it a suffix. It costs nothing.",
    test="A buffer of complex numbers that each call adds to, in memory and saved.",
    goes_with=_GOES_WITH,
    patches=(
        Patch(
            file=_LIFTING,
            edits=(
                Edit(
                    "inline_lifted_buffers_into_gm",
                    "if node.name not in placeholder_to_buf: ...",
                    """
                    name = node.name.removesuffix("_unpacked_complex")
                    if name not in placeholder_to_buf:
                        continue
                    """,
                ),
                Edit(
                    "inline_lifted_buffers_into_gm",
                    "buf_name = placeholder_to_buf[node.name]",
                    "buf_name = placeholder_to_buf[name]",
                ),
            ),
        ),
    ),
)

ANY_LAYOUT = Mend(
    defects=("state-of-other-strides",),
    idea="A state's specification is made without asking for a memory format, as that of inputs "
    "is in torch.compile's backend: an engine binds a contiguous copy of such a state, and its "
    "new value is copied back. It costs nothing.",
    test="A state that is laid out column by column, in memory and saved.",
    goes_with=_GOES_WITH,
    patches=(
        Patch(
            file=_COMPILER,
            edits=(
                Edit(
                    "compile",
                    "prepare_inputs(buffer_tensors)",
                    "prepare_inputs(buffer_tensors, disable_memory_format_check=True)",
                ),
                Edit(
                    "convert_exported_program_to_serialized_trt_engine",
                    "prepare_inputs(buffer_tensors)",
                    "prepare_inputs(buffer_tensors, disable_memory_format_check=True)",
                ),
            ),
        ),
    ),
)

READ_ELSEWHERE = Mend(
    defects=("old-cache-read-too-late",),
    idea="A cache whose old rows are read by anything but the write is copied back, and is none "
    "for an engine to write to in place: another piece may read it behind that engine. The write "
    "gets the mark that the converters read. It costs a copy of such a cache. Where the whole "
    "program is to be one engine, no piece can come behind it, and nothing is changed.",
    test="A model that multiplies its cache by a number that a fallback returns, and then writes "
    "rows into it: call it twice.",
    goes_with=("copy-back-in-memory", "cache-written-twice", "tuple-for-a-tensor"),
    patches=(
        Patch(
            file=_COMPILER,
            edits=(
                Edit(
                    "convert_exported_program_to_serialized_trt_engine",
                    "gm, lifted_buffers = lift_mutated_buffers(gm, settings)",
                    'gm.meta["_becomes_one_engine"] = True\n$found',
                ),
            ),
        ),
        Patch(
            file=_LIFTING,
            edits=(
                Edit(
                    "lift_mutated_buffers",
                    "if will_alias and not new_value.users: ...",
                    """
                    one_engine = gm.meta.get("_becomes_one_engine")
                    if (
                        will_alias
                        and not one_engine
                        and _is_read_beside(new_value.args[0], new_value)
                    ):
                        new_value.meta["_trt_no_kv_alias"] = True
                        no_kv_alias_writes.append(new_value.name)
                        will_alias = False
                    $found
                    """,
                ),
            ),
            added=(
                '''
    def _is_read_beside(cache, write):
        """Whether any other op reads a cache than this write and copies into the cache."""
        for node in cache.users:
            copies = node.target is torch.ops.aten.copy_.default and node.args[0] is cache
            if node.op == "call_function" and node is not write and not copies:
                return True
        return False
    ''',
            ),
        ),
    ),
)

STATE_AND_STATE = (PARAMETER, OLD_STATE, REPLACED, COMPLEX_STATE, ANY_LAYOUT, READ_ELSEWHERE)
