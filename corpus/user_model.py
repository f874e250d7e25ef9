"""A model of a user's own: found where a models file says, with its inputs and its sizes."""

from __future__ import annotations

import copy
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch
import torch.utils._pytree as pytree

from corpus.case import Inputs, Mistake, Program
from corpus.exported_sizes import sizes_of_archive
from corpus.leaves import cut_off
from corpus.model_sizes import sizes_of_model
from corpus.rehearsal import dies
from corpus.stated_shapes import sizes_of_shapes
from corpus.user_archive import CannotRead, load_archive
from corpus.user_inputs import RETURN, InputsFunction, WrongInputs, first_line, instead, kind, told
from corpus.varying import CannotVary, Sizes

#: Of the names of modules that are imported for a models file.
PREFIX: Final = "corpus_models."
_ARCHIVE: Final = ".pt2"
_ONE_DICTIONARY: Final = "; where a dict is itself the one argument, return it in a tuple, ({...},)"


class WrongModel(Mistake):
    """A model cannot be used as it is named: what, where, and what to write instead."""


@dataclass(frozen=True)
class ModelEntry:
    """One table of a models file, with its paths resolved."""

    name: str
    model: str
    inputs: str = ""
    fallback: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()
    tolerance: float | None = None


class UserModel:
    """Finds what an entry names, importing each file once.

    ``rehearsed`` says that an import is tried in a fork first, since one that ends the process
    would end other models' answers with it. It doubles the time of the import.
    """

    def __init__(
        self,
        entry: ModelEntry,
        folder: Path,
        used: dict[str, types.ModuleType],
        *,
        rehearsed: bool = False,
    ) -> None:
        self._entry, self._folder, self._used = entry, folder, used
        self._rehearsed = rehearsed
        self.is_archive = Path(entry.model).suffix == _ARCHIVE
        #: The module and the call that make the model, where a class or function of that name does.
        self.made_by: tuple[str, str] | None = None
        if self.is_archive:
            self.file = self._existing(entry.model)
        else:
            self._make_model = self._model_maker()
        if entry.inputs or not self.is_archive:
            self._inputs = self._inputs_function()

    def program(self) -> Program:
        """The model with its inputs at every size that is asked."""
        model = self._made_model()
        own = self._copy_of(model)
        try:
            example = self._inputs.example(0)
            with torch.no_grad():
                self._try(own.eval(), example)
            return self._assembled(model, self._sizes(model, example), None)
        except (CannotVary, WrongInputs) as error:
            raise self._wrong(str(error)) from error

    def archived(self) -> Program:
        """The program of an archive, with the example that it carries or that is given."""
        try:
            exported = load_archive(self.file)
            if self._entry.inputs:
                example = self._inputs.example(0)
                with torch.no_grad():
                    self._try(exported.module(), example)
            elif exported.example_inputs is None:
                raise self._wrong(f"{self.file} carries no example inputs; give inputs")
            else:
                example = Inputs(*exported.example_inputs)
                self._inputs = InputsFunction(str(self.file), lambda: exported.example_inputs)
            sizes = sizes_of_archive(exported, example, self._entry.dynamic)
            return self._assembled(exported.module(), sizes, self.file)
        except (CannotRead, CannotVary, WrongInputs) as error:
            raise self._wrong(str(error)) from error

    def _assembled(self, model: torch.nn.Module, sizes: Sizes, archive: Path | None) -> Program:
        return Program(
            inputs=self._inputs.at(sizes),
            model=model,
            dynamic_shapes=sizes.shapes,
            bounds=sizes.bounds,
            ranges=sizes.ranges,
            unbounded=sizes.unbounded,
            archive=archive,
        )

    def _made_model(self) -> torch.nn.Module:
        try:
            model = self._make_model()
        except Exception as error:
            call = self.made_by[1] if self.made_by else self._entry.model
            other = "mend it, or name a function without arguments that returns the model"
            raise self._wrong(
                f"{call} raises {first_line(error)}; {instead(error) or other}"
            ) from error
        if not isinstance(model, torch.nn.Module):
            raise self._wrong(
                f"{self._entry.model} gives {kind(model)}; let it return the model, a "
                "torch.nn.Module"
            )
        return model

    def _copy_of(self, model: torch.nn.Module) -> torch.nn.Module:
        """A copy to be called. Raises WrongModel for a model that cannot be copied."""
        cut_off(model)
        try:
            return copy.deepcopy(model)
        except Exception as error:
            raise self._wrong(
                f"copy.deepcopy does not take the model, which says: {first_line(error)}; each "
                "call is asked of a copy of its own, so make the model under torch.no_grad(), or "
                "keep outside of it what cannot be copied"
            ) from error

    def _try(self, model: torch.nn.Module, example: Inputs) -> None:
        before = copy.deepcopy([*_tensors(model, example)])
        try:
            returned = model(*example.args, **example.kwargs)
        except Exception as error:
            given, takes = ", ".join(told(example)), inspect.signature(model.forward)
            raise self._wrong(
                f"the model itself does not take these inputs ({given}): "
                f"{first_line(error)}; its forward takes {takes}; "
                f"{instead(error) or f'let inputs {RETURN}'}"
                f"{_ONE_DICTIONARY if example.kwargs and not example.args else ''}"
            ) from error
        tensors = any(isinstance(each, torch.Tensor) for each in pytree.tree_leaves(returned))
        if not tensors and all(map(torch.equal, before, _tensors(model, example))):
            raise self._wrong(
                f"the model returns no tensor, but {kind(returned)}, and writes to none; let its "
                "forward return what it computes"
            )

    def _model_maker(self) -> Callable[[], Any]:
        file, _, name = self._entry.model.partition(":")
        if Path(file).suffix == _ARCHIVE:
            raise self._wrong(f"an archive holds one program; write {file} without :{name}")
        module = self._imported(file)
        found = self._member(module, file, name) if name else self._only_model(module, file)
        if isinstance(found, torch.nn.Module):
            return lambda: copy.deepcopy(found)
        if not callable(found):
            raise self._wrong(
                f"{file}:{name} is {kind(found)}; name a class of torch.nn.Module, or a function "
                "without arguments that returns the model"
            )
        needed = _required(found)
        if needed:
            own, given = name or found.__name__, ", ".join(f"{each}=..." for each in needed)
            instead = "make" if own != "make" else "made"
            raise self._wrong(
                f"{own} takes arguments ({', '.join(needed)}); write a function without arguments "
                f"that returns the model, such as `def {instead}(): return {own}({given})`, and "
                f"name {file}:{instead}"
            )
        self.made_by = (module.__name__, f"{name or found.__name__}()")
        maker: Callable[[], Any] = found
        return maker

    def _only_model(self, module: types.ModuleType, file: str) -> Any:
        own = [
            each
            for each in vars(module).values()
            if isinstance(each, type)
            and issubclass(each, torch.nn.Module)
            and each.__module__ == module.__name__
        ]
        if len(own) != 1:
            told = ", ".join(f"{file}:{each.__name__}" for each in own)
            raise self._wrong(
                f"{file} has several models; write which one: {told}"
                if own
                else f"{file} defines no class of torch.nn.Module; write FILE.py:NAME of a class, "
                "or of a function without arguments that returns the model"
            )
        return own[0]

    def _inputs_function(self) -> InputsFunction:
        stated = self._entry.inputs
        file, _, name = (stated or self._entry.model.partition(":")[0]).partition(":")
        if stated and Path(file).suffix != ".py":
            raise self._wrong(f"inputs {file}: write FILE.py:FUNCTION, such as my_model.py:example")
        module = self._imported(file)
        why = " that returns the inputs of the model"
        if not stated and not hasattr(module, "example"):
            raise self._wrong(
                f"{file} has no function example{why}; write one, or name another by --inputs"
            )
        function = self._member(module, file, name or "example", why)
        where = f"{file}:{name or 'example'}"
        if not callable(function):
            raise self._wrong(f"{where} is {kind(function)}; name a function{why}")
        needed = _required(function)
        if needed == ["size"]:
            raise self._wrong(
                f"{where} takes size without a default; give it that of the example, as in "
                f"`def {name or 'example'}(size=4)`"
            )
        if needed:
            raise self._wrong(
                f"{where} takes arguments ({', '.join(needed)}); name a function without "
                f"arguments{why}"
            )
        return InputsFunction(where, function, takes_size="size" in _parameters(function))

    def _sizes(self, model: torch.nn.Module, example: Inputs) -> Sizes:
        """What the sizes may be: as texts say, or what a function returns."""
        stated = self._entry.dynamic
        file, _, name = stated[0].partition(":") if len(stated) == 1 else ("", "", "")
        if Path(file).suffix != ".py":
            return sizes_of_model(model, example, stated)
        if not name:
            raise self._wrong(f"dynamic {file}: write FILE.py:FUNCTION, such as {file}:shapes")
        function = self._member(self._imported(file), file, name)
        try:
            shapes = function()
        except Exception as error:
            raise self._wrong(f"{file}:{name}() raises {first_line(error)}") from error
        if not isinstance(shapes, Mapping | tuple | list):
            raise self._wrong(
                f"{file}:{name}() gives a {type(shapes).__name__}; let it return dynamic_shapes as "
                "torch.export.export takes them"
            )
        return sizes_of_shapes(model, example, shapes)

    def _existing(self, file: str) -> Path:
        path = self._folder / file
        if not path.is_file():
            beside = [each.name for each in path.parent.glob(f"*{path.suffix}")]
            near = get_close_matches(path.name, beside)
            told = f"; there is {', '.join(near)}" if near else ""
            raise self._wrong(f"there is no file {path}{told}")
        return path

    def _imported(self, file: str) -> types.ModuleType:
        path = self._existing(file)
        known = self._used.get(str(path.resolve()))
        if known is not None:
            return known
        folder = str(path.resolve().parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        taken = path.stem in sys.modules
        name = f"{PREFIX}{path.stem}_{len(self._used)}" if taken else path.stem
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise self._wrong(
                f"{path} is no Python file; write FILE.py:CLASS, or FILE.pt2 for an archive that "
                "torch.export.save wrote"
            )
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        died = self._rehearsed and dies(partial(spec.loader.exec_module, module))
        if died:
            del sys.modules[name]
            raise self._wrong(f"the process that imports {path} {died}; mend what it does there")
        try:
            spec.loader.exec_module(module)
        except ModuleNotFoundError as error:
            raise self._wrong(
                f"{path} imports {error.name}, which is not installed here; give --python of an "
                f"environment that has it, or --with {error.name}"
            ) from error
        except (Exception, SystemExit) as error:
            raise self._wrong(
                f"{path} cannot be imported: {type(error).__name__}: {error}; mend that, since the "
                "file is imported as it stands"
            ) from error
        self._used[str(path.resolve())] = module
        return module

    def _member(self, module: types.ModuleType, file: str, name: str, why: str = "") -> Any:
        if not hasattr(module, name):
            has = [key for key, each in vars(module).items() if _is_own(module, each)]
            told = ", ".join(has) or "nothing that can be called"
            raise self._wrong(f"{file} has no {name}{why}; it has {told}")
        return getattr(module, name)

    def _wrong(self, reason: str) -> WrongModel:
        return WrongModel(f"{self._entry.name}: {reason}")


def _tensors(model: torch.nn.Module, example: Inputs) -> Iterator[torch.Tensor]:
    """What a call may write to."""
    yield from model.buffers()
    for leaf in pytree.tree_leaves((example.args, dict(example.kwargs))):
        if isinstance(leaf, torch.Tensor):
            yield leaf


def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin
        return {}


def _required(function: Any) -> list[str]:
    positional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        name
        for name, each in _parameters(function).items()
        if each.default is inspect.Parameter.empty and each.kind not in positional
    ]


def _is_own(module: types.ModuleType, member: Any) -> bool:
    return callable(member) and getattr(member, "__module__", "") == module.__name__
