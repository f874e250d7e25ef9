"""A call of a user's, as he writes it."""

from __future__ import annotations

from harness.catalogue.releases import SAVE_RETRACES_SINCE
from harness.register.facts import parsed_version
from harness.wire.routes import Route


def call_words(route: Route, *releases: str) -> str:
    """What a user of these releases writes: m is the compiled module and f the file."""
    call = stated(route, *releases)
    return call if ", f" in call else call.replace("save(", "save(m, f, ")


def stated(route: Route, *releases: str) -> str:
    """A call by its name; where `save` alone would inline, with the word that has it export."""
    versions = [parsed_version(release) for release in releases]
    if route is Route.RETRACE and any(each and each < SAVE_RETRACES_SINCE for each in versions):
        return "save(m, f, retrace=True)"
    return route.row.call
