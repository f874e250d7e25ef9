"""A candidate as a file of one case: a class, its inputs, and what is asked of a release.

Its tensors are drawn anew, since no wiring depends on their numbers, or hold the very numbers.
"""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch
import torch.utils._pytree as pytree
from torch.fx import Node

from harness.rig.capture.capture import CALLS
from harness.rig.reducing.candidate import IS, Candidate, Held
from harness.rig.reproduce.code import CaseWriter, Unwritable, tensor
from harness.rig.reproduce.user_calls import block

CASE: Final = "reduced"  # the name of the case in the file
_MOST: Final = 256  # numbers that are written out


def case_text(candidate: Candidate, catches: str, *, exact: bool) -> str:
    """The file, without a docstring.

    Args:
        catches: as of `corpus.case.case`.
        exact: write the numbers of the tensors that it holds down.

    Raises:
        Unwritable: it holds what has no plain form.
    """
    program, case = candidate.program, candidate.case
    for hook in ("before_compile", "after_compile", "given_to_save"):
        if getattr(program, hook) is not None:
            raise Unwritable(f"its {hook} is a function")
    writer = _Writer(candidate, exact=exact)
    body = "\n\n\n".join([*writer.model(), *writer.inputs(), *writer.case(catches)])
    imports = sorted({f"import {name}" for name in {"torch", *case.imports, *writer.modules}})
    if writer.beside:
        names = sorted(set(writer.containers))
        imports.append(f"from corpus.structures import {', '.join(names)}")
    imports.append("from corpus.case import Family, Inputs, Program, case")
    return "\n".join(imports) + f"\n\n\n{body}\n"


class _Raw(str):
    """Code that stands for a value."""

    __slots__ = ()


class _Writer(CaseWriter):
    def __init__(self, candidate: Candidate, *, exact: bool) -> None:
        super().__init__()
        self._candidate = candidate
        self._exact = exact
        self.containers: set[str] = set()

    def value(self, value: Any, nodes: Mapping[Node, str] | None = None) -> str:
        if isinstance(value, _Raw):
            return value
        if type(value) is str:
            return f'"{value}"' if re.fullmatch(r"[^\"\\\n]*", value) else repr(value)
        if type(value) is dict:
            pairs = (f"{self.value(key)}: {self.value(item, nodes)}" for key, item in value.items())
            return f"{{{', '.join(pairs)}}}"
        return super().value(value, nodes)

    def _own(self, value: Any, write: Any) -> str:
        self.containers.add(type(value).__name__)
        return super()._own(value, write)

    def model(self) -> list[str]:
        candidate = self._candidate
        if not candidate.held:
            return ["class Model(torch.nn.Module):\n" + _indented(self._forward())]
        lines = ["super().__init__()"]
        made: set[str] = set()
        names: dict[int, str] = {}
        for name, each in candidate.held.items():
            *path, own = name.split(".")
            for depth in range(len(path)):
                inner = ".".join(path[: depth + 1])
                if inner not in made:
                    made.add(inner)
                    lines.append(
                        f"{_owner(path[:depth])}.add_module({path[depth]!r}, torch.nn.Module())"
                    )
            lines.append(self._held(_owner(path), own, each, names))
            names.setdefault(id(each.value), _attribute(name))
        init = ["def __init__(self):", *(f"    {line}" for line in lines)]
        return ["class Model(torch.nn.Module):\n" + _indented([*init, "", *self._forward()])]

    def _held(self, owner: str, name: str, held: Held, names: Mapping[int, str]) -> str:
        if not isinstance(held.value, torch.Tensor):
            raise Unwritable(f"the model holds a {type(held.value).__name__}")
        code = names.get(id(held.value))
        if code is None:
            code = self._tensor(held.value)
            if held.kind == "parameter":
                kept = "" if held.value.requires_grad else ", requires_grad=False"
                code = f"torch.nn.Parameter({code}{kept})"
        if held.kind in ("buffer", "passing"):
            more = ", persistent=False" if held.kind == "passing" else ""
            return f'{owner}.register_buffer("{name}", {code}{more})'
        if owner == "self" and name.isidentifier():
            return f"self.{name} = {code}"
        if held.kind == "parameter":
            return f'{owner}.register_parameter("{name}", {code})'
        return f'setattr({owner}, "{name}", {code})'

    def _tensor(self, value: torch.Tensor) -> str:
        if self._exact and value.numel() <= _MOST and not value.is_complex():
            return f"torch.tensor({value.tolist()}, dtype={value.dtype})"
        plain = value.detach()
        if plain.dtype.is_floating_point and plain.numel() and not bool(plain.any()):
            sizes = ", ".join(map(str, plain.shape)) or "()"
            more = "" if plain.dtype is torch.float32 else f", dtype={plain.dtype}"
            return f"torch.zeros({sizes}{more})"
        return tensor(plain, positive=True)

    def _forward(self) -> list[str]:
        candidate = self._candidate
        leaves: dict[str, str] = {}
        names = []
        for number, item in enumerate(candidate.args):
            names.append(item if isinstance(item, str) else f"given_{number}")
        items = [*zip(names, candidate.args, strict=True), *candidate.kwargs.items()]
        for name, item in items:
            for path, leaf in pytree.tree_flatten_with_path(item)[0]:
                leaves[leaf] = f"{name}{pytree.keystr(path)}"
        values: dict[Node, str] = {}
        taken = {*names, *candidate.kwargs, "self", "torch"}
        lines = [f"def forward(self, {', '.join([*names, *candidate.kwargs])}):"]
        for node in candidate.graph.nodes:
            if node.op == "placeholder":
                values[node] = leaves[node.name]
            elif node.op == "get_attr":
                values[node] = _attribute(str(node.target))
            elif node.op == "call_function":
                code = self._call(node, values)
                if not node.users:
                    lines.append(f"    {code}")
                    continue
                values[node] = _local(node, taken)
                lines.append(f"    {values[node]} = {code}")
            elif node.op == "output":
                returned = node.args[0]
                if candidate.out_spec is not None:
                    returned = pytree.tree_unflatten([*candidate.outputs], candidate.out_spec)
                lines.append(f"    return {self.value(returned, values)}")
            else:
                raise Unwritable(f"a node that is a {node.op}")
        return lines

    def _call(self, node: Node, values: Mapping[Node, str]) -> str:
        args = [self.value(item, values) for item in node.args]
        kwargs = [f"{key}={self.value(item, values)}" for key, item in node.kwargs.items()]
        name = self._target(node.target)
        if name == "_operator.getitem":
            self.modules.discard("_operator")
            return f"{args[0]}[{args[1]}]"
        return f"{name}({', '.join([*args, *kwargs])})"

    def inputs(self) -> list[str]:
        candidate = self._candidate
        drawn = {name: _Raw(self._drawn(name)) for name in candidate.leaves}
        args, kwargs = pytree.tree_map(drawn.__getitem__, (candidate.args, dict(candidate.kwargs)))
        call = f"({', '.join(map(self.value, args))}{',' if len(args) == 1 else ''})"
        given = [call, *([self.value(kwargs)] if kwargs else [])]
        body = f"return {block('Inputs(', given, ')')}"
        return ["def inputs(generator, size):\n" + textwrap.indent(body, "    ")]

    def _drawn(self, name: str) -> str:
        """The code that makes an input, which differs from call to call where the original does."""
        values = self._values(name)
        value = values[0]
        if not isinstance(value, torch.Tensor):
            return self.value(value)
        sizes = ", ".join(self._sizes(name)) or "()"
        if value.is_floating_point() or value.is_complex():
            code = f"torch.randn({sizes}, generator=generator)"
            if value.numel() and not value.is_complex() and bool((value > 0).all()):
                code = f"torch.rand({sizes}, generator=generator) + 0.5"
            return code if value.dtype is torch.float32 else f"({code}).to({value.dtype})"
        same = all(torch.equal(value, other) for other in values)
        if value.numel() == 0 or (same and value.numel() <= _MOST):
            return tensor(value)
        low, high = (int(end(values)) for end in (_least, _most))
        shape = f"({sizes}{',' if value.dim() == 1 else ''})"
        code = f"torch.randint({low}, {high + 1}, {shape}, generator=generator)"
        return code if value.dtype is torch.int64 else f"{code}.to({value.dtype})"

    def _values(self, name: str) -> list[Any]:
        """What an input is in the calls that a case is asked with."""
        candidate, found = self._candidate, []
        bounds = candidate.program.bounds
        size = None if bounds is None else sum(bounds) // 2
        names = pytree.tree_leaves((candidate.args, dict(candidate.kwargs)))
        for number in range(CALLS):
            generator = torch.Generator().manual_seed(candidate.case.seed + number)
            call = candidate.inputs(generator, size)
            leaves = pytree.tree_leaves((call.args, dict(call.kwargs)))
            found.append(leaves[names.index(name)])
        return found

    def _sizes(self, name: str) -> list[str]:
        """The sizes of an input, as terms of ``size`` where they depend on it."""
        candidate = self._candidate
        node = next(each for each in candidate.graph.nodes if each.name == name)
        shapes = node.meta[IS].shapes
        if len(shapes) == 1:
            return [str(length) for length in shapes[0]]
        bounds = candidate.program.bounds
        assert bounds is not None
        first, second = sum(bounds) // 2, bounds[1]
        pairs = zip(shapes[0], shapes[1], strict=True)
        return [_term(one, other, first, second) for one, other in pairs]

    def case(self, catches: str) -> list[str]:
        candidate = self._candidate
        case, program = candidate.case, candidate.program
        given: dict[str, Any] = {"catches": catches, "fallback": list(case.fallback)}
        plain = type(case)("", case.family, case.origin, "", case.build)
        fields = (
            "min_block_size",
            "eager_tolerance",
            "imports",
            "dynamic",
            "lanes",
            "module_given",
        )
        for field in fields:
            value = candidate.dynamic if field == "dynamic" else getattr(case, field)
            if value != getattr(plain, field):
                given[field] = value
        if candidate.mode != "nonstrict":
            given["capture"] = candidate.mode
        for field in ("settings", "save_keywords"):
            if getattr(case, field):
                given[field] = dict(getattr(case, field))
        made = [f"{key}={self.value(value)}" for key, value in given.items()]
        asked = block("@case(", ["Family.FOUND", *made], ")")
        more = ["inputs", "model=Model()"]
        lines = []
        if candidate.dynamic:
            shapes, saved = map(self.shapes, (program.dynamic_shapes, program.shapes_saved))
            lines = [f"    {name} = {dim}" for name, dim in self.dims.items()]
            more += [f"dynamic_shapes={shapes}", f"bounds={program.bounds!r}"]
            more += [f"shapes_for_save={saved}"] if saved != shapes else []
            more += ["unbounded=True"] if program.unbounded else []
            more += [f"ranges={program.ranges!r}"] if program.ranges else []
            more += ["names_sizes=True"] if program.names_sizes else []
        returned = textwrap.indent(f"return {block('Program(', more, ')')}", "    ")
        return ["\n".join([asked, f"def {CASE}():", *lines, returned])]


def _least(values: Sequence[torch.Tensor]) -> int:
    return min(int(each.min()) for each in values)


def _most(values: Sequence[torch.Tensor]) -> int:
    return max(int(each.max()) for each in values)


def _term(one: int, other: int, first: int, second: int) -> str:
    if one == other:
        return str(one)
    times, rest = divmod(other - one, second - first)
    offset = one - times * first
    if other == second and (rest or one != first):
        return f"{{{first}: {one}}}.get(size, size)"  # the example's own size, in the middle
    if rest:
        raise Unwritable("a size of an input that is no multiple of the dynamic one")
    product = "size" if times == 1 else f"{times} * size"
    return product if not offset else f"{product} {'+' if offset > 0 else '-'} {abs(offset)}"


def _owner(path: Sequence[str]) -> str:
    return f'self.get_submodule("{".".join(path)}")' if path else "self"


def _attribute(name: str) -> str:
    """What the model holds under a name, as its forward reads it."""
    path = name.split(".")
    if all(part.isidentifier() and not keyword.iskeyword(part) for part in path):
        return f"self.{name}"
    *owners, own = path
    return f'getattr({_owner(owners)}, "{own}")'


def _local(node: Node, taken: set[str]) -> str:
    """A name for what an op makes, which is that of the op."""
    op = str(getattr(node.target, "__name__", node.target)).partition(".")[0].strip("_")
    plain = re.sub(r"\W", "_", op) or "value"
    plain = f"{plain}_" if keyword.iskeyword(plain) else plain
    name, number = plain, 1
    while name in taken:
        name, number = f"{plain}_{number}", number + 1
    taken.add(name)
    return name


def _indented(lines: Sequence[str]) -> str:
    return "\n".join(f"    {line}" if line else "" for line in lines)
