"""Reads and checks ``defects.toml``, where people write down what is broken upstream, and why.

A defect is the smallest thing that one change upstream would mend everywhere. The expected table
(`harness.register.table`), which a machine writes, says which cells fail by it.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from packaging.version import Version

from harness.base.toml_table import TomlTable
from harness.expectations import EXPECTATIONS
from harness.register.facts import Fact, Place, parsed_version
from harness.wire.oracles import Oracle
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage

DEFECTS_FILE: Final = EXPECTATIONS / "defects.toml"
DEFECTS_SCHEMA: Final = 1
LONGEST_TITLE: Final = 80
BLAMES: Final = (
    "inliner",
    "exporter",
    "lowering",
    "conversion",
    "partitioner",
    "tracer",
    "packaging",
    "runtime",
    "torch",
    "by design",
)
#: The model of `MODELS` that writes rows or columns, as who has a KV cache does too.
WRITES_PARTS: Final = "slice-writes"
#: What a model has or does that meets a defect, in its owner's words.
MODELS: Final[Mapping[str, str]] = {
    "state": "has a KV cache or other state",
    "only-writes": "only writes to a buffer",
    "input-writes": "writes to its inputs",
    WRITES_PARTS: "writes to parts of a tensor (x[:, 1:] = y)",
    "sizes": "has sizes that vary",
    "data-sizes": "computes sizes or numbers from data",
    "keywords": "takes keyword inputs or *args",
    "containers": "takes a dictionary, a list, a number or None",
    "no-inputs": "takes no inputs",
    "returns-none": "returns None or a number",
    "returns-its-own": "returns its own weight or buffer",
    "shared-weights": "has shared or like-named weights",
    "complex": "has complex numbers",
    "float64": "has float64",
    "control-flow": "has torch.cond, while_loop or map",
    "fallbacks": "has ops left in PyTorch",
    "global-partitioner": "is split by the global partitioner",
    "recompiled": "is compiled a second time",
    "any": "is any model",
}
#: What has to be there besides for some defects.
NEEDS: Final = (
    "cast-into-state", "cloned-state", "complex-beside-real", "complex-of-reals",
    "complex-returned", "four-dimensional-writes", "handmade-split", "instance-norm",
    "log-softmax", "masked-attention", "module-given", "scatter-add", "scatter-reduce",
    "slice-scatter-by-default", "sort-by-default", "state-into-state", "strided-state",
    "torch-2.14", "torch-2.9", "variance", "vmap",
)  # fmt: skip
#: Of `MODELS`, those that a model without state has none of.
HAVING_STATE: Final = frozenset(("state", "only-writes", "input-writes"))
#: The built-in inliners are the algorithms of these releases, and torch is no release at all.
_COUNTS_AS: Final = {"name-matching": "2.13.0", "positional": "2.14.0"}
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True)
class Sign:
    """How a defect shows itself. A sign proposes a defect for a new failure and proves nothing.

    ``says`` matches a whole fact, whose numbers are ``#`` and whose quoted names are ``'*'``.
    ``routes``, ``builders`` and ``cases`` are patterns; without any, everything fits.
    """

    oracle: str
    says: str
    at: str = ""
    routes: tuple[str, ...] = ()
    builders: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()

    def fits(self, place: Place, fact: Fact) -> bool:
        return (
            self.oracle == fact.oracle
            and self.at in ("", fact.stage)
            and _matches(self.says, fact.says)
            and (not self.routes or _reached(self.routes, place.route))
            and _any(self.builders, place.builder)
            and _any(self.cases, place.case)
        )

    def __str__(self) -> str:
        return f"{self.oracle} /{self.says}/"


@dataclass(frozen=True)
class Defect:
    """One defect. The file says what each field means."""

    id: str
    title: str
    why: str
    where: tuple[str, ...]
    blame: str
    minimal_case: str
    workaround: str
    signs: tuple[Sign, ...] = ()
    models: tuple[str, ...] = ("any",)
    needs: tuple[str, ...] = ()
    upstream: tuple[str, ...] = ()
    since: str = ""
    fixed_in: str = ""
    fixed_by: str = ""
    brought_by: str = ""
    documented: str = ""
    avoid: tuple[str, ...] = ()
    not_visible: str = ""
    no_script: str = ""

    def signed_in_any_case(self, place: Place, fact: Fact) -> bool:
        """Whether a failure bears one of its signs, those that name cases among them."""
        signs = (dataclasses.replace(sign, cases=()) for sign in self.signs)
        return any(sign.fits(place, fact) for sign in signs)

    def alive_in(self, subject: str) -> bool:
        """Whether a subject may have it, by ``since`` and ``fixed_in``."""
        version = parsed_version(_COUNTS_AS.get(subject, subject))
        if version is None:
            return True
        return not (
            (self.since and version < Version(self.since))
            or (self.fixed_in and version >= Version(self.fixed_in))
        )

    def may_show(self, subject: str) -> bool:
        """As `alive_in`, but the control, which inlines nothing, shows only torch's own defects."""
        return self.alive_in(subject) and (subject != "torch" or self.blame in _NO_INLINER)

    def is_avoided_by(self, route: Route) -> bool:
        """Whether a call, or what it reaches, does not meet the defect by the register."""
        return bool({route, route.reaches} & {*self.avoid})

    def met_by(self, lacks: Collection[str]) -> bool:
        """Whether a model may meet it that surely has not what ``lacks`` names."""
        return not ({*self.models} <= {*lacks} or {*self.needs} & {*lacks})

    def signed(self, place: Place, fact: Fact) -> bool:
        return any(sign.fits(place, fact) for sign in self.signs)


_NO_INLINER: Final = ("torch", "partitioner", "conversion", "by design")


@dataclass(frozen=True)
class Register:
    """All defects, in the order of the file."""

    defects: tuple[Defect, ...] = ()

    @functools.cached_property
    def by_id(self) -> dict[str, Defect]:
        return {defect.id: defect for defect in self.defects}

    @functools.cached_property
    def titles(self) -> dict[str, str]:
        """The title of each defect, by its id."""
        return {defect.id: defect.title for defect in self.defects}

    def candidates(self, place: Place, fact: Fact, subjects: Iterable[str]) -> list[Defect]:
        """The defects that may cause a fact in at least one of these subjects."""
        asked = tuple(subjects)
        return [
            defect
            for defect in self.defects
            if any(defect.may_show(subject) for subject in asked) and defect.signed(place, fact)
        ]


def read_register(path: Path = DEFECTS_FILE) -> Register:
    return Register(tuple(map(_defect, TomlTable.all_of_file(path, DEFECTS_SCHEMA, "defect"))))


def _defect(table: TomlTable) -> Defect:
    signs = _signs(table) if "signs" in table else ()
    defect = Defect(**_fields(Defect, table), signs=signs)
    table.nothing_else()
    _check(defect, table)
    return defect


def _fields(kind: type[Defect | Sign], table: TomlTable) -> dict[str, Any]:
    """The texts of a table by the names of a class's fields; those with a default may be absent."""
    return {
        field.name: table.texts(field.name) if "tuple" in field.type else table.text(field.name)
        for field in dataclasses.fields(kind)
        if field.name != "signs" and (field.name in table or field.default is dataclasses.MISSING)
    }


def _check(defect: Defect, table: TomlTable) -> None:
    if not _ID.fullmatch(defect.id):
        raise table.wrong(f"id {defect.id!r}: write lower-case words with dashes between them")
    if len(defect.title) > LONGEST_TITLE:
        raise table.wrong(
            f"its title has {len(defect.title)} characters; say it in {LONGEST_TITLE}, and the "
            "mechanism in why"
        )
    if defect.blame not in BLAMES:
        raise table.wrong(f"blame {defect.blame!r}: write one of {', '.join(BLAMES)}")
    for model in defect.models or ("",):
        if model not in MODELS:
            raise table.wrong(f"models {model!r}: write names of these: {', '.join(MODELS)}")
    for need in defect.needs:
        if need not in NEEDS:
            raise table.wrong(f"needs {need!r}: write names of these: {', '.join(NEEDS)}")
    if not defect.where:
        raise table.wrong("where is empty: name upstream's function and its file")
    for key in ("since", "fixed_in"):
        value = getattr(defect, key)
        if value and parsed_version(value) is None:
            raise table.wrong(f"{key} {value!r}: write a release, such as 2.14.0")
    if defect.since and defect.fixed_in and Version(defect.since) >= Version(defect.fixed_in):
        raise table.wrong(f"fixed_in {defect.fixed_in} is not after since {defect.since}")
    if defect.brought_by and not defect.since:
        raise table.wrong("brought_by without since: name the first release with the defect")
    for key in ("fixed_in", "not_visible"):
        if defect.no_script and getattr(defect, key):
            raise table.wrong(
                f"no_script beside {key}: only of a defect that the newest release shows or hides "
                "is a script asked; take one of them out"
            )
    if not defect.signs and not defect.not_visible:
        raise table.wrong(
            "signs are missing: say what it looks like, or in not_visible why no cell"
        )
    for route in defect.avoid:
        if route not in list(Route):
            raise table.wrong(f"avoid: unknown route {route!r}; there are {', '.join(Route)}")


def _signs(table: TomlTable) -> tuple[Sign, ...]:
    signs = []
    for number, fields in enumerate(table.take("signs", list), start=1):
        if not isinstance(fields, dict):
            raise table.wrong(f"sign number {number} is not a table")
        one = TomlTable(f"{table.where}, sign {number}", fields)
        sign = Sign(**_fields(Sign, one))
        one.nothing_else()
        if sign.oracle not in list(Oracle):
            raise one.wrong(f"unknown oracle {sign.oracle!r}; there are {', '.join(Oracle)}")
        if sign.at and sign.at not in list(Stage):
            raise one.wrong(f"unknown stage {sign.at!r}; there are {', '.join(Stage)}")
        try:
            re.compile(sign.says)
        except re.error as error:
            raise one.wrong(f"says is no regular expression: {error}") from error
        if r"\d" in sign.says:
            raise one.wrong(r"says: numbers are masked; write # for \d+")
        signs.append(sign)
    return tuple(signs)


@functools.cache
def _pattern(says: str) -> re.Pattern[str]:
    return re.compile(says, re.DOTALL)


@functools.cache
def _matches(says: str, text: str) -> bool:
    return _pattern(says).fullmatch(text) is not None


@functools.cache
def _any(patterns: tuple[str, ...], name: str) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


@functools.cache
def _reached(routes: tuple[str, ...], route: str) -> bool:
    """Whether a route matches; a graph lane route also stands for the calls that reach it."""
    return _any(routes, route) or (route in list(Route) and _any(routes, Route(route).reaches))
