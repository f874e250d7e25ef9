"""A check of a user's own models as files: a page, the same as JSON, and evidence of a GPU."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from harness.base.files import replace_file, written_to
from harness.gate.model_answer import CallAnswer, ModelAnswer, Standing
from harness.report.call_words import call_words, stated
from harness.report.check_causes import causes_told
from harness.report.check_words import (
    GIVEN,
    SIGNS,
    TONES,
    first_line,
    module_words,
    not_asked,
    split_lines,
    torch_words,
    upgrade_answer,
)
from harness.report.draw.drawing import Box, Picture, Wire
from harness.report.pages.rendering import render
from harness.run.checked import Checked
from harness.runs.gpu_evidence import GpuEvidence, write_evidence

SCHEMA: Final = 1


def write_check(checked: Checked, first: str, last: str) -> Path:
    """Write ``check.html`` and ``check.json`` into the first run's folder; returns the page."""
    folder = checked.runs[0].folder.path
    page = folder / "check.html"
    with written_to(page):
        replace_file(page, check_html(checked, first, last).encode())
        data = json.dumps(check_json(checked), indent=1, ensure_ascii=False)
        replace_file(folder / "check.json", f"{data}\n".encode())
    if checked.installed is not None:
        for answer in checked.answers:
            write_evidence(folder / evidence_name(checked, answer), evidence_of(checked, answer))
    return page


def evidence_name(checked: Checked, answer: ModelAnswer) -> str:
    """``evidence.json``, or with the model's place in the file where there are several."""
    number = checked.answers.index(answer)
    return f"evidence-{number}.json" if len(checked.answers) > 1 else "evidence.json"


def evidence_of(checked: Checked, answer: ModelAnswer) -> GpuEvidence:
    """What a check on a GPU showed, without the model and its name."""
    assert checked.installed is not None
    provenance = checked.runs[0].provenance
    seen: dict[str, list[str]] = {}
    for call in answer.failing:
        for cause in call.causes:
            if len(cause.defects) == 1:
                seen.setdefault(cause.defects[0].id, []).append(call.route.row.call)
    return GpuEvidence(
        release=checked.installed.release,
        torch=checked.torch,
        tensorrt=checked.installed.tensorrt,
        gpu=checked.installed.device.name,
        driver=next((gpu.driver for gpu in provenance.gpus), "unknown"),
        day=provenance.started_at[:10],
        structure=str(checked.splits.get(answer.model, {}).get("structure", "")),
        calls={call.route.row.call: call.standing.value for call in answer.calls.values()},
        defects=seen,
    )


def check_html(checked: Checked, first: str = "", last: str = "") -> str:
    """The page: the answer, the table, the causes, and the split, of each model."""
    models = [
        {
            "answer": answer,
            "headline": first_line(checked, answer, first, last),
            "tone": "green" if answer.newest_is_safe else "red",
            "causes": causes_told(checked, answer),
            "torch": torch_words(checked, answer),
            "split": list(split_lines(checked, answer)),
            "picture": _picture(checked.split_of(answer)[1]),
            "not_asked": list(not_asked(checked, answer)),
            "of_module": module_words(checked, answer),
            "module": (module := checked.of_module(answer)),
            "module_causes": causes_told(checked.modules, module)
            if checked.modules and module
            else [],
        }
        for answer in checked.answers
    ]
    used = [each for each in Standing if any(_has(answer, each) for answer in checked.answers)]
    return render(
        "check.html",
        models=models,
        upgrade=upgrade_answer(checked.answers, first, last) if first and models[1:] else "",
        sign=SIGNS.__getitem__,
        tone=TONES.__getitem__,
        call=call_words,
        given=GIVEN,
        legend=used,
        torch=checked.torch,
        ran_on="" if checked.installed is None else checked.installed.device.name,
    )


def _has(answer: ModelAnswer, standing: Standing) -> bool:
    return any(call.standing is standing for call in answer.calls.values())


def _picture(split: Mapping[str, Any]) -> Picture | None:
    if "boxes" not in split:
        return None
    boxes = tuple(Box(**box) for box in split["boxes"])
    return Picture(boxes, tuple(Wire(**wire) for wire in split["wires"]))


def check_json(checked: Checked) -> dict[str, Any]:
    """The same as data: every call with its standing, and the defects that it may be."""
    return {
        "schema": SCHEMA,
        "torch": checked.torch,
        "runs": [run.folder.run_id for run in checked.runs],
        "models": [_model_json(checked, answer) for answer in checked.answers],
    }


def _model_json(checked: Checked, answer: ModelAnswer) -> dict[str, Any]:
    best = answer.best
    split = checked.split_of(answer)[1]
    if answer.wrong:
        return {"model": answer.model, "wrong": answer.wrong, "use": None, "calls": []}
    module = checked.of_module(answer)
    return {
        "model": answer.model,
        "use": None if best is None else _release_and_call(best),
        "calls": [_call_json(call) for call in answer.calls.values()],
        "module_given": {
            "same_program": list(checked.same_program.get(answer.model, ())),
            "calls": [_call_json(call) for call in module.calls.values()] if module else [],
        },
        "split": {key: split[key] for key in ("engines", "fallbacks", "crossing") if key in split},
        "not_asked": list(not_asked(checked, answer)),
    }


def _release_and_call(call: CallAnswer) -> dict[str, str]:
    return {"release": call.release, "call": stated(call.route, call.release)}


def _call_json(call: CallAnswer) -> dict[str, Any]:
    return {
        **_release_and_call(call),
        "route": call.route.value,
        "standing": call.standing.value,
        "causes": [
            {
                "defects": [each.id for each in cause.defects],
                "says": cause.says,
                "shows": cause.shows,
            }
            for cause in call.causes
        ],
    }
