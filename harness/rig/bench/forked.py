"""A forked process that answers every message with one message.

A fork takes milliseconds where a fresh process takes seconds to import torch, and every child
begins from the same heap. The parent must have one thread: a lock that another thread holds is
held in the child for ever. It must not have touched CUDA, which does not survive a fork.
"""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

import torch

from corpus.case import Mistake
from harness.rig.channel import die_with_parent, end_after

Serve = Callable[[Mapping[str, Any]], Mapping[str, Any]]
_THREADS = Path("/proc/self/task")


class UnfitToFork(Exception):
    """This process must not be forked: why, and what to do."""


class ChildFailed(Exception):
    """A child's answer was an exception. The message is its traceback.

    ``said`` is one line of it: the exception and how its own message begins. ``mistake`` says
    whether that is what a user has to mend in his case.
    """

    def __init__(self, message: str, said: str, mistake: bool = False) -> None:
        super().__init__(message)
        self.said, self.mistake = said, mistake

    @classmethod
    def by(cls, error: Exception) -> ChildFailed:
        """Wrap the exception that is being handled, with its traceback."""
        mistake = isinstance(error, Mistake) or getattr(error, "mistake", False)
        return cls(traceback.format_exc(), one_line(error), mistake)


class Child:
    """Made by `fork`; asked with `ask`, ended with `end`."""

    def __init__(self, process: int, requests: TextIO, answers: TextIO) -> None:
        self._process = process
        self._requests = requests
        self._answers = answers

    @classmethod
    def fork(cls, serve: Serve) -> Child:
        """Fork a child that answers with what ``serve`` returns.

        Raises:
            UnfitToFork: this process has CUDA or threads.
        """
        refuse_if_unfit()
        request_reader, request_writer = os.pipe()
        answer_reader, answer_writer = os.pipe()
        process = os.fork()
        if not process:
            os.close(request_writer)
            os.close(answer_reader)
            _serve_and_exit(serve, request_reader, answer_writer)
        os.close(request_reader)
        os.close(answer_writer)
        return cls(
            process,
            os.fdopen(request_writer, "w", encoding="utf-8"),
            os.fdopen(answer_reader, encoding="utf-8"),
        )

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send a message and wait for its answer.

        Raises:
            ChildFailed: it raised, or died.
        """
        try:
            self._requests.write(json.dumps(message) + "\n")
            self._requests.flush()
            line = self._answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
            self._process = 0
            ended = f"a forked worker ended with {code} and no answer"
            raise ChildFailed(ended, ended)
        answer: dict[str, Any] = json.loads(line)
        if "failed" in answer:
            raise ChildFailed(**answer["failed"])
        return answer

    def end(self) -> None:
        """Let it exit, and wait until it has."""
        if self._process:
            # A message and not the end of the pipe: a later sibling has this pipe open too.
            self._requests.write("null\n")
            self._requests.flush()
            os.waitpid(self._process, 0)
            self._process = 0
        self._requests.close()
        self._answers.close()


def refuse_if_unfit() -> None:
    """Raise `UnfitToFork` if a fork of this process would not be sound."""
    if torch.cuda.is_initialized():
        raise UnfitToFork("CUDA is in use in this process; measure with fresh workers: --spawn")
    threads = len(list(_THREADS.iterdir()))
    if threads > 1:
        raise UnfitToFork(
            f"this process has {threads} threads, and a fork would keep one; measure with fresh "
            "workers: --spawn"
        )


def _serve_and_exit(serve: Serve, request_end: int, answer_start: int) -> None:
    """The child's whole life."""

    def serve_all() -> None:
        die_with_parent()
        with (
            os.fdopen(request_end, encoding="utf-8") as requests,
            os.fdopen(answer_start, "w", encoding="utf-8") as answers,
        ):
            for line in requests:
                message = json.loads(line)
                if message is None:
                    break
                answers.write(json.dumps(_answer(serve, message)) + "\n")
                answers.flush()

    end_after(serve_all)


def _answer(serve: Serve, message: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return serve(message)
    except Exception as error:  # noqa: BLE001 - told to the parent, which raises it
        failed = ChildFailed.by(error)
        return {"failed": {"message": str(failed), "said": failed.said, "mistake": failed.mistake}}


def one_line(error: Exception) -> str:
    """An exception and how its message begins; messages of the package go on with whole graphs."""
    if isinstance(error, ChildFailed):
        return error.said
    if isinstance(error, UnfitToFork | Mistake):
        return str(error)
    return traceback.format_exception_only(error)[-1].splitlines()[0]
