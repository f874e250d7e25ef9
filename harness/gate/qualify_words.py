"""A qualification in words, the same on the console and on every page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from harness.base.words import plural
from harness.gate.pairs import calls_and_splits, of_user
from harness.gate.qualify import Decision, Qualification, Severity, summed
from harness.wire.builders import Builder, Executor
from harness.wire.records import CellKey
from harness.wire.routes import Lane
from harness.wire.vocabulary import Reach, SubjectKind

_MADE_BY: Final[Mapping[tuple[bool, Reach], str]] = {
    (True, Reach.PRODUCT): "user call",
    (False, Reach.PRODUCT): "split by compile",
    (False, Reach.EXPORTED): "split without compile",
    (False, Reach.HANDMADE): "split by hand",
}

_FORBIDS_NOTHING: Final = " (which forbids nothing: no release makes such splits)"


def decision_words(q: Qualification, red: Collection[str] = ()) -> str:
    """``2.14.0 in place of 2.13.0: ship``; what asked a part alone says no more than it knows.

    Nobody should read "ship" of a run of the graph lane where packages would have forbidden it:
    such a run says ``nothing forbids it (only: the graph lane)``.

    Args:
        red: the subjects of unexpected failures. A candidate among them is not to be shipped yet:
            it fails worse, or otherwise, where its baseline failed or where splits are by hand.
    """
    only = f" (only: {q.scope})" if q.scope else ""
    new, who = q.candidate, q.baseline.subject
    unlike = new.kind is SubjectKind.FILE and new.subject in red and q.decision is Decision.SHIP
    told = f"not yet, it fails otherwise than {who}" if unlike else q.decision
    if told is Decision.SHIP and only:
        told = "nothing forbids it"
    return f"{new.subject} in place of {who}: {told}{only}"


def answering(upgrades: Sequence[Qualification], gate: str) -> Qualification | None:
    """The comparison that answers what was asked of a run: of a candidate whatever the gate says,
    of a release where the gate is green. None where the gate is all the answer.
    """
    first = next(iter(upgrades), None)
    if first is None:
        return None
    about = first.candidate.kind is SubjectKind.FILE and gate == "red"
    return first if about or gate == "green" else None


def evidence_words(q: Qualification) -> str:
    """What the decision rests on."""
    ran = "on a GPU" if Lane.ENGINE.value in q.lanes else "on CPU evidence; no GPU has run it"
    return f"each with the torch that it pins, {ran}" if q.own_torch else ran


def evidence_sentence(q: Qualification) -> str:
    """`evidence_words` as a sentence of their own."""
    words = evidence_words(q)
    return f"{words[:1].upper()}{words[1:]}."


def why_words(q: Qualification) -> str:
    """Why it is not to be shipped, or why that is open, in one sentence; empty where it is not.

    ``19 calls that 2.13.0 gets right fail in 2.14.0, 11 of them silently.``
    """
    if q.decision is Decision.OPEN:
        unasked = sum(count for _, count in q.not_asked)
        none = "no cell could be asked of both" if not q.compared else ""
        told = none or f"{plural(unasked, 'cell')} could not be asked of one of the two"
        return f"Open, since {told}."
    if q.decision is not Decision.DO_NOT_SHIP:
        return ""
    worst: dict[CellKey, Severity] = {}
    for change in q.stoppers:
        place = of_user(change.key)
        worst[place] = max(change.after, worst.get(place, change.after))
    counts = Counter(worst.values())
    silent, warned = counts[Severity.SILENT], counts[Severity.WARNED]
    told = f", {silent} of them silently" if silent else ""
    told += f", {warned} with a warning" if warned else ""
    ended = any(change.before >= Severity.ERROR for change in q.stoppers)
    gets = "gets right or stops" if ended else "gets right"
    before, now = q.baseline.subject, q.candidate.subject
    fail = "fails" if len(worst) == 1 else "fail"
    return f"{_counted(*calls_and_splits(worst))} that {before} {gets} {fail} in {now}{told}."


def _counted(calls: int, splits: int) -> str:
    """``9 calls``, ``9 calls and 2 splits``."""
    told = ((calls, "call"), (splits, "split"))
    return " and ".join(plural(count, what) for count, what in told if count)


def tally_lines(q: Qualification, *, total: bool = False) -> list[tuple[str, str]]:
    """What became of the cells that both were asked: ``188 user calls`` and what they did.

    Args:
        total: where no package was asked, tell all splits together first.
    """
    told = [
        (name, where, q.tallies[where]) for where, name in _MADE_BY.items() if where in q.tallies
    ]
    if total and len(told) > 1 and not told[0][1][0]:
        everywhere = (False, Reach.PRODUCT)
        told.insert(0, ("split", everywhere, summed(tally for _, _, tally in told)))
    lines = []
    for name, where, tally in told:
        # A reader who sees "ship" and a regression asks why that does not forbid.
        handmade = where[1] is Reach.HANDMADE and tally.regressed
        regressed = f"regressed{_FORBIDS_NOTHING}" if handmade else "regressed"
        counts = {
            regressed: tally.regressed,
            "fixed": tally.fixed,
            "silent before, now raised or warned of": tally.louder,
            "raised before, now wrong with a warning": tally.otherwise,
            "broken before": tally.broken,
            "right": tally.right,
        }
        always = (regressed, "fixed", "broken before", "right")
        words = [f"{count:,} {what}" for what, count in counts.items() if count or what in always]
        several = name.replace("split", "splits") if "split" in name else ""
        settings = settings_words(q) if where[0] else ""
        lines.append((plural(tally.asked, name, several), f"{', '.join(words)}{settings}"))
    return lines


def settings_words(q: Qualification) -> str:
    """With which engines each call was asked, where these are several kinds; empty if not."""
    if len(q.settings) < 2:
        return ""
    versions: dict[str, set[Builder]] = {}
    for builder, executor, _ in sorted(q.settings):
        made = f"engines built by {builder.kind.row.title}" if builder.real else "emulated segments"
        name = "engines that run on a GPU" if executor is Executor.CUDA else made
        versions.setdefault(name, set()).add(builder)
    ways = [
        f"{name} in {len(of)} versions" if len(of) > 1 else name for name, of in versions.items()
    ]
    torches = len({environment for *_, environment in q.settings})
    told = " and, where asked, ".join(ways)
    return (
        f"; each with {told}{f', with {torches} torches' if torches > 1 else ''}: the worst counts"
    )


def stopped_words(q: Qualification) -> str:
    """How many defects `stopped_by` lists, and how many calls are counted under several."""
    names = [name for name, _, _ in stopped_by(q)]
    known = sum(map(bool, names))
    told = " and ".join(
        [*([plural(known, "defect")] if known else []), *(["new failures"] if "" in names else [])]
    )
    stand = "stands" if q.stopped_twice == 1 else "stand"
    twice = f"; {plural(q.stopped_twice, 'call')} that several make wrong {stand} under each"
    return told + (twice if q.stopped_twice else "")


def stopped_by(q: Qualification) -> list[tuple[str, str, str]]:
    """What forbids to ship, by known defect: its id, its title, and its calls by harm.

    The id is empty for the failures of no known defect, which stand together.
    """
    told: dict[tuple[str, str], list[str]] = {}
    for each in q.stopped_by:
        unknown = ("", "new failures, of no known defect")
        named = (each.defect.id, each.defect.title) if each.defect else unknown
        told.setdefault(named, []).append(
            f"{each.severity.name.lower()}, {_counted(each.calls, each.splits)}"
        )
    return [(name, title, "; ".join(harms)) for (name, title), harms in told.items()]


def stopped_by_lines(q: Qualification) -> list[str]:
    """What forbids to ship, on the console: how many defects, and each with its calls by harm."""
    told = [f"    {title} ({harms})" for _, title, harms in stopped_by(q)]
    return [f"  regressed by {stopped_words(q)}:", *told] if told else []
