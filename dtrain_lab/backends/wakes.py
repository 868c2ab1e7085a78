"""A machine that slept: its connections to hosts may be cut without a word by then.

Keepalives are patient, as a connection may have cost a second factor, and they do not count time asleep.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncssh

LOOK_S = 2.0
ASLEEP_S = 10.0
"""A loop that comes back so much later than it should was asleep, or its process stopped."""
ANSWER_WITHIN_S = 20.0
"""A network takes some seconds to come back, too."""


async def drop_when_cut(link: asyncssh.SSHClientConnection) -> None:
    """End a connection that does not answer after a sleep; whoever needs it makes another."""
    loop = asyncio.get_running_loop()
    while not link.is_closed():
        wall, own = time.time(), loop.time()
        await asyncio.sleep(LOOK_S)
        # the loop's clock stands still while the machine sleeps, and goes on while the process is stopped
        slept = max(time.time() - wall, loop.time() - own) - LOOK_S
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
