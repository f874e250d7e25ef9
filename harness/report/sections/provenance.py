"""What ran on what: run.json as rows of text, whatever it holds, with what the run took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from harness.report import text
from harness.report.reported_run import ReportedRun, Section
from harness.run.defect_lines import kept_words

_SHORT_LIST: Final = 4
_TOLD_OF_A_SOURCE: Final = ("torch_version", "python", "cpu_model", "gpu", "harness_commit")


@dataclass(frozen=True)
class Provenance:
    """Facts on one line each, and the long lists apart."""

    facts: tuple[tuple[str, str], ...]
    lists: tuple[tuple[str, tuple[str, ...]], ...]


def build_provenance(run: ReportedRun) -> Provenance:
    return with_sources(
        {
            **run.provenance,
            **_kept(run.summary),
            **_stage_share(run.summary),
            **_memory(run.summary),
        }
    )


def _kept(summary: Mapping[str, Any]) -> dict[str, str]:
    told = kept_words(summary)
    return {"verdicts": told} if told else {}


def _stage_share(summary: Mapping[str, Any]) -> dict[str, str]:
    """The part of the workers' time that went into stages, if it was measured."""
    seconds = summary["seconds"]
    share = seconds.get("stage_share")
    if share is None:
        return {}
    spent = f"{text.number(seconds['in_stages'])} of {text.number(seconds['workers'])} s"
    return {"time inside stages": f"{share:.0%} of the workers' time since import ({spent})"}


def _memory(summary: Mapping[str, Any]) -> dict[str, str]:
    """The most memory that the run held, if it was measured."""
    held = summary.get("memory", {})
    workers, controller = (held.get(f"{who}_peak_bytes") for who in ("workers", "controller"))
    if workers is None or controller is None:
        return {}
    total = f"{text.size(workers)} in all workers, {text.size(controller)} in the controller"
    return {"peak memory": f"{total}, each process's most at any time"}


def with_sources(data: Mapping[str, Any]) -> Provenance:
    """run.json as rows; a merged run has one more line, and a list of details, for each source.

    What only a merged run has is left out of any other.
    """
    sources = data.get("sources") or ()
    only_merged = [name for name in ("sources", "mismatches") if name in data and not data[name]]
    whole = flatten({k: data[k] for k in data if k not in ("sources", *only_merged)})
    facts, lists = list(whole.facts), list(whole.lists)
    for source in sources:
        run = {name: value for name, value in source["run"].items() if name != "subjects"}
        brief = {"environment": source["environments"]}
        brief |= {name: run[name] for name in _TOLD_OF_A_SOURCE if run[name]}
        told = flatten(run)
        name = f"source {run['run_id']}"
        facts.append((name, "; ".join(f"{what} {how}" for what, how in flatten(brief).facts)))
        lists.append((name, tuple(f"{what}: {how}" for what, how in told.facts)))
        lists += [(f"{name}, {what}", lines) for what, lines in told.lists]
    return Provenance(tuple(facts), tuple(lists))


def flatten(data: Mapping[str, Any]) -> Provenance:
    """One fact for each leaf, named by its path; long lists stand apart."""
    facts: list[tuple[str, str]] = []
    lists: list[tuple[str, tuple[str, ...]]] = []
    for path, value in _leaves(data, ()):
        name = " ".join(path).replace("_", " ")
        if isinstance(value, list | tuple):
            items = tuple(_line(item) for item in value)
            if len(items) > _SHORT_LIST or any(isinstance(item, Mapping) for item in value):
                lists.append((name, items))
            else:
                facts.append((name, " ".join(items) or "none"))
        else:
            facts.append((name, _line(value)))
    return Provenance(tuple(facts), tuple(lists))


def _leaves(
    data: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in data.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*path, str(name)))
        else:
            yield (*path, str(name)), value


def _line(value: Any) -> str:
    if value is None or value == "" or value == {}:
        return "not recorded"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_line(item)}" for name, item in value.items())
    return str(value)


PROVENANCE: Final = Section(
    "provenance", build_provenance, template="provenance", link="Provenance"
)
