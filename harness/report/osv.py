"""The register of defects as records of the Open Source Vulnerability format, schema 1.6.

Source of the fields: https://ossf.github.io/osv-schema. These are defects and no vulnerabilities;
the format is taken because tools read it: what introduced it, what fixed it, where to read on.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, Final

from harness.gate.defect_table import DefectRow, DefectTable
from harness.register.defects import Defect
from harness.register.standing import State
from harness.register.where import source_url

SCHEMA: Final = "1.6.7"
_ISSUE: Final = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)#(?P<number>\d+)")


def osv_text(table: DefectTable, modified: datetime) -> str:
    """The whole register as one JSON list, a record a defect."""
    return json.dumps([osv_record(row, table, modified) for row in table.rows], indent=1) + "\n"


def osv_record(row: DefectRow, table: DefectTable, modified: datetime) -> dict[str, Any]:
    """One defect. What the format has no field for stands under ``database_specific``.

    Args:
        modified: when the run started that the table is of, in any time zone.
    """
    defect = row.defect
    return {
        "schema_version": SCHEMA,
        "id": f"x_inliner-{defect.id}",  # x_: a database that OSV does not list
        "modified": modified.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "summary": defect.title,
        "details": defect.why,
        "affected": [
            {
                "package": {"ecosystem": "PyPI", "name": "torch-tensorrt"},
                "ranges": [{"type": "ECOSYSTEM", "events": each} for each in _events(row)],
                "versions": list(row.shown_in),
            }
        ],
        "references": _references(defect, table.lines_of),
        "database_specific": {
            "harm": row.harm,
            "reach": row.reach.value,
            "part": row.part.value,
            "calls": list(row.calls),
            "where": list(defect.where),
            "blame": defect.blame,
            "workaround": defect.workaround,
            "avoided_by": list(defect.avoid),
            "minimal_case": defect.minimal_case,
            "fixed_by": defect.fixed_by,
            "brought_by": defect.brought_by,
            "hidden_in": _in_state(row, State.HIDDEN),
            "hidden_behind": list(row.marks[-1].behind),
            "not_asked_in": _in_state(row, State.NOT_ASKED),
            "cells": row.marks[-1].cells,
        },
    }


def _in_state(row: DefectRow, state: State) -> list[str]:
    return [each.release for each in row.standings if each.state is state]


def _events(row: DefectRow) -> list[list[dict[str, str]]]:
    """The events of a range for each stretch of known releases that show the defect.

    What ends a range is a fix where the next release was asked and does not have the defect, or
    the register says so. Where nobody asked, or other defects hide it, nobody knows.
    """
    ranges: list[list[dict[str, str]]] = []
    last = ""  # the release before, if it shows the defect
    for each in row.standings:
        if each.state is State.SHOWN:
            if not last:
                ranges.append([{"introduced": each.release}])
            last = each.release
        elif last:
            fixed = each.state is State.ABSENT or not each.defect.alive_in(each.release)
            ranges[-1].append({"fixed": each.release} if fixed else {"last_affected": last})
            last = ""
    return ranges


def _references(defect: Defect, lines_of: str) -> list[dict[str, str]]:
    """Where to read on, each address once: what fixed or introduced it, and upstream's lines."""
    kinds = {defect.fixed_by: "FIX", defect.brought_by: "INTRODUCED"}
    named = dict.fromkeys((*defect.upstream, defect.fixed_by, defect.brought_by))
    issues = [
        {
            "type": kinds.get(name, "REPORT"),
            "url": f"https://github.com/{found['repository']}/issues/{found['number']}",
        }
        for name in named
        for found in _ISSUE.finditer(name)
    ]
    places = dict.fromkeys(source_url(where, lines_of) for where in defect.where)
    return issues + [{"type": "WEB", "url": url} for url in places if url]
