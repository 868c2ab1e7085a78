"""Interactive SSH logins: a host's questions (code, password) are passed to the user; answers are not stored.

In a terminal or a notebook's kernel the user is asked at once. In a server the attempt waits for a while
for the answer, which arrives in another request.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from dtrain_lab.errors import SignInNeeded

ANSWER_WITHIN_S = 110.0
"""Less than sshd's default login grace time of 120 s."""
TRIES = 3


class Question(Struct, frozen=True):
    """A prompt of a host; `hidden`: don't echo the answer."""

    text: str
    hidden: bool


class Questions(Struct, frozen=True):
    """The prompts of one challenge."""

    id: str
    host: str
    title: str
    instructions: str
    questions: tuple[Question, ...]


Asker = Callable[[Questions], Awaitable[list[str] | None]]
"""Asks the user; returns None if there is no user to ask."""
_askers: WeakKeyDictionary[asyncio.AbstractEventLoop, Asker] = WeakKeyDictionary()
"""By loop, as long as it lives: another loop may get the id of one that is gone.

A loop's connections are shared by all that it runs, so whom they ask belongs to the loop, too.
"""


def set_asker(loop: asyncio.AbstractEventLoop, asker: Asker) -> None:
    """Set the function that asks the user, for connections that this loop makes.

    Args:
        loop: The event loop.
        asker: Asks the user a host's questions, and returns the answers; None if the user gives none.
    """
    _askers[loop] = asker


class SignIn:
    """One login attempt.

    Args:
        host: Host name, as in the user's ssh configuration.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._id = secrets.token_hex(8)
        self._round: Questions | None = None
        self._answers: asyncio.Future[list[str]] | None = None
        self.asked = asyncio.Event()
        """Set while the host waits for an answer that has to arrive in another request."""
        self.asking = False
        """Whether the user is being asked; that time does not count against the host's timeout."""
        self.unanswered = False
        """Whether a question of the host has expired, or was left when the host hung up."""

    async def ask(
        self, title: str, instructions: str, prompts: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        """Get answers to a host's challenge; None if it is not answered.

        Args:
            title: The host's title of the challenge.
            instructions: The host's instructions.
            prompts: Each with whether its answer may be echoed.
        """
        if not prompts:  # the host only sends a message
            return []
        questions = tuple(Question(text.strip(), not echo) for text, echo in prompts)
        self._round = Questions(self._id, self._host, title.strip(), instructions.strip(), questions)
        loop = asyncio.get_running_loop()
        self.asking = True
        try:
            asker = _askers.get(loop)
            answers = await asker(self._round) if asker is not None else None
            if answers is not None:
                return answers
            self._answers = loop.create_future()
            self.asked.set()
            self.unanswered = True
            async with asyncio.timeout(ANSWER_WITHIN_S):
                answers = await self._answers
            self.unanswered = False
            return answers
        except TimeoutError:
            return None
        finally:
            self.asking = False
            self.asked.clear()

    def answer(self, identity: str, answers: Sequence[str]) -> bool:
        """Pass answers to the host.

        Args:
            identity: Id of the attempt that asked.
            answers: One answer per question, in their order.

        Returns:
            False if they belong to another attempt, or nothing is asked.
        """
        if identity != self._id or self._answers is None or self._answers.done():
            return False
        self.asked.clear()
        self._answers.set_result(list(answers))
        return True

    def needed(self) -> SignInNeeded:
        """Return the error that carries the questions for the user."""
        assert self._round is not None
        first = self._round.questions[0].text.rstrip(": ")
        return SignInNeeded(
            f"{self._host} asks: {first}.",
            "Answer in JupyterLab's panel, or start from a terminal.",
            code="sign_in",
            details=msgspec.to_builtins(self._round),
        )


def client(attempt: SignIn) -> Any:
    """Return the asyncssh client of an attempt."""
    import asyncssh  # the import takes 0.2 s, and only worlds on other machines need it

    class Client(asyncssh.SSHClient):
        def __init__(self) -> None:
            self.tries = 0
            self.prompted = True

        def kbdint_auth_requested(self) -> str | None:
            # retry after a wrong answer, but not if the host refuses without a question
            if not self.prompted or self.tries == TRIES:
                return None
            self.prompted = False
            self.tries += 1
            return ""

        async def kbdint_challenge_received(
            self, name: str, instructions: str, lang: str, prompts: Any
        ) -> list[str] | None:
            self.prompted = True
            return await attempt.ask(name, instructions, prompts)

        async def password_auth_requested(self) -> str | None:
            if self.tries == TRIES:
                return None
            self.tries += 1
            answers = await attempt.ask("", "", [("Password", False)])
            return answers[0] if answers else None

    return Client
