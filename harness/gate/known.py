"""What a release is known to get wrong, counted: its defects by harm and by who meets them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from harness.base.words import plural
from harness.gate.signs import CANNOT_BE_SEEN, NOT_SEEN_NOW, SEEN_FIRST_NOW
from harness.gate.verdict import ReachOf
from harness.register.defects import Defect
from harness.register.standing import Standing, Standings, State
from harness.wire.oracles import Harm
from harness.wire.records import CellKey
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import Reach

_SPLITS: Final[Mapping[Reach, str]] = {
    Reach.PRODUCT: "in splits by compile",
    Reach.EXPORTED: "in splits without compile alone",
    Reach.HANDMADE: "in splits by hand alone",
}


@dataclass(frozen=True)
class Changes:
    """What became of the defects of the release before: each defect as the newer one has it.

    ``uncovered`` are those whose cases others stopped before, and ``hidden`` those whose cases
    others stop now; a reader sees `SEEN_FIRST_NOW` and `NOT_SEEN_NOW`. What nobody could ask of the
    newer one is among ``fixed`` only if the register says that it is.
    """

    before: str
    release: str
    fixed: tuple[Standing, ...]
    new: tuple[Standing, ...]
    uncovered: tuple[Standing, ...]
    hidden: tuple[Standing, ...]
    kept: int


@dataclass(frozen=True)
class Known:
    """The defects that a release shows by the table, and what it changed; None for the oldest.

    ``by_reach`` counts each defect once, where its worst reader meets it: by reach, then by harm.
    """

    release: str
    by_reach: Mapping[Reach, Mapping[str, int]]
    hidden: int
    changes: Changes | None


def changes_in(standings: Standings, release: str) -> Changes | None:
    """What a release changed; None for the oldest one that the table knows."""
    before = standings.before(release)
    if before is None:
        return None
    now = {each.defect.id: each for each in standings.having(release, State.SHOWN)}
    was = {each.defect.id: each for each in standings.having(before, State.SHOWN)}
    hidden = {each.defect.id: each for each in standings.having(release, State.HIDDEN)}

    def gone(defect: Defect) -> bool:
        state = standings.of(defect.id, release).state
        unasked = state is State.NOT_ASKED and not defect.alive_in(release)
        return unasked or state is State.ABSENT

    came = [each for name, each in now.items() if name not in was]
    return Changes(
        before=before,
        release=release,
        fixed=tuple(each for each in was.values() if gone(each.defect)),
        new=tuple(each for each in came if each.defect.since == release),
        uncovered=tuple(each for each in came if each.defect.since != release),
        hidden=tuple(each for name, each in hidden.items() if name in was),
        kept=len(now.keys() & was.keys()),
    )


def known_in(release: str, standings: Standings, reach_of: ReachOf) -> Known:
    """What a release is known to have; of one that the table does not know, the one before it.

    Args:
        reach_of: who makes the split of a cell of any case that the table names.
    """
    by_reach: dict[Reach, Counter[str]] = {reach: Counter() for reach in Reach}
    shown = standings.having(release, State.SHOWN)
    for each in shown:
        by_reach[reach_of_standing(each, reach_of)][each.harm] += 1
    told = shown[0].release if shown else release
    return Known(
        release=told,
        by_reach=by_reach,
        hidden=len(standings.having(release, State.HIDDEN)),
        changes=changes_in(standings, told),
    )


def reach_of_standing(each: Standing, reach_of: ReachOf) -> Reach:
    """The first of the reaches that a defect's cells have; a whole package's is the product."""
    if set(each.lanes) != {Lane.GRAPH}:
        return Reach.PRODUCT
    # By whichever route: who makes a split does not depend on what becomes of it.
    keys = (CellKey(case, "nonstrict", each.release, Route.LEGACY) for case in each.cases)
    return min(map(reach_of, keys), key=list(Reach).index)


def known_lines(known: Known, scope: str = "") -> list[str]:
    """The defects of a release in up to three lines: by harm, by who meets them, what changed.

    Args:
        scope: what alone was asked and can meet them, where it was not the whole corpus.
    """
    harms = sum((Counter(of) for of in known.by_reach.values()), Counter[str]())
    total = harms.total()
    hides = f", and {known.hidden} that {CANNOT_BE_SEEN}" if known.hidden else ""
    name = known.release
    of = f" that {scope} can meet" if scope else ""
    lines = [f"defects{of}: {name} has {_ones(total)}{_in_brackets(harms)}{hides}"]
    reaches = [
        f"{sum(of.values())} {_SPLITS[reach]}{_in_brackets(of)}"
        for reach, of in known.by_reach.items()
        if of
    ]
    if reaches:
        lines.append(f"  {', '.join(reaches)}")
    changes = known.changes
    if changes is not None:
        counts = {
            "fixed": changes.fixed,
            "new": changes.new,
            f"{SEEN_FIRST_NOW}, as what stopped their cases before is mended": changes.uncovered,
            f"{NOT_SEEN_NOW}, as others stop their cases": changes.hidden,
        }
        parts = [f"{len(of)} {what}" for what, of in counts.items() if of]
        lines.append(f"  against {changes.before}: {', '.join(parts) or 'the same ones'}")
    return lines


def _ones(count: int) -> str:
    return plural(count, "known one") if count else "no known ones"


def _in_brackets(harms: Mapping[str, int]) -> str:
    told = harm_words(harms)
    return f" ({told})" if told else ""


def harm_words(harms: Mapping[str, int]) -> str:
    """``2 silent, 1 error``: how many defects do which harm, the worst first."""
    counts = {
        **{harm.word: harms.get(harm, 0) for harm in Harm},
        "of unknown harm": harms.get("", 0),
    }
    return ", ".join(
        f"{count} {word}{'s' if word == Harm.ERROR and count > 1 else ''}"
        for word, count in counts.items()
        if count
    )
