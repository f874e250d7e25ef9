"""The register and the table of a folder: what is known to be broken, and what each cell shows."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.base.errors import UsageError
from harness.expectations import EXPECTATIONS
from harness.register.defects import DEFECTS_FILE, Register, read_register
from harness.register.standing import Standings
from harness.register.table import Table
from harness.register.table_files import read_table

TABLE_FOLDER: Final = "expected"


@dataclass(frozen=True)
class Expectations:
    """What is known to be broken, and what each cell is expected to show."""

    register: Register
    table: Table

    @functools.cached_property
    def standings(self) -> Standings:
        """What they say of each defect in each release."""
        return Standings(self.register, self.table)

    def met_by(self, cases: Collection[tuple[str, str]]) -> Expectations:
        """The same with those defects alone that any of these cases shows in any release.

        Args:
            cases: the lane and the name of each.
        """
        met = {
            entry.defect
            for entry in self.table.entries
            if (entry.place.lane, entry.place.case) in cases
        }
        defects = tuple(each for each in self.register.defects if each.id in met)
        return Expectations(Register(defects), self.table)


def read_expectations(
    folder: Path = EXPECTATIONS, corpus: Sequence[str] = (), *, undecided: bool = False
) -> Expectations:
    """The expectations of a folder: ``defects.toml``, and the table in ``expected/``.

    The project's own table speaks of the project's cases, and of nobody else's; its register speaks
    of upstream, so that a folder without one has the project's.

    Args:
        corpus: places of cases that take the place of the project's own.
        undecided: accept rows whose defect is not decided yet.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; name one that `expected --update` wrote")
    own = folder / DEFECTS_FILE.name
    register = read_register(own if own.is_file() else DEFECTS_FILE)
    rows = folder / TABLE_FOLDER
    alien = bool(corpus) and folder.resolve() == EXPECTATIONS
    table = Table() if alien or not rows.is_dir() else read_table(rows, undecided=undecided)
    return Expectations(register, table)
