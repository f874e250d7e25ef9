"""How many lines of Python a call runs before and after a change: its cost, without a clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

#: A smaller part of a call's lines is no change: as many differ from one process to the next where
#: torch goes through a set of objects.
_ALIKE: Final = 1e-4


@dataclass(frozen=True)
class Counted:
    """The lines of one ``call``, named as on a page."""

    call: str
    before: int
    after: int

    @property
    def more(self) -> int:
        """The lines that the change adds; 0 where they are too few to be told from none."""
        more = self.after - self.before
        return more if abs(more) >= _ALIKE * self.before else 0

    @property
    def percent(self) -> float:
        return 100 * self.more / self.before


def cost_words(calls: Iterable[Counted]) -> str:
    """What a change costs: ``save(m, f) +40 (+0.02 %); compile() and load() as many as before``."""
    known = list(calls)
    changed = [f"{each.call} {each.more:+,} ({each.percent:+.2f} %)" for each in known if each.more]
    alike = " and ".join(each.call for each in known if not each.more)
    if not changed:
        return "as many as before, by every call"
    return "; ".join([*changed, *([f"{alike} as many as before"] if alike else [])])
