"""Codes of failures in plain words, the same on the console and in every form of the report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from harness.wire.oracles import INLINED, Oracle, Symptom
from harness.wire.vocabulary import Stage


def symptom(label: str) -> str:
    """What a label says happened, without the stage: ``wrong-values@run`` is ``wrong values``."""
    return label.partition("@")[0].replace("-", " ")


_SYMPTOMS: Final[Mapping[str, str]] = {
    Symptom.WRONG_VALUES: "wrong numbers",
    Symptom.ERROR: "an error",
    Symptom.TIMEOUT: "no end in time",
    Symptom.KILLED: "a killed process",
    Symptom.FLAKY: "another end each time",
    Symptom.WRONG_STRUCTURE: "a malformed graph",
    Symptom.WRONG_SIGNATURE: "other inputs or outputs",
    Symptom.NOT_UNFLATTENABLE: "what cannot be unflattened",
    Symptom.NONDETERMINISTIC: "other numbers each time",
}
_DURING: Final = {Symptom.ERROR, Symptom.TIMEOUT, Symptom.KILLED, Symptom.FLAKY}
_STAGES: Final[Mapping[str, str]] = {
    Stage.COMPILE: "compile()",
    Stage.INLINE_ENGINES: "inlining",
    Stage.INLINE_FALLBACKS: "inlining",
    Stage.CLEAN: "inlining",
    Stage.SAVE: "save()",
    Stage.LOAD: "load()",
    Stage.RUN: "a call",
}
_CODE: Final = re.compile(
    rf"(?:\b(?:{'|'.join(Oracle)}) )?\b({'|'.join(Symptom)})@({'|'.join(Stage)})(?![\w.-])"
)


_TWICE: Final = re.compile(rf"\b{INLINED}([^;:,]+); \1(?=[;,]|$)")


def plain(words: str) -> str:
    """Words with each code of a failure in plain words: ``error@load``, ``an error in load()``.

    What the inlined module shows as the loaded program does is told once.
    """

    def told(code: re.Match[str]) -> str:
        happened, stage = Symptom(code[1]), Stage(code[2])
        when = "in" if happened in _DURING or stage is Stage.RUN else "after"
        return f"{_SYMPTOMS.get(happened, symptom(happened))} {when} {_STAGES.get(stage, stage)}"

    return _CODE.sub(told, _TWICE.sub(r"\1, in the inlined module already", words))
