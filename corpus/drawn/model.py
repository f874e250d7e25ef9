"""A model that a search drew: a user's file as text, and what its user asks `compile` for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

#: Every drawn model has this name, since a case's numbers come from its name.
NAME: Final = "drawn_model"


@dataclass(frozen=True)
class DrawnModel:
    """``source`` has a class ``Model`` and its inputs, ``example``, as `check` takes a file.

    ``fallback`` holds ops such as ``aten.relu.default``, ``dynamic`` sizes such as ``x:0=2:8``.
    """

    source: str
    fallback: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"source": self.source, "fallback": self.fallback, "dynamic": self.dynamic}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DrawnModel:
        return cls(data["source"], tuple(data["fallback"]), tuple(data["dynamic"]))

    def written(self, folder: Path, name: str) -> None:
        """Write the model's file, and add it to the models file of the folder."""
        (folder / f"{name}.py").write_text(self.source, encoding="utf-8")
        table = (
            f'[{name}]\nmodel = "{name}.py:Model"\nfallback = {list(self.fallback)}\n'
            f"dynamic = {list(self.dynamic)}\nsettings = {{ min_block_size = 1 }}\n\n"
        )
        with (folder / "models.toml").open("a", encoding="utf-8") as file:
            file.write(table.replace("'", '"'))
