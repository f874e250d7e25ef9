"""Recordings: what a release's `dynamo.compile` hands to its splitter, and what comes out of it.

A recording is plain data, one JSON file each in `corpus/recorded/`, written by
`python -m harness record`. It holds graphs node by node, with names and metadata, since
names decide what an inliner does; of tensors it holds type, shape and range. Inputs are not in it:
they are those of the case that it was recorded from.

A file says its schema and the digest of all else in it, so that one that was cut off, merged badly
or edited by hand is refused.

History of ``SCHEMA``:
    1  the first.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SCHEMA: Final = 1
FOLDER: Final = Path(__file__).parent
_ANEW: Final = "restore it from git, or delete it and run `python -m harness record`"


class BadRecording(ValueError):
    """A file that is no recording, of another schema, or changed since it was written."""


@dataclass(frozen=True)
class NodeData:
    """One node. `corpus.recorded.values` says how arguments and metadata are written.

    ``value`` is what its ``meta["val"]`` was, None where it had none.
    """

    name: str
    op: str
    target: str
    args: Any
    kwargs: Mapping[str, Any]
    value: Any = None


@dataclass(frozen=True)
class AttributeData:
    """A tensor that a module holds under a path: the number of it among the recording's tensors."""

    path: str
    kind: str
    tensor: int


@dataclass(frozen=True)
class GraphData:
    """One graph module: its nodes, and what it holds of its own."""

    nodes: tuple[NodeData, ...]
    attributes: tuple[AttributeData, ...] = ()


@dataclass(frozen=True)
class SplitData:
    """A split module: the parent, and its children in the order of their names' numbers."""

    parent: GraphData
    children: Mapping[str, GraphData]


@dataclass(frozen=True)
class Recording:
    """One model as one release lowers and splits it.

    Attributes:
        name: that of the case in the graph lane.
        model: the case of the graph lane whose model, inputs and dynamic dimensions it has.
        product: the case that the package was asked to compile.
        settings: what `dynamo.compile` was asked.
        difference: in what the graph lane's own split of the model differs; nothing if in nothing.
        handed: the lowered module, as the splitter got it.
        split: what the splitter made of it.
        argument_names, in_spec, out_spec: how the split module is called, and what it returns.
    """

    name: str
    model: str
    product: str
    catches: str
    wiring: bool
    release: str
    torch: str
    settings: Mapping[str, Any]
    difference: tuple[str, ...]
    tensors: tuple[Mapping[str, Any], ...]
    handed: GraphData
    split: SplitData
    argument_names: tuple[str, ...]
    in_spec: str
    out_spec: str

    @property
    def dynamic(self) -> bool:
        """Whether a size of an input is a symbol."""
        given = (node for node in self.split.parent.nodes if node.op == "placeholder")
        values = (node.value for node in given if isinstance(node.value, Mapping))
        return any(isinstance(size, str) for value in values for size in value.get("shape", ()))


def to_text(recording: Recording) -> str:
    """A file's content: a node, an attribute, a tensor a line."""
    data = _plain(recording)
    handed, split, tensors = (data.pop(key) for key in ("handed", "split", "tensors"))
    head = {"schema": SCHEMA, "digest": _digest(_plain(recording)), **data}
    children = (f"{json.dumps(key)}: {_text(item)}" for key, item in split["children"].items())
    lines = [
        *(f"{json.dumps(key)}: {json.dumps(item)}" for key, item in head.items()),
        f'"tensors": {_rows(tensors)}',
        f'"handed": {_text(handed)}',
        f'"split": {{"parent": {_text(split["parent"])}, "children": {{{", ".join(children)}}}}}',
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read_recording(path: Path) -> Recording:
    """A committed recording.

    Raises:
        BadRecording: it is no recording, of another schema, or not as it was written.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        schema, digest = data.pop("schema"), data.pop("digest")
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise BadRecording(f"{path}: no recording ({error!r}); {_ANEW}") from error
    if schema != SCHEMA:
        raise BadRecording(f"{path}: schema {schema!r}; this corpus reads {SCHEMA}; {_ANEW}")
    if digest != _digest(data):
        raise BadRecording(f"{path}: changed since it was written: its digest differs; {_ANEW}")
    children = data["split"]["children"].items()
    read = {
        **{key: tuple(data[key]) for key in ("difference", "tensors", "argument_names")},
        "handed": _graph(data["handed"]),
        "split": SplitData(
            _graph(data["split"]["parent"]), {key: _graph(item) for key, item in children}
        ),
    }
    return Recording(**{**data, **read})


def _graph(data: Mapping[str, Any]) -> GraphData:
    return GraphData(
        tuple(NodeData(*row) for row in data["nodes"]),
        tuple(AttributeData(*row) for row in data["attributes"]),
    )


def _plain(item: Any) -> Any:
    """As JSON reads it back: nodes and attributes as rows, all else as objects."""
    if isinstance(item, NodeData | AttributeData):
        return [_plain(getattr(item, field.name)) for field in dataclasses.fields(item)]
    if dataclasses.is_dataclass(item):
        return {field.name: _plain(getattr(item, field.name)) for field in dataclasses.fields(item)}
    if isinstance(item, Mapping):
        return {key: _plain(part) for key, part in item.items()}
    return [_plain(part) for part in item] if isinstance(item, tuple | list) else item


def _text(graph: Mapping[str, Any]) -> str:
    return f'{{"nodes": {_rows(graph["nodes"])}, "attributes": {_rows(graph["attributes"])}}}'


def _rows(items: Iterable[Any]) -> str:
    rows = ",\n".join(f"  {json.dumps(item)}" for item in items)
    return f"[\n{rows}\n]" if rows else "[]"


def _digest(data: Mapping[str, Any]) -> str:
    """SHA-256 of all that a recording says, however it is laid out."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
