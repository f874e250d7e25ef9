"""Scripts for failures, each tried: `python -m harness.rig.reproduce.answer`, a request on stdin.

The answer is a JSON list on stdout, one entry for each of what is wanted.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch

from corpus import elsewhere
from corpus.case import Case, find_case
from harness.rig.cell.pipeline import run_cell
from harness.rig.cell.prepare import NotPrepared, PreparedCase, prepare
from harness.rig.clock import StageClock
from harness.rig.engines.emulated import load_runtime
from harness.rig.inliners.loader import load_inliner
from harness.rig.reproduce.code import Unwritable
from harness.rig.reproduce.script import ASKED, Shown, script
from harness.rig.reproduce.trial import Trials
from harness.wire.record_json import subject_from_json
from harness.wire.records import CellKey, CellRecord, SubjectSpec, Verdict
from harness.wire.vocabulary import Oracle, Route, SubjectKind

#: Which of several failures of a cell a script shows: what a reader believes at once comes first.
_ORDER: Final = [
    Oracle.VALUES,
    Oracle.COMPLETION,
    Oracle.STRUCTURE,
    Oracle.SIGNATURE,
    Oracle.STATE,
    Oracle.METADATA,
    Oracle.WIRING,
    Oracle.UNFLATTEN,
    Oracle.DETERMINISM,
]


def scripts(request: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """For each wanted failure its script, or why there is none.

    Args:
        request: ``library``, ``corpus`` (places of cases from elsewhere), ``seed``, and ``wanted``:
            a list of ``case``, ``capture``, ``routes`` (the first that fails is shown), ``subject``
            (a SubjectSpec), ``labels`` (pairs of oracle and label of which one is to be shown;
            empty for any), ``what``, ``file`` and ``command`` (as of `Shown`).

    Yields:
        ``script``, ``route``, ``label``, ``said`` (its last line when it was tried), ``why_not``.
    """
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    load_runtime(Path(request["library"]))
    elsewhere.load(request["corpus"])
    trials = Trials()
    for wanted in request["wanted"]:
        yield _script(wanted, int(request["seed"]), trials)


def _script(wanted: Mapping[str, Any], seed: int, trials: Trials) -> dict[str, str]:
    spec = subject_from_json(wanted["subject"])
    try:
        prepared = prepare(find_case(wanted["case"]), wanted["capture"], seed, StageClock())
    except NotPrepared as reason:
        return none(f"the case ends before any inliner: {reason}")
    inliner = load_inliner(spec)

    def run(route: Route) -> CellRecord:
        key = CellKey(prepared.case.name, wanted["capture"], spec.subject, route)
        return run_cell(prepared, inliner, key, StageClock())

    def write(route: Route, verdict: Verdict) -> str:
        return _written(prepared, spec, route, verdict, wanted)

    return shown_by(wanted, run, write, lambda text: trials.shows(text, _arguments(spec)))


def none(why_not: str) -> dict[str, str]:
    """The answer where there is no script."""
    return {"script": "", "route": "", "label": "", "said": "", "why_not": why_not}


def shown_by(
    wanted: Mapping[str, Any],
    run: Callable[[Route], CellRecord],
    write: Callable[[Route, Verdict], str],
    shows: Callable[[str], tuple[bool, str]],
) -> dict[str, str]:
    """The first script, of all that fails by the wanted routes, that is seen to show its failure.

    Args:
        run: runs the cell of a route.
        write: the script of one of its verdicts.
        shows: whether a script shows it, and what it says.
    """
    refusals: list[str] = []
    unasked: list[str] = []
    for route in map(Route, wanted["routes"]):
        failures = _failures(run(route), wanted["labels"])
        unasked += [verdict.label for verdict in failures if verdict.oracle not in ASKED]
        for verdict in failures:
            if verdict.oracle not in ASKED:
                continue
            try:
                text = write(route, verdict)
            except Unwritable as reason:
                return none(f"the case has no plain form: {reason}")
            there, said = shows(text)
            if there:
                told = {"route": route, "label": verdict.label, "said": said, "why_not": ""}
                return {"script": text, **told}
            refusals.append(f"{verdict.label}: {said}")
    if refusals:
        return none(f"a script alone does not show it: {'; '.join(refusals)}")
    if unasked:
        return none(f"no script asks for {', '.join(unasked)}")
    return none("it does not fail so today")


def _failures(record: CellRecord, labels: Sequence[Sequence[str]]) -> list[Verdict]:
    """What fails in a cell and can be shown, what shows best first."""
    found = [
        verdict
        for verdict in record.failures
        if not labels or [verdict.oracle.value, verdict.label] in [[*pair] for pair in labels]
    ]
    return sorted(found, key=lambda verdict: _ORDER.index(verdict.oracle))


def _written(
    prepared: PreparedCase,
    spec: SubjectSpec,
    route: Route,
    verdict: Verdict,
    wanted: Mapping[str, Any],
) -> str:
    captured = prepared.captured
    shown = shown_as(wanted, prepared.case, spec.release or spec.subject, route)
    return script(shown, verdict, captured.split(), captured)


def shown_as(wanted: Mapping[str, Any], case: Case, release: str, route: str) -> Shown:
    """What a script says of itself."""
    spec = subject_from_json(wanted["subject"])
    own = spec.kind is SubjectKind.FILE and not spec.exporter_path
    return Shown(
        what=wanted["what"] or case.catches,
        case=case.name,
        subject=spec.subject,
        release=release,
        route=route,
        file=wanted["file"],
        command=str(wanted["command"]).replace("{route}", route),
        wheel=Path(spec.wheel_path or "").name if own else "",
        exporter=Path(spec.exporter_path or "").name,
    )


def _arguments(spec: SubjectSpec) -> list[str]:
    assert spec.wheel_path is not None
    return [spec.wheel_path, *([spec.exporter_path] if spec.exporter_path else [])]


def main() -> int:
    print(json.dumps(list(scripts(json.loads(sys.stdin.read())))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
