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
    events = [{"introduced": defect.since or "0"}]
    if defect.fixed_in:
        events.append({"fixed": defect.fixed_in})
    return {
        "schema_version": SCHEMA,
        "id": f"x_inliner-{defect.id}",  # x_: a database that OSV does not list
        "modified": modified.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "summary": defect.title,
        "details": defect.why,
        "affected": [
            {
                "package": {"ecosystem": "PyPI", "name": "torch-tensorrt"},
                "ranges": [{"type": "ECOSYSTEM", "events": events}],
                "versions": list(row.shown_in),
            }
        ],
        "references": _references(defect),
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
            "hidden_behind": list(row.marks[-1].behind),
            "cells": row.marks[-1].cells,
        },
    }


def _references(defect: Defect) -> list[dict[str, str]]:
    """Where to read on: each address once, as the change that fixed or introduced it if it did."""
    kinds = {defect.fixed_by: "FIX", defect.brought_by: "INTRODUCED"}
    named = dict.fromkeys((*defect.upstream, defect.fixed_by, defect.brought_by))
    return [
        {
            "type": kinds.get(name, "REPORT"),
            "url": f"https://github.com/{found['repository']}/issues/{found['number']}",
        }
        for name in named
        for found in _ISSUE.finditer(name)
    ]
