"""`python -m harness`, and the console script `inliner-regress`."""

import sys
from typing import NoReturn

from harness.base.program import lacking, refusal


def main() -> None:
    """Run the command line, or say in one line that it does not run here."""
    if reason := refusal():
        _fail(reason)
    try:
        from harness.cli import main as command_line
    except ModuleNotFoundError as error:
        _fail(lacking(error))
    command_line()


def _fail(reason: str) -> NoReturn:
    print(f"error: {reason}", file=sys.stderr)
    sys.exit(4)  # ExitCode.FAILED, whose module an old Python cannot import


if __name__ == "__main__":
    main()
