"""What a campaign leaves for people: its finds as files, and how it went as a page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus.drawn.model import DrawnModel
from harness.campaigns.campaign import Campaign, Find
from harness.campaigns.lines import journal_lines
from harness.register.defects import Register


@dataclass(frozen=True)
class Point:
    """What a campaign had after so many seconds."""

    seconds: float
    programs: int
    pairs: int
    known: int
    found: int


def points_of(folder: Path) -> list[Point]:
    """One point for each line of a campaign's journal."""
    return [
        Point(*(line[name] for name in ("seconds", "programs", "pairs_covered", "known", "found")))
        for line in journal_lines(folder)
    ]


def write_finds(finds: Iterable[Find], folder: Path) -> list[str]:
    """Write each find as a case and a proposed defect, and return their names.

    A model is a file and a table of ``models.toml``, which `--corpus` takes; a blueprint is JSON,
    as `corpus/found` holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "models.toml").unlink(missing_ok=True)
    names = []
    for number, find in enumerate(finds, start=1):
        name = f"found_{number:03}"
        names.append(name)
        if isinstance(find.program, DrawnModel):
            find.program.written(folder, name)
        else:
            data = {**find.kind.to_json(find.program), "name": name, "catches": find.cause.text}
            (folder / f"{name}.json").write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
        (folder / f"{name}.toml").write_text(_proposed(name, find), encoding="utf-8")
    return names


def signed_by(find: Find, register: Register) -> list[str]:
    """The ids of the defects whose signs any failure of a find bears."""
    causes = (find.cause, *find.also)
    named = (
        defect.id
        for cause in causes
        for defect in register.candidates(cause.place(find.kind.case), cause.fact, [cause.subject])
    )
    return list(dict.fromkeys(named))


def write_page(campaign: Campaign, folder: Path) -> Path:
    """``fuzz.md``: the campaign's counts, its curve, and everything that a person looks at."""
    place = folder / "fuzz.md"
    place.write_text("\n".join(_page(campaign)) + "\n", encoding="utf-8")
    return place


def _page(campaign: Campaign) -> Iterator[str]:
    yield f"# A campaign of drawn programs\n\n{campaign.progress}\n\n![New over time](fuzz.png)\n"
    yield "## New failures\n"
    for number, find in enumerate(campaign.finds.values(), start=1):
        yield f"{number}. {find.text}"
    yield "\n## Known defects that were met\n"
    for name, count in campaign.known.most_common():
        yield f"- {name}: {count:,}"
    yield "\n## Differences that the register does not explain\n"
    for difference in campaign.differs:
        yield f"- {difference}"


def _proposed(name: str, find: Find) -> str:
    """An entry for the register, in which a person has to say why and where."""
    fact = find.cause.fact
    fields: dict[str, Any] = {
        "id": name.replace("_", "-"),
        "title": fact.says[:80],
        "why": "",
        "where": [],
        "blame": "",
        "minimal_case": name,
        "workaround": "",
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in fields.items()]
    sign = f"oracle = {json.dumps(fact.oracle)}, says = {json.dumps(fact.says)}"
    seen = [f"# {cause.text}" for cause in (find.cause, *find.also)]
    return "\n".join([*seen, "[[defect]]", *lines, f"signs = [{{ {sign} }}]", ""])
