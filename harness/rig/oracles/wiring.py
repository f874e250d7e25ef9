"""The wiring oracle: split module, inlined module and program read as the same terms.

It does not depend on numbers, so it sees a swapped wire even if the two values happen to be equal,
and it names the first wrong edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch.export import ExportedProgram
from torch.fx import GraphModule

from harness.rig.oracles.finding import Finding
from harness.rig.oracles.reading import GraphReader, Reading
from harness.rig.oracles.terms import Term, differences
from harness.wire.vocabulary import Stage


def reference_reading(reader: GraphReader, split: GraphModule) -> tuple[Reading, int]:
    """The split module's terms, and how many inputs it has."""
    count = sum(node.op == "placeholder" for node in split.graph.nodes)
    return reader.read_module(split, count), count


def check_inlined(
    reader: GraphReader, expected: Reading, user_inputs: int, inlined: GraphModule
) -> Iterator[Finding]:
    """Findings in an inlined module, lint-clean or not.

    Raises:
        Unreadable: the graph holds something that has no term.
    """
    yield from compare(expected, reader.read_module(inlined, user_inputs), Stage.INLINE_FALLBACKS)


def check_program(
    reader: GraphReader,
    expected: Reading,
    user_inputs: int,
    program: ExportedProgram,
    stage: Stage,
) -> Iterator[Finding]:
    """Findings in an exported program, before it is saved or after it is loaded."""
    yield from compare(expected, reader.read_program(program, user_inputs), stage)


def compare(expected: Reading, got: Reading, stage: Stage) -> Iterator[Finding]:
    """Findings between two readings made by one reader."""
    left, right = _flatten(expected.outputs), _flatten(got.outputs)
    if len(left) != len(right):
        yield Finding(stage, "another number of outputs", f"{len(right)}, should be {len(left)}")
        return
    if len(expected.effects) != len(got.effects):
        detail = f"{len(got.effects)}, should be {len(expected.effects)}"
        yield Finding(stage, "another number of mutations and random draws", detail)
        return
    seen: set[tuple[int, int]] = set()
    pairs = [
        *(
            ("model output", index, pair)
            for index, pair in enumerate(zip(left, right, strict=True))
        ),
        *(
            ("effect", index, pair)
            for index, pair in enumerate(zip(expected.effects, got.effects, strict=True))
        ),
    ]
    for reader, index, (one, other) in pairs:
        for difference in differences(one, other, reader, index, seen):
            yield Finding(stage, difference.kind, difference.describe())


def _flatten(outputs: Sequence[object]) -> list[Term]:
    flat: list[Term] = []
    for item in outputs:
        if isinstance(item, Term):
            flat.append(item)
        elif isinstance(item, tuple | list):
            flat.extend(_flatten(item))
        else:
            raise TypeError(f"an output read as {type(item).__name__}")
    return flat
