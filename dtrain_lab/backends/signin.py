"""What a host asks a person on the way in: a code, a password. Answers are passed on, and kept nowhere.

Where a person sits at this process (a terminal, a notebook's kernel), they are asked at once. Else, in a
server, the attempt waits a while for an answer that comes by another request.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from dtrain_lab.errors import SignInNeeded

ANSWER_WITHIN_S = 110.0
"""sshd gives up after 120 s, unless told otherwise."""
TRIES = 3


class Question(Struct, frozen=True):
    """A line that a host asks; `hidden`: the answer is not to be seen."""

    text: str
    hidden: bool


class Questions(Struct, frozen=True):
    """What a host asks at once."""

    id: str
    host: str
    title: str
    instructions: str
    questions: tuple[Question, ...]


Asker = Callable[[Questions], Awaitable[list[str] | None]]
"""Asks a person; None where nobody is there."""
_askers: dict[int, Asker] = {}


def asked_by(loop: asyncio.AbstractEventLoop, asker: Asker) -> None:
    """Who asks the person, for connections that this loop makes."""
    _askers[id(loop)] = asker


class SignIn:
    """One attempt to sign in.

    Args:
        host: as the user's ssh knows it.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._id = secrets.token_hex(8)
        self._round: Questions | None = None
        self._answers: asyncio.Future[list[str]] | None = None
        self.asked = asyncio.Event()
        """The host waits for an answer that nobody here gives."""
        self.asking = False
        """The person's time does not count as the host's."""

    async def ask(
        self, title: str, instructions: str, prompts: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        """A host's challenge; None where it stays without an answer.

        Args:
            title: of the challenge, by the host.
            instructions: by the host.
            prompts: each with whether its answer may be seen.
        """
        if not prompts:  # it only tells something
            return []
        questions = tuple(Question(text.strip(), not echo) for text, echo in prompts)
        self._round = Questions(self._id, self._host, title.strip(), instructions.strip(), questions)
        loop = asyncio.get_running_loop()
        self.asking = True
        try:
            asker = _askers.get(id(loop))
            answers = await asker(self._round) if asker is not None else None
            if answers is not None:
                return answers
            self._answers = loop.create_future()
            self.asked.set()
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return await self._answers
        except TimeoutError:
            return None
        finally:
            self.asking = False
            self.asked.clear()

    def answer(self, identity: str, answers: Sequence[str]) -> bool:
        """Pass answers on; False where they are not for this attempt."""
        if identity != self._id or self._answers is None or self._answers.done():
            return False
        self.asked.clear()
        self._answers.set_result(list(answers))
        return True

    def needed(self) -> SignInNeeded:
        """What a person is to be asked."""
        assert self._round is not None
        first = self._round.questions[0].text.rstrip(": ")
        return SignInNeeded(
            f"{self._host} asks: {first}.",
            "Answer in JupyterLab's panel, or start from a terminal.",
            code="sign_in",
            details=msgspec.to_builtins(self._round),
        )


def client(attempt: SignIn) -> Any:
    """The asyncssh client of an attempt."""
    import asyncssh  # 0.2 s that only worlds on other machines need

    class Client(asyncssh.SSHClient):
        def __init__(self) -> None:
            self.tries = 0
            self.heard = True

        def kbdint_auth_requested(self) -> str | None:
            # again after a wrong answer; not where the host refuses without a question
            if not self.heard or self.tries == TRIES:
                return None
            self.heard = False
            self.tries += 1
            return ""

        async def kbdint_challenge_received(
            self, name: str, instructions: str, lang: str, prompts: Any
        ) -> list[str] | None:
            self.heard = True
            return await attempt.ask(name, instructions, prompts)

        async def password_auth_requested(self) -> str | None:
            if self.tries == TRIES:
                return None
            self.tries += 1
            answers = await attempt.ask("", "", [("Password", False)])
            return answers[0] if answers else None

    return Client
