"""`python -m harness`: the thin rim. Only this package prints, reads the environment and exits."""

from __future__ import annotations

import sys

import typer

from harness.cli import (
    benching,
    covering,
    crossing,
    history,
    inspecting,
    merging,
    qualifying,
    recording,
    reducing,
    reproducing,
    results,
    running,
)
from harness.cli.common import err, fail
from harness.cli.locking import corpus_app
from harness.errors import SurroundingsError, Unavailable, UsageError
from harness.exitcodes import ExitCode

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Sends split models through the inliners of Torch-TensorRT and judges what comes back.",
)
releases_app = typer.Typer(invoke_without_command=True, help="The catalogue of releases.")
app.add_typer(releases_app, name="releases")
corpus_app.command("record")(recording.record_command)
app.add_typer(corpus_app, name="corpus")

app.command("run")(running.run_command)
app.command("list")(inspecting.list_command)
app.command("show")(inspecting.show_command)
app.command("explain")(inspecting.explain_command)
app.command("reproduce")(reproducing.reproduce_command)
app.command("reduce")(reducing.reduce_command)
app.command("coverage")(covering.coverage_command)
app.command("summary")(results.summary_command)
app.command("report")(results.report_command)
app.command("ledger")(results.ledger_command)
app.command("history")(history.history_command)
app.command("crossing")(crossing.crossing_command)
app.command("merge")(merging.merge_command)
app.command("qualify")(qualifying.qualify_command)
app.command("bench")(benching.bench_command)
app.command("compare")(benching.compare_command)
app.command("trend")(benching.trend_command)
app.command("selftest")(benching.selftest_command)
releases_app.callback()(inspecting.releases_command)
releases_app.command("add")(inspecting.add_release_command)
app.command("doctor")(inspecting.doctor_command)
app.command("clean")(inspecting.clean_command)


def main() -> None:
    """Run the command line; every way to end has its exit code (`harness.exitcodes`)."""
    try:
        # Not standalone: typer would turn every exception into exit code 1, which means red here.
        code = app(standalone_mode=False)
    except (UsageError, typer.BadParameter) as error:
        fail(ExitCode.USAGE, str(error))
    except Unavailable as reason:
        fail(ExitCode.INCONCLUSIVE, str(reason))
    except SurroundingsError as error:
        fail(ExitCode.FAILED, str(error))
    except Exception as error:  # noqa: BLE001 - the rim: exit code 1 would mean red
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # click's own wrong-use errors
            error.show()
            sys.exit(ExitCode.USAGE)
        err.print_exception()
        fail(ExitCode.FAILED, "the harness itself crashed; this says nothing of the subjects")
    if code == ExitCode.INTERRUPTED:  # typer takes the KeyboardInterrupt for itself
        fail(ExitCode.INTERRUPTED, "interrupted; what has ended is kept")
    sys.exit(code if isinstance(code, int) else ExitCode.GREEN)
