"""SSH connections: one a host, with the user's own configuration, agent and jump hosts.

Host keys are checked as the user's ssh would. A refusal is not tried again by itself: the next attempt is a
person's. What a host asks on the way (a second factor) is a person's to answer (`signin`).
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from dtrain_lab.backends import wakes
from dtrain_lab.backends.signin import SignIn
from dtrain_lab.backends.signin import client as signin_client
from dtrain_lab.core import clock, command
from dtrain_lab.core.profile import Profile
from dtrain_lab.errors import NotFound, SignInNeeded, Unreachable

if TYPE_CHECKING:
    import asyncssh  # 0.2 s that only worlds on other machines need

CONNECT_WITHIN_S = 20.0
KEEPALIVE_S = 30.0


class Done(NamedTuple):
    """A command that has ended."""

    code: int
    out: bytes
    err: str


class Attempt(NamedTuple):
    """To connect to a host; its result is the connection."""

    task: asyncio.Task[asyncssh.SSHClientConnection]
    signin: SignIn


_attempts: dict[tuple[int, str], Attempt] = {}
_refused: dict[str, SignInNeeded] = {}
_watches: set[asyncio.Task[None]] = set()
_ahead: WeakKeyDictionary[asyncssh.SSHClientConnection, float] = WeakKeyDictionary()


def forget_refusal(host: str) -> None:
    """A person wants another attempt."""
    _refused.pop(host, None)


async def connection(host: str) -> asyncssh.SSHClientConnection:
    """The connection to a host, made if there is none.

    Raises:
        SignInNeeded: it refuses us, its key is not known, or it asks what a person has to answer.
        Unreachable: it does not answer.
    """
    if host in _refused:
        raise _refused[host]
    key = (id(asyncio.get_running_loop()), host)
    attempt = _attempts.get(key)
    if attempt is None or _is_over(attempt.task):
        signin = SignIn(host)
        attempt = _attempts[key] = Attempt(asyncio.create_task(_connect(host, signin)), signin)
        attempt.task.add_done_callback(_is_over)  # where nobody waits any more, nobody else looks
    return await _outcome(host, attempt)


async def answer(identity: str, answers: Sequence[str]) -> str:
    """Pass on what a person answered to a host's questions; the host, once it has let us in.

    Args:
        identity: of the questions.
        answers: to each.

    Raises:
        NotFound: nothing waits for them any more.
        SignInNeeded: it asks more, or refuses us.
        Unreachable: it does not answer.
    """
    loop = id(asyncio.get_running_loop())
    for (of, host), attempt in _attempts.items():
        if of == loop and attempt.signin.answer(identity, answers):
            await _outcome(host, attempt)
            return host
    raise NotFound("Nothing waits for this answer any more.", "Try again.", code="no_question")


def _is_over(task: asyncio.Task[asyncssh.SSHClientConnection]) -> bool:
    return task.done() and (task.cancelled() or bool(task.exception()) or task.result().is_closed())


async def _outcome(host: str, attempt: Attempt) -> asyncssh.SSHClientConnection:
    asked = asyncio.create_task(attempt.signin.asked.wait())
    try:
        await asyncio.wait({attempt.task, asked}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        asked.cancel()
    if not attempt.task.done():
        raise attempt.signin.needed()
    try:
        return attempt.task.result()
    except SignInNeeded as error:
        _refused[host] = error
        raise


async def run(host: str, words: Sequence[str] | str, stdin: bytes = b"", within_s: float = 60.0) -> Done:
    """Run a command on a host: words are quoted, a text is a script for bash.

    Raises:
        Unreachable: the host does not answer, or the command not in time.
        SignInNeeded: it refuses us.
    """
    import asyncssh

    line = words if isinstance(words, str) else shlex.join(words)
    link = await connection(host)
    try:
        async with asyncio.timeout(within_s):
            done = await link.run(line, input=stdin, encoding=None)
    except TimeoutError:
        raise Unreachable(f"{host} did not answer in {within_s:.0f} s.", f"Try: ssh {host}") from None
    except (asyncssh.ConnectionLost, asyncssh.ChannelOpenError, OSError) as error:
        raise Unreachable(f"{host} can't be reached: {error}.", "Try: ssh " + host) from error
    out = done.stdout if isinstance(done.stdout, bytes) else b""
    err = done.stderr if isinstance(done.stderr, bytes) else b""
    return Done(done.returncode if done.returncode is not None else 255, out, err.decode("utf-8", "replace"))


async def ahead(host: str) -> float:
    """By how many seconds the clock of a host is ahead of ours; 0 where the way there takes longer.

    Asked once a connection.

    Raises:
        Unreachable: the host does not answer.
        SignInNeeded: it refuses us.
    """
    link = await connection(host)
    if link not in _ahead:
        asked = time.time()
        done = await run(host, ["date", "+%s.%N"], within_s=CONNECT_WITHIN_S)
        heard = time.time()
        try:
            _ahead[link] = clock.ahead(asked, float(done.out), heard)
        except ValueError:  # it has no nanoseconds: macOS writes an N
            _ahead[link] = 0.0
    return _ahead[link]


async def _connect(host: str, signin: SignIn) -> asyncssh.SSHClientConnection:
    import asyncssh

    user, _, name = host.rpartition("@")
    options: dict[str, Any] = {"username": user} if user else {}

    async def connect() -> asyncssh.SSHClientConnection:
        return await asyncssh.connect(
            name,
            client_factory=signin_client(signin),
            keepalive_interval=KEEPALIVE_S,
            keepalive_count_max=30,
            **options,
        )

    link = asyncio.create_task(connect())
    try:
        while not (await asyncio.wait({link}, timeout=CONNECT_WITHIN_S))[0]:
            if not signin.asking:
                link.cancel()
                raise TimeoutError
        made = await link
        watch = asyncio.create_task(wakes.drop_when_cut(made))
        _watches.add(watch)
        watch.add_done_callback(_watches.discard)
        return made
    except asyncssh.HostKeyNotVerifiable as error:
        raise SignInNeeded(
            f"The key of {host} is not known, or has changed: {error.reason}.",
            f"Check it and connect once by hand: ssh {host}",
            code="host_key",
            details={"host": host},
        ) from error
    except asyncssh.PermissionDenied as error:
        raise SignInNeeded(
            f"{host} refused to let us in: {error.reason}.",
            f"Load your key (ssh-add), or sign in once by hand: ssh {host}",
            details={"host": host},
        ) from error
    except TimeoutError:
        raise Unreachable(f"{host} did not answer.", f"Is it up? Try: ssh {host}") from None
    except (OSError, asyncssh.Error) as error:
        raise Unreachable(f"{host} can't be reached: {error}.", f"Try: ssh {host}") from error


def shell(profile: Profile, words: Sequence[str]) -> str:
    """A command in a profile's environment, as a line for `run`."""
    environment = profile.environment
    script = command.script(environment, environment.variables, list(words))
    return f"bash {'-lc' if command.login_needed(environment) else '-c'} {shlex.quote(script)}"
