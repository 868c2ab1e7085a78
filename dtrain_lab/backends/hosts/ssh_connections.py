"""SSH connections, one per host, with the user's own configuration, agent and jump hosts.

Host keys are checked as the user's ssh does. A refused login is not retried automatically: the user has to
start the next attempt. Questions of a host (a second factor) are passed to the user (`signin`).
"""

from __future__ import annotations

import asyncio
import base64
import copy
import shlex
import socket
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from dtrain_lab.backends.hosts import ssh_liveness
from dtrain_lab.backends.hosts.base import Done
from dtrain_lab.backends.hosts.signin import SignIn
from dtrain_lab.backends.hosts.signin import client as signin_client
from dtrain_lab.errors import DtrainError, NotFound, SignInNeeded, Unreachable
from dtrain_lab.machine import supervision
from dtrain_lab.placement import activation
from dtrain_lab.wire.codec import clock
from dtrain_lab.wire.profile import Profile

if TYPE_CHECKING:
    import asyncssh  # the import takes 0.2 s, and only worlds on other machines need it

CONNECT_WITHIN_S = 20.0
KEEPALIVE_S = 30.0


class Attempt(NamedTuple):
    """An attempt to connect to a host; the task's result is the connection."""

    task: asyncio.Task[asyncssh.SSHClientConnection]
    signin: SignIn


_attempts: dict[tuple[int, str], Attempt] = {}
_refused: dict[str, SignInNeeded] = {}
_ahead: WeakKeyDictionary[asyncssh.SSHClientConnection, float] = WeakKeyDictionary()


def forget_refusal(host: str) -> None:
    """Allow another attempt after a refusal, because the user asks for it."""
    _refused.pop(host, None)


async def connection(host: str) -> asyncssh.SSHClientConnection:
    """Return the connection to a host, connecting if there is none.

    Raises:
        SignInNeeded: The host refuses the login, its key is unknown, or it asks a question for the user.
        Unreachable: The host does not answer.
    """
    if host in _refused:
        raise copy.copy(_refused[host])  # each raise adds its frames to the traceback of what it raises
    key = (id(asyncio.get_running_loop()), host)
    attempt = _attempts.get(key)
    if attempt is None or _is_over(attempt.task):
        signin = SignIn(host)
        attempt = _attempts[key] = Attempt(asyncio.create_task(_connect(host, signin)), signin)
        attempt.task.add_done_callback(partial(_ended, host))
    return await _outcome(host, attempt)


async def answer(identity: str, answers: Sequence[str]) -> str:
    """Pass the user's answers to a host, and wait for the login.

    Args:
        identity: Id of the questions.
        answers: One answer for each question.

    Returns:
        The host.

    Raises:
        NotFound: No attempt waits for these answers any more.
        SignInNeeded: The host asks more, or refuses the login.
        Unreachable: The host does not answer.
    """
    loop = id(asyncio.get_running_loop())
    for (of, host), attempt in _attempts.items():
        if of == loop and attempt.signin.answer(identity, answers):
            await _outcome(host, attempt)
            return host
    raise NotFound("The question has expired: nothing waits for an answer.", "Try again.", code="no_question")


def _ended(host: str, task: asyncio.Task[asyncssh.SSHClientConnection]) -> None:
    """Keep a refusal, because the caller may have ended with the host's question as its error."""
    error = None if task.cancelled() else task.exception()
    if isinstance(error, SignInNeeded):
        _refused[host] = copy.copy(error)


def _is_over(task: asyncio.Task[asyncssh.SSHClientConnection]) -> bool:
    return task.done() and (task.cancelled() or bool(task.exception()) or task.result().is_closed())


async def _outcome(host: str, attempt: Attempt) -> asyncssh.SSHClientConnection:
    question = asyncio.create_task(attempt.signin.asked.wait())
    try:
        await asyncio.wait({attempt.task, question}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        question.cancel()
    if not attempt.task.done():
        raise attempt.signin.needed()
    error = attempt.task.exception()
    if isinstance(error, DtrainError):  # several callers may wait for one attempt
        raise copy.copy(error) from error.__cause__
    return attempt.task.result()


async def run(host: str, command: Sequence[str] | str, stdin: bytes = b"", within_s: float = 60.0) -> Done:
    """Run a command on a host.

    Args:
        host: Host name, as in the user's ssh configuration.
        command: Program and arguments, which are quoted; or a string, which bash runs as a script.
        stdin: Standard input of the command.
        within_s: Timeout in seconds.

    Raises:
        Unreachable: The host does not answer, or the command timed out.
        SignInNeeded: The host refuses the login.
    """
    import asyncssh

    line = command if isinstance(command, str) else shlex.join(command)
    link = await connection(host)
    try:
        async with asyncio.timeout(within_s):
            done = await link.run(line, input=stdin, encoding=None)
    except TimeoutError:
        raise Unreachable(f"{host} did not answer in {within_s:.0f} s.", f"Try: ssh {host}") from None
    except (asyncssh.ConnectionLost, asyncssh.ChannelOpenError, OSError) as error:
        raise _unreachable(host, error) from error
    out = done.stdout if isinstance(done.stdout, bytes) else b""
    err = done.stderr if isinstance(done.stderr, bytes) else b""
    return Done(done.returncode if done.returncode is not None else 255, out, err.decode("utf-8", "replace"))


async def ahead(host: str) -> float:
    """Return the seconds by which a host's clock is ahead; 0 if the round trip is longer than the difference.

    Measured once per connection.

    Raises:
        Unreachable: The host does not answer.
        SignInNeeded: The host refuses the login.
    """
    link = await connection(host)
    if link not in _ahead:
        sent_at = time.time()
        done = await run(host, ["date", "+%s.%N"], within_s=CONNECT_WITHIN_S)
        received_at = time.time()
        try:
            _ahead[link] = clock.ahead(sent_at, float(done.out), received_at)
        except ValueError:  # `date` without nanoseconds: macOS prints an N
            _ahead[link] = 0.0
    return _ahead[link]


async def _connect(host: str, signin: SignIn) -> asyncssh.SSHClientConnection:
    import asyncssh

    user, _, name = host.rpartition("@")
    options: dict[str, Any] = {"username": user} if user else {}

    configured = await asyncssh.SSHClientConnectionOptions.construct(host=name, config=(), **options)
    if configured.known_hosts is None:
        # asyncssh reads the word `none` as "no host key check", and would send a password to any server
        raise SignInNeeded(
            f"Your SSH configuration names no file with the key of {host} (UserKnownHostsFile none).",
            f"Name one in ~/.ssh/config, and connect once by hand: ssh {host}",
            code="host_key",
            details={"host": host},
        )

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
        connection = await link
        supervision.here().start_loop("ssh.cut", partial(ssh_liveness.drop_when_cut, connection))
        return connection
    except asyncssh.HostKeyNotVerifiable as error:
        raise SignInNeeded(
            f"The key of {host} is not known, or has changed: {error.reason}.",
            f"Check it and connect once by hand: ssh {host}",
            code="host_key",
            details={"host": host},
        ) from error
    except asyncssh.PermissionDenied as error:
        raise (_unanswered(host) if signin.unanswered else _refusal(host, error.reason)) from error
    except TimeoutError:
        raise Unreachable(f"{host} did not answer.", f"Is it up? Try: ssh {host}") from None
    except (OSError, asyncssh.Error) as error:
        if signin.unanswered:
            raise _unanswered(host) from error
        raise _unreachable(host, error) from error


def _unreachable(host: str, error: Exception) -> Unreachable:
    if isinstance(error, socket.gaierror):
        if error.errno not in (socket.EAI_NONAME, socket.EAI_NODATA):  # offline, or just woken from sleep
            return Unreachable(
                f"{host} can't be reached: its name can't be resolved now.",
                f"Is this machine online, and its VPN up? Try: ssh {host}",
            )
        return Unreachable(
            f'There is no host "{host}": its name can\'t be resolved.',
            f"Correct it in the profile, or name its address in ~/.ssh/config. Try: ssh {host}",
        )
    why = error.strerror if isinstance(error, OSError) and error.strerror else error
    return Unreachable(f"{host} can't be reached: {why}.", f"Try: ssh {host}")


def _refusal(host: str, reason: str) -> SignInNeeded:
    return SignInNeeded(
        f"{host} refused the sign-in: {reason}.",
        f"Load your key (ssh-add), or sign in once by hand: ssh {host}",
        details={"host": host},
    )


def _unanswered(host: str) -> SignInNeeded:
    """For an expired prompt. Automatic retries would send a prompt to the user's phone every two minutes."""
    return SignInNeeded(
        f"{host} asked for a sign-in, but got no answer.",
        f"Sign in from JupyterLab's panel, or once by hand: ssh {host}",
        details={"host": host},
    )


class Shell(NamedTuple):
    """A command in a profile's environment on a host.

    `line`: the command for `run`. `first`: the first bytes of its standard input, which carry the profile's
    variables, since other users of the host can read command lines.
    """

    line: str
    first: bytes


READ_SCRIPT = 'IFS= read -r script && eval "$(printf %s "$script" | base64 -d)"'


def shell(profile: Profile, command: Sequence[str]) -> Shell:
    """Wrap a command so that it runs in a profile's environment.

    Args:
        profile: Its environment section names Python, modules and variables.
        command: Program and arguments.

    Returns:
        The command line for SSH, and the script to be written to its standard input.
    """
    environment = profile.environment
    script = activation.script(environment, environment.variables, list(command))
    login = "-lc" if activation.login_needed(environment) else "-c"
    return Shell(f"bash {login} {shlex.quote(READ_SCRIPT)}", base64.b64encode(script.encode()) + b"\n")
