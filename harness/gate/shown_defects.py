"""The defects that a run shows, a row each, for ``summary.json``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.catalogue.releases import ordered_subjects
from harness.gate.attribution import Attributed
from harness.gate.verdict import ReachOf
from harness.register.defects import Defect, Register
from harness.register.standing import worst_harm
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CellKey, SubjectSpec
from harness.wire.routes import Route
from harness.wire.vocabulary import Reach


@dataclass(frozen=True)
class DefectShown:
    """A defect as a run shows it.

    ``releases`` has the cells of each subject that shows it, the oldest first. Harm (the worst),
    reach (the widest), calls and cells are those of the last of these.
    """

    id: str
    title: str
    harm: str
    reach: str
    calls: tuple[str, ...]
    cells: int
    releases: dict[str, int]


def shown_defects(
    shown: Iterable[Attributed],
    register: Register,
    subjects: Sequence[SubjectSpec],
    reach_of: ReachOf,
) -> list[DefectShown]:
    """The known defects that some failures are due to: the worst first, the widest first of those.

    Args:
        shown: the judged failures of a run.
        subjects: those of the run.
        reach_of: who makes the split of a cell.
    """
    of: dict[str, dict[str, list[Attributed]]] = defaultdict(lambda: defaultdict(list))
    speaking: dict[tuple[CellKey, str], set[str]] = defaultdict(set)
    for due in shown:
        if due.defect:
            of[due.defect][due.key.subject].append(due)
            speaking[due.key, due.fact.oracle].add(due.defect)
    order = [spec.subject for spec in ordered_subjects(subjects)]
    rows = []
    for name, by_subject in of.items():
        names = sorted(by_subject, key=order.index)
        last = by_subject[names[-1]]
        # A verdict has one harm, the worst of what it found, and what cannot run is graded by that.
        alone = [
            due
            for due in last
            if all(
                speaking[due.key, oracle] <= {name}
                for oracle in (due.fact.oracle, Oracle.COMPLETION)
            )
        ]
        defect = register.by_id[name]
        rows.append(_shown(defect, last, alone or last, by_subject, names, reach_of))
    return sorted(rows, key=_badness)


def _shown(
    defect: Defect,
    last: Sequence[Attributed],
    judged: Sequence[Attributed],
    by_subject: dict[str, list[Attributed]],
    names: Sequence[str],
    reach_of: ReachOf,
) -> DefectShown:
    keys = {due.key for due in last}
    routes = {key.route for key in keys}
    return DefectShown(
        id=defect.id,
        title=defect.title,
        harm=worst_harm((due.fact.harm for due in judged), defect),
        reach=min(map(reach_of, keys), key=list(Reach).index),
        calls=tuple(route for route in Route if route in routes),
        cells=len(keys),
        releases={name: len({due.key for due in by_subject[name]}) for name in names},
    )


def _badness(each: DefectShown) -> tuple[int, int, int, str]:
    severity = Harm(each.harm).severity if each.harm else len(Harm)
    return severity, list(Reach).index(Reach(each.reach)), -each.cells, each.id
