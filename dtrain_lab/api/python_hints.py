"""Hints of errors for Python: methods of the job or sweep at hand instead of commands of the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from dtrain_lab.api.portal import Portal
from dtrain_lab.errors import DtrainError


def in_python(hint: str, identity: str) -> str:
    """Return a hint with the methods of a job or sweep in place of the terminal's commands for it.

    Args:
        hint: The hint, as in "Cancel it first: dtrain-lab job cancel 3f2a".
        identity: Id of the job or sweep; commands for another one stay.
    """
    command = rf"dtrain-lab (job|sweep) (\w+) {re.escape(identity)}\b(?: --(force)\b)?"
    return re.sub(command, lambda said: f"{said[1]}.{said[2]}({'force=True' if said[3] else ''})", hint)


@contextmanager
def own_methods(portal: Portal, identity: str) -> Iterator[None]:
    """Word the hint of an error in the block for a Python program; a terminal keeps its commands.

    Args:
        portal: The portal of this process.
        identity: Id of the job or sweep at hand.

    Raises:
        DtrainError: The error.
    """
    try:
        yield
    except DtrainError as error:
        if portal.kind != "terminal":
            error.hint = in_python(error.hint, identity)
        raise
