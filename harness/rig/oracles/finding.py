"""Findings of oracles, and how they become one verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.wire.oracles import Harm, Oracle
from harness.wire.records import Verdict, passed
from harness.wire.vocabulary import Outcome, Stage

MAX_EVIDENCE = 12  # findings spelled out in a verdict's evidence


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    ``kind`` is its class and has no names, numbers or addresses of one program, because
    expectations are matched against it, and a new kind must not hide behind a known one.
    ``detail`` is for a person.
    """

    stage: Stage
    kind: str
    detail: str = ""


@dataclass(frozen=True)
class Answer:
    """What one oracle found; ``unreadable`` says why it could not look, or had to stop."""

    findings: tuple[Finding, ...] = ()
    unreadable: str = ""


Answers = Mapping[Oracle, Answer]


def verdict_of(oracle: Oracle, findings: Iterable[Finding], harm: Harm | None = None) -> Verdict:
    """One verdict from all findings, with all of their kinds, at the earliest of their stages."""
    found = list(findings)
    if not found:
        return passed(oracle)
    order = list(Stage)
    # Later stages mostly repeat the findings of earlier ones, which are listed once.
    first = {(item.kind, item.detail): item.stage for item in reversed(found)}
    told = [item for item in found if first[item.kind, item.detail] is item.stage]
    details = [f"{item.stage}: {item.kind}: {item.detail}" for item in told]
    if len(details) > MAX_EVIDENCE:
        details[MAX_EVIDENCE:] = [f"... and {len(details) - MAX_EVIDENCE} more"]
    return Verdict(
        oracle=oracle,
        outcome=Outcome.FAILED,
        symptom=oracle.row.symptom,
        stage=min((item.stage for item in found), key=order.index),
        message="; ".join(sorted({item.kind for item in found})),
        evidence="\n".join(details),
        harm=harm,
    )
