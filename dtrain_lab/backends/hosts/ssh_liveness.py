"""Detects SSH connections that were lost while the machine slept.

SSH keepalives don't: they are patient, since a connection may have cost a second factor, and don't count
time asleep.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncssh

POLL_S = 2.0
ASLEEP_S = 10.0
"""If the loop wakes up this much too late, the machine slept or the process was stopped."""
ANSWER_WITHIN_S = 20.0
"""Includes the seconds that the network needs to come back."""


async def drop_when_cut(link: asyncssh.SSHClientConnection) -> None:
    """Close a connection that does not answer after a sleep, so that its next user reconnects."""
    loop = asyncio.get_running_loop()
    while not link.is_closed():
        wall, monotonic = time.time(), loop.time()
        await asyncio.sleep(POLL_S)
        # the loop's clock stops while the machine sleeps, but not while the process is stopped
        slept = max(time.time() - wall, loop.time() - monotonic) - POLL_S
        if slept > ASLEEP_S and not link.is_closed() and not await _answers(link):
            link.abort()


async def _answers(link: asyncssh.SSHClientConnection) -> bool:
    import asyncssh

    try:
        async with asyncio.timeout(ANSWER_WITHIN_S):
            await link.run("true")
    except (asyncssh.Error, OSError, TimeoutError):
        return False
    return True
