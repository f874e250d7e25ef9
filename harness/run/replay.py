"""Commits of Torch-TensorRT's history, each held against its parent as a checkout is by its base.

What a lane can see of a commit is asked once, whichever commits have it: the graph lane sees the
files of the inliner, the package lane all Python of the package. The folder of a replay holds

    journal.jsonl    a line for each tree that was put together, and for each one that was asked
    graph, package   the runs that asked them, which are ordinary ones

so that one that was cut off goes on where it was, in the middle of a run too.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.base.errors import Unavailable, UsageError
from harness.base.files import digest_of, written_to
from harness.base.words import plural
from harness.catalogue.entry import subject_for_wheel
from harness.catalogue.releases import PACKAGE_LANE_SINCE, Catalogue
from harness.gate.attribution import difference
from harness.gate.candidate import judge_candidate
from harness.gate.pairs import Pair, both_asked, compare, side_of
from harness.gate.qualify import severity_of
from harness.gate.uncovered import uncovered_in
from harness.register.expected import Expectations, read_expectations
from harness.register.table import Table
from harness.run.options import Progress, RunOptions
from harness.run.replayed import DIGITS, PATHS, InLane, Replayed, State, read_reviews
from harness.run.run import resume, run
from harness.runs.journal import Journal
from harness.runs.run_directory import LATEST, RunDirectory, foreign_or_damaged
from harness.runs.run_folder import RunFolder, RunState
from harness.subjects.specs import checkout_subject
from harness.toolchain import Toolchain
from harness.toolchain.cache import CANDIDATES
from harness.toolchain.checkout import (
    Checkout,
    Commit,
    history,
    made_wheel,
    nearest,
    revision_of,
)
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import read_corpus
from harness.wire.builders import SEGMENT
from harness.wire.record_json import SCHEMA, decode, to_json
from harness.wire.records import CaseInfo, CellRecord, SubjectSpec
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import CellState

SINCE: Final = "2024-02-01"  # when the oldest release that is judged, 2.3.0, was being made
#: How many trees one run asks: an inliner costs little where others are asked the same.
_AT_ONCE: Final = {Lane.GRAPH: 100, Lane.PACKAGE: 16}
_SAID_EVERY: Final = 20


@dataclass(frozen=True)
class _Tree:
    """A tree in the place of a release's Python; ``unasked`` says why it cannot stand there."""

    id: str
    release: str
    wheel: str = ""  # its file's name, which is its content's digest
    inliner: str = ""
    packaged: bool = False
    unasked: str = ""

    def key(self, lane: Lane) -> str:
        """What the lane sees of it."""
        return self.inliner if lane is Lane.GRAPH else self.wheel


@dataclass(frozen=True)
class _Asked:
    """Where the cells are that a key was asked, or why it was not."""

    lane: Lane
    key: str
    subject: str = ""
    run: str = ""
    unasked: str = ""


class _Folder(RunDirectory):
    KIND = COMMAND = "replay"
    LOCK = "replay.lock"


@dataclass
class _Replay:
    """What is known so far, all of it in the journal."""

    clone: Path
    options: RunOptions
    models: str
    toolchain: Toolchain
    catalogue: Catalogue
    progress: Progress
    journal: Journal
    trees: dict[tuple[str, str], _Tree] = dataclasses.field(default_factory=dict)
    asked: dict[tuple[Lane, str], _Asked] = dataclasses.field(default_factory=dict)
    records: dict[str, list[CellRecord]] = dataclasses.field(default_factory=dict)

    def read(self, rows: Sequence[Mapping[str, Any]], begun: Mapping[str, str]) -> None:
        """Take what the journal has; it begins with what is asked, and what judges it.

        Raises:
            UsageError: it asked something else.
        """
        if not rows:
            self.journal.append({"schema": SCHEMA, **begun})
        elif {name: rows[0][name] for name in begun} != begun:
            raise UsageError(
                f"{self.options.out} has a replay of other cases, or by another harness",
                "choose another --out",
            )
        for row in rows[1:]:
            self._keep(decode(_Asked, row) if "lane" in row else decode(_Tree, row))

    def _keep(self, row: _Tree | _Asked) -> None:
        if isinstance(row, _Tree):
            self.trees[row.id, row.release] = row
        else:
            self.asked[row.lane, row.key] = row

    def _add(self, row: _Tree | _Asked) -> None:
        self.journal.append(to_json(row))
        self._keep(row)

    def pair_of(self, commit: Commit) -> tuple[_Tree, _Tree]:
        """The trees of a commit and of its parent, around the release that is nearest to it."""
        around = nearest(commit.version, self.catalogue).version
        sides = ((commit.tree, commit.sha), (commit.parents_tree, commit.parent))
        for tree, sha in sides:
            known = self.trees.get((tree, around))
            if known is None or (known.wheel and not self._wheel(known).is_file()):
                self._add(self._tree(tree, sha, around))
        return self.trees[commit.tree, around], self.trees[commit.parents_tree, around]

    def _tree(self, tree: str, sha: str, around: str) -> _Tree:
        release = self.catalogue.get(around)
        try:
            sources = revision_of(Checkout(self.clone, sha))
            whole = self.toolchain.wheel(release)
            wheel = made_wheel(self.toolchain.cache, whole, sources.files)
            found = subject_for_wheel(wheel, self.catalogue)
        except (UsageError, Unavailable) as reason:
            return _Tree(tree, around, unasked=_told(reason))
        return _Tree(tree, around, wheel.name, found.inliner_id, bool(found.package_routes))

    def _wheel(self, tree: _Tree) -> Path:
        return self.toolchain.cache / CANDIDATES / tree.wheel

    def _spec(self, tree: _Tree) -> SubjectSpec:
        wheel = self._wheel(tree)
        found = subject_for_wheel(wheel, self.catalogue)
        return checkout_subject(found, wheel, self.catalogue.get(tree.release), self.clone)

    def ask(self, lane: Lane, trees: Sequence[_Tree]) -> None:
        """Ask these trees in one run, or each half alone where one of them ends the run."""
        specs = tuple(map(self._spec, trees))
        out = self.options.out / lane
        options = dataclasses.replace(self.options, lanes=(lane,), out=out, apart=False)
        if lane is Lane.PACKAGE and not options.expression:
            options = dataclasses.replace(options, expression=self.models)
        last = RunFolder(found) if (found := RunFolder.find(LATEST, out)) else None
        how = options, self.toolchain, self.catalogue, self.progress
        try:
            if last and last.state() is not RunState.COMPLETE and _same(last, specs):
                judged = resume(str(last.path), *how)
            else:
                judged = run(*how, specs)
        except (UsageError, Unavailable) as reason:
            if len(trees) == 1:
                self._add(_Asked(lane, trees[0].key(lane), unasked=_told(reason)))
                return
            # The others can be asked without those that it names. Where it names none, half can.
            named = [i for i, spec in enumerate(specs) if spec.subject in str(reason)]
            alone = named if 0 < len(named) < len(trees) else range(len(trees) // 2)
            self.ask(lane, [trees[i] for i in alone])
            self.ask(lane, [tree for i, tree in enumerate(trees) if i not in alone])
            return
        for tree, spec in zip(trees, specs, strict=True):
            self._add(_Asked(lane, tree.key(lane), spec.subject, judged.folder.run_id))

    def wanted(self, lane: Lane, pairs: Iterable[tuple[_Tree, _Tree]]) -> list[_Tree]:
        """The trees that this lane sees the difference of and was not asked yet, each once."""
        found = {
            tree.key(lane): tree
            for pair in pairs
            if _not_asked(lane, *pair) is None
            for tree in pair
        }
        return [tree for key, tree in found.items() if (lane, key) not in self.asked]

    def answer(self, lane: Lane, tree: _Tree, parents: _Tree, known: Expectations) -> InLane:
        """What a lane says of a tree in the place of its parent's."""
        if (ended := _not_asked(lane, tree, parents)) is not None:
            return ended
        now, base = (self.asked.get((lane, each.key(lane))) for each in (tree, parents))
        if now is None or base is None:
            return InLane(lane, State.WAITING)
        for side, whose in ((now, "it"), (base, "its parent")):
            if side.unasked:
                return InLane(lane, State.UNASKED, f"{whose}: {side.unasked}")
        records = [*self._records(now), *self._records(base)]
        return compared(lane, now.subject, base.subject, tree.release, records, known)

    def _records(self, asked: _Asked) -> list[CellRecord]:
        if asked.run not in self.records:
            folder = RunFolder.open(asked.run, self.options.out / asked.lane)
            self.records[asked.run] = list(folder.records().values())
        return [each for each in self.records[asked.run] if each.key.subject == asked.subject]


def _told(reason: Exception) -> str:
    """Why something could not be asked, without the place of the wheel that was made for it."""
    return re.sub(r"\S*[0-9a-f]{64}\.whl:?", "its Python", str(reason).partition("; give ")[0])


def _same(folder: RunFolder, specs: Iterable[SubjectSpec]) -> bool:
    return [each.subject for each in folder.provenance().subjects] == [s.subject for s in specs]


def _not_asked(lane: Lane, tree: _Tree, parents: _Tree) -> InLane | None:
    """Why a lane need not, or cannot, be asked about a pair; None where it can."""
    for each, whose in ((tree, "it"), (parents, "its parent")):
        if each.unasked:
            return InLane(lane, State.UNASKED, f"{whose}: {each.unasked}")
    if tree.key(lane) == parents.key(lane):
        what = "the inliner's files are" if lane is Lane.GRAPH else "all Python of the package is"
        return InLane(lane, State.ALIKE, f"{what} as at its parent")
    if lane is Lane.PACKAGE and not (tree.packaged and parents.packaged):
        reason = f"it stands in {tree.release}, and this lane begins with {PACKAGE_LANE_SINCE}"
        return InLane(lane, State.UNASKED, reason)
    return None


def compared(
    lane: Lane,
    now: str,
    base: str,
    release: str,
    records: Sequence[CellRecord],
    known: Expectations,
) -> InLane:
    """Hold one subject against another, as a checkout is held against its base.

    It mends what `difference` says, and any other cell that does less harm. What would turn the
    gate red is broken, where the cell does more harm; elsewhere it is an alarm.
    """
    pairs = compare(side_of(base, records), side_of(now, records))
    asked = both_asked(pairs)
    for side, whose in ((1, "it"), (0, "its parent")):
        compiled = [pair[side] for key, pair in asked.items() if key.route is Route.COMPILE]
        if compiled and all(each.failures for each in compiled):
            said = compiled[0].failures[0].message
            return InLane(lane, State.UNASKED, f"{whose}: no model compiles: {said}")
    alone = sum(None in (pair.before, pair.after) for pair in pairs.values())
    unasked = [
        each.reason
        for pair in pairs.values()
        for each in (pair.before, pair.after)
        if each and each.state is CellState.UNSUPPORTED and not each.rests_on_compile
    ]
    cases = len({key.case for key in asked})
    reason = f"{len(asked):,} cells of {plural(cases, 'case')} were asked of both"
    if alone:
        reason += f"; {plural(alone, 'cell')} of routes that one alone has"
    if unasked:
        reason += f"; {len(unasked):,} times it could not be asked, first: {unasked[0]}"
    if len(unasked) > len(asked) or not asked:
        return InLane(lane, State.UNASKED, reason)
    both = (now, base, records, known.table, known.register, {now: release, base: release})
    told = difference(*both)
    uncovered = uncovered_in(*both)
    if uncovered:
        reason += (
            f"; in {plural(len(uncovered), 'cell')} what its parent has shows behind what is mended"
        )
    mends = [*told.mended, *(f"{name} in part" for name in told.partly)]
    less = sum(severity_of(after) < severity_of(before) for before, after in asked.values())
    if less and not mends:
        mends = [f"{plural(less, 'cell')} that did more harm"]
    breaks: dict[str, list[str]] = {}
    alarms: dict[str, list[str]] = {}
    for place, (before, after) in asked.items():
        if place in uncovered:
            continue
        causes = breaks if severity_of(after) > severity_of(before) else alarms
        for finding in judge_candidate(Pair(before, after)).findings:
            cause = f"{finding.oracle}: {finding.reason.replace(base, 'its parent')}"
            causes.setdefault(cause, []).append(f"{finding.case} by {finding.route}")
    return InLane(
        lane, State.ASKED, reason, len(asked), tuple(mends), _by_size(breaks), _by_size(alarms)
    )


def _by_size(causes: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """What goes wrong, in how many cells, and the first of them."""
    return tuple(
        f"{cause}, in {plural(len(where), 'cell')}, first {where[0]}"
        for cause, where in sorted(causes.items(), key=lambda each: -len(each[1]))
    )


def replay(
    clone: Path,
    since: str,
    options: RunOptions,
    models: str,
    toolchain: Toolchain,
    catalogue: Catalogue,
    progress: Progress,
    minutes: float | None = None,
) -> list[Replayed]:
    """Replay the commits of a clone, or go on with the replay in ``options.out``.

    Args:
        options: the lanes, and the cases of both; all of the graph lane where none are named.
        models: the expression that chooses those of the package lane then.
        minutes: after which no other run is begun.

    Raises:
        UsageError: no clone; or the folder has a replay that asked other cases.
        SurroundingsError: as `run`.
    """
    ends = time.monotonic() + 60 * minutes if minutes else float("inf")
    known = read_expectations(options.expectations)
    commits = history(clone, PATHS, since)
    corpus = read_corpus(toolchain.python, cache=toolchain.cache)
    rig = digest_of([PROJECT_ROOT / "harness" / "rig", PROJECT_ROOT / "harness" / "wire"])
    begun = {"corpus": corpus.digest, "rig": rig, "expression": options.expression or models}
    with written_to(options.out):
        options.out.mkdir(parents=True, exist_ok=True)
    folder = _Folder(options.out)
    with folder.writing() as journal:
        state = _Replay(clone.resolve(), options, models, toolchain, catalogue, progress, journal)
        with foreign_or_damaged(options.out / folder.JOURNAL, "choose another --out"):
            state.read(folder.journal().payloads, begun)
        pairs = []
        for number, commit in enumerate(commits, start=1):
            pairs.append(state.pair_of(commit))
            if number % _SAID_EVERY == 0 or number == len(commits):
                progress.say(f"{number} of {len(commits)} commits put together")
        weighty = sorted(zip(commits, pairs, strict=True), key=lambda each: _weight(each[0]))
        for lane in map(Lane, options.lanes):
            wanted = state.wanted(lane, [pair for _, pair in weighty])
            for done in range(0, len(wanted), _AT_ONCE[lane]):
                if time.monotonic() > ends:
                    progress.say(f"{lane} lane: time is up, {len(wanted) - done} trees to ask")
                    break
                progress.say(f"{lane} lane: {done} of {len(wanted)} trees asked")
                state.ask(lane, wanted[done : done + _AT_ONCE[lane]])
        reviews = read_reviews()
        replayed = []
        for commit, pair in zip(commits, pairs, strict=True):
            lanes = tuple(state.answer(Lane(lane), *pair, known) for lane in options.lanes)
            review = reviews.get(commit.sha[:DIGITS], ())
            replayed.append(Replayed(commit, pair[0].release, lanes, *review))
        return replayed


def _weight(commit: Commit) -> int:
    """The first of `PATHS` that a commit touches: what is nearest to the inliner is asked first."""
    touched = [i for i, path in enumerate(PATHS) if any(p.startswith(path) for p in commit.paths)]
    return min(touched, default=len(PATHS))


def telling_models(table: Table, cases: Iterable[CaseInfo], most: int) -> list[str]:
    """So many cases of the package lane: each the one that shows most defects not shown before."""
    shown: dict[str, set[str]] = {
        case.name: set()
        for case in cases
        if Lane.PACKAGE in case.lanes and Lane.PACKAGE not in case.full
    }
    for entry in table.entries:
        place = entry.place
        if place.lane == Lane.PACKAGE and place.builder == SEGMENT and place.case in shown:
            shown[place.case].add(entry.defect)
    chosen: list[str] = []
    seen: set[str] = set()
    while len(chosen) < most and any(of - seen for of in shown.values()):
        chosen.append(max(sorted(shown), key=lambda name: len(shown[name] - seen)))
        seen |= shown[chosen[-1]]
    return chosen
