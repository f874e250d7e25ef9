"""A short script of a user's calls that shows a failure, and the same as a test that has to fail.

Neither has anything of this project: torch, the package, the model, the calls, and one question.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.rig.reproduce.failures import NAMES, Differs, Failure, Raises, import_of
from harness.rig.reproduce.user_calls import UserCalls, block

_WIDTH: Final = 98
_PYTREE: Final = "import torch.utils._pytree as pytree"
_LOAD_PT2: Final = "from torch.export.pt2_archive._package import load_pt2"
_TOLERANCE: Final = "rtol=1e-2, atol=1e-2"  # an engine that really runs differs by less


def user_script(calls: UserCalls, failure: Failure, docstring: str) -> str:
    """A script that ends by exit code 1 where the failure is there, and by 0 where it is not.

    Where a package is not installed it says so, and ends by 125.
    """
    body = _Body(calls, failure)
    lines = [*body.before(), *body.asked()]
    imports = {"import sys", *body.imports()}
    if body.saves:
        imports |= {"import tempfile", "from pathlib import Path"}
        head, inside = lines[: body.first_on_disk], lines[body.first_on_disk :]
        lines = [*head, "with tempfile.TemporaryDirectory() as folder:"]
        lines += [_indented(each) for each in ('file = str(Path(folder, "model.pt2"))', *inside)]
    lines.append("sys.exit(0)")
    return _module(docstring, imports, [*calls.definitions, *body.helpers()], "\n".join(lines))


def user_test(
    calls: UserCalls,
    failure: Failure,
    docstring: str,
    name: str,
    reason: str,
    *,
    builds: bool = False,
    also: Sequence[str] = (),
) -> str:
    """A pytest that fails as long as the failure is there, and is red where it is gone.

    Args:
        name: of the defect, which the test's name has.
        reason: why it is expected to fail.
        builds: whether it is skipped where TensorRT builds no engines.
        also: the exceptions by which it fails over other engines, or in a later release.
    """
    body = _Body(calls, failure)
    lines = [*body.before(), *body.asserted()]
    if body.saves:
        lines.insert(body.first_on_disk, 'file = str(tmp_path / "model.pt2")')
    errors = sorted({failure.error, *also} if isinstance(failure, Raises) else {"AssertionError"})
    raised = f"({', '.join(errors)})" if len(errors) > 1 else errors[0]
    said = reason.replace("\\", "\\\\").replace('"', '\\"')
    mark = block(
        "@pytest.mark.xfail(", ["strict=True", f"raises={raised}", f'reason="{said}"'], ")"
    )
    given = "tmp_path" if body.saves else ""
    mark = f"{_SKIP}\n{mark}" if builds else mark
    test = f"{mark}\ndef test_{re.sub(r'[^a-z0-9]+', '_', name)}({given}):\n"
    test += "\n".join(_indented(each) for each in lines)
    imports = {"import pytest", *body.imports()}.union(*map(import_of, errors))
    helpers = [*body.helpers(), *([_BUILDS] if builds else [])]
    return _module(docstring, imports, [*calls.definitions, *helpers, test], "")


_BUILDS: Final = '''\
def builds_engines():
    """Whether TensorRT is here, and not its bindings alone."""
    import tensorrt  # torch_tensorrt decides which one that is

    try:
        return bool(tensorrt.Builder(tensorrt.Logger()))
    except TypeError:
        return False'''
_SKIP: Final = """\
@pytest.mark.skipif(
    not builds_engines(), reason="a converter shows it, and no TensorRT is here that builds"
)"""


class _Body:
    """The lines of a failure, without what is around them."""

    def __init__(self, calls: UserCalls, failure: Failure) -> None:
        self._calls, self._failure = calls, failure
        self._at = failure.call if isinstance(failure, Raises) else failure.module
        self.saves = self._at in ("save", "load", "loaded", "unflatten", "unflattened")
        by_numbers = isinstance(failure, Differs) and failure.what in ("numbers", "state")
        self._many = (by_numbers and (calls.stateful or calls.dynamic)) or (
            self._at in ("compiled", "loaded") and isinstance(failure, Raises) and calls.dynamic
        )
        self._expected = tuple(self._eager())
        self.first_on_disk = len(self._made()) + len(self._expected) + len(self._compiled())

    def imports(self) -> set[str]:
        named = {*self._calls.imports}
        if isinstance(self._failure, Raises):
            named |= import_of(self._failure.error)
        return named

    def helpers(self) -> list[str]:
        if self._gathered and self._gathered.helper:
            return [self._gathered.helper]
        if not self._many:
            return []
        returned = f"module({self._calls.given.replace('inputs', 'args')})"
        names = "args, keywords" if self._calls.keywords else "args"
        if self._leaves:
            returned = f"pytree.tree_leaves({returned})"
        return [
            "@torch.no_grad()\n"
            "def run(module, calls):\n"
            f"    return [copy.deepcopy({returned}) for {names} in copy.deepcopy(calls)]"
        ]

    @property
    def _gathered(self) -> _Gathered | None:
        return _GATHERED.get(self._failure.what) if isinstance(self._failure, Differs) else None

    @property
    def _leaves(self) -> bool:
        """Whether numbers are compared however they are packed, which may be another failure."""
        failure, calls = self._failure, self._calls
        if not isinstance(failure, Differs) or failure.what != "numbers":
            return False
        return failure.leaves or calls.packed or calls.stateful

    def before(self) -> list[str]:
        """All lines before the one that raises or asks."""
        lines = [*self._made(), *self._expected, *self._compiled()]
        if isinstance(self._failure, Raises):
            order = ["compile", "save", "load"]
            here = order.index(self._at) if self._at in order else None
            behind = {
                "compiled": ["compile"],
                "unflatten": ["compile", "save"],
                "loaded": ["compile", "save", "load"],
            }
            done = behind[self._at] if here is None else order[:here]
            more = {"save": self._calls.save, "load": (_LOADED,)}
            return [*lines, *(line for name in done[1:] for line in more[name])]
        read = f"unflattened = {_UNFLATTENED}" if self._at == "unflattened" else _LOADED
        return [*lines, *((*self._calls.save, read) if self.saves else ())]

    def _made(self) -> list[str]:
        calls = self._calls
        given = calls.several if self._many else calls.one
        return ["torch.manual_seed(0)", *calls.model, *given, *calls.export]

    def _compiled(self) -> tuple[str, ...]:
        raises = isinstance(self._failure, Raises) and self._at == "compile"
        return () if raises else self._calls.compile

    def _eager(self) -> Iterator[str]:
        if isinstance(self._failure, Raises):
            return
        calls, what = self._calls, self._failure.what
        if what in ("persistent", "metadata"):
            return
        if what == "inputs":
            given = "(inputs, keywords)" if calls.keywords else "inputs"
            yield f"expected, given = copy.deepcopy({given}), copy.deepcopy({given})"
            yield self._on("model", "expected")
        elif self._many:
            if what == "state":
                yield "eager = copy.deepcopy(model)"
                yield "before = copy.deepcopy(list(eager.buffers()))"
                yield "run(eager, calls)"
            else:
                yield "expected = run(copy.deepcopy(model), calls)"
        else:
            eager = "copy.deepcopy(model)" if calls.stateful else "model"
            returned = f"{eager}({calls.given})"
            returned = f"copy.deepcopy({returned})" if calls.returns_inputs else returned
            yield f"expected = {self._packed(returned)}"

    def _on(self, module: str, given: str) -> str:
        unpacked = f"*{given}[0], **{given}[1]" if self._calls.keywords else f"*{given}"
        return f"{module}({unpacked})"

    def _packed(self, returned: str) -> str:
        failure = self._failure
        if isinstance(failure, Differs) and failure.what == "structure":
            return f"pytree.tree_map(type, {returned})"
        return f"pytree.tree_leaves({returned})" if self._leaves else returned

    def _call(self) -> str:
        """The call of the module that is asked."""
        failure, calls = self._failure, self._calls
        if isinstance(failure, Raises):
            if self._at in ("compile", "save"):
                return "\n".join(getattr(calls, self._at))
            if self._at in ("load", "unflatten"):
                return _LOADED if self._at == "load" else _UNFLATTENED
            return f"run({self._at}, calls)" if self._many else f"{self._at}({calls.given})"
        if failure.what == "inputs":
            return self._on(self._at, "given")
        if self._gathered:
            return self._gathered.call.replace("{module}", self._at)
        if self._many:
            return f"returned = run({self._at}, calls)"
        return f"returned = {self._packed(f'{self._at}({calls.given})')}"

    def _compared(self) -> str:
        assert isinstance(self._failure, Differs)
        if self._failure.what == "structure":
            return "assert returned == expected"
        got = "given" if self._failure.what == "inputs" else "returned"
        return f"torch.testing.assert_close({got}, expected, {_TOLERANCE})"

    def asked(self) -> list[str]:
        """The line that raises or asks, and what a script says and how it ends."""
        name = NAMES.get(self._at, "")
        if isinstance(self._failure, Raises):
            where = f"{name}, called" if name else self._at
            return [
                "try:",
                _indented(self._call()),
                f"except {self._failure.error} as error:",
                f'    print("{where}: {self._failure.error}:", error)',
                *(_WHY if self._at == "load" else ()),
                "    sys.exit(1)",
                f'print("{where}: no error")',
            ]
        if self._failure.what == "structure":
            return [
                self._call(),
                "if returned != expected:",
                f'    print("{name} returns", returned, "and eager", expected)',
                "    sys.exit(1)",
                f'print("{name} returns what eager does")',
            ]
        if self._gathered:
            return [
                self._call(),
                *self._found(),
                "if found:",
                f'    print("{name} {self._gathered.says}:", found)',
                "    sys.exit(1)",
                f'print("{name} {self._gathered.right}")',
            ]
        by_inputs = self._failure.what == "inputs"
        wrong = "leaves other values in its inputs than eager" if by_inputs else "is wrong"
        return [
            self._call(),
            "try:",
            f"    {self._compared()}",
            "except AssertionError as error:",
            f'    print("{name} {wrong}:", error)',
            "    sys.exit(1)",
            f'print("{name} is right")',
        ]

    def _found(self) -> list[str]:
        assert self._gathered is not None
        return [each.replace("{module}", self._at) for each in self._gathered.lines]

    def asserted(self) -> list[str]:
        """The line that raises or asks, as a test has it."""
        if isinstance(self._failure, Raises):
            # Another builder's engines, or another release, may raise when it is called.
            behind = [f"compiled({self._calls.given})"] if self._at == "compile" else []
            return [self._call(), *behind]
        if self._gathered:
            return [self._call(), *self._found(), "assert not found"]
        return [self._call(), self._compared()]


_LOADED: Final = "loaded = torch_tensorrt.load(file).module()"
_UNFLATTENED: Final = "torch.export.unflatten(torch_tensorrt.load(file))"
#: The cause that `torch_tensorrt.load` and `torch.export.load` keep to their logs.
_WHY: Final = (
    "    try:",
    "        load_pt2(file)",
    "    except Exception as reason:",
    '        print("load_pt2:", type(reason).__name__, str(reason).splitlines()[-1])',
)


@dataclass(frozen=True)
class _Gathered:
    """How a script gathers what differs, where it is no comparison of what is returned.

    ``call`` is a line, and ``lines`` are those that make ``found`` behind it.
    """

    call: str
    lines: tuple[str, ...]
    says: str
    right: str
    helper: str = ""


_GATHERED: Final = {
    "state": _Gathered(
        "run({module}, calls)",
        (
            "written = [new for old, new in zip(before, eager.buffers()) "
            "if not torch.equal(old, new)]",
            "kept = list({module}.buffers())",
            "found = [\n"
            "    each\n"
            "    for each in written\n"
            "    if not any(each.shape == one.shape and torch.allclose(each, one) "
            "for one in kept)\n"
            "]",
        ),
        "has not written to buffers what eager has",
        "has written to its buffers",
    ),
    "persistent": _Gathered(
        "kept = list(compiled.state_dict().values())",
        (
            "found = [\n"
            "    name\n"
            "    for name, each in {module}.state_dict().items()\n"
            "    if not any(each.dtype == one.dtype and torch.equal(each, one) for one in kept)\n"
            "]",
        ),
        "has more in its state dict than the compiled module",
        "has in its state dict what the compiled module has",
    ),
    "metadata": _Gathered(
        "checked = Checked({module})",
        ("with torch.no_grad():\n    checked.run(*inputs)", "found = checked.found"),
        "has nodes that return other tensors than their meta declares",
        "has nodes that return what their meta declares",
        helper="""\
def described(value):
    return [(x.dtype, x.dim()) for x in pytree.tree_leaves(value) if torch.is_tensor(x)]


class Checked(torch.fx.Interpreter):
    found = ()

    def run_node(self, node):
        value = super().run_node(node)
        if node.op == "call_function" and "val" in node.meta:
            declared, returned = described(node.meta["val"]), described(value)
            if declared != returned:
                self.found += (f"{node.name} declares {declared} and returns {returned}",)
        return value""",
    ),
}


def docstring_of(paragraphs: Sequence[str]) -> str:
    """Paragraphs as a module's docstring; those that begin with spaces stay as they are."""
    filled = [
        each if each.startswith(" ") else textwrap.fill(each, _WIDTH) for each in paragraphs if each
    ]
    text = "\n\n".join(filled).replace("\\", "\\\\").replace('"""', "'''")
    end = "\n" if "\n" in text or text.endswith('"') else ""
    return f'"""{text}{end}"""'


def _module(docstring: str, imports: set[str], parts: Sequence[str], body: str) -> str:
    """The text of a module, whose imports stand in isort's order."""
    code = "\n\n\n".join(part.strip("\n") for part in (*parts, body) if part.strip())
    code = code.replace("torch.utils._pytree.", "pytree.")
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    imports = {*imports, "import torch", "import torch_tensorrt"} - {"import torch.utils._pytree"}
    imports |= {"import copy"} if "copy" in used else set()
    imports |= {_PYTREE} if "pytree" in used else set()
    imports |= {_LOAD_PT2} if "load_pt2" in used else set()
    ours = {each for each in imports if each.split()[1].partition(".")[0] in _THIRD_PARTIES}
    groups = ["\n".join(sorted(each, key=_as_isort)) for each in (imports - ours, ours) if each]
    if body:
        command = re.search(r"pip install \S+", docstring) or ["pip install torch-tensorrt"]
        groups[-1] = (
            f"try:\n{_indented(groups[-1])}\n{_NOT_INSTALLED.replace('COMMAND', command[0])}"
        )
    return "\n\n".join([docstring, *groups]) + f"\n\n\n{code}\n"


_NOT_INSTALLED: Final = """\
except ModuleNotFoundError as error:  # by itself this would end by 1 as well
    sys.exit(print(f"{error}; first: COMMAND") or 125)"""
_THIRD_PARTIES: Final = ("torch", "torch_tensorrt", "pytest", "torchvision")


def _as_isort(statement: str) -> tuple[bool, str]:
    return statement.startswith("from "), statement.split()[1]


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")
