"""The oracles: one table, a row each.

For a new oracle, a module of `harness/rig/oracles` asks its question, and `rig/cell/judging.py`
calls it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from harness.wire.routes import Route

#: What the values oracle finds where every number is right and only the packing is wrong.
PACKING: Final = frozenset({"structure differs", "type differs", "device differs"})
#: Before what the inlined module shows, which the loaded program may show, too.
INLINED: Final = "inlined module: "


class Harm(enum.StrEnum):
    """What a person who calls the product sees of a failure, worst first."""

    SILENT = "silent"  # runs, without an error or a warning, and returns or leaves something else
    WARNED = "warned"  # the same, announced by a warning or documented by the release
    ERROR = "error"  # no program, or one that raises
    INTERFACE = "interface"  # the numbers are right; how they are packed, or what may be given, not
    COSMETIC = "cosmetic"  # seen on an object in memory alone, which no consumer reads otherwise

    @property
    def severity(self) -> int:
        """0 for the worst."""
        return _HARM_SEVERITIES[self]

    @property
    def word(self) -> str:
        """How a report calls it."""
        return "announced" if self is Harm.WARNED else self.value


_HARM_SEVERITIES = {harm: severity for severity, harm in enumerate(Harm)}


class Symptom(enum.StrEnum):
    WRONG_VALUES = "wrong-values"
    WRONG_WIRING = "wrong-wiring"
    ERROR = "error"
    TIMEOUT = "timeout"
    KILLED = "killed"
    FLAKY = "flaky"
    WRONG_STRUCTURE = "wrong-structure"
    WRONG_SIGNATURE = "wrong-signature"
    LOST_STATE = "lost-state"
    WRONG_METADATA = "wrong-metadata"
    NOT_UNFLATTENABLE = "not-unflattenable"
    NONDETERMINISTIC = "nondeterministic"


@dataclass(frozen=True)
class OracleRow:
    """What is to be known of an oracle outside of the module that asks its question.

    Attributes:
        symptom: of its failures; of completion the usual one.
        usual_harm: of its failures, where a record of before schema 3 does not grade them.
        since_schema: of records; an older one says nothing of it.
        script_place: which of several failures of a cell a reproduction script shows: the lowest,
            which is what a reader believes at once.
        script_check: what the script takes of `rig.reproduce.checks`, first what is to be called;
            empty where no script can show a failure.
        asked_in_memory: whether it is asked about a compiled module that nobody saved.
        needs_split: whether it holds a program against a split module, which the plain control
            does not have.
        only_without_inliner: whether a failure is a defect by route direct alone, and elsewhere a
            capability to report.
        noted_when_uncovered: whether a candidate's failure is a note, and not red, where the
            release did not get far enough to be asked, or its program computes other numbers.
    """

    symptom: Symptom
    script_place: int
    usual_harm: Harm = Harm.INTERFACE
    since_schema: int = 1
    script_check: tuple[str, ...] = ()
    asked_in_memory: bool = False
    needs_split: bool = False
    only_without_inliner: bool = False
    noted_when_uncovered: bool = False


class Oracle(enum.StrEnum):
    """The checks, worst first: the order is the order of severity."""

    VALUES = "values"
    WIRING = "wiring"
    COMPLETION = "completion"
    STRUCTURE = "structure"
    SIGNATURE = "signature"
    STATE = "state"
    METADATA = "metadata"
    UNFLATTEN = "unflatten"
    DETERMINISM = "determinism"

    @property
    def severity(self) -> int:
        """0 for the worst."""
        return _SEVERITIES[self]

    @property
    def row(self) -> OracleRow:
        return ORACLES[self]


_SEVERITIES = {oracle: severity for severity, oracle in enumerate(Oracle)}

ORACLES: Mapping[Oracle, OracleRow] = {
    Oracle.VALUES: OracleRow(
        symptom=Symptom.WRONG_VALUES,
        usual_harm=Harm.SILENT,
        script_place=0,
        script_check=("check_values", "difference", "unlike"),
        asked_in_memory=True,
    ),
    Oracle.WIRING: OracleRow(
        symptom=Symptom.WRONG_WIRING,
        usual_harm=Harm.SILENT,
        script_place=6,
        script_check=("check_wiring", "check_values", "difference", "unlike", "terms"),
        needs_split=True,
    ),
    Oracle.COMPLETION: OracleRow(
        symptom=Symptom.ERROR,
        usual_harm=Harm.ERROR,
        script_place=1,
        script_check=("ends_by",),
        asked_in_memory=True,
    ),
    Oracle.STRUCTURE: OracleRow(
        symptom=Symptom.WRONG_STRUCTURE,
        script_place=2,
        script_check=("check_structure",),
    ),
    Oracle.SIGNATURE: OracleRow(
        symptom=Symptom.WRONG_SIGNATURE,
        script_place=3,
        script_check=("check_signature",),
    ),
    Oracle.STATE: OracleRow(
        symptom=Symptom.LOST_STATE,
        script_place=4,
        script_check=("check_state",),
        since_schema=2,
    ),
    Oracle.METADATA: OracleRow(
        symptom=Symptom.WRONG_METADATA,
        script_place=5,
        script_check=("check_metadata", "NodeValues", "mismatch", "sizes_in"),
        noted_when_uncovered=True,
    ),
    Oracle.UNFLATTEN: OracleRow(
        symptom=Symptom.NOT_UNFLATTENABLE,
        script_place=7,
        script_check=("check_unflatten", "difference", "unlike"),
        since_schema=2,
        only_without_inliner=True,
        noted_when_uncovered=True,
    ),
    Oracle.DETERMINISM: OracleRow(
        symptom=Symptom.NONDETERMINISTIC,
        script_place=8,
        since_schema=2,
    ),
}


def is_asked(oracle: Oracle, route: Route) -> bool:
    """Whether an oracle has a question about what comes of a route."""
    if route.row.in_memory:
        return oracle.row.asked_in_memory
    return route.row.engines or not oracle.row.needs_split


def gates(oracle: Oracle, route: Route) -> bool:
    """Whether a failure is a defect, and not a capability to report."""
    return not oracle.row.only_without_inliner or route.reaches is Route.DIRECT
