"""A user's own models as cases: a TOML file that names each model, and what its user compiles.

    [ranker]
    model = "ranker.py:Ranker"          # a class or function without arguments, or a .pt2 archive
    inputs = "ranker.py:example"        # a function; what it returns is what the model is given
    fallback = ["topk"]                 # as torch_executed_ops takes it
    dynamic = ["x:0=2:64"]              # INPUT:DIMENSION=LOW:HIGH, or FILE.py:FUNCTION
    settings = { min_block_size = 3 }   # of torch_tensorrt.dynamo.compile
    tolerance = 1e-3                    # against eager, relative; 1e-4 if left out

Paths are relative to the TOML file. Every key but ``model`` may be left out. Without a name behind
it a file stands for its only module class, and ``inputs`` for the function ``example`` beside it.
"""

from __future__ import annotations

import dataclasses
import sys
import tomllib
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from corpus.case import Case, Family, Origin, Program, add_case, all_cases
from corpus.user_model import PREFIX, ModelEntry, UserModel, WrongModel

_KEYS: Final = ("model", "inputs", "fallback", "dynamic", "settings", "tolerance")
#: What `compile` takes where its user names none: torch_tensorrt/dynamo/_defaults.py since 2.2.0.
MIN_BLOCK_SIZE: Final = 5
#: Behind the name of a model, of which the module itself is given to `torch_tensorrt.compile`.
MODULE_GIVEN: Final = "@module"
#: The relative difference that computing in another order may make in float32.
TOLERANCE: Final = 1e-4


def declare(file: Path) -> list[types.ModuleType]:
    """Register every model of a file as a case.

    Beside others, a model that is not as this module's docstring says is a case that raises
    `WrongModel` when it is built, so that the others can be asked.

    Returns:
        Modules that stand for the sources: one for the file, then those of the models.

    Raises:
        WrongModel: the file is no TOML, or no model of it is as this module's docstring says.
    """
    tables = _tables(file)
    standing = _standing_for(f"{PREFIX}{file.stem}", file)
    sys.modules[standing.__name__] = standing
    used: dict[str, types.ModuleType] = {}
    wrong: list[str] = []
    for name, (number, table) in tables.items():
        entry, made_by, imported = ModelEntry(name, ""), None, None
        try:
            entry = _entry(name, table)
            imported = UserModel(entry, file.resolve().parent, used, rehearsed=len(tables) > 1)
            build, made_by = _builder(imported), imported.made_by
        except WrongModel as error:
            wrong.append(str(error))
            build = _refusing(str(error))
        build.__module__ = standing.__name__
        declared = Case(
            name=name,
            family=Family.ARCHITECTURES,
            origin=Origin.EXPORTED,
            catches=f"the model {Path(entry.model).name}",
            build=build,
            fallback=entry.fallback,
            min_block_size=int(dict(entry.settings).get("min_block_size", MIN_BLOCK_SIZE)),
            settings=tuple(item for item in entry.settings if item[0] != "min_block_size"),
            eager_tolerance=TOLERANCE if entry.tolerance is None else entry.tolerance,
            declared_at=f"{file.resolve()}:{number}",
            made_by=made_by,
        )
        add_case(declared)
        if imported is not None and not imported.is_archive:
            add_case(module_given(declared))
        if imported is not None and imported.is_archive:
            used[entry.model] = _standing_for(f"{PREFIX}{file.stem}.{name}", imported.file)
    if len(wrong) == len(tables):
        raise WrongModel("; ".join(wrong))
    return [standing, *used.values()]


def module_given(declared: Case) -> Case:
    """The same model where its user gives the module itself to `torch_tensorrt.compile`.

    It is for a full run alone; `check` asks it where that compiles another program.
    """
    return dataclasses.replace(
        declared,
        name=f"{declared.name}{MODULE_GIVEN}",
        module_given=True,
        full=True,
        lanes=("package",),
    )


def has_module(case: Case) -> bool:
    """Whether a case is a model of which there is a case by `module_given`, too."""
    return any(each.name == f"{case.name}{MODULE_GIVEN}" for each in all_cases())


def is_module_of(case: Case) -> bool:
    """Whether a case is one that `module_given` made."""
    return case.module_given and case.name.endswith(MODULE_GIVEN)


def _standing_for(name: str, file: Path) -> types.ModuleType:
    """A module of nothing, by which a file that is no Python counts as a source."""
    module = types.ModuleType(name)
    module.__file__ = str(file)
    return module


def _tables(file: Path) -> dict[str, tuple[int, object]]:
    """The tables of a models file by name, each with the line on which it begins."""
    text = file.read_text(encoding="utf-8")
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WrongModel(f"{file}: {error}") from error
    lines = {line.strip(): number for number, line in enumerate(text.splitlines(), start=1)}
    if not tables:
        raise WrongModel(
            f'{file}: names no model; write [NAME] and below it model = "FILE.py:CLASS"'
        )
    return {
        name: (lines.get(f"[{name}]", lines.get(f'["{name}"]', 1)), table)
        for name, table in tables.items()
    }


def _entry(name: str, table: object) -> ModelEntry:
    if not isinstance(table, Mapping):
        raise WrongModel(f'{name}: is no table; write [NAME] and below it model = "FILE.py:CLASS"')
    unknown = sorted(set(table) - set(_KEYS))
    if unknown:
        raise WrongModel(f"{name}: has no key {', '.join(unknown)}; there are {', '.join(_KEYS)}")
    settings = table.get("settings", {})
    if not (isinstance(table.get("model"), str) and table["model"]):
        raise WrongModel(f'{name}: has to say which model, such as model = "my_model.py:Ranker"')
    if not isinstance(settings, Mapping):
        raise WrongModel(f"{name}: settings has to be a table, such as {{ min_block_size = 3 }}")
    size = settings.get("min_block_size", MIN_BLOCK_SIZE)
    if type(size) is not int:
        raise WrongModel(f"{name}: min_block_size has to be a whole number, such as 3")
    tolerance = table.get("tolerance")
    if tolerance is not None and not isinstance(tolerance, int | float):
        raise WrongModel(f"{name}: tolerance has to be a number, such as 1e-3")
    return ModelEntry(
        name=name,
        model=table["model"],
        inputs=str(table.get("inputs", "")),
        fallback=_texts(name, "fallback", table.get("fallback", []), "topk"),
        dynamic=_texts(name, "dynamic", table.get("dynamic", []), "x:0=2:64"),
        settings=tuple(settings.items()),
        tolerance=tolerance,
    )


def _texts(name: str, key: str, given: object, such_as: str) -> tuple[str, ...]:
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
        raise WrongModel(f'{name}: {key} has to be a list of texts, such as ["{such_as}"]')
    return tuple(listed)


def _refusing(reason: str) -> Callable[[], Program]:
    def build() -> Program:
        raise WrongModel(reason)

    return build


def _builder(place: UserModel) -> Callable[[], Program]:
    def build() -> Program:
        return place.archived() if place.is_archive else place.program()

    return build
