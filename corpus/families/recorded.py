"""Splits as a release's product made them: see `corpus.recorded`.

`python -m harness record` writes them.
"""

from __future__ import annotations

from corpus.case import Family, Origin, case
from corpus.recorded.build import builder_of
from corpus.recorded.recording import FOLDER, read_recording
from corpus.recorded.to_record import TO_RECORD

_FULL = {wanted.name for wanted in TO_RECORD if wanted.full}

for _recording in (read_recording(path) for path in sorted(FOLDER.glob("*.json"))):
    case(
        Family.RECORDED,
        catches=_recording.catches,
        origin=Origin.PRODUCT,
        wiring=_recording.wiring,
        full=_recording.name in _FULL,
        dynamic=_recording.dynamic,
    )(builder_of(_recording))
