"""A user's own models once more, the module itself given to `torch_tensorrt.compile`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from harness.catalogue.releases import Catalogue
from harness.gate.model_answer import model_answer
from harness.run.checked import Checked
from harness.run.judged_run import raise_if_nothing_ran
from harness.run.options import Progress, RunOptions
from harness.run.run import run
from harness.toolchain import Toolchain
from harness.toolchain.rig_client import Corpus
from harness.wire.records import CaseInfo


def with_modules(
    checked: Checked,
    alike: Mapping[tuple[str, str], bool],
    corpus: Corpus,
    options: RunOptions,
    toolchain: Toolchain,
    catalogue: Catalogue,
    progress: Callable[[Sequence[CaseInfo]], Progress],
) -> Checked:
    """Ask the modules of which a release compiles another program than `torch.export` makes.

    Args:
        alike: by model and release, whether it compiles the same.
    """
    asked = {answer.model: answer.releases for answer in checked.answers}

    def traced(model: str, *, alike_: bool) -> tuple[str, ...]:
        return tuple(each for each in asked[model] if alike.get((model, each)) is alike_)

    checked = dataclasses.replace(
        checked, same_program={model: traced(model, alike_=True) for model in asked}
    )
    other = {
        case: releases
        for case in corpus.cases
        if case.module_of in asked and (releases := traced(case.module_of, alike_=False))
    }
    if not other:
        return checked
    named = dict.fromkeys(each for releases in other.values() for each in releases)
    shown = progress(())
    shown.say("torch_tensorrt.compile() of the module itself compiles another program: asking that")
    judged = run(
        dataclasses.replace(
            options,
            releases=",".join(named),
            cases=tuple(case.name for case in other),
            full=True,
        ),
        toolchain,
        catalogue,
        shown,
        corpus=corpus,
        on_split=lambda _: None,
    )
    raise_if_nothing_ran(judged)
    table, register = judged.expectations.table, judged.expectations.register
    records = list(judged.records.values())
    answers = (
        model_answer(case.name, records, names, table, register) for case, names in other.items()
    )
    modules = dataclasses.replace(
        checked, answers=tuple(answers), runs=(judged,), splits={}, split_by={}
    )
    return dataclasses.replace(checked, modules=modules)
