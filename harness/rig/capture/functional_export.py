"""The functional export of `torch._dynamo.functional_export`, as a way to capture.

It yields torch-level IR. Strict export lowers that to ATen, and since some torch version it is the
tracer that strict export uses. So this capture is strict export with that tracer pinned, whatever
the installed torch would choose. torch 2.9 cannot be asked: its strict export has another tracer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

try:
    import torch._export.config as config
except ModuleNotFoundError:
    config = None  # type: ignore[assignment]

# The second setting is younger than the first: without it there is this one way to use the tracer.
_PINNED = {"use_new_tracer_experimental": True, "use_legacy_dynamo_graph_capture": True}


class CannotAsk(Exception):
    """This torch has not what a case asks for: no verdict on anything."""


@contextmanager
def functional_tracer() -> Iterator[None]:
    """Within, `torch.export.export(..., strict=True)` traces with the functional export.

    Raises:
        CannotAsk: this torch's strict export cannot do that.
    """
    if config is None:
        raise CannotAsk("strict export of this torch has no functional tracer; 2.10 brought it")
    known = {name: value for name, value in _PINNED.items() if hasattr(config, name)}
    with config.patch(known):
        yield
