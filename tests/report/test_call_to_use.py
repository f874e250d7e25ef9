"""The call that `check` names is one that does, in that release, what was tried."""

import pytest
from packaging.version import Version

from harness.catalogue.releases import SAVE_RETRACES_SINCE, Catalogue
from harness.gate.model_answer import CallAnswer, ModelAnswer, Standing
from harness.report.check_report import headline, table_lines
from harness.wire.routes import Route


def answer(route: Route, *releases: str) -> ModelAnswer:
    calls = {(name, route): CallAnswer(name, route, Standing.RIGHT) for name in releases}
    return ModelAnswer("mine", releases, (route,), calls, calls[releases[0], route])


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
    assert headline(told) == f"mine: use torch_tensorrt {release} and {call}"
    assert any(line.startswith(f"{call} ") for line in table_lines(told))


def test_a_table_with_a_release_whose_save_inlines_by_itself_says_retrace_in_its_row() -> None:
    (_, row, _) = table_lines(answer(Route.RETRACE, "2.14.0", "2.9.0"))
    assert row.startswith("save(m, f, retrace=True) ")


def test_save_exports_again_by_itself_since_the_release_that_the_catalogue_says(
    catalogue: Catalogue,
) -> None:
    for release in catalogue:
        assert release.save_retraces == (Version(release.version) >= SAVE_RETRACES_SINCE)
