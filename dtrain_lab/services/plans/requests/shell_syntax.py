"""Checks that the shell can read a command of the user, before a job runs it at its end."""

from __future__ import annotations

import re

from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.errors import BadRequest, NotFound, Unreachable

WITHIN_S = 5.0
BASH = ("env", "LC_ALL=C", "bash", "-n")
"""Reads a command from its standard input without running it, and complains in English."""
COMPLAINTS = (
    (re.compile(r"looking for matching `(.+)'"), r"its closing \1 is missing"),
    (re.compile(r"near unexpected token `newline'"), "a line ends too early"),
    (re.compile(r"near unexpected token `(.+)'"), r"there is a syntax error at \1"),
    (re.compile(r"(unexpected end of file)"), "it ends too early"),
    (re.compile(r"line \d+: (.+)"), r"\1"),
)
"""What bash says, and the same in words; the first that fits counts."""


async def refusal(command: str | None) -> BadRequest | None:
    """Read the command that runs at a job's end as bash does, without running it.

    Args:
        command: The command; None for none.

    Returns:
        Why bash can't read it; None if it can, or if this machine has no bash.
    """
    if command is None:
        return None
    try:
        done = await LocalTransport().run(BASH, command.encode(), WITHIN_S)
    except (NotFound, Unreachable):  # where the job runs there may be one
        return None
    found = (found.expand(words) for how, words in COMPLAINTS if (found := how.search(done.err)))
    why = next(found, None)
    if not done.code or why is None:  # "env" has no bash to run
        return None
    return BadRequest(
        f"The shell can't read the command: {why}.",
        "Check its quotes and brackets.",
        details={"field": "notify"},
    )
