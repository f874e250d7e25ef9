"""All mends."""

from __future__ import annotations

from collections.abc import Sequence

from harness.base.errors import UsageError
from harness.mends.autocast import AUTOCAST
from harness.mends.backend import BACKEND
from harness.mends.complex_arithmetic import COMPLEX_ARITHMETIC
from harness.mends.complex_values import COMPLEX_VALUES
from harness.mends.crossing import CROSSING
from harness.mends.doubles import DOUBLES
from harness.mends.engines import ENGINES
from harness.mends.fallbacks import FALLBACKS
from harness.mends.input_writes import INPUT_WRITES
from harness.mends.keywords import KEYWORD_ORDER
from harness.mends.mend import Mend
from harness.mends.modules_given import MODULES_GIVEN
from harness.mends.profiles import PROFILES
from harness.mends.program import PROGRAM
from harness.mends.refitting import REFITTING
from harness.mends.saving import SAVING
from harness.mends.sizes import SIZES
from harness.mends.state import STATE
from harness.mends.state_and_state import STATE_AND_STATE
from harness.mends.writes import WRITES
from harness.mends.written_anew import WRITTEN_ANEW

#: The release whose files they were written for and judged with.
WRITTEN_FOR = "2.14.0"

MENDS = (
    *FALLBACKS, *ENGINES, *PROGRAM, *WRITES, *SIZES, *STATE, *KEYWORD_ORDER, *COMPLEX_VALUES,
    *INPUT_WRITES, *SAVING, *DOUBLES, *CROSSING, *STATE_AND_STATE, *WRITTEN_ANEW,
    *COMPLEX_ARITHMETIC, *AUTOCAST, *MODULES_GIVEN, *PROFILES, *REFITTING, *BACKEND,
)  # fmt: skip


def mend_of(defect: str) -> Mend | None:
    return next((mend for mend in MENDS if defect in mend.defects), None)


def mends_of(defects: Sequence[str]) -> tuple[Mend, ...]:
    """The mends of these defects, or all if none is named. Raises UsageError for one without."""
    known = {defect: mend for mend in MENDS for defect in mend.defects}
    for defect in defects:
        if defect not in known:
            raise UsageError(f"{defect}: no mend; there is one for {', '.join(sorted(known))}")
    return tuple(dict.fromkeys(known[each] for each in defects)) if defects else MENDS
