"""How a fallback's inputs are wired: the old way and the new one, in the same two steps.

The body of a fallback is copied into the parent graph, and in the body stand placeholders. Which
node of the parent stands for each of them is all that the two algorithms see otherwise. Between
``sources``, which is asked before the body is copied, and ``settle``, which is called after, the
inliner copies the body; a placeholder that has a source by then is not copied with it.
`docs/algorithms.md` draws both.
"""

from __future__ import annotations

from typing import Any, Protocol

from torch.fx import GraphModule, Node

Sources = dict[Node, Any]
"""What stands in the parent for each placeholder of a fallback's body."""


class Wiring(Protocol):
    """One way to wire the inputs of a fallback."""

    def sources(self, gm: GraphModule, call: Node, child: GraphModule) -> Sources:
        """What stands for each placeholder, before the body is copied."""

    def settle(self, gm: GraphModule, call: Node, child: GraphModule, known: Sources) -> None:
        """Deal with the placeholders that were copied along with the body."""


class ByName:
    """Up to 2.13.0: to nodes of the same name; only where no name matches, to the arguments."""

    def sources(self, gm: GraphModule, call: Node, child: GraphModule) -> Sources:
        """Nodes of the parent that are called as a placeholder is, wherever they stand.

        Both lists are in graph order, and are paired by it: a second way to go wrong.
        """
        wanted = {node.name for node in placeholders(child)}
        there = {node.name for node in gm.graph.nodes}
        matched = [node for node in placeholders(child) if node.name in there]
        namesakes = [node for node in gm.graph.nodes if node.name in wanted]
        assert len(matched) == len(namesakes)
        return dict(zip(matched, namesakes, strict=True))

    def settle(self, gm: GraphModule, call: Node, child: GraphModule, known: Sources) -> None:
        """The arguments take the place of what was copied, but only if no name matched at all.

        A placeholder without a namesake, in a child that has one elsewhere, stays in the parent as
        an input that the model never had. The assertion is bare, as upstream's is. It fails where
        FX has given the copied placeholder another name, since an earlier node had its own.
        """
        if known:
            return
        wanted = {node.name for node in placeholders(child)}
        copied = [node for node in gm.graph.nodes if node.name in wanted]
        assert len(call.args) == len(copied)
        for node, argument in zip(copied, call.args, strict=True):
            node.replace_all_uses_with(argument)
            gm.graph.erase_node(node)


class ByPosition:
    """As #4360 proposed it, and 2.14.0 does in another form: to the arguments of the call."""

    def sources(self, gm: GraphModule, call: Node, child: GraphModule) -> Sources:
        """The arguments of the call, in order: no name is read."""
        assert len(placeholders(child)) == len(call.args)
        return dict(zip(placeholders(child), call.args, strict=True))

    def settle(self, gm: GraphModule, call: Node, child: GraphModule, known: Sources) -> None:
        """Nothing is left: every placeholder had its source, so none was copied.

        2.14.0 has no sources, copies every placeholder, and puts the arguments in their place here;
        a body that returns a placeholder then returns a node that is erased.
        """


def placeholders(child: GraphModule) -> list[Node]:
    """The inputs of a fallback's body, in order."""
    return [node for node in child.graph.nodes if node.op == "placeholder"]


WIRINGS: dict[str, Wiring] = {"name-matching": ByName(), "positional": ByPosition()}
