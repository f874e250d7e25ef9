"""The models file of what a user's command line names."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from harness.base.errors import UsageError
from harness.base.files import replace_file, written_to

_NAME: Final = re.compile(r"\W+")


@dataclass(frozen=True)
class ModelOptions:
    """A model as the command line names it; see `corpus.models_file` for what each text means."""

    model: str
    inputs: str = ""
    fallback: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()  # NAME=VALUE


def models_place(options: ModelOptions, out: Path, keep: Path | None = None) -> tuple[Path, bool]:
    """The models file of a model: itself if it is one, else one that is written for it.

    One that says something else, of an earlier check, stays as it is: its commands are printed.

    Args:
        out: the folder below which it is written.
        keep: the file to write instead.

    Returns:
        The file, and whether it is new.

    Raises:
        UsageError: there is no such file, a setting is not NAME=VALUE, or ``keep`` is taken.
    """
    file = Path(options.model.partition(":")[0])
    if not file.is_file():
        lacking = f"{file} is a folder" if file.is_dir() else f"there is no file {file}"
        raise UsageError(
            f"{options.model}: {lacking}; name a model as FILE.py:CLASS, an archive as FILE.pt2, "
            "or several in a FILE.toml"
        )
    if file.suffix == ".toml":
        if dataclasses.replace(options, model="") != ModelOptions(""):
            raise UsageError(f"{file} says itself what its models are given; leave the options out")
        return file, False
    name = _NAME.sub("_", options.model.partition(":")[2] or file.stem)
    if keep is not None and (keep.suffix != ".toml" or keep.exists()):
        raise UsageError(f"--save-case {keep}: give the name of a new FILE.toml")
    text = "\n".join(_table(name, options)).encode()
    names = (f"{name}-{number}.toml" if number else f"{name}.toml" for number in count())
    places = (keep,) if keep else (out / "models" / each for each in names)
    place = next(each for each in places if not each.exists() or each.read_bytes() == text)
    if place.exists():
        return place, False
    with written_to(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    replace_file(place, text)
    return place, True


def _table(name: str, options: ModelOptions) -> Iterator[str]:
    yield f"[{name}]"
    yield f"model = {_absolute(options.model)}"
    if options.inputs:
        yield f"inputs = {_absolute(_inputs(options))}"
    for key, given in (("fallback", options.fallback), ("dynamic", options.dynamic)):
        if given:
            texts = [_absolute(each) if ".py:" in each else json.dumps(each) for each in given]
            yield f"{key} = [{', '.join(texts)}]"
    if options.settings:
        yield f"settings = {{ {', '.join(map(_setting, options.settings))} }}"
    yield ""


def _inputs(options: ModelOptions) -> str:
    """Where the function of the inputs is; a name alone is one of the model's own file."""
    named, (file, _, _) = options.inputs, options.model.partition(":")
    if named.isidentifier() and Path(file).suffix == ".py":
        return f"{file}:{named}"
    if Path(named.partition(":")[0]).suffix != ".py":
        raise UsageError(f"--inputs {named}: write FILE.py:FUNCTION, such as my_model.py:example")
    return named


def _absolute(named: str) -> str:
    file, colon, name = named.partition(":")
    return json.dumps(f"{Path(file).resolve()}{colon}{name}")


def _setting(text: str) -> str:
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()):
        raise UsageError(f"--setting {text!r}: write NAME=VALUE, such as min_block_size=3")
    lowered = value.strip().lower()
    number = re.fullmatch(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", lowered)
    return f"{name} = {lowered if number or lowered in ('true', 'false') else json.dumps(value)}"
