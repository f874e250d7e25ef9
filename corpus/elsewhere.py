"""Other people's cases, in the place of the project's own: a file, a folder, or an entry point.

A file is Python that declares cases, or a models file in TOML (`corpus.models_file`).

A package ships cases by an entry point of the group ``inliner_regress.corpus`` that names a module.
A process has one corpus: what is loaded here is all that `all_cases` gives from then on.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from corpus.case import cases_are_those_of
from corpus.models_file import declare
from corpus.user_model import WrongModel

ENTRY_POINT_GROUP = "inliner_regress.corpus"
_UNDER_TEST = ("torch_tensorrt", "tensorrt")


class NoCorpus(Exception):
    """A place holds no cases, or cannot be imported: what, where, and why."""


def load(places: Sequence[str]) -> None:
    """Make the cases of these places the corpus of this process; without any, leave it.

    Args:
        places: paths of files or folders, or names of entry points.

    Raises:
        NoCorpus: a place is not there, does not import, or declares no case.
    """
    if not places:
        return
    modules: list[ModuleType] = []
    for place in places:
        try:
            found = list(_modules_at(place))
        except NoCorpus:
            raise
        except WrongModel as error:
            raise NoCorpus(str(error)) from error
        except Exception as error:  # somebody else's code: whatever it raises
            instead = (
                f"; give --with {error.name}, or --python of an environment that has it"
                if isinstance(error, ModuleNotFoundError)
                else ""
            )
            said = f"corpus {place}: {type(error).__name__}: {error}{instead}"
            raise NoCorpus(said) from error
        if not found:
            raise NoCorpus(f"corpus {place}: no Python file in it")
        modules += found
    files = {module.__name__: Path(str(module.__file__)) for module in modules}
    if not cases_are_those_of(files, _beside(files)):
        raise NoCorpus(f"corpus {', '.join(places)}: no case is declared in it, see corpus.case")


def _beside(files: Mapping[str, Path]) -> dict[str, Path]:
    """The sources of all modules that lie in a folder of these files, or below.

    Python's own, what is installed, and the project's are not theirs, wherever they lie: which of
    them a process has imported by now is its own matter. A release under test is not theirs either:
    its package is imported from the cache, which may lie below the user's folder.
    """
    folders = {file.resolve().parent for file in files.values()}
    others = {Path(sys.prefix), Path(sys.base_prefix), Path(__file__).resolve().parents[1]}
    found = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _UNDER_TEST:
            continue
        file = Path(str(getattr(module, "__file__", None) or "")).resolve()
        theirs = file.suffix == ".py" and folders.intersection(file.parents)
        if theirs and not others.intersection(file.parents) and "site-packages" not in file.parts:
            found[name] = file
    return found


def _modules_at(place: str) -> Iterator[ModuleType]:
    path = Path(place)
    if path.is_file() and path.suffix == ".toml":
        yield from declare(path)
    elif path.is_file():
        yield _from_file(path)
    elif path.is_dir():
        for file in sorted(path.glob("*.py")):
            yield _from_file(file)
    else:
        known = entry_points(group=ENTRY_POINT_GROUP)
        if place not in known.names:
            told = ", ".join(sorted(known.names)) or "none is installed"
            raise NoCorpus(f"corpus {place}: no such file, folder, or entry point ({told})")
        yield known[place].load()


def _from_file(file: Path) -> ModuleType:
    """Import a file under its own name, as a script would be, its folder on the path."""
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = f"corpus_elsewhere.{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise NoCorpus(f"corpus {file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
