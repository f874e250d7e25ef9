"""`python -m harness`, and the console script `inliner-regress`."""

import sys

from harness.base.program import refusal


def main() -> None:
    """Run the command line, or say in one line that it does not run here."""
    if reason := refusal():
        print(f"error: {reason}", file=sys.stderr)
        sys.exit(4)  # ExitCode.FAILED, whose module an old Python cannot import
    from harness.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
