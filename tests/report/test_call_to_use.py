"""The call that `check` names is one that does, in that release, what was tried."""

import pytest
from packaging.version import Version

from harness.catalogue.releases import SAVE_RETRACES_SINCE, Catalogue
from harness.gate.model_answer import CallAnswer, ModelAnswer, Standing
from harness.report.check_words import answer_lines, headline, table_lines, upgrade_line
from harness.run.checked import Checked
from harness.wire.routes import Route


def answer(route: Route, *releases: str) -> ModelAnswer:
    calls = {(name, route): CallAnswer(name, route, Standing.RIGHT) for name in releases}
    return ModelAnswer("mine", releases, (route,), calls, calls[releases[0], route])


def split_into(engines: int, told: ModelAnswer) -> Checked:
    split = {"engines": engines, "fallbacks": [], "crossing": []}
    return Checked("mine.py", (told,), (), {told.model: split}, "2.13.0")


@pytest.mark.parametrize(
    ("release", "route", "call"),
    [
        ("2.14.0", Route.RETRACE, "save(m, f)"),
        ("2.10.0", Route.RETRACE, "save(m, f)"),
        ("2.9.0", Route.RETRACE, "save(m, f, retrace=True)"),
        ("2.9.0", Route.NO_RETRACE, "save(m, f, retrace=False)"),
        ("2.14.0", Route.RETRACE_DYNAMIC, "save(m, f, dynamic_shapes=…)"),
    ],
)
def test_the_call_to_use_is_written_for_its_release(release: str, route: Route, call: str) -> None:
    told = answer(route, release)
    assert headline(split_into(2, told), told) == f"mine: use torch_tensorrt {release} and {call}"
    assert any(line.startswith(f"{call} ") for line in table_lines(told))


def test_a_table_with_a_release_whose_save_inlines_by_itself_says_retrace_in_its_row() -> None:
    (_, row, _) = table_lines(answer(Route.RETRACE, "2.14.0", "2.9.0"))
    assert row.startswith("save(m, f, retrace=True) ")


def test_save_exports_again_by_itself_since_the_release_that_the_catalogue_says(
    catalogue: Catalogue,
) -> None:
    for release in catalogue:
        assert release.save_retraces == (Version(release.version) >= SAVE_RETRACES_SINCE)


def test_a_model_without_an_engine_is_told_so_before_any_call_that_is_right() -> None:
    told = answer(Route.RETRACE, "2.14.0", "2.13.0")
    checked = split_into(0, told)
    none = (
        "no engine is built, so nothing is accelerated (a smaller min_block_size may change that);"
    )
    assert headline(checked, told) == f"mine: {none} use torch_tensorrt 2.14.0 and save(m, f)"
    assert next(answer_lines(checked, told)) == headline(checked, told)
    line = upgrade_line(checked, told, "2.13.0", "2.14.0")
    assert line == f"mine: {none} 2.13.0 to 2.14.0: nothing changes; use save(m, f)"


def test_what_stands_in_a_call_is_said_below_the_table() -> None:
    """`torch_tensorrt.save(m, f)` alone raises: it exports again, with the inputs."""
    told = answer(Route.RETRACE, "2.14.0", "2.13.0")
    lines = answer_lines(split_into(2, told), told)
    said = next(line for line in lines if line.startswith("m is"))
    assert "arg_inputs=" in said
    assert "kwarg_inputs=" in said
