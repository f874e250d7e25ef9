"""What an oracle found, and how findings become one verdict."""

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

    ``kind`` is its class, free of names, numbers and addresses of one program: expectations are
    matched against it, and a new kind must not hide behind a known one. ``detail`` is for a person.
    """

    stage: Stage
    kind: str
    detail: str = ""


@dataclass(frozen=True)
class Answer:
    """What one oracle found in one thing; ``unreadable`` is why it could not look, or not on."""

    findings: tuple[Finding, ...] = ()
    unreadable: str = ""


Answers = Mapping[Oracle, Answer]


def verdict_of(oracle: Oracle, findings: Iterable[Finding], harm: Harm | None = None) -> Verdict:
    """One verdict from all findings: their kinds joined, at the earliest stage that shows one."""
    found = list(findings)
    if not found:
        return passed(oracle)
    order = list(Stage)
    # What one stage shows the later ones mostly show too; once is enough.
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
