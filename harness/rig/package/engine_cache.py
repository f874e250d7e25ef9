"""Engines that TensorRT built, kept by content: what would be built the same is built once.

The key covers the segment (every node, every constant's bytes), the shapes and types of its inputs
and outputs, the settings, and the versions of the release and of TensorRT.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule
from torch.fx.graph_module import _get_attr

from harness.rig.oracles.observing import bytes_of

# Part of every key: raise it when what is kept, or the key, comes to mean something else.
FORMAT = 1


@dataclass(frozen=True)
class EngineBuild:
    """One engine that was asked for. Seconds are those of the build itself, also if it was kept."""

    key: str
    conversion_s: float
    build_s: float
    engine_bytes: int
    kept: bool  # it was taken from the cache


@dataclass(frozen=True)
class KeptEngine:
    """What an interpreter returned: the fields of its result, and the engine's bytes for it."""

    fields: dict[str, Any]
    engine: bytes
    conversion_s: float
    build_s: float


# Every engine of this process, in the order in which they were asked for.
builds: list[EngineBuild] = []


def kept_engine(folder: Path, key: str) -> KeptEngine | None:
    """The engine of a key, if there is one. A file that cannot be read is as good as none."""
    try:
        kept = pickle.loads((folder / f"{key}.engine").read_bytes())
    except (OSError, EOFError, pickle.UnpicklingError):
        return None
    return kept if isinstance(kept, KeptEngine) else None


def keep(folder: Path, key: str, engine: KeptEngine) -> None:
    """Written under another name and moved: a reader sees it whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f".{key}.{os.getpid()}.{secrets.token_hex(4)}"
    try:
        made.write_bytes(pickle.dumps(engine))
        made.replace(folder / f"{key}.engine")
    finally:
        made.unlink(missing_ok=True)


def content_key(
    module: GraphModule, inputs: Iterable[Any], settings: Any, versions: Iterable[str]
) -> str:
    """SHA-256, as hex, over all that an engine is built from."""
    digest = hashlib.sha256()
    for part in (
        str(FORMAT),
        *versions,
        *(str(each) for each in inputs),
        *(f"{name}={_canonical(value)}" for name, value in sorted(vars(settings).items())),
        *_described(module),
    ):
        digest.update(f"{len(part)}\0{part}".encode())
    return digest.hexdigest()


def _described(module: GraphModule) -> Iterator[str]:
    for node in module.graph.nodes:
        yield f"{node.op} {node.name} {node.target} {node.args} {node.kwargs}"
        if node.op == "get_attr":
            yield _digest_of(_get_attr(module, str(node.target)))
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            yield f"{value.dtype} {tuple(value.shape)}"
        else:
            yield str(value)


def _digest_of(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)
    with unset_fake_temporarily():  # below `torch.compile` what is made of a weight is fake
        content = hashlib.sha256(bytes_of(value)).hexdigest()
    return f"{value.dtype} {tuple(value.shape)} {content}"


def _canonical(value: Any) -> str:
    """A text that depends neither on the order of a set nor on where temporary files lie.

    Each worker has a folder of its own for these, in which a release's settings put its caches.
    """
    if isinstance(value, set | frozenset):
        return repr(sorted(repr(each) for each in value))
    return repr(value).replace(tempfile.gettempdir(), "temporary")
