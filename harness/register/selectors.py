"""Names that a person writes for several things: cases by globs, subjects by versions."""

from __future__ import annotations

import functools
from fnmatch import fnmatchcase

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

NAMED_SUBJECTS = ("name-matching", "positional", "torch")


@functools.cache
def selects_case(selector: str, name: str) -> bool:
    """Whether a case name or fnmatch glob selects a case."""
    return selector == name or fnmatchcase(name, selector)


@functools.cache
def selects_subject(selector: str, subject: str) -> bool:
    """Whether a version, a PEP 440 specifier or a named subject selects a subject.

    Versions and specifiers select releases only: the subjects whose name is a version.
    """
    if selector in NAMED_SUBJECTS:
        return selector == subject
    version = parsed_version(subject)
    if version is None:
        return False
    exact = parsed_version(selector)
    if exact is not None:
        return exact == version
    # Pre-releases are named by nobody by accident: a catalogue that has one means it.
    return parsed_specifier(selector).contains(version, prereleases=True)


@functools.cache
def parsed_version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def parsed_specifier(text: str) -> SpecifierSet:
    """Raises ValueError unless ``text`` is a PEP 440 specifier that restricts something."""
    try:
        specifier = SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(str(error)) from error
    if not len(specifier):
        raise ValueError("an empty specifier")
    return specifier
