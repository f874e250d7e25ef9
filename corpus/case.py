"""A case, and the registry of all cases.

At import this needs torch and the standard library only, so that any release's environment can
load the corpus. A case is declared by decorating a function that builds it:

    @case(Family.NAME_COLLISIONS, catches="...", fallback=["aten.relu.default"])
    def later_engine_getitem() -> Program: ...
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule


class Mistake(Exception):
    """What a user has written is wrong, whatever is asked of it: what, and what to write instead.

    The message is all of the answer.
    """


class Family(enum.StrEnum):
    """The structural feature that a case exercises."""

    MULTI_OUTPUT_ENGINES = "multi-output engines"
    ALTERNATING_RELU = "alternating relu fallbacks"
    NESTED_GETITEMS = "nested getitems"
    ENGINE_OUTPUTS = "engine outputs"
    NAME_COLLISIONS = "name collisions"
    SHARED_VALUES = "values read twice"
    FALLBACK_OUTPUTS = "fallback outputs"
    ATTRIBUTES = "attributes in fallbacks"
    CACHES = "caches and running state"
    SLICE_WRITES = "writes to parts of a tensor"
    CALLS = "calls of children"
    CONSTANTS = "constants"
    DYNAMIC_SHAPES = "dynamic shapes"
    INTERFACES = "model interfaces"
    SCALE = "deep chains and wide fans"
    ARCHITECTURES = "real architectures"
    TYPES = "types of values"
    CUSTOM_OPS = "custom ops and names of ops"
    LIFE_CYCLE = "before and after compile"
    SETTINGS = "settings of compile"
    FUNCTIONAL_EXPORT = "functional export"
    UNFLATTEN = "unflatten"
    DRAWN = "drawn combinations"
    FOUND = "found"  # reduced counterexamples
    RECORDED = "recorded from the product"


class Origin(enum.StrEnum):
    """How real a case's split is."""

    PRODUCT = "product"  # as the real torch_tensorrt.dynamo.compile lowers and splits it
    EXPORTED = "exported"  # torch.export and the same splitter, without the product's lowering
    HANDMADE = "handmade"  # an fx graph that today's splitter does not emit


@dataclass(frozen=True)
class Inputs:
    """One call's arguments, as the model's author would pass them."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """What a case's function builds: a model to capture and split, or a split module as it is.

    Exactly one of ``model`` and ``split`` is given. ``inputs`` makes the arguments of one call from
    a seeded generator; with ``size`` it makes them with that size in every dynamic dimension.
    ``bounds`` are the sizes that are tried; with ``unbounded`` the user states no upper one.
    ``ranges`` are the ranges of its dynamic dimensions where these differ from ``bounds``.
    ``names_sizes`` says that a user who gives the module names its sizes (``Input(shared_dims=)``)
    as ``dynamic_shapes`` does; else two sizes of one name are two sizes to the compiler.
    ``archive`` is the file that the program is loaded from instead of being exported, whose module
    ``model`` then is. ``given_to_save`` turns the example into what is given to `save`, where that
    is not what `compile` was given; ``shapes_for_save`` are likewise the dynamic shapes that `save`
    is given in the place of ``dynamic_shapes``, and ``bounds`` their range. ``before_compile`` is
    what a user does to the exported program first, such as saving and loading it;
    ``after_compile`` is what a user does with the compiled module, called with the example, before
    saving it.
    """

    inputs: Callable[[torch.Generator, int | None], Inputs]
    model: torch.nn.Module | None = None
    split: GraphModule | None = None
    dynamic_shapes: Any = None
    bounds: tuple[int, int] | None = None  # of the dynamic dimensions, both inclusive
    unbounded: bool = False
    ranges: tuple[tuple[int, int | None], ...] = ()
    names_sizes: bool = False
    archive: Path | None = None
    given_to_save: Callable[[Inputs], Inputs] | None = None
    shapes_for_save: Any = None
    before_compile: Callable[[ExportedProgram], ExportedProgram] | None = None
    after_compile: Callable[[GraphModule, Inputs], GraphModule] | None = None

    @property
    def stated_ranges(self) -> tuple[tuple[int, int | None], ...]:
        """The ranges of sizes as the user states them: without an upper one where there is none."""
        if self.bounds is None:
            return ()
        return self.ranges or ((self.bounds[0], None if self.unbounded else self.bounds[1]),)

    @property
    def shapes_saved(self) -> Any:
        """The dynamic shapes that `save` is given, by a call that gives it any."""
        return self.dynamic_shapes if self.shapes_for_save is None else self.shapes_for_save

    def ranges_of(self, *, by_save: bool) -> tuple[tuple[int, int | None], ...]:
        """The ranges of a program's sizes; ``by_save`` where `save` was given dynamic shapes."""
        if by_save and self.shapes_for_save is not None:
            assert self.bounds is not None
            return (self.bounds,)
        return self.stated_ranges

    def __post_init__(self) -> None:
        if not callable(self.inputs):
            raise TypeError(
                f"Program's inputs are a {type(self.inputs).__name__}, and have to be a function "
                "that makes them anew: `lambda generator, size: Inputs((x, ids))`"
            )
        if (self.model is None) == (self.split is None):
            raise ValueError("a program has either a model or a split module")
        if (self.dynamic_shapes is None) != (self.bounds is None):
            raise ValueError("dynamic_shapes and bounds go together")
        if self.unbounded and self.bounds is None:
            raise ValueError("a program without dynamic dimensions cannot be unbounded")
        if self.shapes_for_save is not None and not self.ranges:
            raise ValueError("with shapes_for_save, ranges are those of dynamic_shapes")


@dataclass(frozen=True)
class Case:
    """One case. ``wiring`` says that it was made to show which node feeds which.

    ``catches`` is one sentence on the defect that the case would catch. ``eager_tolerance`` is the
    relative and absolute difference allowed against the eager model, 0.0 for bit for bit; split,
    inlined and reloaded program are always compared bit for bit. ``capture`` is the one mode
    that it is captured in, whatever a run asks for; None leaves it to the run. ``full``
    says that it is for a full run alone, ``cross`` that it is cross-compiled, too. ``dynamic``
    tells whether its program has dynamic dimensions, ``state`` whether it writes to its own
    buffers, ``settings`` what
    `torch_tensorrt.dynamo.compile` is asked beside the ops that fall back, ``save_keywords`` what
    `torch_tensorrt.save` is given where a route says nothing else, and ``imports`` the modules that
    a process has to import before it loads the program (custom ops). ``module_given`` says that
    `torch_tensorrt.compile` is given the module itself, and exports it. ``lanes`` are those that a
    run takes it through: a split that is handmade has nothing that a package could compile.
    """

    name: str
    family: Family
    origin: Origin
    catches: str
    build: Callable[[], Program]
    fallback: tuple[str, ...] = ()
    min_block_size: int = 1
    wiring: bool = False
    eager_tolerance: float = 0.0
    requires: tuple[str, ...] = ()
    capture: str | None = None
    full: bool = False
    cross: bool = False
    dynamic: bool = False
    state: bool = False
    module_given: bool = False
    settings: tuple[tuple[str, Any], ...] = ()
    save_keywords: tuple[tuple[str, Any], ...] = ()
    imports: tuple[str, ...] = ()
    lanes: tuple[str, ...] = ("graph", "package")
    declared_at: str = ""  # file:line, where no function declares it
    made_by: tuple[str, str] | None = None  # then the module and the call that makes its model

    @property
    def seed(self) -> int:
        """A seed of its own for every case, the same on every machine."""
        return int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:4], "big")


class UnknownCase(KeyError):
    """No case of that name."""


_REGISTRY: dict[str, Case] = {}
_ELSEWHERE: dict[str, Path] = {}  # module -> source, of cases that take the place of the project's
_BESIDE: dict[str, Path] = {}  # likewise of what these import from beside them


def case(
    family: Family,
    *,
    catches: str,
    origin: Origin = Origin.EXPORTED,
    fallback: Sequence[str] = (),
    min_block_size: int = 1,
    wiring: bool = False,
    eager_tolerance: float = 0.0,
    requires: Sequence[str] = (),
    full: bool = False,
    capture: str | None = None,
    cross: bool = False,
    dynamic: bool = False,
    state: bool = False,
    module_given: bool = False,
    settings: Mapping[str, Any] | None = None,
    save_keywords: Mapping[str, Any] | None = None,
    imports: Sequence[str] = (),
    lanes: Sequence[str] | None = None,
) -> Callable[[Callable[[], Program]], Callable[[], Program]]:
    """Register a function as a case of that name.

    Args:
        lanes: both of a model, and the graph lane of a split, where nothing else is said.

    Raises:
        TypeError: the family is none of `Family`.
    """
    if not isinstance(family, Family):
        raise TypeError(
            f"a case's family is {family!r}, and has to be one of: "
            f"{', '.join(f'Family.{known.name}' for known in Family)}"
        )

    def register(build: Callable[[], Program]) -> Callable[[], Program]:
        declared = Case(
            name=build.__name__,
            family=family,
            origin=origin,
            catches=catches,
            build=build,
            fallback=tuple(fallback),
            min_block_size=min_block_size,
            wiring=wiring,
            eager_tolerance=eager_tolerance,
            requires=tuple(requires),
            full=full,
            capture=capture,
            cross=cross,
            dynamic=dynamic,
            state=state,
            module_given=module_given,
            settings=tuple((settings or {}).items()),
            save_keywords=tuple((save_keywords or {}).items()),
            imports=tuple(imports),
            lanes=tuple(lanes or _lanes_of(origin)),
        )
        add_case(declared)
        return build

    return register


def add_case(declared: Case) -> None:
    """Register a case that is put together otherwise than by decorating its function.

    Raises:
        ValueError: another module has a case of that name.
    """
    known = _REGISTRY.get(declared.name, declared)
    if known.build.__module__ != declared.build.__module__:
        raise ValueError(f"two cases are named {declared.name}")
    _REGISTRY[declared.name] = declared


def _lanes_of(origin: Origin) -> tuple[str, ...]:
    return ("graph", "package") if origin is Origin.EXPORTED else ("graph",)


def vary(
    model: Callable[[], Program],
    suffix: str,
    settings: Mapping[str, Any] | None = None,
    *,
    fallback: Sequence[str] = (),
    full: bool = False,
) -> None:
    """Register a model once more as a case of the package lane, compiled otherwise.

    Args:
        model: a function that is registered as a case.
        suffix: what the case's name has behind the model's and an `@`.
        fallback: the ops that stay in PyTorch; empty for those of the model's case.
    """
    declared = _REGISTRY[model.__name__]
    name = f"{declared.name}@{suffix}"
    _REGISTRY[name] = dataclasses.replace(
        declared,
        name=name,
        fallback=tuple(fallback) or declared.fallback,
        settings=tuple((settings or {}).items()),
        full=full,
        cross=False,
        lanes=("package",),
    )


def all_cases() -> tuple[Case, ...]:
    """Every case, by family and then in the order of declaration."""
    if not _ELSEWHERE:
        families = importlib.import_module("corpus.families")
        for module in pkgutil.iter_modules(families.__path__):
            importlib.import_module(f"corpus.families.{module.name}")
    cases = [
        item for item in _REGISTRY.values() if not _ELSEWHERE or item.build.__module__ in _ELSEWHERE
    ]
    order = list(Family)
    return tuple(sorted(cases, key=lambda item: order.index(item.family)))


def cases_of(lane: str) -> tuple[Case, ...]:
    """Those cases that go through a lane."""
    return tuple(item for item in all_cases() if lane in item.lanes)


def cases_are_those_of(modules: Mapping[str, Path], beside: Mapping[str, Path]) -> tuple[Case, ...]:
    """Let the cases of these imported modules be all cases of this process, from now on.

    Args:
        modules: by name, with their sources, which the corpus digest then covers too.
        beside: likewise of the modules that they import; cases of these are none.
    """
    _ELSEWHERE.update(modules)
    _BESIDE.update(beside)
    return all_cases()


def sources_elsewhere() -> frozenset[Path]:
    """The files that declare the cases from elsewhere, and those beside them that they import."""
    return frozenset(path.resolve() for path in (_ELSEWHERE | _BESIDE).values())


def is_from_elsewhere(item: Case) -> bool:
    """Whether a case takes the place of the project's own."""
    return item.build.__module__ in _ELSEWHERE


def find_case(name: str) -> Case:
    """The case of that name.

    Raises:
        UnknownCase: there is none.
    """
    for item in all_cases():
        if item.name == name:
            return item
    raise UnknownCase(name)


def corpus_digest() -> str:
    """SHA-256 over the corpus's sources: runs with one digest tried the same programs."""
    root = Path(__file__).parent
    own = (path for path in root.rglob("*") if path.suffix in {".py", ".json"})
    sources = {path.relative_to(root).as_posix(): path for path in own}
    digest = hashlib.sha256()
    for name, path in sorted((sources | _BESIDE | _ELSEWHERE).items()):
        digest.update(name.encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()
