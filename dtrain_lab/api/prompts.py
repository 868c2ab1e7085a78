"""Prompts to the user of this process: at a terminal, or in a notebook whose front end supports input."""

from __future__ import annotations

import getpass
import sys
import threading
from typing import Any, TextIO

from dtrain_lab.backends.hosts.signin import Questions


def is_there() -> bool:
    """Return whether the user can be asked from the current thread."""
    if threading.current_thread() is not threading.main_thread():
        return False
    here = kernel()
    if here is not None:
        return bool(here._allow_stdin)
    return sys.stdin is not None and sys.stdin.isatty()


def ask(asked: Questions) -> list[str] | None:
    """Ask the user a host's questions; None if the input was closed."""
    for line in (asked.title, asked.instructions):
        if line:
            print(line, file=_shown())
    try:
        return [
            (getpass.getpass if question.hidden else _answer)(f"{asked.host}: {question.text} ")
            for question in asked.questions
        ]
    except EOFError:
        return None


def _shown() -> TextIO:
    """Return where questions are shown; at a terminal stdout may be a file or a pipe, with JSON in it."""
    return sys.stdout if kernel() is not None else sys.stderr


def _answer(question: str) -> str:
    if kernel() is not None:
        return input(question)
    print(question, end="", file=_shown(), flush=True)
    answer = sys.stdin.readline()
    if not answer:
        raise EOFError
    return answer.rstrip("\n")


def kernel() -> Any:
    """Return this process's Jupyter kernel; None if the process is not a kernel."""
    # a kernel has loaded it; an import here might meet one in the portal's thread, and deadlock with it
    module = sys.modules.get("IPython.core.getipython")
    ask = getattr(module, "get_ipython", None)  # None as well while another thread still imports the module
    return getattr(ask(), "kernel", None) if ask is not None else None
