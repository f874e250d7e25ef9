"""The run as junit.xml: a suite of defects, and a suite a subject with a test case a cell.

A known failure passes here, as it does in the gate; only what nobody expected is a failure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from harness.catalogue.releases import ordered_subjects
from harness.report.frames.environments import torch_running
from harness.wire.builders import PINNED
from harness.wire.records import CaseInfo, CellKey, CellRecord, SubjectSpec
from harness.wire.vocabulary import CellState

_COUNTS: Final = ("tests", "failures", "errors", "skipped")
_NONE: Final[Mapping[str, str]] = {}
_NOT_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


def junit(
    plan: Sequence[CellKey],
    records: Sequence[CellRecord],
    cases: Sequence[CaseInfo],
    subjects: Sequence[SubjectSpec],
    classes: Mapping[str, str],
    provenance: Mapping[str, Any],
    faults: Sequence[str] = (),
    defects: Sequence[tuple[str, str, str, str]] = (),
) -> str:
    """The text of junit.xml. A planned cell without a record is an error of the harness.

    Register and table have a suite of their own where they contradict themselves: no cell fails
    for that.

    Args:
        defects: of each one its id, its title, where it shows, and what is not as expected.
    """
    family_of = {case.name: case.family for case in cases}
    record_of = {record.key: record for record in records}
    keys: dict[str, list[CellKey]] = {}
    for key in dict.fromkeys([*plan, *record_of]):
        keys.setdefault(key.subject, []).append(key)

    def suites() -> Iterator[Any]:
        for spec in ordered_subjects(subjects):
            mine = (
                _cell(key, record_of.get(key), family_of[key.case], classes.get(key.cell_id, ""))
                for key in keys.get(spec.subject, ())
            )
            yield _suite(spec.subject, mine, _versions(spec, provenance))
        if faults:
            yield _suite("expectations", map(_fault, faults))
        if defects:
            yield _suite("defects", (_defect(*defect) for defect in defects))

    return _whole(suites())


def _suite(name: str, cases: Iterable[TestCase], properties: Mapping[str, str] = _NONE) -> Any:
    suite: Any = TestSuite(name)  # half of its methods are untyped
    for each, value in properties.items():
        suite.add_property(each, _clean(value))
    suite.add_testcases(list(cases))  # all at once: `add_testcase` counts the whole suite again
    suite.update_statistics()
    return suite


def _whole(suites: Iterable[Any]) -> str:
    """The document. Of a large run no more than one suite is in memory as elements."""
    xml: Any = JUnitXml("inliner regression")
    counts, seconds, texts = Counter[str](), 0.0, []
    for suite in suites:
        counts.update({name: getattr(suite, name) for name in _COUNTS})
        seconds += suite.time
        texts.append(suite.tostring().decode())
    for name in _COUNTS:
        setattr(xml, name, counts[name])
    xml.time = round(seconds, 3)
    head: bytes = xml.tostring()
    return "".join((head.decode().removesuffix(" />"), ">", *texts, "</testsuites>"))


def _versions(spec: SubjectSpec, provenance: Mapping[str, Any]) -> dict[str, str]:
    known = {
        "kind": spec.kind.value,
        "release": spec.release,
        "inliner_id": spec.inliner_id,
        "wheel_sha256": spec.wheel_sha256,
        "torch_pinned": spec.torch_pinned,
        "torch_running": torch_running(provenance),
        "tensorrt_pinned": spec.tensorrt_pinned,
    }
    return {name: value for name, value in known.items() if value}


def _defect(name: str, title: str, shown: str, failure: str) -> TestCase:
    case = TestCase(_clean(f"{name}: {title}"), "defects")
    if failure:
        case.result = [Failure(_clean(failure))]
    case.system_out = _clean(f"known defect, {shown}")
    return case


def _fault(reason: str) -> TestCase:
    case = TestCase("register and table are exact", "expectations")
    case.result = [Failure(_clean(reason))]
    return case


def _cell(key: CellKey, record: CellRecord | None, family: str, given_class: str) -> TestCase:
    setting = (key.capture, key.lane, key.builder, key.executor)
    where = f"{key.route} [{', '.join((*setting, *_elsewhere(key)))}]"
    seconds = sum(record.seconds.values()) if record else 0.0
    case = TestCase(_clean(f"{key.case} {where}"), _clean(f"{family}.{key.subject}"), seconds)
    if record is None:
        case.result = [Error("missing: planned, and left no record")]
    elif record.state is CellState.UNSUPPORTED:
        case.result = [Skipped(_clean(f"unsupported: {record.reason}"))]
    elif record.hypothetical:
        case.result = [
            Skipped(
                f"hypothetical: no user call reaches {key.route} in {key.subject}; {record.label}"
            )
        ]
    elif given_class == "unexpected_pass":
        case.result = [Failure("unexpected pass: the table expects a failure here")]
    elif given_class == "unexpected_failure":
        case.result = [_failure(record)]
    elif record.failures:
        what = "cosmetic" if given_class == "ok" else "known"
        case.system_out = _clean(f"{what} failure: {_told(record)}")
    return case


def _elsewhere(key: CellKey) -> tuple[str, ...]:
    """The environment, unless it is the one that all releases share."""
    return () if key.environment == PINNED else (key.environment,)


def _failure(record: CellRecord) -> Failure:
    failure = Failure(_clean(_told(record)), record.label)
    failure.text = _clean("\n\n".join(verdict.evidence for verdict in record.failures))
    return failure


def _told(record: CellRecord) -> str:
    return "; ".join(f"{verdict.label}: {verdict.message}" for verdict in record.failures)


def _clean(value: str) -> str:
    """The text without control characters, which XML forbids."""
    return _NOT_XML.sub("�", value)
