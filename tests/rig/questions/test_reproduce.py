"""Scripts of a user's calls, each tried in the release's package: they show what fails there."""

import pytest

from harness.report.reproduction import Wanted, package_scripts_for
from harness.subjects.specs import release_subject

FAILURES = {
    "2.14.0": (
        ("two_mutated_buffers@relu", "compile", "completion", "error@compile",
         "compile: RuntimeError: Tried to erase Node"),
        ("input_written_whole", "compile", "values", "wrong-values@compile",
         "the compiled module leaves other values in its inputs than eager: "),
        ("keywords_in_another_order_at_save", "retrace", "values", "wrong-values@run",
         "the loaded program is wrong: "),
        ("rows_by_item", "no-retrace", "completion", "error@load",
         "load: ValueError: "),
        ("cache_written_after_reading", "retrace", "unflatten", "not-unflattenable@run",
         "the unflattened program is wrong: "),
        ("inputs_read_in_reverse", "no-retrace", "metadata", "wrong-metadata@export",
         "states a list, computes a tensor"),
        ("residual_over_a_fallback@global-partitioner", "retrace", "unflatten",
         "not-unflattenable@load", "unflatten: ValueError: "),
    ),
    "2.13.0": (
        ("inputs_read_in_reverse", "no-retrace", "values", "wrong-values@inline-fallbacks",
         "the loaded program is wrong: "),
        ("two_mutated_buffers@relu", "compile", "values", "wrong-values@compile",
         "the compiled module "),
        ("no_output_at_all@relu", "compile", "values", "wrong-values@compile",
         "the compiled module "),
        ("gru_linear_dynamic", "no-retrace", "structure", "wrong-structure@export",
         "duplicate argument"),
    ),
}  # fmt: skip
"""Case, route, oracle and label of what each release fails, and what its script says of it."""


@pytest.mark.slow
@pytest.mark.parametrize("version", FAILURES)
def test_a_script_shows_what_a_package_does_wrong(version, toolchain, catalogue):
    release = catalogue.get(version)
    spec = release_subject(release, None, "its package is asked, and not its inliner alone")
    wanted = [
        Wanted(case, "nonstrict", (route,), spec, labels=((oracle, label),))
        for case, route, oracle, label, _ in FAILURES[version]
    ]
    scripts = package_scripts_for(wanted, toolchain, release)
    for (case, _, oracle, label, said), script in zip(FAILURES[version], scripts, strict=True):
        assert (case, script.label, script.why_not) == (case, label, "")
        assert said in script.said
        assert f"pip install torch-tensorrt=={version}" in script.text
        short = oracle in ("values", "completion", "unflatten")
        assert (len(script.text.splitlines()) < 90) == short


@pytest.mark.slow
def test_what_does_not_fail_in_a_package_has_no_script(toolchain, catalogue):
    release = catalogue.get("2.14.0")
    spec = release_subject(release, None, "its package is asked, and not its inliner alone")
    labels = (("completion", "error@compile"),)
    wanted = Wanted("inputs_read_in_reverse", "nonstrict", ("no-retrace",), spec, labels=labels)
    (script,) = package_scripts_for([wanted], toolchain, release)
    assert (script.text, script.why_not) == ("", "it does not fail so today")
