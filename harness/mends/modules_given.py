"""Mends of how `torch_tensorrt.compile` exports a module that it is given."""

from __future__ import annotations

from harness.mends.edits import Edit
from harness.mends.mend import Mend, Patch

_TRACER = "torch_tensorrt/dynamo/_tracer.py"
_SAVE = "torch_tensorrt/_compile.py"
_UTILS = "torch_tensorrt/dynamo/utils.py"
_AS_GIVEN = '''
    def _as_given(container: Any, items: Any) -> Any:
        """These items as the list, tuple or named tuple that the container is."""
        made = type(container)
        return made(*items) if hasattr(container, "_fields") else made(items)
    '''

SIZES_OF_THEIR_OWN = Mend(
    defects=("one-name-for-all-sizes",),
    idea="A size of an Input without a name is called by that Input, and so is no other's size. "
    "Where torch.export says that the model takes it as equal to another, those of one dimension "
    "and one range are taken for one, as before. That costs a second export, there alone. save() "
    "takes those for one that are one in the compiled graph, since engines hide what ties them.",
    test="Two Inputs without names, with one range and with two, called with two sizes; and a "
    "model that adds the two up, which is then saved with these Inputs.",
    uncovered="Of three sizes of one range, of which the model takes two as equal, all three are "
    "tied, as before.",
    patches=(
        Patch(
            file=_TRACER,
            edits=(
                Edit("get_dynamic_shapes", "input.name", '(input.name or f"unnamed{id(input)}")'),
                Edit(
                    "trace",
                    "exp_program = export(...)",
                    """
                    try:
                        $found
                    except torch._dynamo.exc.UserError:
                        tied = _tied(dynamic_shapes)
                        if tied == dynamic_shapes:
                            raise
                        exp_program = export(
                            mod,
                            tuple(torch_arg_inputs),
                            kwargs=torch_kwarg_inputs,
                            dynamic_shapes=tied,
                            strict=kwargs.get("strict", False),
                        )
                    """,
                ),
            ),
            added=(
                '''
    def _tied(shapes: Any, axis: Any = None) -> Any:
        """The same, with one size for all unnamed ones of one dimension and one range."""
        if isinstance(shapes, dict):
            return {key: _tied(each, key) for key, each in shapes.items()}
        if isinstance(shapes, (list, tuple)):
            return _as_given(shapes, [_tied(each) for each in shapes])
        if not getattr(shapes, "__name__", "").startswith("unnamed"):
            return shapes
        name = f"unnamed_{axis}_{shapes.min}_{shapes.max}"
        return Dim(name, min=shapes.min, max=shapes.max)
    ''',
                _AS_GIVEN,
            ),
        ),
        Patch(
            file="torch_tensorrt/_compile.py",
            edits=(
                Edit(
                    "save",
                    "inferred_dynamic_shapes.update(...)",
                    "$found\n_tie_as_compiled(module, inferred_dynamic_shapes)",
                ),
            ),
            added=(
                '''
    def _tie_as_compiled(module: Any, shapes: Any) -> None:
        """Let unnamed sizes be one that one symbol stands for in the compiled graph."""
        nodes = module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ()
        values = {node.target: node.meta.get("val") for node in nodes if node.op == "placeholder"}
        chosen: dict[str, Any] = {}
        for name, dims in _sizes_within(shapes):
            value = values.get(name)
            for axis, dim in dims.items() if isinstance(value, torch.Tensor) else ():
                size = value.shape[axis]
                if isinstance(size, torch.SymInt) and dim.__name__.startswith("unnamed"):
                    dims[axis] = chosen.setdefault(str(size.node.expr), dim)


    def _sizes_within(shapes: Any, name: str = "") -> Any:
        """The sizes of each input by its placeholder's name, of those in containers, too."""
        if isinstance(shapes, dict) and shapes and all(isinstance(key, int) for key in shapes):
            yield name, shapes
        elif isinstance(shapes, (dict, list, tuple)):
            items = shapes.items() if isinstance(shapes, dict) else enumerate(shapes)
            for key, each in items:
                yield from _sizes_within(each, f"{name}_{key}" if name else str(key))
    ''',
            ),
        ),
    ),
)

NESTED = Mend(
    defects=(
        "module-with-nested-inputs",
        "module-of-any-number-of-inputs",
        "tuple-by-keyword-a-list",
    ),
    idea="Inputs by position are walked through tuples, lists and dictionaries, as those by "
    "keyword are in part, when tensors and dynamic shapes are made of them, and what is no Input, "
    "as None, is handed on. What *args takes gets its shapes as the one tuple that torch.export "
    "wants.",
    test="A tuple, a list, a dictionary and None by position, a tuple, a named tuple and None by "
    "keyword, and *args.",
    patches=(
        Patch(
            file=_TRACER,
            edits=(
                Edit(
                    "get_dynamic_shapes_args",
                    "for input, input_name in ...: ...",
                    """
                    for input_name, input in _by_parameter(mod, inputs):
                        dynamic_shapes[input_name] = _shapes_within(input, dim_registry)
                    """,
                ),
                Edit(
                    "get_dynamic_shapes_kwargs",
                    "get_dynamic_shapes(input, dim_registry)",
                    "_shapes_within(input, dim_registry)",
                ),
                Edit(
                    "get_dynamic_shapes_kwargs",
                    "return dynamic_shapes",
                    "return _as_given(inputs, dynamic_shapes)",
                ),
                Edit("get_dynamic_shapes_kwargs", "raise TypeError(...)", "return None"),
            ),
            added=(
                '''
    def _by_parameter(mod: torch.nn.Module, inputs: Any) -> Any:
        """What each parameter of forward is given by position; a tuple for `*args`."""
        given = list(inputs)
        for name, parameter in signature(mod.forward).parameters.items():
            if given and parameter.kind is parameter.VAR_POSITIONAL:
                yield name, tuple(given)
                return
            if given:
                yield name, given.pop(0)
    ''',
                '''
    def _shapes_within(input: Any, dim_registry: Optional[dict[str, Any]]) -> Any:
        """The dynamic shapes of an input, in its own structure; None for what is no tensor."""
        if isinstance(input, dict):
            return {key: _shapes_within(each, dim_registry) for key, each in input.items()}
        if isinstance(input, (list, tuple)):
            return _as_given(input, [_shapes_within(each, dim_registry) for each in input])
        return get_dynamic_shapes(input, dim_registry) if isinstance(input, Input) else None
    ''',
                _AS_GIVEN,
            ),
        ),
        Patch(
            file=_UTILS,
            edits=(
                Edit(
                    "prepare_inputs",
                    "tuple(torchtrt_input_list)",
                    "_as_given(inputs, torchtrt_input_list)",
                ),
                Edit(
                    "get_torch_inputs",
                    "raise AssertionError(...)",
                    "result_list.append(_torch_inputs_within(input, device, mode))",
                ),
                Edit(
                    "get_torch_inputs",
                    "isinstance(v, (list, tuple, dict))",
                    "not isinstance(v, Input)",
                ),
                Edit(
                    "get_torch_inputs",
                    "get_torch_inputs(v, device)",
                    "_torch_inputs_within(v, device, mode)",
                ),
            ),
            added=(
                '''
    def _torch_inputs_within(
        inputs: Any, device: Union[Device, torch.device, str], mode: str
    ) -> Any:
        """The torch inputs in the structure of ``inputs``; what is no Input as it is."""
        if isinstance(inputs, torch.Tensor):
            return inputs.to(device)
        if not isinstance(inputs, (list, tuple, dict)):
            return inputs
        made = get_torch_inputs(inputs, device, mode)
        return made if isinstance(inputs, dict) else _as_given(inputs, made)
    ''',
                _AS_GIVEN,
            ),
        ),
    ),
)

GIVEN_TWICE = Mend(
    defects=("one-tensor-given-twice",),
    idea="A tensor that stands for two inputs is cloned for the second one before the module is "
    "exported, by compile() and by save(): torch.export takes it for one value. It costs that "
    "copy, there alone.",
    test="inputs=[spec, spec] of one Input, and [x, x] of one tensor, given to compile() and to "
    "save(): call with two tensors.",
    uncovered="A program that torch.export itself made of one tensor given twice.",
    patches=(
        Patch(
            file=_TRACER,
            edits=(
                Edit(
                    "trace",
                    "torch_kwarg_inputs = ...",
                    """
                    $found
                    torch_arg_inputs, torch_kwarg_inputs = _each_its_own(
                        (torch_arg_inputs, torch_kwarg_inputs)
                    )
                    """,
                ),
            ),
            added=(
                '''
    def _each_its_own(inputs: Any) -> Any:
        """The same inputs, in which no tensor stands twice."""
        seen = set()

        def own(tensor: torch.Tensor) -> torch.Tensor:
            twice = id(tensor) in seen
            seen.add(id(tensor))
            return tensor.clone() if twice else tensor

        return torch.utils._pytree.tree_map_only(torch.Tensor, own, inputs)
    ''',
            ),
        ),
        Patch(
            file=_SAVE,
            edits=(
                Edit(
                    "save",
                    'if executorch_partitioners and output_format != "executorch": ...',
                    """
                    from torch_tensorrt.dynamo._tracer import _each_its_own

                    arg_tensors, kwarg_tensors = _each_its_own((arg_tensors, kwarg_tensors))
                    $found
                    """,
                ),
            ),
        ),
    ),
)

MODULES_GIVEN = (SIZES_OF_THEIR_OWN, NESTED, GIVEN_TWICE)
