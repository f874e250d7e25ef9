"""pip's configuration as variables for uv, which does not read pip's configuration itself.

Only the registry is passed on, and no further index. A further index may have another build of a
version that a lock names, such as torch 2.13.0+cpu: pip prefers the file whose hash is listed, but
uv takes the other one and fails.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Final

_LINE: Final = re.compile(r"(?P<section>[^.\s]+)\.(?P<name>[\w-]+)=(?P<value>['\"].*)")
#: The sections that `pip install` reads, in the order in which each outdoes the one before.
_SECTIONS: Final = ("global", "install", ":env:")
_VARIABLES: Final = {
    "index-url": "UV_DEFAULT_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
}
_LEFT_OUT: Final = ("extra-index-url", "find-links", "no-index")


def uv_variables(listed: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables by which uv finds the registry that pip finds.

    Args:
        listed: what `pip config list` prints.
        environment: the variables that are set already; none of these is given another value.
    """
    settings = _settings(listed)
    found = {
        variable: " ".join(settings[name].split())
        for name, variable in _VARIABLES.items()
        if settings.get(name)
    }
    return {name: value for name, value in found.items() if name not in environment}


def left_out(listed: str) -> tuple[str, ...]:
    """The settings about places of packages that are not passed on to uv."""
    settings = _settings(listed)
    return tuple(name for name in _LEFT_OUT if settings.get(name))


def _settings(listed: str) -> dict[str, str]:
    found: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for match in filter(None, map(_LINE.fullmatch, listed.splitlines())):
        if match["section"] in found:
            found[match["section"]][match["name"]] = str(ast.literal_eval(match["value"]))
    return {name: value for section in _SECTIONS for name, value in found[section].items()}
