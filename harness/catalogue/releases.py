"""The catalogue of releases: reads and checks `releases.toml`, and answers questions about it.

A release's inliner is named by its *inliner id*. Two releases that load the same modules with the
same bytes have one id, so they are executed once and reported twice.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from harness.base.errors import SurroundingsError, UsageError
from harness.base.program import PROGRAM
from harness.base.toml_table import TomlTable
from harness.base.zips import opened_zip
from harness.wire.records import SubjectSpec
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import SubjectKind

CATALOGUE_FILE: Final = Path(__file__).with_name("releases.toml")
CATALOGUE_SCHEMA: Final = 1
EXPORTER_MODULE: Final = "torch_tensorrt/dynamo/_exporter.py"

INLINING_ROUTES: Final = (Route.LEGACY, Route.EXPORT)
# Of a call with dynamic shapes, or without inputs, that not every release knows: from 2.11 on.
NEWER_ROUTES: Final = tuple(
    route
    for route in Route
    if route.lane is Lane.GRAPH and route.row.newer and not route.row.crosses
)
CROSS_ROUTES: Final = (Route.CROSS, Route.CROSS_LEGACY)  # from 2.6 on, and from 2.11
ROUTES: Final = (*INLINING_ROUTES, *NEWER_ROUTES, *CROSS_ROUTES)
PACKAGE_LANE_SINCE: Final = Version("2.7.0")
SAVE_RETRACES_SINCE: Final = Version("2.10.0")  # before, `save(m, f)` alone inlines
_NOTHING_REPLACED: Final[Mapping[str, bytes]] = MappingProxyType({})


@dataclass(frozen=True)
class Pins:
    """The versions that a release was built for; ``tensorrt_rtx`` is empty if it names none."""

    torch: str
    tensorrt: str
    tensorrt_rtx: str
    cuda: str


@dataclass(frozen=True)
class Api:
    """The keyword arguments of a release's functions."""

    transform: tuple[str, ...]
    create_trt_exp_program: tuple[str, ...]


@dataclass(frozen=True)
class Release:
    """One table of the catalogue; `releases.toml` says what each field means."""

    version: str
    wheel: str
    sha256: str
    abi: str
    pins: Pins
    modules: tuple[str, ...]
    inliner_id: str
    save_retraces: bool
    reachable: tuple[Route, ...]
    hypothetical: tuple[Route, ...]
    api: Api

    @property
    def routes(self) -> tuple[Route, ...]:
        """Reachable and hypothetical routes, always in the same order."""
        taken = (*self.reachable, *self.hypothetical)
        return tuple(route for route in ROUTES if route in taken)

    @property
    def package_routes(self) -> tuple[Route, ...]:
        """What a user of the whole package calls: `compile`, and each way to save what it returns.

        Empty before 2.7.0, where the lane begins.

        Up to 2.6.1 `compile` leaves a call of torch's own `_guards_fn` in the split module that
        torch 2.9 and later put into it, which is no defect of theirs.

        From 2.11 on `torch_tensorrt.save` takes the shapes and the choice of an exporter, which it
        hands to `create_trt_exp_program` in their turn.
        """
        if Version(self.version) < PACKAGE_LANE_SINCE:
            return ()
        newer = "dynamic_shapes" in self.api.create_trt_exp_program
        here = [route for route in Route if route.lane is Lane.PACKAGE]
        had = [route for route in here if newer or not route.row.newer]
        return tuple(sorted(had, key=lambda route: route.row.newer))


@dataclass(frozen=True)
class Catalogue:
    """The known releases, oldest first."""

    releases: tuple[Release, ...]

    def __iter__(self) -> Iterator[Release]:
        return iter(self.releases)

    def __len__(self) -> int:
        return len(self.releases)

    @property
    def versions(self) -> tuple[str, ...]:
        return tuple(release.version for release in self.releases)

    @property
    def torches(self) -> dict[str, str]:
        """The torch that each release pins, by the release's version."""
        return {release.version: release.pins.torch for release in self.releases}

    @property
    def newest(self) -> Release:
        return self.releases[-1]

    def get(self, version: str) -> Release:
        """The release of exactly this version."""
        for release in self.releases:
            if release.version == version:
                return release
        close = difflib.get_close_matches(version, self.versions, n=1, cutoff=0.6)
        hint = f"did you mean {close[0]}? " if close else ""
        raise UsageError(
            f"unknown release {version!r}; {hint}known: {', '.join(self.versions)}; for a new one: "
            f"{PROGRAM} add-release VERSION, or --wheel FILE where a command takes it"
        )

    def select(self, expression: str) -> tuple[Release, ...]:
        """The releases meant by ``2.10.0,2.13.0`` or by one specifier such as ``>=2.9,<2.14``.

        Oldest first and each once, in whatever order they were asked for.
        """
        parts = [part.strip() for part in expression.split(",")]
        # A specifier's clauses are joined by commas too; only their operators tell them apart.
        if any(re.match(r"[<>=!~]", part) for part in parts):
            chosen = set(self._matching(expression))
        elif all(parts):
            chosen = {self.get(part) for part in parts}
        else:
            raise UsageError(
                f"releases {expression!r}: an empty name; "
                f'write "2.10.0,2.13.0" or one specifier such as ">=2.9,<2.14"'
            )
        return tuple(release for release in self.releases if release in chosen)

    def _matching(self, expression: str) -> Iterable[Release]:
        try:
            specifier = SpecifierSet(expression)
        except InvalidSpecifier as error:
            raise UsageError(
                f"releases {expression!r} is neither a list of versions nor one specifier "
                f'({error}); write "2.10.0,2.13.0" or ">=2.9,<2.14"'
            ) from error
        matching = [r for r in self.releases if specifier.contains(r.version, prereleases=True)]
        if not matching:
            raise UsageError(
                f"releases {expression!r} matches no release; known: {', '.join(self.versions)}"
            )
        return matching

    def groups(self) -> tuple[tuple[Release, ...], ...]:
        """Releases that share an inliner, together; oldest first within and among groups."""
        by_id: dict[str, list[Release]] = {}
        for release in self.releases:
            by_id.setdefault(release.inliner_id, []).append(release)
        return tuple(tuple(group) for group in by_id.values())


def inliner_id(
    wheel_path: Path,
    modules: Iterable[str],
    replaced: Mapping[str, bytes] = _NOTHING_REPLACED,
) -> str:
    """SHA-256 over every module that is loaded for an inliner, as hex.

    Hashed are, in the order of their paths: the path in UTF-8, a zero byte, the length in bytes as
    a decimal number, a zero byte, the content. The wheel is read as a zip, never unpacked, and is
    not opened when every module is replaced.

    Args:
        wheel_path: where the modules are read from.
        modules: their paths inside the wheel.
        replaced: bytes that stand in for a module of the wheel, by its path.
    """
    paths = sorted(set(modules))
    contents = dict(replaced)
    contents.update(_read_modules(wheel_path, [path for path in paths if path not in replaced]))
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path}\0{len(contents[path])}\0".encode())
        digest.update(contents[path])
    return digest.hexdigest()


def _read_modules(wheel_path: Path, paths: list[str]) -> dict[str, bytes]:
    if not paths:
        return {}
    try:
        with opened_zip(wheel_path) as wheel:
            return {path: wheel.read(path) for path in paths}
    except KeyError as error:
        raise SurroundingsError(
            f"{wheel_path}: no module {error.args[0]}; correct `modules` in {CATALOGUE_FILE.name}"
        ) from error
    except (OSError, zipfile.BadZipFile) as error:
        raise SurroundingsError(
            f"{wheel_path}: cannot be read as a wheel ({error}); delete it and fetch it again"
        ) from error


def load_catalogue(path: Path = CATALOGUE_FILE) -> Catalogue:
    """Read and check a catalogue."""
    top = TomlTable.of_file(path, CATALOGUE_SCHEMA)
    tables = top.table("release").tables()
    top.nothing_else()
    if not tables:
        raise top.wrong("no release at all")
    releases = [_release(version, table) for version, table in tables.items()]
    return Catalogue(tuple(sorted(releases, key=lambda release: Version(release.version))))


def _release(version: str, table: TomlTable) -> Release:
    pins, api = table.table("pins"), table.table("api")
    reachable, hypothetical = table.texts("reachable"), table.texts("hypothetical")
    shared_out = [*reachable, *hypothetical]
    twice = len(set(shared_out)) < len(shared_out)
    if twice or not set(INLINING_ROUTES) <= set(shared_out) <= set(ROUTES):
        raise table.wrong(
            f"keys 'reachable' and 'hypothetical' must share out {' and '.join(INLINING_ROUTES)}, "
            f"and may have {', '.join((*NEWER_ROUTES, *CROSS_ROUTES))}"
        )
    release = Release(
        version=version,
        wheel=table.text("wheel", lambda name: is_wheel_of(name, version)),
        sha256=table.text("sha256", _is_sha256),
        abi=table.text("abi", str.isdecimal),
        pins=Pins(
            torch=pins.text("torch"),
            tensorrt=pins.text("tensorrt"),
            tensorrt_rtx=pins.text("tensorrt_rtx", lambda _: True),
            cuda=pins.text("cuda"),
        ),
        modules=table.texts("modules"),
        inliner_id=table.text("inliner_id", _is_sha256),
        save_retraces=table.take("save_retraces", bool),
        reachable=tuple(map(Route, reachable)),
        hypothetical=tuple(map(Route, hypothetical)),
        api=Api(api.texts("transform"), api.texts("create_trt_exp_program")),
    )
    for part in (pins, api, table):
        part.nothing_else()
    if EXPORTER_MODULE not in release.modules:
        raise table.wrong(f"key 'modules' lacks {EXPORTER_MODULE}")
    return release


def _is_sha256(text: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{64}", text) is not None


def is_wheel_of(name: str, version: str) -> bool:
    """Whether a file name is that of a wheel of this version of Torch-TensorRT."""
    try:
        project, found, _, _ = parse_wheel_filename(name)
        return project == "torch-tensorrt" and found == Version(version)
    except (InvalidWheelFilename, InvalidVersion):
        return False


def is_linux_wheel(name: str) -> bool:
    """Whether a file name is that of a wheel for Linux on x86_64."""
    try:
        _, _, _, tags = parse_wheel_filename(name)
    except InvalidWheelFilename:
        return False
    return any(re.fullmatch(r"(many)?linux.*_x86_64", tag.platform) for tag in tags)


def ordered_subjects(subjects: Iterable[SubjectSpec]) -> tuple[SubjectSpec, ...]:
    """Releases by version, then files, then built-ins, then torch."""
    kinds = list(SubjectKind)

    def order(spec: SubjectSpec) -> tuple[int, Version, str]:
        return kinds.index(spec.kind), version_of(spec.release or spec.subject), spec.subject

    return tuple(sorted(subjects, key=order))


def version_of(text: str) -> Version:
    """A version to sort by. Text that is no version sorts first."""
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")
