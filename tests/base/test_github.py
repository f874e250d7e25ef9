"""The one comment of a pull request, written through an interface like GitHub's."""

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harness.base.github import MARKER, MOST_BYTES, main
from harness.toolchain.environment import PROJECT_ROOT

HEAD = "f" * 40


class Forge:
    """Comments of pull request 7, and of 250 open pull requests before it."""

    def __init__(self) -> None:
        self.comments = [
            {"id": number, "body": "words", "user": {"type": "User"}, "html_url": f"#{number}"}
            for number in range(150)
        ]
        self.read_only = False
        self.asked: list[str] = []

    def answer(self, method: str, path: str, body: dict) -> tuple[int, object]:
        self.asked.append(method)
        where, _, query = path.partition("?")
        if method == "GET":
            given = dict(part.split("=") for part in query.split("&") if part)
            first = (int(given["page"]) - 1) * int(given["per_page"])
            behind = first + int(given["per_page"])
            if where == "/repos/o/n/pulls":
                assert given["state"] == "open"
                every = [{"number": n, "head": {"sha": str(n)}} for n in range(100, 350)]
                every.append({"number": 7, "head": {"sha": HEAD}})
                return 200, every[first:behind]
            assert where == "/repos/o/n/issues/7/comments"
            return 200, self.comments[first:behind]
        if self.read_only:
            return 403, {"message": "Resource not accessible by integration"}
        if method == "POST":
            assert where == "/repos/o/n/issues/7/comments"
            made = {"id": 999, "user": {"type": "Bot"}, "html_url": "#999", **body}
            self.comments.append(made)
            return 201, made
        (own,) = [c for c in self.comments if where == f"/repos/o/n/issues/comments/{c['id']}"]
        own.update(body)
        return 200, own


@pytest.fixture
def forge(monkeypatch):
    made = Forge()

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            assert self.headers["Authorization"] == "Bearer secret"
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else {}
            code, answer = made.answer(self.command, self.path, body)
            self.send_response(code)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        do_GET = do_POST = do_PATCH = _do

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("GITHUB_API_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/n")
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    yield made
    server.shutdown()
    thread.join()


@pytest.fixture
def posted(tmp_path, capsys):
    """Writes a comment with this text; what that printed, and its exit code if it was none."""

    def post(text: str, head: str = HEAD, code: int = 0) -> str:
        file = tmp_path / "comment.md"
        file.write_text(text)
        assert main([str(file), "--head", head]) == code
        told = capsys.readouterr()
        return told.err if code else told.out

    return post


def test_the_second_push_writes_the_comment_of_the_first(forge, posted):
    assert posted("one") == "comment: #999\n"
    assert posted("two") == "comment: #999\n"
    (own,) = [each for each in forge.comments if MARKER in each["body"]]
    assert own["body"] == f"{MARKER}\ntwo"
    assert (forge.asked.count("POST"), forge.asked.count("PATCH")) == (1, 1)


def test_a_persons_comment_that_copies_the_marker_is_left_as_it_is(forge, posted):
    forge.comments[3]["body"] = copied = f"{MARKER} mine"
    posted("one")
    assert forge.comments[3]["body"] == copied


def test_a_comment_calls_nobody(forge, posted):
    posted("@everybody and @org/team, me@example.org")
    (own,) = [each for each in forge.comments if MARKER in each["body"]]
    assert own["body"].partition("\n")[2] == (
        "@\u200beverybody and @\u200borg/team, me@\u200bexample.org"
    )


def test_a_head_that_no_open_pull_request_has_gets_no_comment(forge, posted):
    assert "no open pull request has it" in posted("one", head="0" * 40, code=2)
    assert "POST" not in forge.asked


def test_a_token_that_only_reads_is_told_with_what_to_write_into_the_workflow(forge, posted):
    forge.read_only = True
    told = posted("one", code=4)
    assert "GitHub says 403; " in told
    assert "pull-requests: write" in told


@pytest.mark.usefixtures("forge")
def test_a_file_that_no_comment_can_be_is_refused(posted, tmp_path, capsys):
    assert "longer than any comment" in posted("x" * (MOST_BYTES + 1), code=2)
    secret, link = tmp_path / "secret", tmp_path / "link.md"
    secret.write_text("what only the second job may read")
    link.symlink_to(secret)
    for none in ("none.md", "link.md"):
        assert main([str(tmp_path / none), "--head", HEAD]) == 2
        assert "no such file" in capsys.readouterr().err


def test_outside_of_a_job_nothing_is_asked(posted, monkeypatch):
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    assert "is for a job of GitHub Actions" in posted("one", code=2)


def test_what_has_a_token_that_writes_runs_no_code_but_pythons_own_and_ours():
    """A job with a token that writes installs nothing, so what it runs has to need nothing."""
    alone = [sys.executable, "-I", "-S", "-c"]
    root = str(PROJECT_ROOT)
    done = subprocess.run(
        [*alone, f"import sys; sys.path.append({root!r}); import harness.base.github"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
