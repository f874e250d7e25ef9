"""A candidate (a file, a wheel, a working tree) held against a release of the same run.

Such a subject has no rows: nobody has listed what a working tree's exporter does wrong. What it
must not be is worse than the release on any oracle.

An oracle that was not asked of the release, because the release did not get that far, is a
special case: the candidate got further, and what fails there was hidden before. That turns the
gate red except for metadata and unflattening: a program that is silently wrong is worse than none.
Nor do these two where the release's program computes other numbers and the candidate's does not: a
wrong program that can be unflattened is as wrong.

A cell of which the release was not asked, since its `compile` failed or it handed the emulation
what no engine takes, has nothing beside it: where the candidate is right, it is good news, and so
is a module in memory that is right where the release's could not be asked at all. Where it
raises behind a `compile` that raised before, nobody has lost, and it is a note.

On routes where failing to unflatten is no defect, a worse result is a note, and so is another error
at a later stage than the release's. If one oracle finds several kinds of failure, fewer kinds are
better, and another kind is worse.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.gate.findings import CellClass, Finding, said
from harness.gate.pairs import Pair
from harness.register.facts import GUARDED, facts_in
from harness.wire.oracles import Harm, Oracle, gates
from harness.wire.records import CellRecord, Verdict
from harness.wire.vocabulary import CellState, Outcome

_NOT_SERIALIZED = "SerializeError: "  # its text is a node as the graph prints it
_STATIC = "the dynamic dimension became static"
_NODE_NAME = re.compile(r"%\w+|(?<=Failed serializing node )\w+")


@dataclass(frozen=True)
class Comparison:
    """What became of a candidate's cell, and what there is to say about it."""

    cell_class: CellClass
    findings: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    good_news: tuple[Finding, ...] = ()


def judge_candidate(pair: Pair) -> Comparison:
    """Judge a candidate's cell by the release's, which comes before it in the pair."""
    candidate, like = pair.after, pair.before
    assert candidate is not None
    if like is None:
        reason = "the release that it is held against has no such cell"
        return _undecided(candidate, CellClass.MISSING, reason)
    if pair.asked:
        return _compare_verdicts(candidate, like)
    if candidate.right and (like.rests_on_compile or like.stand_in_raised or pair.nothing_lost):
        reason = f"passes, but {like.key.subject} did not come so far ({like.reason})"
        ended = candidate.verdict(Oracle.COMPLETION)
        good = _finding(candidate, ended, reason, CellClass.OK)
        return Comparison(_class_of(candidate, []), good_news=(good,))
    if like.rests_on_compile and candidate.harm in (Harm.ERROR, Harm.INTERFACE):
        behind = f"; {like.key.subject} did not get so far ({like.reason})"
        notes = tuple(
            _finding(candidate, verdict, f"newly visible: {said(verdict)}{behind}")
            for verdict in candidate.failures
        )
        return Comparison(_class_of(candidate, []), notes=notes)
    if candidate.state is CellState.ENDED:
        reason = f"{like.key.subject} could not be asked, so it is held against nothing"
        return _undecided(candidate, CellClass.UNSUPPORTED, f"{reason}: {like.reason}")
    if candidate.unasked_as(like):  # the table decides there
        return Comparison(CellClass.UNSUPPORTED)
    # Where `compile` raised, that is told itself.
    if pair.nothing_lost or (candidate.rests_on_compile and not like.right):
        return Comparison(CellClass.UNSUPPORTED)
    reason = f"could not be asked: {candidate.reason}"
    return _undecided(candidate, CellClass.UNSUPPORTED, reason)


def _undecided(candidate: CellRecord, cell_class: CellClass, reason: str) -> Comparison:
    return Comparison(cell_class, findings=(Finding(candidate.key, cell_class, reason),))


def _compare_verdicts(candidate: CellRecord, like: CellRecord) -> Comparison:
    findings: list[Finding] = []
    notes: list[Finding] = []
    good_news: list[Finding] = []
    lost: list[tuple[Verdict, Finding]] = []
    release = like.key.subject
    further, mended = _got_further(candidate, like), _computes_again(candidate, like)
    for oracle in Oracle:
        verdict, other = candidate.verdict(oracle), like.verdict(oracle)
        if verdict.outcome is Outcome.NOT_APPLICABLE:
            if other.outcome is not Outcome.NOT_APPLICABLE:
                reason = f"not asked ({verdict.message}), but {release} is {said(other)}"
                lost.append((other, _finding(candidate, verdict, reason)))
        elif not verdict.failed:
            if other.failed:
                reason = f"passes, but {release} has {said(other)}"
                good_news.append(_finding(candidate, verdict, reason, CellClass.OK))
        elif other.outcome is Outcome.NOT_APPLICABLE and further:
            reason = f"newly visible: {said(verdict)}; {release} did not get so far"
            red = not oracle.row.noted_when_uncovered
            (findings if red else notes).append(_finding(candidate, verdict, reason))
        elif not other.failed:
            reason = f"worse than {release}: {said(verdict)}, but {release} is {said(other)}"
            uncovered = mended and oracle.row.noted_when_uncovered
            defect = gates(oracle, candidate.key.route) and not (
                uncovered or (oracle is Oracle.WIRING and _of_static_sizes(candidate, like))
            )
            (findings if defect else notes).append(_finding(candidate, verdict, reason))
        elif _fails_less(verdict, other):
            reason = f"fails less: {said(verdict)}, but {release} has {said(other)}"
            good_news.append(_finding(candidate, verdict, reason, CellClass.EXPECTED_FAILURE))
        elif _raises_later(verdict, other):
            reason = f"raises later: {said(verdict)}, but {release} has {said(other)}"
            notes.append(_finding(candidate, verdict, reason))
        elif not _same(verdict, other) and gates(oracle, candidate.key.route):
            reason = f"fails differently: {said(verdict)}, but {release} has {said(other)}"
            findings.append(_finding(candidate, verdict, reason))
    # A question that was lost is mostly the consequence of a failure that is a finding already.
    consequence = bool(findings)
    for other, finding in lost:
        (notes if consequence or other.failed else findings).append(finding)
    return Comparison(
        _class_of(candidate, findings), tuple(findings), tuple(notes), tuple(good_news)
    )


def _got_further(candidate: CellRecord, like: CellRecord) -> bool:
    ended, other = candidate.verdict(Oracle.COMPLETION), like.verdict(Oracle.COMPLETION)
    return other.failed and (ended.outcome is Outcome.OK or _raises_later(ended, other))


def _computes_again(candidate: CellRecord, like: CellRecord) -> bool:
    computes = candidate.verdict(Oracle.VALUES).outcome is Outcome.OK
    return computes and like.verdict(Oracle.VALUES).failed


def _of_static_sizes(candidate: CellRecord, like: CellRecord) -> bool:
    """Whether wires differ by sizes alone that are constants, since both made sizes static."""
    made_static = all(
        _STATIC in each.verdict(Oracle.SIGNATURE).message.split("; ") for each in (candidate, like)
    )
    wires = facts_in(candidate.verdict(Oracle.WIRING))
    return made_static and all(wire.is_of_a_size for wire in wires)


def _same(verdict: Verdict, other: Verdict) -> bool:
    return (verdict.label, _unnamed(verdict.message)) == (other.label, _unnamed(other.message))


def _unnamed(message: str) -> str:
    """A message without the names of nodes and inputs, which an inliner may choose for itself."""
    message = GUARDED.sub("*", message)
    return _NODE_NAME.sub("%", message) if message.startswith(_NOT_SERIALIZED) else message


def _fails_less(verdict: Verdict, other: Verdict) -> bool:
    """Whether ``verdict`` has fewer kinds of failure than ``other``, and no other kind.

    A message of completion is one error's text and has no kinds.
    """
    if verdict.oracle is Oracle.COMPLETION or verdict.label != other.label:
        return False
    return set(verdict.message.split("; ")) < set(other.message.split("; "))


def _raises_later(verdict: Verdict, other: Verdict) -> bool:
    """Whether both raise, and the candidate does at a later stage.

    The error that was mended is gone, and the one behind it was there before: nobody has lost.
    """
    if verdict.oracle is not Oracle.COMPLETION or verdict.stage is None or other.stage is None:
        return False
    return verdict.stage is not other.stage and verdict.stage.at_least(other.stage)


def _class_of(candidate: CellRecord, findings: list[Finding]) -> CellClass:
    if findings:
        return CellClass.UNEXPECTED_FAILURE
    return CellClass.EXPECTED_FAILURE if candidate.failures else CellClass.OK


def _finding(
    candidate: CellRecord,
    verdict: Verdict,
    reason: str,
    cell_class: CellClass = CellClass.UNEXPECTED_FAILURE,
) -> Finding:
    return Finding(candidate.key, cell_class, reason, verdict.oracle, verdict)
