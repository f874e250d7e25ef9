"""The one comment of a pull request, written through an interface like GitHub's."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harness.base.errors import SurroundingsError, UsageError
from harness.cli.github import MARKER, MOST_BYTES
from tests.cli.test_bench import invoke

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


def posted(tmp_path, text: str, head: str = HEAD) -> str:
    file = tmp_path / "comment.md"
    file.write_text(text)
    code, told = invoke("post-comment", str(file), "--head", head)
    assert code == 0
    return told


def test_the_second_push_writes_the_comment_of_the_first(forge, tmp_path):
    assert posted(tmp_path, "one") == "comment: #999\n"
    assert posted(tmp_path, "two") == "comment: #999\n"
    (own,) = [each for each in forge.comments if MARKER in each["body"]]
    assert own["body"] == f"{MARKER}\ntwo"
    assert (forge.asked.count("POST"), forge.asked.count("PATCH")) == (1, 1)


def test_a_persons_comment_that_copies_the_marker_is_left_as_it_is(forge, tmp_path):
    forge.comments[3]["body"] = copied = f"{MARKER} mine"
    posted(tmp_path, "one")
    assert forge.comments[3]["body"] == copied


def test_a_head_that_no_open_pull_request_has_gets_no_comment(forge, tmp_path):
    with pytest.raises(UsageError, match="no open pull request has it"):
        posted(tmp_path, "one", head="0" * 40)
    assert "POST" not in forge.asked


def test_a_token_that_only_reads_is_told_with_what_to_write_into_the_workflow(forge, tmp_path):
    forge.read_only = True
    with pytest.raises(SurroundingsError, match=r"GitHub says 403; .*pull-requests: write"):
        posted(tmp_path, "one")


@pytest.mark.usefixtures("forge")
def test_a_file_that_no_comment_can_be_is_refused(tmp_path):
    with pytest.raises(UsageError, match="longer than any comment"):
        posted(tmp_path, "x" * (MOST_BYTES + 1))
    with pytest.raises(UsageError, match="no such file"):
        invoke("post-comment", str(tmp_path / "none.md"), "--head", HEAD)


def test_outside_of_a_job_nothing_is_asked(tmp_path, monkeypatch):
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    with pytest.raises(UsageError, match="is for a job of GitHub Actions"):
        posted(tmp_path, "one")
