"""Scripts of a user's calls, each tried in the release's package: they show what fails there."""

import pytest

from harness.report.reproduction import Wanted, package_scripts_for
from harness.subjects.specs import release_subject

FAILURES = {
    "2.14.0": (
        ("two_mutated_buffers@relu", "compile", "completion", "error@compile"),
        ("input_written_whole", "compile", "values", "wrong-values@compile"),
        ("keywords_in_another_order_at_save", "retrace", "values", "wrong-values@run"),
        ("rows_by_item", "no-retrace", "completion", "error@load"),
        ("cache_written_after_reading", "retrace", "unflatten", "not-unflattenable@run"),
        ("inputs_read_in_reverse", "no-retrace", "metadata", "wrong-metadata@export"),
        (
            "residual_over_a_fallback@global-partitioner",
            "retrace",
            "unflatten",
            "not-unflattenable@load",
        ),
    ),
    "2.13.0": (
        ("inputs_read_in_reverse", "no-retrace", "values", "wrong-values@inline-fallbacks"),
        ("two_mutated_buffers@relu", "compile", "values", "wrong-values@compile"),
        ("no_output_at_all@relu", "compile", "values", "wrong-values@compile"),
        ("gru_linear_dynamic", "no-retrace", "structure", "wrong-structure@export"),
    ),
}
"""Case, route, oracle and label of what each release fails."""

SAID = {
    ("2.14.0", "error@compile"): "compile: RuntimeError: Tried to erase Node",
    ("2.14.0", "wrong-values@compile"): "compiled module: call 0, input afterwards 0: at",
    ("2.14.0", "wrong-values@run"): "reloaded program: call 0, output 0: at",
    ("2.14.0", "error@load"): "load: RuntimeError: We ran into an error when deserializing",
    ("2.14.0", "not-unflattenable@run"): "unflattened: call",
    ("2.14.0", "wrong-metadata@export"): "states a list, computes a tensor",
    ("2.14.0", "not-unflattenable@load"): "unflatten raises ValueError",
    ("2.13.0", "wrong-values@inline-fallbacks"): "inlined module: call 0",
    ("2.13.0", "wrong-values@compile"): "compiled module: call",
    ("2.13.0", "wrong-structure@export"): "duplicate argument",
}


@pytest.mark.slow
@pytest.mark.parametrize("version", FAILURES)
def test_a_script_shows_what_a_package_does_wrong(version, toolchain, catalogue):
    release = catalogue.get(version)
    spec = release_subject(release, None, "its package is asked, and not its inliner alone")
    wanted = [
        Wanted(case, "nonstrict", (route,), spec, labels=((oracle, label),))
        for case, route, oracle, label in FAILURES[version]
    ]
    for each, script in zip(wanted, package_scripts_for(wanted, toolchain, release), strict=True):
        ((_, label),) = each.labels
        assert (each.case, script.label, script.why_not) == (each.case, label, "")
        assert SAID[version, label] in script.said
        assert f"pip install torch-tensorrt=={version}" in script.text


@pytest.mark.slow
def test_what_does_not_fail_in_a_package_has_no_script(toolchain, catalogue):
    release = catalogue.get("2.14.0")
    spec = release_subject(release, None, "its package is asked, and not its inliner alone")
    labels = (("completion", "error@compile"),)
    wanted = Wanted("inputs_read_in_reverse", "nonstrict", ("no-retrace",), spec, labels=labels)
    (script,) = package_scripts_for([wanted], toolchain, release)
    assert (script.text, script.why_not) == ("", "it does not fail so today")
