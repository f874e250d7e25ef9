"""One comment on a pull request of GitHub, found by its marker and written in place.

    python -m harness.base.github COMMENT.md --head COMMIT

It runs in a job whose token writes, so it needs nothing but Python: nobody else's code is installed
there. What it writes comes from a job that ran a pull request's code, and may be anything.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from harness.base.errors import ExitCode, SurroundingsError, UsageError
from harness.base.program import PROGRAM

#: By which the comment is found when it is written anew.
MARKER: Final = "<!-- inliner-regress: the one comment of a pull request -->"
MOST_BYTES: Final = 60_000  # GitHub takes 65,536 characters
_PAGE: Final = 100  # comments that one request gives at most
_TIMEOUT_S: Final = 30.0


def main(arguments: Sequence[str]) -> ExitCode:
    """Write a comment into the one comment of a pull request; for a job of GitHub Actions."""
    parser = argparse.ArgumentParser(prog="python -m harness.base.github", description=main.__doc__)
    parser.add_argument("file", type=Path, help="What `comment --to` wrote.")
    parser.add_argument("--head", required=True, help="The head of the pull request.")
    asked = parser.parse_args(arguments)
    try:
        print(f"comment: {post_comment(asked.head, text_in(asked.file))}")
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return ExitCode.USAGE
    except SurroundingsError as error:
        print(f"error: {error}", file=sys.stderr)
        return ExitCode.FAILED
    return ExitCode.GREEN


def text_in(file: Path) -> str:
    """The comment in a file. It calls nobody: a name behind an @ would be told of it.

    Raises:
        UsageError: there is no such file, or no comment of ours is as long.
    """
    if file.is_symlink() or not file.is_file():
        raise UsageError(f"{file}: no such file; write it with {PROGRAM} comment --to {file}")
    if file.stat().st_size > MOST_BYTES:
        raise UsageError(f"{file}: longer than any comment that {PROGRAM} writes")
    text = file.read_text(encoding="utf-8", errors="replace")
    return re.sub(r"@(?=\w)", "@\u200b", text)


def post_comment(head: str, text: str) -> str:
    """Write the comment of the open pull request with this head, or make it; its address.

    The repository, the interface's address and the token are those of the job that this is
    (``GITHUB_REPOSITORY``, ``GITHUB_API_URL``, ``GITHUB_TOKEN``).

    Raises:
        UsageError: this is no job, it has no token, or there is no such pull request any more.
        SurroundingsError: GitHub did not do it; a token that only reads is the usual reason.
    """
    repository = f"/repos/{_variable('GITHUB_REPOSITORY')}"
    pulls = _every(f"{repository}/pulls?state=open")
    number = next((each["number"] for each in pulls if each["head"]["sha"] == head), None)
    if number is None:
        raise UsageError(f"--head {head}: no open pull request has it; a newer commit has come")
    comments = f"{repository}/issues/{number}/comments"
    own = next(filter(_is_ours, _every(f"{comments}?")), None)
    body = {"body": text if text.startswith(MARKER) else f"{MARKER}\n{text}"}
    if own is None:
        return str(_asked("POST", comments, body)["html_url"])
    return str(_asked("PATCH", f"{repository}/issues/comments/{own['id']}", body)["html_url"])


def _is_ours(comment: Mapping[str, Any]) -> bool:
    """Whether a job wrote it: anybody may copy the marker into a comment of his own."""
    bot = (comment.get("user") or {}).get("type") == "Bot"
    return bot and str(comment.get("body", "")).startswith(MARKER)


def _every(path: str) -> Iterator[Mapping[str, Any]]:
    number = 1
    while True:
        found = _asked("GET", f"{path}&per_page={_PAGE}&page={number}")
        yield from found
        if len(found) < _PAGE:
            return
        number += 1


def _asked(method: str, path: str, content: Mapping[str, Any] | None = None) -> Any:
    request = urllib.request.Request(
        f"{_variable('GITHUB_API_URL')}{path}",
        method=method,
        data=None if content is None else json.dumps(content).encode(),
        headers={
            "Authorization": f"Bearer {_variable('GITHUB_TOKEN')}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        advice = (
            "the token may only read, as that of a pull request from a fork; give the job "
            "`permissions: pull-requests: write`"
            if error.code in (401, 403)
            else "run the job again"
        )
        raise SurroundingsError(f"{method} {path}: GitHub says {error.code}", advice) from error
    except (OSError, ValueError) as error:
        raise SurroundingsError(f"{method} {path}: {error}", "run the job again") from error


def _variable(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise UsageError(f"{name} is not set", "this is for a job of GitHub Actions")
    return value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
