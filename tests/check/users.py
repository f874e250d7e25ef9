"""The models of models/models.toml, with their inputs, as the users who wrote them have them."""

import importlib.util
import inspect
import tomllib
from pathlib import Path

import torch

MODELS = Path(__file__).with_name("models") / "models.toml"
NEXT_CALL = "next_step"  # a function beside the one that gives an example, where a call is a step
ROWS = tomllib.loads(MODELS.read_text())


class User:
    """A model with its inputs, the same whenever it is made.

    Attributes:
        settings: of `torch_tensorrt.dynamo.compile`.
        shapes: what may vary, as torch.export takes it: for each input, by dimension; None where
            nothing may.
    """

    def __init__(self, name):
        torch.manual_seed(0)
        row = ROWS[name]
        self.model, self._inputs = named(row["model"])().eval().cuda(), named(row["inputs"])
        self._next = named(row["inputs"], NEXT_CALL)
        self._parameters = [*inspect.signature(self.model.forward).parameters]
        ops = [each for op in row.get("fallback", ()) for each in whole_names(op)]
        self.settings = {"torch_executed_ops": set(ops), **row.get("settings", {})}
        self.shapes = dynamic_shapes(row["dynamic"], self._parameters) if "dynamic" in row else None

    def example(self, change=lambda tensor, _: tensor, second=False):
        """Arguments and keywords, each input changed by a function of it and of what may vary."""
        torch.manual_seed(2 if second else 1)
        given = self._next() if second else self._inputs()
        names = (
            given if isinstance(given, dict) else dict(zip(self._parameters, given, strict=False))
        )
        new = {
            name: change(tensor.cuda(), (self.shapes or {}).get(name, {}))
            for name, tensor in names.items()
        }
        return ((), new) if isinstance(given, dict) else (tuple(new.values()), {})

    def calls(self):
        """The example, the next call, and the smallest and largest that the model may be given."""
        yield self.example()
        yield self.example(second=True)
        for end in ("min", "max") if self.shapes else ():
            yield self.example(lambda tensor, sizes, end=end: resized(tensor, sizes, end))


def named(text, instead=None):
    """What FILE:NAME names, the file beside the list of models; another name where it is there."""
    file, _, name = text.partition(":")
    spec = importlib.util.spec_from_file_location(Path(file).stem, MODELS.parent / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, instead or name, getattr(module, name))


def whole_names(name):
    """`topk`, `aten.topk.default` or `torch.ops.aten.topk.default`, each as the last one."""
    name = name.removeprefix("torch.ops.").removeprefix("aten.")
    overloads = [] if "." in name else getattr(torch.ops.aten, name).overloads()
    return [f"torch.ops.aten.{name}.{each}" for each in overloads] or [f"torch.ops.aten.{name}"]


def dynamic_shapes(asked, parameters):
    """What a function of the user returns, or texts such as x:0=2:64."""
    if isinstance(asked, str):
        return named(asked)()
    shapes = {name: {} for name in parameters}
    for name, dim, low, high in (text.replace("=", ":").split(":") for text in asked):
        shapes[name][int(dim)] = torch.export.Dim(f"{name}_{dim}", min=int(low), max=int(high))
    return shapes


def resized(tensor, sizes, end):
    """A tensor cut or repeated to the `min` or `max` of what may vary of it."""
    for dim, size in sizes.items():
        tensor = tensor.index_select(dim, torch.arange(getattr(size, end)) % tensor.shape[dim])
    return tensor
