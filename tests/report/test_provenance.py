"""Provenance as rows: of a merged run, each source is told by itself."""

from harness.report.sections.provenance import with_sources
from harness.run.defect_lines import kept_words


def source(name, environment, torch):
    run = {
        "run_id": name,
        "torch_version": torch,
        "python": "CPython 3.11",
        "cpu_model": "a CPU",
        "gpu": None,
        "harness_commit": "c0ffee",
        "subjects": [{"subject": "2.13.0"}],
        "pip_freeze": [f"package-{number}" for number in range(9)],
    }
    return {"environments": [environment], "run": run}


def test_each_source_has_a_line_and_its_packages_are_kept_apart():
    data = {
        "run_id": "whole",
        "sources": [source("one", "pinned", "2.13.0"), source("two", "torch-2.9.0", "2.9.0")],
        "mismatches": ["unlike corpora: x in one, y in two"],
    }
    told = with_sources(data)
    facts = dict(told.facts)
    assert facts["source two"] == (
        "environment torch-2.9.0; torch version 2.9.0; python CPython 3.11; cpu model a CPU; "
        "harness commit c0ffee"
    )
    assert facts["run id"] == "whole"
    assert facts["mismatches"] == "unlike corpora: x in one, y in two"
    lists = dict(told.lists)
    assert lists["source one, pip freeze"][0] == "package-0"
    assert "torch version: 2.9.0" in lists["source two"]
    assert not any("subjects" in name for name in lists)


def test_a_run_that_was_not_merged_says_nothing_of_sources():
    told = with_sources({"run_id": "plain", "sources": [], "mismatches": []})
    assert told.facts == (("run id", "plain"),)


def test_a_run_that_took_kept_verdicts_names_both_runs_and_counts_their_cells_apart():
    kept = {"cells": 1200, "runs": {"earlier": 1000, "first": 200}, "asked_again": 24}
    told = kept_words({"cells": {"ended": 1250}, "kept": kept})
    assert told == (
        "50 cells of this run, 1,000 from run earlier, 200 from run first; 24 that were kept were "
        "asked again and ended alike"
    )
    assert kept_words({"cells": {"ended": 1250}}) == ""
