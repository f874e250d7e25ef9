"""`python -m harness`: the thin rim. Only this package prints, reads the environment and exits."""

from __future__ import annotations

import ast
import importlib
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

import typer

from harness.base.errors import ExitCode, SurroundingsError, Unavailable, UsageError
from harness.base.program import lacking
from harness.cli.common import INTERRUPTED, err, fail

HELP = "Sends split models through the inliners of Torch-TensorRT and judges what comes back."

#: Where each command is, as "module:function", by what people come for: a panel of `--help` each.
PANELS: Final[Mapping[str, Mapping[str, str]]] = {
    "Judge releases": {
        "check": "checking:check_command",
        "run": "running:run_command",
        "qualify": "qualifying:qualify_command",
        "crossing": "crossing:crossing_command",
        "fuzz": "fuzzing:fuzz_command",
        "replay": "replaying:replay_command",
        "plan": "planning:plan_command",
        "merge": "merging:merge_command",
    },
    "Look into a failure": {
        "defects": "defects:defects_command",
        "summary": "results:summary_command",
        "report": "results:report_command",
        "comment": "commenting:comment_command",
        "explain": "inspecting:explain_command",
        "reproduce": "reproducing:reproduce_command",
        "reduce": "reducing:reduce_command",
        "list": "inspecting:list_command",
        "show": "inspecting:show_command",
        "releases": "cataloguing:releases_command",
        "mend": "mending:mend_command",
        "bisect": "nightlies:bisect_command",
    },
    "Measure": {
        "bench": "benching:bench_command",
        "compare": "benching:compare_command",
        "trend": "nightlies:trend_command",
        "selftest": "benching:selftest_command",
    },
    "Maintain the harness": {
        "expected": "expecting:expected_command",
        "add-release": "cataloguing:add_release_command",
        "acceptance": "running:acceptance_command",
        "mutants": "mutating:mutants_command",
        "chaos": "chaos:chaos_command",
        "coverage": "corpus:coverage_command",
        "record": "corpus:record_command",
        "verify": "corpus:verify_command",
        "lock": "corpus:lock_command",
        "order": "corpus:order_command",
        "lines": "corpus:lines_command",
        "reach": "corpus:reach_command",
        "doctor": "inspecting:doctor_command",
        "clean": "inspecting:clean_command",
    },
}


def application(arguments: Sequence[str]) -> typer.Typer:
    """The command line for these arguments, with the command that they begin with.

    With that one alone: matplotlib, scipy and pandas take seconds, and most commands need none of
    them. Where it is another word, or none, every command has its name and its help, and no module
    is imported.
    """
    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help=HELP,
    )
    app.callback()(_no_options)  # or a single command would need no name
    commands = [
        (name, panel, place) for panel, places in PANELS.items() for name, place in places.items()
    ]
    asked = [each for each in commands if each[0] in arguments[:1]]
    for name, panel, place in commands:
        module, _, function = place.partition(":")
        if not asked:
            app.command(name, rich_help_panel=panel, help=_help_of(module, function))(_no_options)
        elif name == asked[0][0]:
            command = getattr(importlib.import_module(f"harness.cli.{module}"), function)
            app.command(name, rich_help_panel=panel)(command)
    return app


def _help_of(module: str, function: str) -> str:
    """What a command says of itself, read out of its source."""
    source = Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
    (found,) = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == function
    )
    return ast.get_docstring(found) or ""


def _no_options() -> None:
    """Nothing comes before a command."""


def _as_by_ctrl_c(_: int, frame: FrameType | None) -> None:
    """What SIGTERM does, which `timeout`, schedulers and cancelled pipelines send.

    An event loop has a handler of its own for Ctrl-C meanwhile, which ends its tasks first.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # a shell's background process ignores Ctrl-C
        handler = signal.default_int_handler
    handler(signal.SIGINT, frame)


def main() -> None:
    """Run the command line; every way to end has its exit code (`harness.base.errors`)."""
    signal.signal(signal.SIGTERM, _as_by_ctrl_c)
    try:
        # Not standalone: typer would turn every exception into exit code 1, which means red here.
        code = application(sys.argv[1:])(standalone_mode=False)
    except KeyboardInterrupt:  # while modules are imported; in a command, typer takes it for itself
        fail(ExitCode.INTERRUPTED, INTERRUPTED)
    except UsageError as error:
        fail(ExitCode.USAGE, str(error))
    except typer.BadParameter as error:
        fail(ExitCode.USAGE, error.format_message())  # with the option's name
    except Unavailable as reason:
        fail(ExitCode.INCONCLUSIVE, str(reason))
    except SurroundingsError as error:
        fail(ExitCode.FAILED, str(error))
    except ModuleNotFoundError as error:
        fail(ExitCode.FAILED, lacking(error))
    except Exception as error:  # noqa: BLE001 - the rim: exit code 1 would mean red
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # click's own wrong-use errors
            error.show()
            sys.exit(ExitCode.USAGE)
        err.print_exception()
        fail(ExitCode.FAILED, "the harness itself crashed; this says nothing of the subjects")
    if code == ExitCode.INTERRUPTED:
        fail(ExitCode.INTERRUPTED, INTERRUPTED)
    sys.exit(code if isinstance(code, int) else ExitCode.GREEN)
