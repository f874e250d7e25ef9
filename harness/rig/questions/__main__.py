"""Answers one question of the controller.

    python -m harness.rig.questions        started by harness.toolchain.rig_client

The request is a JSON object on stdin. Its ``question`` names a function of this package, whose
docstring says what else the request holds. Each answer is a line of JSON on stdout, written as soon
as it is there. Exit code 2: the request is at fault, as the last line on stderr says.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from typing import Final

from harness.rig.channel import private_channel
from harness.rig.questions import CannotAnswer

#: The module that answers each question. Questions of the environment need nothing but torch.
MODULES: Final = {
    "probe": "environment",
    "patches": "environment",
    "installed": "environment",
    "cases": "cases",
    "split_text": "cases",
    "coverage": "coverage",
    "coverage_digest": "coverage",
    "lock": "lock",
    "explain": "explain",
    "pictures": "picture",
    "flattened": "flattening",
    "scripts": "reproduce",
    "recordings": "recording",
    "splits": "splits",
    "work": "work",
    "lines_run": "lines_run",
}
_USAGE: Final = 2


def main() -> int:
    warnings.filterwarnings("ignore")
    answers = private_channel()  # what a package prints when it is imported is no answer
    request = json.loads(sys.stdin.read())
    question = request["question"]
    module = importlib.import_module(f"harness.rig.questions.{MODULES[question]}")
    try:
        for answer in getattr(module, question)(request):
            print(json.dumps(answer), file=answers, flush=True)
    except Exception as error:
        refusal = None if MODULES[question] == "environment" else _refusal(error)
        if refusal is None:
            raise
        print(refusal, file=sys.stderr)
        return _USAGE
    return 0


def _refusal(error: Exception) -> str | None:
    """What to tell whoever asked, if it is the request that is at fault."""
    from corpus.case import UnknownCase
    from corpus.elsewhere import NoCorpus

    if isinstance(error, UnknownCase):
        return f"no case is named {error.args[0]}"
    return str(error) if isinstance(error, CannotAnswer | NoCorpus) else None


if __name__ == "__main__":
    sys.exit(main())
