"""The functional export of `torch._dynamo.functional_export`, as a way to capture.

It yields torch-level IR. Strict export lowers that to ATen, and since some torch version it is the
tracer that strict export uses. So this capture is strict export with that tracer pinned, whatever
the installed torch would choose.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch._export.config as config

# The second setting is younger than the first: without it there is this one way to use the tracer.
_PINNED = {"use_new_tracer_experimental": True, "use_legacy_dynamo_graph_capture": True}


@contextmanager
def functional_tracer() -> Iterator[None]:
    """Within, `torch.export.export(..., strict=True)` traces with the functional export."""
    known = {name: value for name, value in _PINNED.items() if hasattr(config, name)}
    with config.patch(known):
        yield
