"""Options that the user sets through environment variables; dtrain-lab itself never sets them."""

from __future__ import annotations

import contextlib
import math
import os

from dtrain_lab.errors import BadRequest
from dtrain_lab.services.policy import policy
from dtrain_lab.wire.processes.settings import StartOptions


def of_environment() -> StartOptions:
    """Parse the variables `DTRAIN_LAB_…`.

    Raises:
        BadRequest: One is not a number of seconds.
    """
    return StartOptions(
        warm=os.environ.get("DTRAIN_LAB_WARM", "1") != "0",
        auto_start=os.environ.get("DTRAIN_LAB_AUTO_START", "1") != "0",
        adoption_s=_seconds("DTRAIN_LAB_ADOPTION_S"),
        poll_floor_s=_seconds("DTRAIN_LAB_POLL_FLOOR_S"),
    )


def _seconds(variable: str) -> float | None:
    text = os.environ.get(variable)
    if not text:
        return None
    with contextlib.suppress(ValueError):
        if 0 <= (seconds := float(text)) < math.inf:
            return seconds
    raise BadRequest(f'{variable} is "{text}", which is not a number of seconds.', "Correct it, or unset it.")


def poll_floor_s() -> float:
    """Return the fewest seconds between two queries of a scheduler.

    Below a server, the user's variable may raise the administrator's floor, not lower it.

    Raises:
        BadRequest: The user's variable is not a number of seconds.
        Forbidden: The administrator's limits can't be read.
    """
    chosen, server = of_environment().poll_floor_s, policy.of_server()
    floor = server.policy.poll_floor_s
    if chosen is None:
        return floor
    return max(chosen, floor) if server.started else chosen
