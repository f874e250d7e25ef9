"""The case of a model that a search drew."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from corpus.case import Case, Family, Origin
from corpus.drawn.model import NAME, DrawnModel
from corpus.models_file import TOLERANCE
from corpus.user_model import ModelEntry, UserModel


def case_of(model: DrawnModel) -> Case:
    """A case of no registry, whose file is imported once and forgotten."""
    with TemporaryDirectory(prefix="drawn-") as folder:
        (Path(folder) / f"{NAME}.py").write_text(model.source, encoding="utf-8")
        entry = ModelEntry(NAME, f"{NAME}.py:Model", "", model.fallback, model.dynamic)
        try:
            found = UserModel(entry, Path(folder), {})
        finally:
            sys.modules.pop(NAME, None)
            if folder in sys.path:
                sys.path.remove(folder)
    return Case(
        name=NAME,
        family=Family.FOUND,
        origin=Origin.EXPORTED,
        catches="",
        build=found.program,
        fallback=model.fallback,
        eager_tolerance=TOLERANCE,
        dynamic=bool(model.dynamic),
    )
