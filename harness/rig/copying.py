"""A deep copy of an exported program that has its names."""

from __future__ import annotations

import copy

from torch.export import ExportedProgram


def copy_of(program: ExportedProgram) -> ExportedProgram:
    """A deep copy that can be saved where the program can.

    torch's own gives an input that is named as a builtin, such as the ``input`` of an
    `nn.Sequential`, another name in the graph, and leaves the old one in the signature.
    """
    copied = copy.deepcopy(program)
    pairs = zip(program.graph.nodes, copied.graph.nodes, strict=True)
    renamed = [(node, its_copy) for node, its_copy in pairs if node.name != its_copy.name]
    for node, its_copy in renamed:
        its_copy.name = node.name
    if renamed:
        copied.graph_module.recompile()
    return copied
