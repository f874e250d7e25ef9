"""Every `where` of the register is a line of upstream's own source, inside the function it names.

Upstream is the released wheels, and the torch that is installed here. What lies in neither says so
in so many words, and is counted.
"""

import functools
import importlib.metadata
import importlib.util
import zipfile
from pathlib import Path
from typing import Final

import pytest

from harness.catalogue.releases import Catalogue
from harness.register.defects import Defect
from harness.register.expected import read_expectations
from harness.register.where import TORCH, lines_of, where_in
from harness.toolchain import Toolchain

REGISTER = read_expectations(undecided=True).register
#: What begins so is in no wheel and not in the installed torch: another torch, upstream's C++.
OUT_OF_REACH: Final = ("not in a wheel: ", "not in the torch of the tests: ")


class Sources:
    """The Python files of releases and of the installed torch, read where they lie."""

    def __init__(self, toolchain: Toolchain, catalogue: Catalogue) -> None:
        self._toolchain = toolchain
        self._catalogue = catalogue
        self.releases = [release.version for release in catalogue.releases]

    @functools.cache  # noqa: B019 - one object a session, and wheels are big
    def text(self, file: str, release: str) -> str | None:
        """A file's text; None where there is none. Without a release it is torch's."""
        if not release:
            spec = importlib.util.find_spec("torch")
            assert spec is not None
            assert spec.origin is not None
            path = Path(spec.origin).parents[1] / file
            return path.read_text(encoding="utf-8") if path.is_file() else None
        wheel = self._toolchain.wheel(self._catalogue.get(release))
        with zipfile.ZipFile(wheel) as opened:
            name = f"torch_tensorrt/{file}"
            return opened.read(name).decode() if name in opened.namelist() else None


@pytest.fixture(scope="module")
def sources(toolchain, catalogue):
    return Sources(toolchain, catalogue)


def fault(where: str, defect: Defect, sources: Sources) -> str:
    """What is wrong with one `where` of a defect, or nothing."""
    place = where_in(where)
    if place is None:
        return "is not 'function (file:line)' or 'function (file:line, release)'"
    file, line, release = place.file, place.line, place.release
    if file.startswith("torch/"):
        if release:
            return "names a release for a file of torch, of which only the installed one is read"
    else:
        newest = sources.releases[-1]
        if not release and not defect.alive_in(newest):
            return "names no release, and the newest no longer has the defect"
        release = release or newest
        if release not in sources.releases or not defect.alive_in(release):
            return f"names {release}, which does not have the defect"
    text = sources.text(file, release)
    if text is None:
        return f"names {file}, which {release or 'torch'} does not have"
    named = lines_of(place.function, text)
    if not named:
        return f"names {place.function}, which is not in that file"
    if not any(first <= line <= last for first, last in named):
        return f"names line {line}, and the function has lines {named}"
    return ""


def test_every_place_of_the_register_is_a_line_of_the_function_that_it_names(sources):
    wrong = [
        f"{defect.id}: {where!r} {found}"
        for defect in REGISTER.defects
        for where in defect.where
        if not where.startswith(OUT_OF_REACH) and (found := fault(where, defect, sources))
    ]
    assert wrong == []


def test_the_lines_of_torch_are_those_of_the_torch_that_the_register_names():
    assert importlib.metadata.version("torch").partition("+")[0] == TORCH


def test_what_no_wheel_holds_says_so_and_is_known():
    out = {
        defect.id
        for defect in REGISTER.defects
        for where in defect.where
        if where.startswith(OUT_OF_REACH)
    }
    assert out == {"strided-cache-copied", "torch-29-star-arguments", "torch-29-parameters"}


@pytest.mark.parametrize(
    ("planted", "told"),
    [
        ("export (dynamo/_exporter.py:86)", ""),
        ("export (dynamo/_exporter.py:306)", "names line 306, and the function has lines"),
        ("inlining (dynamo/_exporter.py:306)", "names inlining, which is not in that file"),
        ("export (dynamo/exporter.py:86)", "which 2.14.0 does not have"),
        ("export (dynamo/_exporter.py)", "is not 'function (file:line)'"),
        ("export (dynamo/_exporter.py:86, 2.10.0)", "2.10.0, which does not have the defect"),
        ("export (dynamo/_exporter.py:86, 9.9.9)", "9.9.9, which does not have the defect"),
        ("Wrapper.forward (torch/export/_trace.py:1)", "names line 1, and"),
        ("export (torch/export/_trace.py:1, 2.14.0)", "only the installed one is read"),
    ],
)
def test_a_wrong_place_is_told(planted, told, sources):
    since = REGISTER.by_id["cross-without-inputs"]  # alive, and not in 2.10.0
    found = fault(planted, since, sources)
    assert told in found
    assert bool(found) is bool(told)


def test_a_mended_defect_names_the_release_that_is_read(sources):
    mended = REGISTER.by_id["wired-by-name"]
    found = fault("inline_torch_modules (dynamo/_exporter.py:306)", mended, sources)
    assert found == "names no release, and the newest no longer has the defect"
