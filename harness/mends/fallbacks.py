"""Mends of how a fallback is inlined (`inline_torch_modules`, `copy_submodule_attributes`)."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_INLINE = "inline_torch_modules"
_COPY = "copy_submodule_attributes"
_ATTRIBUTE_OF = """
def _attribute_of(module, target):
    for part in target.split("."):
        module = getattr(module, part)
    return module
"""

_GIVE_VALUE = '''
    def _give_value_to_readers(gm, node, value):
        """Let the readers of a node read a value, which is a tree of nodes, in its place."""
        if isinstance(value, (tuple, list)):
            for user in list(node.users):
                if user.op == "call_function" and user.target is operator.getitem:
                    _give_value_to_readers(gm, user, value[user.args[1]])
                    gm.graph.erase_node(user)
        if node.users:
            node.replace_all_uses_with(value)
'''

OUTPUTS = Mend(
    defects=("list-of-outputs", "pair-in-a-pair", "tuple-read-whole"),
    idea="What a fallback returns is a tree of values, and a getitem of its call is a step "
    "down that tree. One function walks both together, so that lists and tuples in "
    "tuples are unpacked as a flat tuple is; a reader that no getitem stands for is "
    "given the whole value, which fx takes as an argument. It costs one pass over the "
    "readers of a call.",
    test="A fallback that returns a list, one that returns a pair in a pair, and one whose "
    "whole tuple another fallback takes: save(retrace=False), load, and compare.",
    patches=(
        Patch(
            edits=(
                Edit(
                    _INLINE,
                    "if isinstance(submodule_output, tuple): ...\nelse: ...",
                    "_give_value_to_readers(gm, gm_node, submodule_output)",
                ),
                Edit(_INLINE, "return gm", "_fold_reads_of_tuples(gm)\n$found"),
            ),
            added=(
                _GIVE_VALUE,
                '''
    def _fold_reads_of_tuples(gm):
        """Let who reads an item of a tuple of nodes read the node, as torch.export wants it."""
        for node in list(gm.graph.nodes):
            if node.target is operator.getitem and isinstance(node.args[0], (tuple, list)):
                node.replace_all_uses_with(node.args[0][node.args[1]])
                gm.graph.erase_node(node)
    ''',
            ),
        ),
    ),
)

INPUTS = Mend(
    defects=("own-input-returned",),
    idea="The copy of a fallback's graph is told beforehand which value each placeholder "
    "stands for, by position. So no placeholder is copied, none has to be erased, and "
    "an output that is an input is the caller's value itself. It costs nothing; it "
    "does less than before.",
    test="A fallback that returns its own input beside another output.",
    patches=(
        Patch(
            edits=(
                Edit(
                    _INLINE,
                    "val_map: Dict[Any, Any] = ...",
                    """
            val_map: Dict[Any, Any] = dict(
                zip(
                    (node for node in submodule.graph.nodes if node.op == "placeholder"),
                    submodule_inputs,
                )
            )
            """,
                ),
                Edit(_INLINE, "for idx, submodule_placeholder in ...: ...", ""),
            )
        ),
    ),
)

LOOKED_UP = Mend(
    defects=("fallback-looked-up-by-call",),
    idea="A call's target names the child; its own name is free, and a second call of the "
    "child has another one. It costs nothing.",
    test="A fallback that the graph calls twice, and one whose call has another name.",
    patches=(
        Patch(
            edits=(
                Edit(
                    _INLINE,
                    "submodule = getattr(gm, gm_node.name)",
                    "submodule = gm.get_submodule(gm_node.target)",
                ),
                Edit(_INLINE, '"_run_on_gpu" in gm_node.name', '"_run_on_gpu" in gm_node.target'),
            )
        ),
    ),
)

KEYWORDS = Mend(
    defects=("keyword-to-a-fallback",),
    idea="A call's keyword arguments are put behind its positional ones, in the order of "
    "the child's placeholders, whose targets are their names.",
    test="A fallback that is called with a keyword.",
    patches=(
        Patch(
            edits=(
                Edit(
                    _INLINE,
                    "submodule_inputs = gm_node.args",
                    "submodule_inputs = _arguments_by_position(submodule, gm_node)",
                ),
            ),
            added=(
                '''
    def _arguments_by_position(submodule, call):
        """All arguments of a call, in the order of the child's placeholders."""
        names = [node.target for node in submodule.graph.nodes if node.op == "placeholder"]
        by_name = (call.kwargs[name] for name in names[len(call.args) :] if name in call.kwargs)
        return (*call.args, *by_name)
    ''',
            ),
        ),
    ),
)

NAMES_APART = Mend(
    defects=("one-name-two-values",),
    idea="Before a fallback is copied, each of its attributes whose name the parent has "
    "for another value gets a name of its own. It stands before the copy, since the "
    "copied nodes refer to the names. Programs without such a collision keep their "
    "state dict's keys.",
    test="Two fallbacks whose weights share a name and differ in value.",
    patches=(
        Patch(
            edits=(
                Edit(
                    _INLINE,
                    "submodule_output = gm.graph.graph_copy(...)",
                    "_keep_names_apart(gm, submodule, gm_node.name)\n$found",
                ),
            ),
            added=(
                '''
    def _keep_names_apart(gm, submodule, prefix):
        """Rename what the child reads under a name that the parent has for another value."""
        missing = object()

        def value_of(module, target):
            for part in target.split("."):
                module = getattr(module, part, missing)
                if module is missing:
                    break
            return module

        reads = [node for node in submodule.graph.nodes if node.op == "get_attr"]
        for target in dict.fromkeys(node.target for node in reads):
            mine, taken = value_of(submodule, target), value_of(gm, target)
            if taken is missing or taken is mine:
                continue
            owner_name, _, name = target.rpartition(".")
            owner = submodule.get_submodule(owner_name)
            free = f"{prefix}_{target.replace('.', '_')}"
            while hasattr(submodule, free):
                free += "_"
            persistent = name not in owner._non_persistent_buffers_set
            is_buffer = name in owner._buffers
            delattr(owner, name)
            if is_buffer:
                submodule.register_buffer(free, mine, persistent=persistent)
            else:
                setattr(submodule, free, mine)
            for node in reads:
                if node.target == target:
                    node.target = free
    ''',
            ),
        ),
    ),
)

TIED = Mend(
    defects=("tied-name-in-one-fallback", "tied-name-as-constant"),
    idea="A tensor with two names is listed under both, when a fallback's state is copied "
    "and when it is lifted: `remove_duplicate=False`. Lifting takes parameters as they are "
    "(`keep_vars=True`), so that a name that nothing reads stays one, too, and a parameter of a "
    "user's own class stays what it is.",
    test="A fallback that reads one weight by two names, two fallbacks that read it by one "
    "each, a fallback that reads one of two names, and a parameter of a class of its own.",
    patches=(
        Patch(
            edits=(
                Edit(
                    _COPY,
                    "submodule.named_parameters()",
                    "submodule.named_parameters(remove_duplicate=False)",
                ),
                Edit(
                    _COPY,
                    "submodule.named_buffers()",
                    "submodule.named_buffers(remove_duplicate=False)",
                ),
                Edit("lift", "gm.state_dict()", "gm.state_dict(keep_vars=True)"),
                Edit(
                    "lift", "gm.named_parameters()", "gm.named_parameters(remove_duplicate=False)"
                ),
                Edit("lift", "gm.named_buffers()", "gm.named_buffers(remove_duplicate=False)"),
                Edit(
                    "lift",
                    "state_dict[name] = torch.nn.Parameter(...)",
                    "state_dict[name] = param",
                ),
            )
        ),
    ),
)

OTHER_ATTRIBUTES = Mend(
    defects=(
        "children-not-copied",
        "engine-in-a-fallback-left-behind",
        "plain-tensor-left-behind",
    ),
    idea="What a fallback's graph reads and is neither parameter nor buffer, which is a branch's "
    "graph module, an engine or a plain tensor, is set in the parent as well, under a name that "
    "is free there; a tensor as a buffer that is not persistent. Graphs that a fallback calls are "
    "put in the place of the call first. Lifting leaves modules where they are, as torch.export "
    "does.",
    test="torch.cond in a fallback; a program with engines that is compiled again; a split by "
    "hand whose fallback calls a graph module, and one whose fallback reads a plain tensor.",
    uncovered="A call of a module without a graph in a fallback: an exported program has no such "
    "node.",
    patches=(
        Patch(
            edits=(
                Edit(
                    _INLINE,
                    "submodule_placeholders = ...",
                    "_bring_what_is_no_state(gm, submodule, val_map, gm_node.name)\n$found",
                ),
                Edit("transform", "inline_trt_modules(...)", "_flatten_fallbacks(gm)\n$found"),
                Edit(
                    "lift",
                    'node.op == "get_attr"',
                    "$found and not isinstance(_attribute_of(gm, node.target), torch.nn.Module)",
                ),
            ),
            added=(
                _ATTRIBUTE_OF,
                '''
    def _flatten_fallbacks(gm):
        """Put what fallbacks call in its place, before anything of it is taken for dead code."""
        for name, child in gm.named_children():
            if "_run_on_gpu" in name and isinstance(child, torch.fx.GraphModule):
                _inline_called_graphs(child)


    def _inline_called_graphs(module):
        """Put the nodes of the graph modules that a module's graph calls in their place."""
        for call in list(module.graph.nodes):
            child = module.get_submodule(call.target) if call.op == "call_module" else None
            if not isinstance(child, torch.fx.GraphModule):
                continue
            _inline_called_graphs(child)
            inputs = [node for node in child.graph.nodes if node.op == "placeholder"]
            by_name = [call.kwargs[node.target] for node in inputs[len(call.args) :]]
            copies = dict(zip(inputs, (*call.args, *by_name)))
            with module.graph.inserting_before(call):
                value = module.graph.graph_copy(child.graph, copies)
            for node, copied in copies.items():
                if node.op == "get_attr":
                    copied.target = f"{call.target}.{node.target}"
            _give_value_to_readers(module, call, value)
            module.graph.erase_node(call)
    ''',
                _GIVE_VALUE,
                '''
    def _bring_what_is_no_state(gm, submodule, copies, prefix):
        """Set what the child's graph reads, beside parameters and buffers, in the parent."""
        state = dict(submodule.named_parameters(remove_duplicate=False))
        state.update(submodule.named_buffers(remove_duplicate=False))
        for node, copied in list(copies.items()):
            if node.op != "get_attr" or node.target in state or not node.users:
                continue
            value = _attribute_of(submodule, node.target)
            name = node.target.replace(".", "_")
            if name in state or getattr(gm, name, value) is not value:
                name = f"{prefix}_{name}"
            if isinstance(value, torch.Tensor):
                gm.register_buffer(name, value, persistent=False)
            else:
                setattr(gm, name, value)
            copied.target = name
    ''',
            ),
        ),
    ),
)

NOT_PERSISTENT = Mend(
    defects=("non-persistent-kept", "engine-in-a-submodule"),
    idea="A buffer that is not persistent stays so in the parent, and is declared so: its "
    "value goes with the program's constants, as torch.export has it. Such constants, and "
    "engines, are looked up along their path, as torch.export names them. It costs nothing.",
    test="A fallback with a non-persistent buffer: the state dict of what is loaded lacks it. A "
    "module that calls a compiled one: export it, and save its module with retrace=False.",
    patches=(
        Patch(
            edits=(
                Edit(
                    _COPY,
                    "_assign_attr(value, gm, key, _AttrKind.BUFFER)",
                    "_assign_attr(value, gm, key, _AttrKind.BUFFER, key in submodule.state_dict())",
                ),
                Edit(
                    "lift",
                    "input_kind = InputKind.CUSTOM_OBJ",
                    """
            input_kind = (
                InputKind.BUFFER
                if isinstance(constants[node.target], torch.Tensor)
                else InputKind.CUSTOM_OBJ
            )
            """,
                ),
                Edit(
                    "lift",
                    "True if input_kind == InputKind.BUFFER else None",
                    "node.target in state_dict if input_kind == InputKind.BUFFER else None",
                ),
                Edit("lift", "getattr(gm, node.target)", "_attribute_of(gm, node.target)"),
            ),
            added=(_ATTRIBUTE_OF,),
        ),
    ),
)

EFFECTS = Mend(
    defects=("effect-deleted",),
    idea="Before dead code is removed, each fallback that has an op with an effect, which is a "
    "write or a random draw, is marked as one that has an effect itself, which is what fx asks "
    "for. Such a model no longer loses the write in silence.",
    test="A fallback that only writes to a buffer: the program has the write, or save() raises. "
    "One that only draws a random number: the program draws it.",
    uncovered="The write stands in place, and ExportedProgram takes functional ops alone: "
    "save(retrace=False) raises with the signs of in-place-declared, and saves no "
    "program that is wrong. To have it saved, the fallback would have to be made "
    "functional, which is lowering's work.",
    patches=(
        Patch(
            edits=(
                Edit(
                    _INLINE,
                    "gm.graph.eliminate_dead_code()",
                    "_remove_dead_code_without_effects(gm)",
                ),
            ),
            added=(
                """
    def _remove_dead_code_without_effects(gm):
        for _, child in gm.named_children():
            if isinstance(child, torch.fx.GraphModule):
                child._is_impure = any(
                    node.op == "call_function" and node.is_impure() for node in child.graph.nodes
                )
        gm.graph.eliminate_dead_code()
    """,
            ),
        ),
    ),
)

FALLBACKS = (
    EFFECTS,
    OUTPUTS,
    INPUTS,
    LOOKED_UP,
    KEYWORDS,
    NAMES_APART,
    TIED,
    OTHER_ATTRIBUTES,
    NOT_PERSISTENT,
)
