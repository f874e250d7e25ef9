"""What is judged: a release, an `_exporter.py` of a working tree, a built-in inliner, torch.

These functions describe a subject, and the rig loads it. They do not import torch. They read an
exporter file as text, so that a file that cannot work is refused before a run begins.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.base.errors import SurroundingsError, UsageError
from harness.catalogue.bindings import rtx_versions
from harness.catalogue.releases import (
    CATALOGUE_FILE,
    EXPORTER_MODULE,
    Catalogue,
    Release,
    inliner_id,
)
from harness.wire.builders import CUDA, EMULATED, SEGMENT, Builder, BuilderKind
from harness.wire.records import PackageSpec, SubjectSpec
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import REQUIRED_CALLS, SubjectKind

TORCH_SUBJECT: Final = "torch"
BUILTIN_SUBJECTS: Final = ("name-matching", "positional")


def release_subject(
    release: Release, wheel_path: Path | None, unavailable: str = ""
) -> SubjectSpec:
    """A release's own inliner.

    Args:
        wheel_path: its wheel, already held against the catalogue's hash; None if there is none.
        unavailable: why there is none; given exactly when `wheel_path` is None.
    """
    _check_either(wheel_path, unavailable)
    if wheel_path is not None:
        identity = inliner_id(wheel_path, release.modules)
        if identity != release.inliner_id:
            raise SurroundingsError(
                f"{wheel_path}: inliner id {identity}, but {CATALOGUE_FILE.name} says "
                f"{release.inliner_id} for {release.version}; correct the catalogue"
            )
    return SubjectSpec(
        subject=release.version,
        kind=SubjectKind.RELEASE,
        routes=release.routes,
        hypothetical_routes=release.hypothetical,
        release=release.version,
        wheel_path=None if wheel_path is None else str(wheel_path),
        wheel_sha256=release.sha256,
        inliner_id=release.inliner_id,
        torch_pinned=release.pins.torch,
        tensorrt_pinned=release.pins.tensorrt,
        unavailable=unavailable,
    )


def wheel_subject(found: Release, wheel_path: Path, like: Release) -> SubjectSpec:
    """A wheel that is in no catalogue, such as a nightly, to be compared with a release.

    Its id is its version. It is of the same kind as an exporter file, because no table knows it.

    Args:
        found: the wheel, as `harness.catalogue.entry.subject_for_wheel` reads it.
        like: the release that it is compared with.
    """
    itself = release_subject(found, wheel_path)
    return dataclasses.replace(
        itself,
        kind=SubjectKind.FILE,
        release=like.version,
        wheel_path=str(wheel_path.resolve()),
    )


def checkout_subject(
    found: Release, wheel_path: Path, like: Release, checkout: Path, base: str = ""
) -> SubjectSpec:
    """A working tree, or the revision that it is held against, as a wheel that was made of it.

    Its name holds the start of its content's digest, so that two states of it are two subjects.

    Args:
        found: the wheel, as `harness.catalogue.entry.subject_for_wheel` reads it.
        like: the release whose packaged files, such as `_version.py`, are borrowed.
        base: the subject that the working tree is held against; empty if this is that subject.
    """
    kind = SubjectKind.FILE if base else SubjectKind.BASE
    name = "checkout" if base else "base"
    return dataclasses.replace(
        wheel_subject(found, wheel_path, like),
        subject=f"{name}:{wheel_path.stem[:8]}",
        kind=kind,
        checkout=str(checkout),
        held_against=base,
    )


def exporter_subject(
    path: Path, like: Release, wheel_path: Path | None, unavailable: str = ""
) -> SubjectSpec:
    """An `_exporter.py` that replaces the one in a release's wheel.

    Its name holds the start of its inliner id, so that two states of one file are two subjects.

    Args:
        like: the release whose wheel and routes it uses.
        wheel_path: that release's wheel; None if there is none.
        unavailable: why there is none; given exactly when `wheel_path` is None.
    """
    _check_either(wheel_path, unavailable)
    source = checked_exporter(path)
    replaced = {EXPORTER_MODULE: source}
    # Without the wheel the other modules are out of reach: the file alone names the subject.
    modules = replaced if wheel_path is None else like.modules
    identity = inliner_id(wheel_path or path, modules, replaced)
    stem = re.sub(r"[^\w.-]", "_", path.stem)  # it becomes part of file names
    return SubjectSpec(
        subject=f"file:{stem}-{identity[:8]}",
        kind=SubjectKind.FILE,
        routes=like.routes,
        hypothetical_routes=like.hypothetical,
        release=like.version,
        wheel_path=None if wheel_path is None else str(wheel_path),
        wheel_sha256=like.sha256,
        exporter_path=str(path.resolve()),
        exporter_sha256=hashlib.sha256(source).hexdigest(),
        inliner_id=None if wheel_path is None else identity,
        torch_pinned=like.pins.torch,
        tensorrt_pinned=like.pins.tensorrt,
        unavailable=unavailable,
    )


def builtin_subjects() -> tuple[SubjectSpec, ...]:
    """This project's own versions of the old and the new algorithm, which need no wheel."""
    return tuple(
        SubjectSpec(subject=name, kind=SubjectKind.BUILTIN, routes=(Route.EXPORT,))
        for name in BUILTIN_SUBJECTS
    )


def torch_subject() -> SubjectSpec:
    """The control, which has no inliner."""
    return SubjectSpec(
        subject=TORCH_SUBJECT,
        kind=SubjectKind.TORCH,
        routes=tuple(r for r in Route if r.lane is Lane.GRAPH and not r.row.inlines),
    )


def known_subjects(catalogue: Catalogue) -> tuple[SubjectSpec, ...]:
    """All subjects that the expectations can name, with their routes. No wheel is read."""
    reason = "its wheel was not asked for"
    real = tuple(Builder.of(BuilderKind.RTX, version) for version in rtx_versions())
    releases = (
        dataclasses.replace(
            release_subject(each, None, reason),
            packages=tuple(
                PackageSpec(builder, each.package_routes, unavailable=reason, executor=executor)
                for builder, executor in (
                    (SEGMENT, EMULATED),
                    *((builder, EMULATED) for builder in real if each.pins.tensorrt_rtx),
                    (Builder.of(BuilderKind.TENSORRT, each.pins.tensorrt), CUDA),
                )
                if each.package_routes
            ),
        )
        for each in catalogue
    )
    return (*releases, *builtin_subjects(), torch_subject())


def checked_exporter(path: Path) -> bytes:
    """The bytes of an exporter file that parses and defines all of `REQUIRED_CALLS`."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); "
            "give the path of an _exporter.py, as torch_tensorrt/dynamo holds it"
        ) from error
    try:
        tree = ast.parse(source, filename=str(path))
    except SyntaxError as error:
        raise UsageError(
            f"{path}, line {error.lineno}: not valid Python ({error.msg}); correct it and run again"
        ) from error
    missing = [call for call in REQUIRED_CALLS if call not in set(_bound_names(tree.body))]
    if missing:
        raise UsageError(
            f"{path}: does not define {', '.join(missing)}; an exporter must define "
            f"{', '.join(REQUIRED_CALLS)} at its top level"
        )
    return source


def _bound_names(body: list[ast.stmt]) -> Iterator[str]:
    """The names that a module body defines, imports or assigns, also under `if` and `try`."""
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name):
                yield name
            case ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name for alias in names)
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.If(body=then, orelse=otherwise):
                yield from _bound_names([*then, *otherwise])
            case ast.Try(body=tried, orelse=otherwise):
                yield from _bound_names([*tried, *otherwise])
            case _:
                continue


def _check_either(wheel_path: Path | None, unavailable: str) -> None:
    if (wheel_path is None) != bool(unavailable):
        raise ValueError("give a wheel, or the reason why there is none")
