"""Who is judged in a run: releases, built-in inliners, candidates and the control."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.base.errors import Unavailable, UsageError
from harness.catalogue.entry import subject_for_wheel
from harness.catalogue.releases import Catalogue, Release
from harness.runs.provenance import Provenance
from harness.subjects.specs import (
    builtin_subjects,
    checkout_subject,
    exporter_subject,
    release_subject,
    torch_subject,
    wheel_subject,
)
from harness.toolchain import Toolchain
from harness.toolchain.checkout import (
    Checkout,
    made_wheel,
    nearest,
    refuse_what_is_no_python,
    revision_of,
    tree_of,
)
from harness.wire.records import SubjectSpec
from harness.wire.vocabulary import SubjectKind


def choose_subjects(
    toolchain: Toolchain,
    catalogue: Catalogue,
    *,
    releases: str = "",
    exporter: Path | None = None,
    wheel: Path | None = None,
    checkout: Checkout | None = None,
    like: str = "",
    built_in: bool = True,
) -> tuple[SubjectSpec, ...]:
    """The releases, built-in inliners, candidate and control of a run.

    A candidate is compared with one release, and a checkout with its base too. Unless others are
    asked for, the run has the newest release, or the one that ``like`` names, and the control
    besides it.

    Args:
        built_in: whether this project's own inliners are judged, too. They are models of the two
            algorithms, and no failure of theirs is one of a product.
    """
    given = {"--exporter": exporter, "--wheel": wheel, "--checkout": checkout}
    candidates = [name for name, value in given.items() if value is not None]
    if len(candidates) > 1:
        raise UsageError(f"{' and '.join(candidates)} are two candidates; judge one at a time")
    if not candidates:
        if like:
            raise UsageError(
                "--like says what a candidate is held against; "
                f"give one of them too: {', '.join(given)}"
            )
        asked = catalogue.select(releases) if releases else tuple(catalogue)
        return (
            *(released(toolchain, release) for release in asked),
            *(builtin_subjects() if built_in else ()),
            torch_subject(),
        )
    partner = catalogue.get(like) if like else catalogue.newest
    asked = catalogue.select(releases) if releases else (partner,)
    chosen = [released(toolchain, release) for release in asked]
    if partner not in asked:
        chosen.append(released(toolchain, partner))
    if checkout is not None:
        return (*chosen, *_of_checkout(toolchain, catalogue, checkout, like), torch_subject())
    if exporter is not None:
        candidate = _exporter(toolchain, exporter, partner)
    else:
        assert wheel is not None
        candidate = _wheel(wheel, catalogue, partner)
    return (*chosen, candidate, torch_subject())


def likes(subjects: Sequence[SubjectSpec]) -> dict[str, str]:
    """For each candidate, the subject that it is held against: a release, or a checkout's base."""
    return {
        spec.subject: spec.held_against or spec.release
        for spec in subjects
        if spec.kind is SubjectKind.FILE and spec.release is not None
    }


def around(subjects: Iterable[SubjectSpec]) -> dict[str, str]:
    """For everything that a user brought, the release whose defects it may have."""
    brought = (spec for spec in subjects if spec.kind.brought)
    return {spec.subject: spec.release for spec in brought if spec.release is not None}


def _of_checkout(
    toolchain: Toolchain, catalogue: Catalogue, checkout: Checkout, like: str
) -> tuple[SubjectSpec, SubjectSpec]:
    """The base of a checkout, and the checkout, held against it.

    What only a package has comes from the same release for both.
    """
    base, now = revision_of(checkout), tree_of(checkout)
    refuse_what_is_no_python(checkout, base, now)
    around = catalogue.get(like) if like else nearest(now.version, catalogue)
    wheels = [
        made_wheel(toolchain.cache, toolchain.wheel(around), each.files) for each in (base, now)
    ]
    found = [subject_for_wheel(wheel, catalogue) for wheel in wheels]
    held_against = checkout_subject(found[0], wheels[0], around, checkout.root)
    candidate = checkout_subject(found[1], wheels[1], around, checkout.root, held_against.subject)
    return held_against, candidate


def released(toolchain: Toolchain, release: Release) -> SubjectSpec:
    """A release as a subject, which says why if its wheel cannot be had."""
    try:
        return release_subject(release, toolchain.wheel(release))
    except Unavailable as reason:
        return release_subject(release, None, str(reason))


def _exporter(toolchain: Toolchain, path: Path, like: Release) -> SubjectSpec:
    try:
        return exporter_subject(path, like, toolchain.wheel(like))
    except Unavailable as reason:
        return exporter_subject(path, like, None, str(reason))


def _wheel(path: Path, catalogue: Catalogue, like: Release) -> SubjectSpec:
    """A wheel that is not a release, such as a nightly."""
    release = subject_for_wheel(path, catalogue)
    if release in tuple(catalogue):
        raise UsageError(
            f"{path} is release {release.version} as it is in the catalogue; "
            f"ask for it with --releases {release.version}"
        )
    return wheel_subject(release, path, like)


def found_again(
    before: Provenance,
    toolchain: Toolchain,
    catalogue: Catalogue,
    kept: Iterable[SubjectSpec] = (),
) -> tuple[SubjectSpec, ...]:
    """The subjects of an earlier run, as they are today. Raises as `choose_subjects`.

    Args:
        kept: its candidates with the files that it kept, see `harness.runs.candidates`.
    """
    specs: list[SubjectSpec] = []
    as_judged = {spec.subject: spec for spec in kept}
    for subject in before.subjects:
        spec = as_judged.get(subject.subject, subject)
        if spec.kind is SubjectKind.RELEASE:
            specs.append(released(toolchain, catalogue.get(spec.subject)))
        elif spec.kind in (SubjectKind.BASE, SubjectKind.FILE):
            like = catalogue.get(spec.release or "")
            if spec.checkout is not None:
                wheel = Path(spec.wheel_path or "")
                found = subject_for_wheel(wheel, catalogue)
                root = Path(spec.checkout)
                specs.append(checkout_subject(found, wheel, like, root, spec.held_against))
            elif spec.exporter_path is not None:
                specs.append(_exporter(toolchain, Path(spec.exporter_path), like))
            else:
                specs.append(_wheel(Path(spec.wheel_path or ""), catalogue, like))
        else:
            specs.append(spec)
    return tuple(specs)
